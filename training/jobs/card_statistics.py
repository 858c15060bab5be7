"""What battles with and without a change of cards tell: means with intervals, differences of pairs, and how many more are needed.

Blocks of battles are independent, the battles of a block are not, so all intervals are of means over blocks (normal
approximation), and differences between the arms are taken block by block. Rates per elixir are ratios of sums over all blocks,
with the variance of their linear part.
"""

from __future__ import annotations

import dataclasses
import math
from statistics import NormalDist

import numpy as np

from jaxgames.clash.card_table import Table
from training.play.card_battles import BLOCK, COUNTS, SIDES, Decks, Part

PER_ELIXIR = ("damage", "to_towers", "to_units", "kills", "worth")
DIFFERENCES = (0.1, 0.05, 0.02, 0.01)  # of shares of points, for which the power is worked out


@dataclasses.dataclass(frozen=True)
class Level:
    """How sure one wants to be.

    Attributes:
      alpha: chance to find a difference where there is none, two-sided; intervals hold with 1 - alpha.
      power: chance to find one that is there.
    """

    alpha: float = 0.05
    power: float = 0.8

    @property
    def z(self) -> float:
        """Standard errors that intervals reach to each side."""
        return NormalDist().inv_cdf(1 - self.alpha / 2)

    @property
    def reach(self) -> float:
        """Standard errors which a difference must have to be found with this power."""
        return self.z + NormalDist().inv_cdf(self.power)

    def battles(self, spread: float, difference: float) -> int:
        """Gives the battles, of both arms together, that find a difference.

        Args:
          spread: standard deviation of the difference of a block.
          difference: that there is.
        """
        return BLOCK * max(2, math.ceil((self.reach * spread / difference) ** 2))

    def smallest(self, spread: float, num_blocks: int) -> float:
        """Gives the smallest difference that so many blocks find."""
        return self.reach * spread / math.sqrt(num_blocks)


def mean(values: np.ndarray, level: Level) -> dict:
    """Gives the mean of independent values float [K], with its interval; None for both ends of it where there is one value."""
    middle = float(np.mean(values))
    error = level.z * float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.inf
    return _rounded(middle, error)


def ratio(above: np.ndarray, below: np.ndarray, level: Level) -> dict | None:
    """Gives the ratio of two sums over blocks, float [K] each, with its interval; None where the lower one is 0."""
    if not below.sum():
        return None
    middle = float(above.sum() / below.sum())
    return _rounded(middle, level.z * _standard_error(_linear(above, below)))


def ratio_difference(first: tuple[np.ndarray, np.ndarray], second: tuple[np.ndarray, np.ndarray], level: Level) -> dict | None:
    """Gives the second ratio less the first, of the same blocks, with its interval; None where one of them does not exist."""
    if not first[1].sum() or not second[1].sum():
        return None
    middle = float(second[0].sum() / second[1].sum() - first[0].sum() / first[1].sum())
    return _rounded(middle, level.z * _standard_error(_linear(*second) - _linear(*first)))


def _linear(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """By how much each block moves a ratio of sums."""
    return (above - above.sum() / below.sum() * below) / below.sum()


def _standard_error(parts: np.ndarray) -> float:
    """Gives the standard error of a ratio from what each block moves it by; infinite where there is one block."""
    blocks = len(parts)
    return math.sqrt(float((parts**2).sum()) * blocks / (blocks - 1)) if blocks > 1 else math.inf


def _rounded(middle: float, error: float) -> dict:
    """A mean with its interval; None for the ends where a single block tells nothing of them."""
    low, high = (round(middle + each, 5) if math.isfinite(error) else None for each in (-error, error))
    return {"mean": round(middle, 5), "low": low, "high": high}


def summarize(part: Part, decks: Decks, table: Table, level: Level) -> dict:
    """Gives all figures of a report, for a JSON file.

    Args:
      part: all blocks.
      decks: what was compared.
      table: its cards.
      level: of intervals and of the power.
    """
    points = part.points.mean(2)  # [K, 2]
    block, ids, cost = np.arange(len(points)), table.card_ids, {card.key: card.cost for card in table.cards}
    meets = {"+".join(deck): block % len(decks.against) == number for number, deck in enumerate(decks.against)}
    return {
        "battles": int(part.points.size),
        "mean_seconds": [round(float(each), 1) for each in part.lengths.mean((0, 2)) / 2],
        "decks": [{"against": name, **_arms(points[which], level)} for name, which in meets.items() if which.any()],
        "all": _arms(points, level),
        "power": power(points[:, 1] - points[:, 0], level),
        "cards": [
            {"card": before, "with": after, **_card(part, (ids[before], ids[after]), (cost[before], cost[after]), level)}
            for before, after in zip(decks.before, decks.after, strict=True)
        ],
        "towers": _towers(part, level),
    }


def _arms(points: np.ndarray, level: Level) -> dict:
    return {
        "blocks": len(points),
        "without": mean(points[:, 0], level),
        "with": mean(points[:, 1], level),
        "difference": mean(points[:, 1] - points[:, 0], level),
    }


def power(differences: np.ndarray, level: Level) -> dict:
    """Tells what the battles could find, and how many more would find less; differences float [K] of blocks."""
    blocks = len(differences)
    spread = float(np.std(differences, ddof=1)) if blocks > 1 else math.nan
    told = {"alpha": level.alpha, "power": level.power, "spread": round(spread, 5) if blocks > 1 else None}
    if not spread > 0:
        return told | {"smallest_difference": None, "battles_for": {}}
    return told | {
        "smallest_difference": round(level.smallest(spread, blocks), 5),
        "battles_for": {str(difference): level.battles(spread, difference) for difference in DIFFERENCES},
    }


def _card(part: Part, rows: tuple[int, int], costs: tuple[int, int], level: Level) -> dict:
    """Gives the figures of a card of the deck in question, by its rows and costs in both arms."""
    own = part.counts[:, :, :, 0].sum(2).astype(np.float64)  # [K, 2, C + 1, 6]
    arms = [dict(zip(COUNTS, own[:, arm, row].T, strict=True)) for arm, row in enumerate(rows)]
    battles = np.full(len(own), float(SIDES))
    pairs = {
        "plays": [(arm["plays"], battles) for arm in arms],
        "use_rate": [(arm["plays"], own[:, number, :, 0].sum(-1)) for number, arm in enumerate(arms)],
    }
    for name in PER_ELIXIR:
        done = [arm["to_towers"] + arm["to_units"] if name == "damage" else arm[name] for arm in arms]
        pairs[name] = [(one, arm["plays"] * cost) for one, arm, cost in zip(done, arms, costs, strict=True)]
    return {
        name: {
            "without": ratio(*first, level),
            "with": ratio(*second, level),
            "difference": ratio_difference(first, second, level),
        }
        for name, (first, second) in pairs.items()
    }


def _towers(part: Part, level: Level) -> dict:
    """Gives what the towers of the deck in question have done, per battle."""
    own = part.counts[:, :, :, 0, -1].sum(2).astype(np.float64)  # [K, 2, 6]
    return {name: _arms(own[..., COUNTS.index(name)] / SIDES, level) for name in ("to_units", "kills")}
