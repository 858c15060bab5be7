"""Sets of cells as 32-bit words in separate leaves, so that every operation is elementwise over a batch.

A `Bits` is a set of cells and behaves like one: `a & b`, `a | b`, `a ^ b`, and `a - b` for what is in `a` but not in `b`.
There is no complement, because the unused bits of the last word must stay zero: write `grid.full - a`.
What depends on the shape of the board is in `bitboard`; numbers per cell are tuples of sets: see `sliced`.
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
from jax import Array

Tree = TypeVar("Tree")

WORD_BITS = 32


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


def shifted(cells: Bits, distance: int) -> Bits:
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


def shifted_by(cells: Bits, distance: Array, most: int) -> Bits:
    """Adds `distance` (int32 [], of at most `most` words either way) to every cell number, as `shifted` does."""
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
