"""Who made how many points against whom: a table that pairs are added to, with ratings, for files and terminals."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from rich.markup import escape
from rich.table import Table

from training.play import elo
from training.play.counting import percent, points_interval

NUMBERS = ("points", "games", "first_points", "draws")  # of a `CrossTable`


@dataclasses.dataclass(frozen=True)
class CrossTable:
    """Who made how many points against whom.

    Attributes:
      names: N players.
      points: float [N, N], of the row's player against the column's; a draw is half a point for each.
      games: int [N, N].
      first_points: float [N, N], those of them made in the first seat.
      draws: int [N, N], games that nobody won.
    """

    names: tuple[str, ...]
    points: np.ndarray
    games: np.ndarray
    first_points: np.ndarray
    draws: np.ndarray

    @property
    def ratings(self) -> np.ndarray:
        """Elo by maximum likelihood; the first player's is 0."""
        return elo.fit(self.points, self.games)

    @property
    def is_complete(self) -> bool:
        """Whether everybody has met everybody."""
        return bool((self.games + np.eye(len(self.names), dtype=int) > 0).all())

    def as_dict(self) -> dict[str, Any]:
        """Gives everything for a JSON file; ratings only when everybody has met everybody."""
        result: dict[str, Any] = {"names": list(self.names)}
        result |= {name: getattr(self, name).tolist() for name in NUMBERS}
        if not self.is_complete:
            return result
        errors = elo.standard_errors(self.points, self.games)
        return result | {
            "elo": [round(x, 1) for x in self.ratings.tolist()],
            "elo_standard_error": [round(x, 1) for x in errors.tolist()],
        }

    def shown(self, labels: Mapping[str, str] | None = None, *, title: str = "") -> Table:
        """Makes a table for the terminal, the best first; shares of points in per cent.

        Args:
          labels: what to call players there, by name; None: their names.
          title: what was played.
        """
        ratings = self.ratings
        order = np.argsort(-ratings, kind="stable")
        errors = elo.standard_errors(self.points, self.games)
        columns = [str(number + 1) for number in range(len(order))]
        against = "points in % against"
        table = Table("player", "Elo", "points %", *columns, title=f"{title}: {against}" if title else against)
        for place, index in enumerate(order):
            total, played, drawn = (int(part[index].sum()) for part in (2 * self.points, self.games, self.draws))
            interval = points_interval((total - drawn) // 2, drawn, played)
            name = self.names[index]
            label = escape(labels[name] if labels else name)
            cells = [f"{place + 1} {label}", f"{ratings[index]:+.0f} ± {1.96 * errors[index]:.0f}"]
            cells.append(percent(total / max(2 * played, 1), interval))
            for other in order:
                met = self.games[index, other]
                cells.append(f"{100 * self.points[index, other] / met:.0f}" if met else "–")
            table.add_row(*cells)
        return table


def nobody_has_met(names: tuple[str, ...]) -> CrossTable:
    """Makes the table of a tournament that has not begun."""
    points, counts = np.zeros((len(names), len(names))), np.zeros((len(names), len(names)), int)
    return CrossTable(names, points, counts, points, counts)


def with_pair(table: CrossTable, row: int, column: int, result: np.ndarray) -> CrossTable:
    """Adds the points that `tournament.play_pair` gave."""
    points, games, first_points, draws = (getattr(table, name).copy() for name in NUMBERS)
    total, half = len(result), len(result) // 2
    points[row, column], points[column, row] = result.sum(), total - result.sum()
    first_points[row, column], first_points[column, row] = result[:half].sum(), half - result[half:].sum()
    games[row, column] = games[column, row] = total
    draws[row, column] = draws[column, row] = (result == 0.5).sum()
    return CrossTable(table.names, points, games, first_points, draws)


def joined(table: CrossTable, other: CrossTable) -> CrossTable:
    """Adds the pairs of another table of the same players; of a pair that is in both, the first table's games count."""
    is_new = table.games == 0
    return CrossTable(table.names, *(np.where(is_new, getattr(other, name), getattr(table, name)) for name in NUMBERS))
