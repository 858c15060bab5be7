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


def count_by_seat(games: Games) -> np.ndarray:
    """Counts the wins of every seat, whoever sat there. Returns int [P]."""
    players = games.outcomes.shape[1]
    return np.array([((games.outcomes > 0) & (games.seats == seat)).sum() for seat in range(players)])


def wilson(successes: int, trials: int, z: float = Z_95) -> tuple[float, float]:
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
    square, drawn = z * z, wilson(draws, games, z)[0]
    mean = (wins + draws / 2) / games
    centre = games * mean + square / 2
    spread = z * math.sqrt(games * (mean * (1 - mean) - drawn / 4) + square * (1 - drawn) / 4)
    low = (centre - spread) / (games + square) if wins or draws else 0.0
    high = (centre + spread) / (games + square) if wins < games else 1.0
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
