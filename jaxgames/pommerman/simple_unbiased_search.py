"""What a SimpleUnbiasedAgent works out on the board: what can be reached, by which first step, and which bombs reach it.

All of it works on sets of cells, for one agent; `own` is always the set of its cell. Under vmap a search goes on until the
slowest is done.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames.bitboard import DIRECTIONS, DOWN, LEFT, RIGHT, UP, Grid
from jaxgames.bits import Bits, select, union
from jaxgames.fusion import all_lanes, any_lane

FIRST_STEPS = (DOWN, UP, RIGHT, LEFT)
"""The order in which the search looks at neighbours: of equally short ways, it keeps the one whose first step comes first."""


def threats_to(grid: Grid, own: Bits, at_least: Sequence[Bits]) -> Bits:
    """Gives the bombs that the agent is in reach of, walls or not.

    Args:
      grid: the board.
      own: where it stands.
      at_least: at_least[d] are the bombs of strength d or more, d = 0 .. the maximum.
    """
    arms = [own] * len(DIRECTIONS)
    threats = own & at_least[0]
    for strength in range(2, len(at_least)):
        arms = [grid.shift(arm, direction) for arm, direction in zip(arms, DIRECTIONS, strict=True)]
        threats = threats | (union(arms) & at_least[strength])
    return threats


def least(planes: Sequence[Bits], among: Bits) -> Array:
    """Gives the least number in the cells of `among`, int32 []; 0 if there are none."""
    value, some = jnp.int32(0), among.any()
    for digit, plane in reversed(list(enumerate(planes))):
        low = among - plane
        smaller = low.any()
        among = select(smaller, low, among)
        value = value | jnp.where(smaller, 0, jnp.int32(1 << digit))
    return jnp.where(some, value, 0)


def around(center: Array, below: Array | int, above: Array | int) -> Array:
    """Gives the numbers from `center - below` to `center + above` as bits, uint32 []; those below zero drop out.

    Args:
      center: int32 [], at most 10.
      below: int32 [] or a Python int, 0 to 10.
      above: the same.
    """
    row = (jnp.uint32(1) << jnp.asarray(below + above + 1).astype(jnp.uint32)) - 1
    return (row << center.astype(jnp.uint32)) >> jnp.asarray(below).astype(jnp.uint32)


class Reach(NamedTuple):
    """Where an agent can go.

    Attributes:
      cells: all cells that a way leads to, but its own.
      nearest: those cells of a set that are nearest, all equally far.
    """

    cells: Bits
    nearest: Bits


def reach(grid: Grid, own: Bits, walkable: Bits, others: Bits, wanted: Bits) -> Reach:
    """Searches until everything that can be reached is known.

    Args:
      grid: the board.
      own: where the search starts.
      walkable: cells that can be crossed.
      others: cells that can be reached, but not crossed.
      wanted: walkable cells of which the nearest are asked for.
    """
    start = grid.neighbours(own) & walkable
    cells, near = _reach(grid)(start, walkable, wanted)
    return Reach(cells | (grid.neighbours(cells | own) & others), near)


@functools.cache
def _reach(grid: Grid) -> Callable[[Bits, Bits, Bits], tuple[Bits, Bits]]:
    def search(start: Bits, inside: Bits, wanted: Bits) -> tuple[Bits, Bits]:
        def grow(carry: tuple[Bits, Bits, Array]) -> tuple[Bits, Bits, Array]:
            before, near, _ = carry
            # Of what is known, not of what is found in this round: so that all of a round is one kernel.
            near = select(near.any(), near, before & wanted)
            cells = before | (grid.neighbours(before) & inside)
            return cells, near, (cells ^ before).merged()

        # The last round adds nothing, so all cells are looked at for what is wanted.
        return jax.lax.while_loop(lambda carry: any_lane(carry[2]), grow, (start, start - start, start.merged()))[:2]

    return all_lanes(search)


def nearest(grid: Grid, own: Bits, walkable: Bits, wanted: Bits) -> Bits:
    """Gives those cells of `wanted` that are nearest, over walkable cells; they must be walkable."""
    start = (grid.neighbours(own) & walkable).when(wanted.any())
    return _grow(grid, start, walkable, wanted) & wanted


def first_step(grid: Grid, own: Bits, walkable: Bits, goal: Bits) -> Array:
    """Gives the direction of the first step of the way to a cell that the search keeps, int32 [].

    The cells at a distance are visited in the order of the first steps to them, by induction: so of all shortest ways to a
    cell, the one kept is the one whose first step is the first in `FIRST_STEPS`. A search back from the goal meets all of
    these at once.

    Args:
      grid: the board.
      own: where the search starts.
      walkable: cells that can be crossed.
      goal: set of one cell that can be reached; for the empty set the direction is any.
    """
    met = _grow(grid, goal, walkable, grid.neighbours(own))
    direction = jnp.int32(FIRST_STEPS[-1])
    for step in reversed(FIRST_STEPS[:-1]):
        direction = jnp.where(grid.shift(own, step).overlaps(met), step, direction)
    return direction


def _grow(grid: Grid, start: Bits, inside: Bits, until: Bits) -> Bits:
    """Grows `start` through `inside` by a cell at a time, until it meets `until` or nothing is added."""
    return _growth(grid)(start, inside, until)


_GROWTH_STEPS = 2  # in a round of the loop


@functools.cache
def _growth(grid: Grid) -> Callable[[Bits, Bits, Bits], Bits]:
    def search(start: Bits, inside: Bits, until: Bits) -> Bits:
        def go_on(cells: Bits, added: Bits) -> Array:
            return jnp.where(cells.overlaps(until), 0, added.merged())

        def grow(carry: tuple[Bits, Array]) -> tuple[Bits, Array]:
            cells, grows = carry
            for _ in range(_GROWTH_STEPS):
                before = cells
                cells = select(grows != 0, before | (grid.neighbours(before) & inside), before)
                grows = go_on(cells, cells ^ before)
            return cells, grows

        return jax.lax.while_loop(lambda carry: any_lane(carry[1]), grow, (start, go_on(start, start)))[0]

    return all_lanes(search)
