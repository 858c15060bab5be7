"""Small numbers per cell, bit-sliced: a tuple of `Bits`, lowest binary digit first, so that all cells are worked on at once."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.bitboard import Grid
from jaxgames.bits import WORD_BITS, Bits, select, union
from jaxgames.fusion import settled, worked_out

Term = tuple[Bits, int]
"""A set of cells and what each of them counts."""


def terms(planes: Sequence[Bits], unit: int = 1) -> tuple[Term, ...]:
    """Gives the digits of a number with what they are worth, in so many units."""
    return tuple((plane, unit * 2**digit) for digit, plane in enumerate(planes))


def weighted_sums(grid: Grid, planes: Sequence[Sequence[Term]]) -> Array:
    """Unpacks many planes at once: in each, a cell has the sum of what the sets that hold it count.

    One kernel writes the result in the order of a network's input; planes unpacked one by one and put together afterwards take
    twice the time on a CPU.

    Args:
      grid: the board.
      planes: P sums of sets, with whole numbers; an empty sum is zero everywhere.

    Returns:
      float32 [rows, columns, P].
    """
    most = max(len(plane) for plane in planes)
    padded = [[*plane, *[(grid.empty, 0)] * (most - len(plane))] for plane in planes]
    sets, counts = zip(*[plane[term] for term in range(most) for plane in padded], strict=True)
    words = jnp.stack([jnp.stack([jnp.asarray(cells.words[index]) for cells in sets]) for index in range(grid.num_words)])
    # Worked out, or the kernel below chooses again among all words for each of its cells.
    words = worked_out(words).reshape(grid.num_words, most, 1, len(planes))
    up_to_the_sign = np.arange(WORD_BITS - 1, -1, -1, dtype=np.uint32)[:, None]
    worth = np.array(counts, np.int32).reshape(most, len(planes))
    total = sum(((words[:, term] << up_to_the_sign).astype(jnp.int32) >> (WORD_BITS - 1)) & worth[term] for term in range(most))
    flat = jnp.asarray(total, jnp.float32).reshape(-1, len(planes))[: grid.num_cells]
    return flat.reshape(grid.rows, grid.columns, len(planes))


def small_numbers(grid: Grid, planes: Sequence[Sequence[Bits]]) -> Array:
    """Unpacks planes of numbers below 16 at once: several times as fast as `weighted_sums` where numbers have several digits.

    Digits are brought together lane by lane, where words of many games are worked on at once; what is left to do in each cell
    is a shift.

    Args:
      grid: the board.
      planes: P numbers, of at most 4 digits each, the lowest first; one without digits is zero everywhere.

    Returns:
      int32 [rows, columns, P].
    """
    count = max((index for index, plane in enumerate(planes, 1) if plane), default=1)  # beyond, all is zero
    rows = zip(*[_packed(grid, plane) for plane in planes[:count]], strict=True)
    # Settled, or the kernel below chooses again among all words for each of its cells.
    words = settled([jnp.stack([word for row in rows for word in row])])[0].reshape(-1, 1, count)
    words = jnp.pad(words, ((0, 0), (0, 0), (0, len(planes) - count)))
    places = np.arange(0, WORD_BITS, _PACKED_BITS, dtype=np.uint32)[:, None]
    found = ((words >> places) & (2**_PACKED_BITS - 1)).astype(jnp.int32)
    return found.reshape(-1, len(planes))[: grid.num_cells].reshape(grid.rows, grid.columns, len(planes))


_PACKED_BITS = 4


def _packed(grid: Grid, plane: Sequence[Bits]) -> list[Array]:
    """Packs numbers of at most 4 digits into uint32 [] each, 8 cells in a word."""
    count = -(-grid.num_cells // (WORD_BITS // _PACKED_BITS))
    packed = [jnp.uint32(0)] * count
    for digit, cells in enumerate(plane):
        for index in range(count):
            number, quarter = divmod(index, 4)
            spread = (cells.words[number] >> (8 * quarter)) & 0xFF
            for distance, mask in ((12, 0x000F000F), (6, 0x03030303), (3, 0x11111111)):
                spread = (spread | (spread << distance)) & mask
            packed[index] = packed[index] | (spread << digit)
    return packed


def equal(planes: Sequence[Bits], value: int, among: Bits) -> Bits:
    """Gives the cells of `among` whose number is `value` (a Python int)."""
    for digit, plane in enumerate(planes):
        among = among & plane if (value >> digit) & 1 else among - plane
    return among


def equal_to(planes: Sequence[Bits], value: Array, among: Bits) -> Bits:
    """Gives the cells of `among` whose number is `value` (int [])."""
    for digit, plane in enumerate(planes):
        flip = ((value >> digit) & 1).astype(jnp.uint32) - 1  # all bits where the digit is 0
        among = Bits(tuple(word & (digits ^ flip) for word, digits in zip(among.words, plane.words, strict=True)))
    return among


def highest(planes: Sequence[Bits], among: Bits) -> tuple[Array, Bits]:
    """Finds the highest number in the cells of `among`, digit by digit.

    On a CPU keep what is compiled with it small (see `hero_academy.ratings.best`): in a large kernel every link of the chain is
    worked out once per use.

    Returns:
      It, int32 [], or -1 if there is no cell, and the cells that have it.
    """
    value = jnp.int32(0)
    for digit, plane in reversed(list(enumerate(planes))):
        high = among & plane
        some = high.any()
        among, value = select(some, high, among), value | jnp.where(some, jnp.int32(1 << digit), 0)
    return jnp.where(among.any(), value, -1), among


def decrement(planes: Sequence[Bits]) -> tuple[Bits, ...]:
    """Subtracts one from every number that is not zero; zeros stay."""
    borrow = union(planes)
    result = []
    for plane in planes:
        result.append(plane ^ borrow)
        borrow = borrow - plane
    return tuple(result)


def write(planes: Sequence[Bits], cells: Bits, value: Array) -> tuple[Bits, ...]:
    """Writes one number (int [], the same for all `cells`) where zeros stand now."""
    number = value.astype(jnp.int32)
    return tuple(plane | cells.when(((number >> digit) & 1) != 0) for digit, plane in enumerate(planes))


def fill(planes: Sequence[Bits], cells: Bits, value: int) -> tuple[Bits, ...]:
    """Writes a Python int into all `cells`, where zeros stand now."""
    return tuple(plane | cells if (value >> digit) & 1 else plane for digit, plane in enumerate(planes))


def keep(planes: Sequence[Bits], cells: Bits) -> tuple[Bits, ...]:
    """Sets all numbers outside `cells` to zero."""
    return tuple(plane & cells for plane in planes)


def drop(planes: Sequence[Bits], cells: Bits) -> tuple[Bits, ...]:
    """Sets all numbers in `cells` to zero."""
    return tuple(plane - cells for plane in planes)


def constants(amounts: Sequence[tuple[Bits, int]]) -> tuple[Bits, ...]:
    """Writes a Python int, not negative, on each set of cells; the sets do not overlap, and elsewhere are zeros."""
    empty = amounts[0][0] - amounts[0][0]
    digits = max(amount for _, amount in amounts).bit_length()
    return tuple(union([empty, *(cells for cells, amount in amounts if (amount >> digit) & 1)]) for digit in range(digits))


def add(first: Sequence[Bits], second: Sequence[Bits]) -> tuple[Bits, ...]:
    """Adds numbers cell by cell; missing digits are zeros."""
    if len(first) < len(second):
        first, second = second, first
    result: list[Bits] = []
    carry: Bits | None = None
    for digit, plane in enumerate(first):
        others = [part for part in (*second[digit : digit + 1], carry) if part is not None]
        total, carried = plane, []
        for other in others:
            carried.append(total & other)
            total = total ^ other
        result.append(total)
        carry = union(carried) if carried else None
    return (*result, carry) if carry is not None else tuple(result)


def subtract(first: Sequence[Bits], second: Sequence[Bits]) -> tuple[tuple[Bits, ...], Bits]:
    """Subtracts numbers, of no more digits, cell by cell.

    Returns:
      The differences, by as many digits as `first` has, and the cells where they are negative (there they are off by a
      power of 2).
    """
    borrow = first[0] - first[0]
    result = []
    for digit, plane in enumerate(first):
        taken = second[digit] if digit < len(second) else None
        if taken is None:
            result.append(plane ^ borrow)
            borrow = borrow - plane
        else:
            result.append(plane ^ taken ^ borrow)
            borrow = ((taken | borrow) - plane) | (taken & borrow)
    return tuple(result), borrow


def to_array(grid: Grid, planes: Sequence[Bits], dtype: Any = jnp.uint8) -> Array:
    """Unpacks the numbers, which must fit into the dtype. Returns [rows, columns] of it (after the batch axes)."""
    return functools.reduce(operator.or_, (grid.to_bool(plane).astype(dtype) << i for i, plane in enumerate(planes)))
