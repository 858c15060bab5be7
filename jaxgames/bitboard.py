"""Boards as sets of cells: 32-bit words in separate leaves, so that every operation is elementwise over a batch.

A `Bits` is a set of cells and behaves like one: `a & b`, `a | b`, `a ^ b`, and `a - b` for what is in `a` but not in `b`.
There is no complement, because the unused bits of the last word must stay zero: write `grid.full - a`.
A `Grid` knows the geometry: moving a set by one cell, the set of one cell, and conversions to arrays.

Numbers per cell are tuples of sets: see `sliced`.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import operator
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.fusion import all_lanes, any_lane
from jaxgames.platforms import by_platform

Tree = TypeVar("Tree")

WORD_BITS = 32
_STEPS_PER_ROUND = 3  # of a flood between two looks whether it is done
# On accelerators, which ask the host at each look, and that takes as long as hundreds of steps: before the first look, and from
# look to look.
_FIRST_STEPS, _LATER_STEPS = 24, 12

UP, DOWN, LEFT, RIGHT = 0, 1, 2, 3
DIRECTIONS = (UP, DOWN, LEFT, RIGHT)
OPPOSITE = (DOWN, UP, RIGHT, LEFT)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Bits:
    """A set of cells.

    Attributes:
      words: uint32 [] each (or a common batch shape); cell `c` is bit `c % 32` of word `c // 32`.
    """

    words: tuple[Array, ...]

    def __and__(self, other: Bits) -> Bits:
        return Bits(tuple(a & b for a, b in zip(self.words, other.words, strict=True)))

    def __or__(self, other: Bits) -> Bits:
        return Bits(tuple(a | b for a, b in zip(self.words, other.words, strict=True)))

    def __xor__(self, other: Bits) -> Bits:
        return Bits(tuple(a ^ b for a, b in zip(self.words, other.words, strict=True)))

    def __sub__(self, other: Bits) -> Bits:
        return Bits(tuple(a & ~b for a, b in zip(self.words, other.words, strict=True)))

    def any(self) -> Array:
        """Says whether the set has a cell. Returns bool []."""
        return self.merged() != 0

    def merged(self) -> Array:
        """Gives one word that is zero where the set is empty, uint32 []: what a loop over many lanes looks at."""
        return functools.reduce(jnp.bitwise_or, self.words)

    def overlaps(self, other: Bits) -> Array:
        """Says whether the two sets share a cell. Returns bool []."""
        return (self & other).any()

    def count(self) -> Array:
        """Counts the cells. Returns int32 []."""
        return functools.reduce(operator.add, (jax.lax.population_count(word).astype(jnp.int32) for word in self.words))

    def has(self, cell: Array) -> Array:
        """Says whether `cell` (int [], on the board) is in the set. Returns bool []."""
        index = cell.astype(jnp.int32)
        words, half = list(self.words), 1 << (len(self.words) - 1).bit_length()
        while half > 1:  # by halves, as in `pick`: as many selections as a chain has, but few comparisons
            half >>= 1
            words = _half((index & (WORD_BITS * half)) != 0, words, half)
        return ((words[0] >> (index & (WORD_BITS - 1)).astype(jnp.uint32)) & 1) != 0

    def when(self, condition: Array) -> Bits:
        """Gives the set itself where `condition` (bool []) holds, else the empty set."""
        return Bits(tuple(jnp.where(condition, word, jnp.uint32(0)) for word in self.words))

    def first(self) -> Array:
        """Gives the lowest cell, int32 []; `32 * number of words` for the empty set."""
        return lowest_bit(enumerate(self.words), WORD_BITS * len(self.words))

    def last(self) -> Array:
        """Gives the highest cell, int32 []; -1 for the empty set."""
        cell = jnp.int32(-1)
        for i, word in enumerate(self.words):
            highest = (WORD_BITS * i + 31) - jax.lax.clz(word).astype(jnp.int32)
            cell = jnp.where(word != 0, highest, cell)
        return cell

    def pick(self, rank: Array) -> Array:
        """Gives the cell with exactly `rank` cells of the set below it.

        Args:
          rank: int32 [], in [0, count).

        Returns:
          int32 [], a cell; for a rank out of range any number.
        """
        counts = [jax.lax.population_count(word).astype(jnp.int32) for word in self.words]
        words, first = list(self.words), jnp.int32(0)
        # By halves: a chain over the words would be as deep as there are words, and the compiler works out every link of a chain
        # once per use.
        while len(words) > 1:
            half = 1 << ((len(words) - 1).bit_length() - 1)
            below = functools.reduce(operator.add, counts[:half])
            beyond = rank >= below
            words, counts = _half(beyond, words, half), _half(beyond, counts, half)
            rank = jnp.where(beyond, rank - below, rank)
            first = jnp.where(beyond, first + WORD_BITS * half, first)
        return first + _pick_in_word(words[0], rank)


def lowest_bit(words: Iterable[tuple[int, Array]], nothing: int) -> Array:
    """Gives the lowest bit of numbered words, int32 [].

    Args:
      words: uint32 [] each, with their numbers: bit 0 of word n is 32 n.
      nothing: the result if all are zero; above every bit.
    """
    # By halves, as in `Bits.pick`.
    found = [(jnp.int32(number), word) for number, word in sorted(words, key=operator.itemgetter(0))]
    while len(found) > 1:
        pairs = zip(found[::2], found[1::2], strict=False)
        halved = [select(low[1] != 0, low, high) for low, high in pairs]
        found = halved + found[len(found) & ~1 :]
    if not found:
        return jnp.int32(nothing)
    number, word = found[0]
    bit = WORD_BITS * number + jax.lax.population_count(~word & (word - 1)).astype(jnp.int32)
    return jnp.where(word != 0, bit, nothing)


def _half(second: Array, parts: list[Array], half: int) -> list[Array]:
    """Chooses the first `half` of some arrays or the others, followed by zeros."""
    zero = jnp.zeros_like(parts[0])
    others = parts[half:] + [zero] * (2 * half - len(parts))
    return [jnp.where(second, b, a) for a, b in zip(parts[:half], others, strict=True)]


def select(condition: Array, if_true: Tree, if_false: Tree) -> Tree:
    """Chooses between two pytrees of equal structure by one bool []."""
    chosen: Tree = jax.tree.map(lambda a, b: jnp.where(condition, a, b), if_true, if_false)
    return chosen


def union(sets: Iterable[Bits]) -> Bits:
    """Gives the union of one or more sets."""
    return functools.reduce(lambda a, b: a | b, sets)


def stacked(sets: Sequence[Bits]) -> Bits:
    """Puts N sets into one with words [N], to be worked on side by side."""
    return Bits(tuple(jnp.stack(words) for words in zip(*(cells.words for cells in sets), strict=True)))


def nth(sets: Bits, index: int) -> Bits:
    """Takes one of the sets that `stacked` put together (a Python int)."""
    return Bits(tuple(word[index] for word in sets.words))


def _pick_in_word(word: Array, rank: Array) -> Array:
    """Binary search for the bit of `word` with `rank` set bits below it."""
    position, rest = jnp.zeros_like(rank), rank
    for width in (16, 8, 4, 2, 1):
        low = (word >> position.astype(jnp.uint32)) & jnp.uint32((1 << width) - 1)
        inside = jax.lax.population_count(low).astype(jnp.int32)
        above = rest >= inside
        position = jnp.where(above, position + width, position)
        rest = jnp.where(above, rest - inside, rest)
    return position


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
        """The set of all cells, likewise."""
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
        """The cells of a row, 0..rows - 1, likewise."""
        return self.constant(range(index * self.columns, (index + 1) * self.columns))

    def column(self, index: int) -> Bits:
        """The cells of a column, 0..columns - 1, likewise."""
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
        return _shift_words(cells, distance if direction in (DOWN, RIGHT) else -distance)

    def advance(self, cells: Bits, distance: int) -> Bits:
        """Adds `distance` (a Python int) to the number of every cell, over the ends of rows, and beyond the board's last cell."""
        return _shift_words(cells, distance)

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
        moved = _shift_words(cells, rows * self.columns + columns)
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
        moved = _shift_by(cells, rows * self.columns + columns, -(-farthest // WORD_BITS))
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


def _shift_words(cells: Bits, distance: int) -> Bits:
    """Adds `distance` to every cell number; numbers below zero and beyond the last word drop out."""
    whole, part = divmod(abs(distance), WORD_BITS)
    words = cells.words if distance >= 0 else cells.words[::-1]
    zero = jnp.zeros_like(words[0])
    moved = ((zero,) * whole + words)[: len(words)]
    if part:
        carried = (None, *moved[:-1])
        there, back = (_left, _right) if distance > 0 else (_right, _left)
        moved = tuple(
            there(word, part) if low is None else there(word, part) | back(low, WORD_BITS - part)
            for word, low in zip(moved, carried, strict=True)
        )
    return Bits(moved if distance >= 0 else moved[::-1])


def _shift_by(cells: Bits, distance: Array, most: int) -> Bits:
    """Adds `distance` (int32 [], of at most `most` words either way) to every cell number, as `_shift_words` does."""
    zero, count = jnp.zeros_like(cells.words[0]), len(cells.words)
    whole, part = (distance >> 5) + most, (distance & 31).astype(jnp.uint32)

    def before(index: int) -> Array:
        """The word that comes to be the one at `index` when whole words are moved."""
        word = zero
        for step in range(2 * most + 1):
            source = index + most - step
            if 0 <= source < count:
                word = jnp.where(whole == step, cells.words[source], word)
        return word

    moved = [before(index) for index in range(-1, count)]
    # In two shifts, as one by the length of a word would not be defined.
    return Bits(tuple((high << part) | ((low >> 1) >> (31 - part)) for low, high in itertools.pairwise(moved)))


# Each shift of a traced word is the call of a compiled function. XLA puts such functions into their callers late, so the distance
# stays a constant of this shift alone and becomes a part of its kernel. Constants that several kernels share stay outside of them
# with multi-output fusion, and a kernel asks of a distance that it does not know whether it is below 32.
_shifted_left = jax.jit(operator.lshift, static_argnums=1)
_shifted_right = jax.jit(operator.rshift, static_argnums=1)


def _left(word: Any, distance: int) -> Any:
    return _shifted_left(word, distance) if isinstance(word, jax.Array) else word << distance


def _right(word: Any, distance: int) -> Any:
    return _shifted_right(word, distance) if isinstance(word, jax.Array) else word >> distance
