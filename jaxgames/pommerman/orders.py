"""Orders of a few numbers (permutations), packed into words: what comes first in an order costs a few operations."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import jax.numpy as jnp
from jax import Array

from jaxgames import random_bits

ENTRY_BITS = 4
ENTRIES_PER_WORD = 8
MOST = 1 << ENTRY_BITS

Order = tuple[Array, ...]
"""An order of the numbers 0 .. count - 1, at most 16: uint32 [] each, entry i in the bits from 4 (i % 8) of word i // 8."""


def unset(count: int) -> Order:
    """Gives words for an order of `count` numbers, all zero, which is none."""
    return (jnp.uint32(0),) * num_words(count)


def num_words(count: int) -> int:
    """Says how many words an order of `count` numbers takes."""
    return -(-count // ENTRIES_PER_WORD)


def draw(lane: random_bits.LaneKey, first: int, count: int) -> Order:
    """Draws an order, each of them equally likely.

    Args:
      lane: its counters from `first` to `first + count - 1` are used up.
      first: see above (a Python int).
      count: how many numbers (a Python int), at most 16.
    """
    words = [random_bits.bits(lane, first + index) for index in range(count)]
    # The place of each word among all of them; words with different counters differ.
    places = [jnp.uint32(0)] * count
    for one, other in itertools.combinations(range(count), 2):
        later = (words[one] < words[other]).astype(jnp.uint32)
        places[other], places[one] = places[other] + later, places[one] + (later ^ 1)
    return pack(places)


def pack(entries: Sequence[Array]) -> Order:
    """Packs the entries (uint32 [] each) of an order."""
    packed = [jnp.uint32(0)] * num_words(len(entries))
    for index, entry in enumerate(entries):
        number, place = divmod(index, ENTRIES_PER_WORD)
        packed[number] = packed[number] | (entry << (ENTRY_BITS * place))
    return tuple(packed)


def entries_of(order: Order, count: int) -> list[Array]:
    """Gives the entries of an order, uint32 [] each; `count` is a Python int."""
    places = [divmod(index, ENTRIES_PER_WORD) for index in range(count)]
    return [(order[number].astype(jnp.uint32) >> (ENTRY_BITS * place)) & (MOST - 1) for number, place in places]


def first(order: Order, count: int, among: Array) -> Array:
    """Gives that number of a set which comes first in an order.

    Args:
      order: the order.
      count: how many numbers it has (a Python int).
      among: uint32 [], the set: bit n for number n.

    Returns:
      int32 [], the number; `count` for the empty set.
    """
    found = jnp.uint32(count)
    for entry in reversed(entries_of(order, count)):
        found = jnp.where(((among >> entry) & 1) != 0, entry, found)
    return found.astype(jnp.int32)


def before_others(order: Order, count: int, among: Array) -> Array:
    """Gives those numbers of a set that come before all that are not in it.

    Args:
      order: the order.
      count: how many numbers it has (a Python int).
      among: uint32 [], the set.

    Returns:
      uint32 [], a set.
    """
    entries = entries_of(order, count)
    others = jnp.uint32(0)  # bit i: entry i is not in the set
    for index, entry in enumerate(entries):
        others = others | ((~(among >> entry) & 1) << index)
    earlier = (others - 1) & ~others  # the bits below the lowest one of `others`
    taken = jnp.uint32(0)
    for index, entry in enumerate(entries):
        taken = taken | (((earlier >> index) & 1) << entry)
    return taken
