"""The board of Hex as bits: six neighbours, and the edges that each player joins."""

from __future__ import annotations

import dataclasses

import numpy as np

from jaxgames.bitboard import Grid
from jaxgames.bits import Bits

BLACK, WHITE = 0, 1


@dataclasses.dataclass(frozen=True)
class HexGrid(Grid):
    """A rhombus: row 0 is north, column 0 west; (r, c) also touches (r - 1, c + 1) and (r + 1, c - 1)."""

    def neighbours(self, cells: Bits) -> Bits:
        """Gives all cells next to a cell of the set (six directions)."""
        # Each word of the result is made of three words, with nothing in between that two of them share: XLA makes a kernel of
        # what is shared, and a flood of many small kernels takes twice the time.
        row = self.columns
        to_right = self.advance(cells, 1) | self.advance(cells, 1 - row)
        to_left = self.advance(cells, -1) | self.advance(cells, row - 1)
        straight = self.advance(cells, row) | self.advance(cells, -row)
        return (to_right - self.column(0) | to_left - self.column(row - 1) | straight) & self.full

    def edges(self, player: int) -> tuple[Bits, Bits]:
        """Gives the two edges a player joins: north and south for the first, west and east for the second."""
        far = self.rows - 1
        return (self.row(0), self.row(far)) if player == BLACK else (self.column(0), self.column(far))

    @property
    def neighbour_table(self) -> np.ndarray:
        """int [n * n, 6], the cells next to each cell; n * n where there is none."""
        row, column = np.divmod(np.arange(self.rows * self.columns), self.columns)
        table = []
        for down, right in ((-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0)):
            r, c = row + down, column + right
            inside = (r >= 0) & (r < self.rows) & (c >= 0) & (c < self.columns)
            table.append(np.where(inside, r * self.columns + c, self.rows * self.columns))
        return np.stack(table, axis=-1)
