"""What a SimpleUnbiasedAgent remembers, and what it makes of that."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from jaxgames import random_bits
from jaxgames.bitboard import DIRECTIONS
from jaxgames.bits import select
from jaxgames.packing import packed_flags
from jaxgames.pommerman import orders
from jaxgames.pommerman.config import PommermanConfig
from jaxgames.pommerman.constants import Move

MEMORY_LENGTH = 4
NOWHERE = 0
NUM_DIRECTIONS = len(DIRECTIONS)


class UnbiasedMemory(NamedTuple):
    """What a SimpleUnbiasedAgent remembers.

    Attributes:
      intended: 4 cells, uint8 [] each, the oldest first: where its last moves were to lead, numbered row by row on a board with
        a rim one cell wide, as a move may lead off the board. Entries from `num_intended` on do not count; `NOWHERE` is no cell.
      num_intended: uint8 [], how many of them there are.
      seats: uint16 [], order of the seats, or 0: orders are still to be drawn.
      rows, columns: orders of the rows and of the columns.
    """

    intended: tuple[Array, ...]
    num_intended: Array
    seats: Array
    rows: orders.Order
    columns: orders.Order


class Chance(NamedTuple):
    """The chance in one decision.

    Attributes:
      directions: an order of the directions, for a safe step (F).
      choice: uint32 [], for the choice between equal moves (C or F).
    """

    directions: orders.Order
    choice: Array


def init_memory(config: PommermanConfig) -> UnbiasedMemory:
    """Gives the memory of a fresh agent, whose orders are not drawn yet."""
    unset = orders.unset(config.board_size)
    return UnbiasedMemory((jnp.uint8(NOWHERE),) * MEMORY_LENGTH, jnp.uint8(0), jnp.uint16(0), unset, unset)


def draw_chance(config: PommermanConfig, memory: UnbiasedMemory, lane: random_bits.LaneKey) -> tuple[UnbiasedMemory, Chance]:
    """Draws the chance of one decision, and the orders where the memory has none.

    Args:
      config: the variant.
      memory: what the agent remembers.
      lane: a fresh key; its counters below 64 are used up.

    Returns:
      memory: with orders.
      chance: for one decision.
    """
    size, seats = config.board_size, config.num_players
    chance = Chance(orders.draw(lane, 1, NUM_DIRECTIONS), random_bits.bits(lane, 0))
    rows, columns = orders.draw(lane, 16, size), orders.draw(lane, 32, size)
    drawn = memory._replace(seats=orders.draw(lane, 48, seats)[0].astype(jnp.uint16), rows=rows, columns=columns)
    return select(memory.seats == 0, drawn, memory), chance


def to_and_fro(memory: UnbiasedMemory) -> Array:
    """C: says whether each of the older half of its intended cells is the one two moves later.

    With none or one it is said to be so; with two, the oldest is compared with an entry that does not count.
    """
    first, second, third, fourth = memory.intended
    return (memory.num_intended < 2) | ((first == third) & ((memory.num_intended < MEMORY_LENGTH) | (second == fourth)))


def target_of(config: PommermanConfig, cell: Array, move: Array) -> Array:
    """Gives where a move leads, in the numbers of `UnbiasedMemory.intended`: int32 []."""
    grid, width = config.grid, config.board_size + 2
    target = (grid.row_of(cell) + 1) * width + grid.column_of(cell) + 1
    for chosen, change in ((Move.UP, -width), (Move.DOWN, width), (Move.LEFT, -1), (Move.RIGHT, 1)):
        target = target + jnp.where(move == int(chosen), change, 0)
    return target


def remember(memory: UnbiasedMemory, target: Array) -> UnbiasedMemory:
    """Adds the cell of a move, in place of the oldest if there are four."""
    full, target = memory.num_intended == MEMORY_LENGTH, target.astype(jnp.uint8)
    kept = select(full, (*memory.intended[1:], target), memory.intended)
    intended = tuple(jnp.where(memory.num_intended == index, target, cell) for index, cell in enumerate(kept))
    return memory._replace(
        intended=intended, num_intended=jnp.where(full, memory.num_intended, memory.num_intended + 1).astype(jnp.uint8)
    )


def safe_step(config: PommermanConfig, memory: UnbiasedMemory, cell: Array, safe: Array, chance: Chance) -> tuple[Array, Array]:
    """F: chooses a safe direction among the first two of a list.

    The list has the safe directions in a random order. As many times as it is long, the entry looked at is taken out if it leads
    to an intended cell, and the entry that now stands in its place is added at the end once more: not the one taken out, as was
    surely meant, unless that was the last. Else the next entry is looked at.

    Args:
      config: the variant.
      memory: what the agent remembers.
      cell: int32 [], where it stands.
      safe: uint32 [], bits of the safe directions.
      chance: fresh.

    Returns:
      steps: bool [], there is one.
      direction: int32 [].
    """
    targets = [target_of(config, cell, jnp.int32(direction + int(Move.UP))) for direction in DIRECTIONS]
    visited = packed_flags(
        [
            packed_flags([(memory.num_intended > i) & (past == target) for i, past in enumerate(memory.intended)]) != 0
            for target in targets
        ]
    )
    length, entries = jnp.uint32(0), jnp.uint32(0)  # of the list; 4 bits each
    for direction in orders.entries_of(chance.directions, NUM_DIRECTIONS):
        ok = (safe >> direction) & 1
        entries = entries | (ok * direction) << (orders.ENTRY_BITS * length)
        length = length + ok
    place = jnp.uint32(0)  # of the entry looked at, in bits
    for count in range(NUM_DIRECTIONS):
        entry = (entries >> place) & (orders.MOST - 1)
        moves = (((visited >> entry) & 1) != 0) & (count < length)
        below = (jnp.uint32(1) << place) - 1
        end = orders.ENTRY_BITS * (length - 1)
        shorter = (entries & below) | ((entries >> orders.ENTRY_BITS) & ~below)
        added = jnp.where(place == end, entry, (shorter >> place) & (orders.MOST - 1))
        entries = jnp.where(moves, shorter | (added << end), entries)
        place = jnp.where(moves, place, place + orders.ENTRY_BITS)
    chosen = random_bits.below(chance.choice, jnp.minimum(length, 2)).astype(jnp.uint32)
    direction = (entries >> (orders.ENTRY_BITS * chosen)) & (orders.MOST - 1)
    return length > 0, direction.astype(jnp.int32)
