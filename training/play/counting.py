"""Wins, draws and losses with intervals, by two counting rules.

The released code of Boney et al. counts a draw whenever nobody won, also for an agent that died early while the others went on
and tied. The strict rule counts a draw only for an agent that was in play until the last step began.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from training.play.evaluate import Games

Z_95 = 1.959964


@dataclasses.dataclass(frozen=True)
class Count:
    """How the games of one agent ended.

    Attributes:
      games, wins, draws, losses: numbers of games.
      win_interval, draw_interval, loss_interval: 95 % intervals of the rates (Wilson).
    """

    games: int
    wins: int
    draws: int
    losses: int

    @property
    def win_interval(self) -> tuple[float, float]:
        return wilson(self.wins, self.games)

    @property
    def draw_interval(self) -> tuple[float, float]:
        return wilson(self.draws, self.games)

    @property
    def loss_interval(self) -> tuple[float, float]:
        return wilson(self.losses, self.games)

    def as_dict(self) -> dict:
        """Gives numbers and intervals for a JSON file."""
        intervals = {name: [round(x, 4) for x in getattr(self, name)] for name in _INTERVALS}
        return {**dataclasses.asdict(self), **intervals}


_INTERVALS = ("win_interval", "draw_interval", "loss_interval")


def count(games: Games, agent: int = 0, *, strict: bool = False) -> Count:
    """Counts the games of one agent.

    Args:
      games: what `play` returned.
      agent: its index.
      strict: draw only if it was in play until the last step began; else whenever nobody won.
    """
    outcome = games.outcomes[:, agent]
    draw = (games.outcomes == 0).all(1)
    if strict:
        draw = draw & games.survived[:, agent]
    wins, draws = int((outcome > 0).sum()), int(draw.sum())
    return Count(len(outcome), wins, draws, len(outcome) - wins - draws)


def count_together(games: Games, agents: Sequence[int], *, strict: bool = False) -> dict[str, Any]:
    """Counts the games of agents that are equal, as one.

    A game is one observation, however many of them are in it: it is drawn once, and where one of them wins the others have lost.
    So wins, draws and losses are means over the agents, and add up to the games; a rate is that of any one of them. In a game let
    x be the share of the K agents that won (or drew, or lost). The interval of a rate is that of the mean of x over the games,
    `mean_interval`; with x / most in place of x, and times `most`, where x cannot be larger. As one of them at most wins a game,
    that is 1 / K for wins: theirs is Wilson's interval of the games that any of them has won, divided by K. For draws by the
    released rule x is 0 or 1: theirs is Wilson's interval of the games that were drawn.

    Args:
      games: what `play` returned.
      agents: their indices; of a team one.
      strict: as for `count`.

    Returns:
      As `Count.as_dict`; numbers are fractions where there are several agents.
    """
    counts = [count(games, agent, strict=strict) for agent in agents]
    if len(counts) == 1:
        return counts[0].as_dict()
    equal, size = list(agents), len(agents)
    won = (games.outcomes[:, equal] > 0).sum(1)
    drawn = (games.outcomes == 0).all(1) * (games.survived[:, equal].sum(1) if strict else size)
    # Of how many this is so in each game, int [G], and of how many it can be.
    most_won = int(won.max(initial=1))
    found: dict[str, tuple[Any, int]] = {"win": (won, most_won), "draw": (drawn, size), "loss": (size - won - drawn, size)}
    result: dict[str, Any] = {"games": len(won)}
    for plural, (number, _) in zip(("wins", "draws", "losses"), found.values(), strict=True):
        result[plural] = round(float(number.sum()) / size, 4)
    for name, (number, most) in found.items():
        result[f"{name}_interval"] = [round(float(end * most / size), 4) for end in mean_interval(number / most)]
    return result


def count_by_seat(games: Games) -> np.ndarray:
    """Counts the wins of every seat, whoever sat there. Returns int [P]."""
    players = games.outcomes.shape[1]
    return np.array([((games.outcomes > 0) & (games.seats == seat)).sum() for seat in range(players)])


def wilson(successes: float, trials: int, z: float = Z_95) -> tuple[float, float]:
    """Gives the Wilson interval of a rate: 95 % unless `z` says otherwise."""
    if trials == 0:
        return 0.0, 1.0
    rate = successes / trials
    centre = rate + z * z / (2 * trials)
    spread = z * math.sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    low = (centre - spread) / scale if successes else 0.0  # exactly, whatever the rounding
    high = (centre + spread) / scale if successes < trials else 1.0
    return low, high


def percent(share: float, interval: Sequence[float]) -> str:
    """Gives a rate and its interval, both of 0 to 1, as text in per cent: 35.0 (26–45)."""
    low, high = interval
    return f"{100 * share:.1f} ({100 * low:.0f}–{100 * high:.0f})"


def in_percent(counts: Mapping[str, Any]) -> list[str]:
    """Gives wins, draws and losses of what `Count.as_dict` made as text in per cent, with their intervals."""
    rates = (counts[name] / counts["games"] for name in ("wins", "draws", "losses"))
    return [percent(share, counts[interval]) for share, interval in zip(rates, _INTERVALS, strict=True)]


def points_interval(wins: int, draws: int, games: int, z: float = Z_95) -> tuple[float, float]:
    """Gives the interval of the mean points per game, a draw being half a point: 95 % unless `z` says otherwise.

    The score interval of a mean `m` whose variance is m (1 - m) - d / 4, with draws of the share d; without draws it is Wilson's.
    Draws make points vary less; d is the lower bound of its own interval, so that a few of them promise nothing.

    Args:
      wins: games won.
      draws: games drawn.
      games: all games.
      z: how many standard errors the interval spans to each side.
    """
    if games == 0:
        return 0.0, 1.0
    return _score_interval((wins + draws / 2) / games, wilson(draws, games, z)[0], games, z)


def mean_interval(values: np.ndarray, z: float = Z_95) -> tuple[float, float]:
    """Gives the interval of the mean of values from 0 to 1: 95 % unless `z` says otherwise.

    The score interval of a mean `m` whose variance is m (1 - m) - d / 4, with d the mean of 4 x (1 - x) over the values x. Where
    all are 0 or 1 it is Wilson's, and with halves beside them that of `points_interval`. As there, d is the lower bound of its
    own interval: a few values that happen to be alike promise nothing.

    Args:
      values: float [G], independent of each other.
      z: how many standard errors the interval spans to each side.
    """
    games = len(values)
    if games == 0:
        return 0.0, 1.0
    return _score_interval(float(values.mean()), wilson(float((4 * values * (1 - values)).sum()), games, z)[0], games, z)


def _score_interval(mean: float, between: float, games: int, z: float) -> tuple[float, float]:
    """Gives the score interval of a mean `m` of so many values, whose variance is m (1 - m) - between / 4."""
    square = z * z
    centre = games * mean + square / 2
    spread = z * math.sqrt(max(games * (mean * (1 - mean) - between / 4), 0.0) + square * (1 - between) / 4)
    low = (centre - spread) / (games + square) if mean > 0 else 0.0
    high = (centre + spread) / (games + square) if mean < 1 else 1.0
    return low, high


def same_distribution(first: np.ndarray, second: np.ndarray) -> tuple[float, float]:
    """Tests whether two samples of counts come from one distribution.

    Args:
      first: int [C], how often each of C outcomes came up.
      second: the same of the other sample.

    Returns:
      The chi-square statistic with a degree of freedom less than outcomes that came up, and the chance of one at least as large.

    Raises:
      ValueError: a sample is empty.
    """
    for name, sample in (("first", first), ("second", second)):
        if not sample.sum() > 0:
            raise ValueError(f"{name}: is empty, so there is nothing to compare")
    total = first + second
    kept = total > 0
    if kept.sum() == 1:  # no degree of freedom
        return 0.0, 1.0
    expected = np.stack([total * (sample.sum() / total.sum()) for sample in (first, second)])
    statistic = float((((np.stack([first, second]) - expected) ** 2)[:, kept] / expected[:, kept]).sum())
    # The regularized upper incomplete gamma function, which JAX has and numpy lacks.
    from jax.scipy.special import gammaincc

    return statistic, float(gammaincc((kept.sum() - 1) / 2, statistic / 2))
