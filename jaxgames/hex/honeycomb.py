"""Where the hexagons of a board of Hex lie in a picture."""

from __future__ import annotations

import dataclasses
import math

from jaxgames.hex.geometry import BLACK, WHITE


@dataclasses.dataclass(frozen=True)
class Honeycomb:
    """The cells of a rhombus, in pixels; corners are counted clockwise from the top one, 0 to 5.

    Attributes:
      size: cells in a row.
      side: of a hexagon.
      margin: left of the first cell, and above it.
    """

    size: int
    side: float
    margin: float

    @property
    def wide(self) -> float:
        """How far the middles of neighbours in a row are apart."""
        return math.sqrt(3) * self.side

    def middle(self, cell: int) -> tuple[float, float]:
        """Gives the middle of a cell, (right, down)."""
        row, column = divmod(cell, self.size)
        return self.margin + self.wide * (column + row / 2 + 0.5), self.margin + self.side + 1.5 * self.side * row

    def outline(self, cell: int) -> str:
        """Gives the points of a cell's polygon."""
        return " ".join(self._corner(cell, number) for number in range(6))

    def edges(self, stretch: float = 1.0) -> list[tuple[int, str]]:
        """Gives the four sides of the board: the player who joins it with the other one, and the points of its line.

        Args:
          stretch: how far from the middles of the cells, in sides of a hexagon.
        """
        size, cells = self.size, self.size**2
        sides = (
            (BLACK, range(size), (5, 0, 1)),
            (BLACK, range(cells - size, cells), (4, 3, 2)),
            (WHITE, range(0, cells, size), (5, 4, 3)),
            (WHITE, range(size - 1, cells, size), (0, 1, 2)),
        )
        return [
            (player, " ".join(self._corner(cell, corner, stretch) for cell in line for corner in corners))
            for player, line, corners in sides
        ]

    def _corner(self, cell: int, number: int, stretch: float = 1.0) -> str:
        x, y = self.middle(cell)
        angle = math.radians(60 * number - 90)
        return f"{x + stretch * self.side * math.cos(angle):.1f},{y + stretch * self.side * math.sin(angle):.1f}"
