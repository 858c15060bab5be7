"""The geometry of rectangular boards whose cells are the bits of words (`Bits`).

A `Grid` moves sets by one cell or to the middle, floods, and turns sets into arrays and back.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.bits import WORD_BITS, Bits, shifted, shifted_by, union
from jaxgames.fusion import all_lanes, any_lane
from jaxgames.platforms import by_platform

_STEPS_PER_ROUND = 3  # of a flood between two looks whether it is done
# On accelerators, which ask the host at each look, and that takes as long as hundreds of steps: before the first look, and from
# look to look.
_FIRST_STEPS, _LATER_STEPS = 24, 12

UP, DOWN, LEFT, RIGHT = 0, 1, 2, 3
DIRECTIONS = (UP, DOWN, LEFT, RIGHT)
OPPOSITE = (DOWN, UP, RIGHT, LEFT)


@dataclasses.dataclass(frozen=True)
class Grid:
    """A rectangular board of `rows` x `columns` cells; cell = row * columns + column.

    Attributes:
      rows, columns: 2 to 31 each, so that a move by one row shifts a word by less than its length.
    """

    rows: int
    columns: int

    def __post_init__(self) -> None:
        if not (2 <= self.rows < WORD_BITS and 2 <= self.columns < WORD_BITS):
            raise ValueError(f"rows={self.rows}, columns={self.columns}: must be in 2..{WORD_BITS - 1}")

    @property
    def num_cells(self) -> int:
        """Cells of the board."""
        return self.rows * self.columns

    @property
    def num_words(self) -> int:
        """Words of a set."""
        return -(-self.num_cells // WORD_BITS)

    def constant(self, cells: Iterable[int] | np.ndarray) -> Bits:
        """Makes a set from Python: cell numbers, or a bool [rows, columns] array. Leaves are numpy scalars."""
        if isinstance(cells, np.ndarray) and cells.dtype == bool:
            cells = np.flatnonzero(cells)
        words = [0] * self.num_words
        for cell in cells:
            words[int(cell) // WORD_BITS] |= 1 << (int(cell) % WORD_BITS)
        leaves: Any = (np.uint32(word) for word in words)  # numpy: the same to JAX, and made without it
        return Bits(tuple(leaves))

    @functools.cached_property
    def empty(self) -> Bits:
        """The set without cells; leaves are numpy scalars, as of `constant`."""
        return self.constant(())

    def empty_words(self) -> Bits:
        """Gives the empty set as arrays, for the carry of a loop."""
        return jax.tree.map(jnp.asarray, self.empty)

    @functools.cached_property
    def full(self) -> Bits:
        """The set of all cells; leaves are numpy scalars."""
        return self.constant(range(self.num_cells))

    @functools.cached_property
    def _may_go(self) -> tuple[Bits, ...]:
        """Per direction the cells that have a neighbour there."""
        row, column = np.divmod(np.arange(self.num_cells), self.columns)
        inside = (row > 0, row < self.rows - 1, column > 0, column < self.columns - 1)
        return tuple(self.constant(np.flatnonzero(mask)) for mask in inside)

    def rows_of(self, cells: Bits) -> tuple[Array, ...]:
        """Gives the cells row by row, uint32 [] each: bit c for column c."""
        result = []
        for start in range(0, self.num_cells, self.columns):
            number, bit = divmod(start, WORD_BITS)
            word = cells.words[number] >> bit
            if bit + self.columns > WORD_BITS:
                word = word | (cells.words[number + 1] << (WORD_BITS - bit))
            result.append(word & ((1 << self.columns) - 1))
        return tuple(result)

    def from_rows(self, rows: Sequence[Array]) -> Bits:
        """Makes a set of its rows: the inverse of `rows_of`."""
        words = [jnp.uint32(0)] * self.num_words
        for index, row in enumerate(rows):
            number, bit = divmod(index * self.columns, WORD_BITS)
            words[number] = words[number] | (row << bit)
            if bit + self.columns > WORD_BITS:
                words[number + 1] = words[number + 1] | (row >> (WORD_BITS - bit))
        return Bits(tuple(words))

    @functools.cached_property
    def _may_come(self) -> tuple[Bits, ...]:
        """Per direction the cells that a move in it may end in."""
        return tuple(self._may_go[OPPOSITE[direction]] for direction in DIRECTIONS)

    def row(self, index: int) -> Bits:
        """The cells of a row, 0..rows - 1; leaves are numpy scalars."""
        return self.constant(range(index * self.columns, (index + 1) * self.columns))

    def column(self, index: int) -> Bits:
        """The cells of a column, 0..columns - 1; leaves are numpy scalars."""
        return self.constant(range(index, self.num_cells, self.columns))

    def shift(self, cells: Bits, direction: int) -> Bits:
        """Moves every cell by one; what leaves the board is dropped.

        Args:
          cells: the set.
          direction: UP, DOWN, LEFT or RIGHT (a Python int).

        Returns:
          The moved set.
        """
        if direction in (LEFT, RIGHT) or direction == DOWN:
            cells = cells & self._may_go[direction]
        return self.slide(cells, direction)

    def slide(self, cells: Bits, direction: int) -> Bits:
        """`shift` without its check of the border: only for sets that have no cell at that border."""
        distance = self.columns if direction in (UP, DOWN) else 1
        return shifted(cells, distance if direction in (DOWN, RIGHT) else -distance)

    def advance(self, cells: Bits, distance: int) -> Bits:
        """Adds `distance` (a Python int) to the number of every cell, over the ends of rows, and beyond the board's last cell."""
        return shifted(cells, distance)

    def open_towards(self, cells: Bits, direction: int) -> Bits:
        """Gives those of `cells` from which one step in `direction` stays on the board."""
        return cells & self._may_go[direction]

    def translate(self, cells: Bits, rows: int, columns: int) -> Bits:
        """Moves every cell by so many rows down and columns right (Python ints); what leaves the board is dropped."""
        kept = [self.column(index) for index in range(self.columns) if 0 <= index + columns < self.columns]
        if not kept or abs(rows) >= self.rows:
            return self.empty
        if columns:
            cells = cells & union(kept)
        moved = shifted(cells, rows * self.columns + columns)
        return moved & self.full if rows > 0 else moved

    def centred(self, cells: Bits, cell: Array) -> Bits:
        """Moves a set so that `cell` (int [], on the board) comes to the middle; what leaves the board is dropped.

        It is one shift of the whole set by a distance that is not known before, then what has run over a border is taken away.
        """
        rows, columns = self.rows // 2 - self.row_of(cell), self.columns // 2 - self.column_of(cell)
        whole_row = jnp.uint32((1 << self.columns) - 1)
        to_right, to_left = (jnp.maximum(distance, 0).astype(jnp.uint32) for distance in (columns, -columns))
        lands = (whole_row << to_right) & (whole_row >> to_left)
        farthest = self.rows // 2 * self.columns + self.columns // 2
        moved = shifted_by(cells, rows * self.columns + columns, -(-farthest // WORD_BITS))
        return moved & self.from_rows([lands] * self.rows)

    def neighbours(self, cells: Bits) -> Bits:
        """Gives all cells next to a cell of the set (4-neighbourhood)."""
        # What has run over a border is taken away afterwards: every word of the set is then used as it is, so that XLA makes one
        # kernel of it all.
        return union(self.slide(cells, direction) & self._may_come[direction] for direction in DIRECTIONS)

    def one_hot(self, cell: Array) -> Bits:
        """Gives the set of one cell; a number outside [0, 32 * num_words) gives the empty set.

        Args:
          cell: int [].
        """
        index = cell.astype(jnp.int32)
        bit = jnp.uint32(1) << (index & 31).astype(jnp.uint32)
        number = index >> 5
        return Bits(tuple(jnp.where(number == i, bit, jnp.uint32(0)) for i in range(self.num_words)))

    def row_of(self, cell: Array) -> Array:
        """Row of a cell on the board, int32 []: a multiplication, as division is slow on vectors."""
        multiplier = -(-(1 << 16) // self.columns)  # exact for every grid of this size
        return (cell.astype(jnp.int32) * multiplier) >> 16

    def column_of(self, cell: Array) -> Array:
        """Column of a cell on the board, int32 []."""
        return cell.astype(jnp.int32) - self.columns * self.row_of(cell)

    def flood(self, start: Bits, inside: Bits) -> Bits:
        """Grows `start` through `inside` until nothing is added; `start` itself is kept.

        Under vmap the loop runs until the slowest game is done, for all games at once: those whose set is full stay as they
        are, and nothing is chosen in a round.
        """

        def grow(steps: int, inside: Bits, cells: Bits) -> tuple[Bits, Array]:
            before = cells
            for _ in range(steps):
                before = cells
                cells = before | (self.neighbours(before) & inside)
            return cells, (cells ^ before).merged()

        def fill(steps: int, inside: Bits, start: tuple[Bits, Array]) -> Bits:
            return jax.lax.while_loop(lambda carry: any_lane(carry[1]), lambda carry: grow(steps, inside, carry[0]), start)[0]

        def by_looks(start: Bits, inside: Bits) -> Bits:
            return fill(_STEPS_PER_ROUND, inside, (start, start.merged()))

        def at_once(start: Bits, inside: Bits) -> Bits:
            most = self.num_cells // 2 + 1  # ways through a board are seldom longer; one step sees that nothing is added
            return fill(min(_LATER_STEPS, most), inside, grow(min(_FIRST_STEPS, most), inside, start))

        flood = all_lanes(lambda start, inside: by_platform(start, inside, cpu=by_looks, default=at_once))
        return flood(*jax.tree.map(jnp.asarray, (start, inside)))

    def to_numpy(self, cells: Bits) -> np.ndarray:
        """Unpacks a set on the host. Returns int8 [num_cells] (after the batch axes of the words)."""
        words = np.stack(np.broadcast_arrays(*(np.asarray(word) for word in cells.words)), axis=-1)
        bits = (words[..., None] >> np.arange(WORD_BITS, dtype=np.uint32)) & 1
        return bits.reshape(*words.shape[:-1], -1)[..., : self.num_cells].astype(np.int8)

    def to_bool(self, cells: Bits) -> Array:
        """Unpacks a set. Returns bool [rows, columns] (after the batch axes of the words)."""
        words = jnp.stack(jnp.broadcast_arrays(*cells.words), axis=-1)
        bits = (words[..., None] >> np.arange(WORD_BITS, dtype=np.uint32)) & 1
        flat = bits.reshape(*words.shape[:-1], -1)[..., : self.num_cells]
        return flat.reshape(*words.shape[:-1], self.rows, self.columns) != 0

    def from_numpy(self, mask: np.ndarray) -> Bits:
        """Packs bool [..., rows, columns] into a set on the host, of numpy words."""
        padded = np.zeros((*mask.shape[:-2], self.num_words * WORD_BITS), bool)
        padded[..., : self.num_cells] = mask.reshape(*mask.shape[:-2], self.num_cells)
        words = np.packbits(padded, axis=-1, bitorder="little").view("<u4").astype(np.uint32)
        columns: Any = (np.array(words[..., i]) for i in range(self.num_words))
        return Bits(tuple(columns))
