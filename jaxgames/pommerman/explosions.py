"""Bombs tick, explode and set each other off; what the blasts reach (clauses S10 and S11 of the rules)."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import sliced
from jaxgames.bitboard import DIRECTIONS, DOWN, LEFT, RIGHT, UP, Grid
from jaxgames.bits import Bits, union
from jaxgames.fusion import all_lanes, any_lane
from jaxgames.platforms import by_platform
from jaxgames.pommerman.constants import START_BLAST_STRENGTH
from jaxgames.pommerman.state import Bombs

# Of bombs that set others off, on accelerators, which ask the host at each look whether there are more; chains are seldom longer.
_ROUNDS_BEFORE_A_LOOK = 3


def tick(bombs: Bombs, burning: Bits) -> tuple[tuple[Bits, ...], Bits]:
    """Counts every bomb down by one.

    Args:
      bombs: all bombs, the ones laid in this step included.
      burning: cells with flames left from earlier steps.

    Returns:
      life: the new lives, 4 digits.
      due: bombs that explode by themselves: their time is over, or they have rolled into flames.
    """
    life = sliced.decrement(bombs.life)
    before = bombs.cells
    return life, (before - union(life)) | (before & burning)


def explode(
    grid: Grid, bombs: Bits, strength: tuple[Bits, ...], due: Bits, rigid: Bits, wood: Bits, max_strength: int
) -> tuple[Bits, Bits]:
    """Explodes the bombs that are due and all that they set off.

    Args:
      grid: the board.
      bombs: all bombs.
      strength: their blast strengths, 4 digits.
      due: bombs that explode by themselves.
      rigid: walls that stop a blast before them.
      wood: walls that are burnt and stop a blast.
      max_strength: no bomb is stronger (a Python int).

    Returns:
      exploded: the bombs that are gone.
      blast: all cells reached.
    """

    # All games of a batch at once: those without anything to explode have no sources, and stay as they are.
    def chain(first: int, bombs: Bits, strength: tuple[Bits, ...], due: Bits, rigid: Bits, wood: Bits) -> tuple[Bits, Bits]:
        # A ray may leave a cell in a direction when the cell is no wall and not at that border.
        passable = grid.full - rigid - wood
        leave = tuple(grid.open_towards(passable, direction) for direction in DIRECTIONS)

        def spread(carry: tuple[Bits, Bits, Bits]) -> tuple[Bits, Bits, Bits]:
            exploded, blast, lit = carry
            blast = blast | (_reached(grid, lit, strength, leave, max_strength) - rigid)
            caught = (bombs & blast) - exploded
            return exploded | caught, blast, caught

        start = (due, due - rigid, due)
        for _ in range(first):
            start = spread(start)
        return jax.lax.while_loop(lambda carry: any_lane(carry[2].merged()), spread, start)[:2]

    ways = {"cpu": functools.partial(chain, 0), "default": functools.partial(chain, _ROUNDS_BEFORE_A_LOOK)}
    return all_lanes(lambda *sets: by_platform(*sets, **ways))(bombs, strength, due, rigid, wood)


def _reached(grid: Grid, sources: Bits, strength: tuple[Bits, ...], leave: Sequence[Bits], max_strength: int) -> Bits:
    """Gives the cells that blasts reach from `sources`, which may be of all lanes, without the sources."""
    nothing = sources - sources

    def by_strength(sources: Bits, strength: tuple[Bits, ...], leave: Sequence[Bits]) -> Bits:
        values = range(START_BLAST_STRENGTH, max_strength + 1)
        return all_rays(grid, nothing, [sliced.equal(strength, value, sources) for value in values], leave)

    def up_to_the_strongest(sources: Bits, strength: tuple[Bits, ...], leave: Sequence[Bits]) -> Bits:
        # As in `_rays`, but it begins with the strongest that is there: most bombs are weak.
        def further(carry: tuple[Array, tuple[Bits, ...], Bits]) -> tuple[Array, tuple[Bits, ...], Bits]:
            value, fronts, reached = carry
            joining = sliced.equal_to(strength, value, sources)
            fronts = tuple(grid.slide((front | joining) & leave[d], d) for d, front in zip(DIRECTIONS, fronts, strict=True))
            return value - 1, fronts, reached | union(fronts)

        strongest = jnp.minimum(sliced.highest(strength, sources)[0].max(), max_strength)
        start = (strongest, (nothing,) * len(DIRECTIONS), nothing)
        return jax.lax.while_loop(lambda carry: carry[0] >= START_BLAST_STRENGTH, further, start)[2]

    # Accelerators are asked after each round of a loop, which costs them more than rays to nowhere.
    return by_platform(sources, strength, leave, cpu=up_to_the_strongest, default=by_strength)


def all_rays(grid: Grid, cells: Bits, sources: Sequence[Bits], leave: Sequence[Bits]) -> Bits:
    """Adds to a set of cells what blasts reach from it.

    Args:
      grid: the board.
      cells: the set.
      sources: those of its cells that send a blast, by its strength, from `START_BLAST_STRENGTH` up.
      leave: per direction, the cells that a ray may leave.
    """
    for direction in DIRECTIONS:
        cells = cells | _rays(grid, sources, leave[direction], direction)
    return cells


def _rays(grid: Grid, sources: Sequence[Bits], leave: Bits, direction: int) -> Bits:
    """Sends rays in one direction; the last list entry is the strongest group.

    All rays advance together: the strongest start first and the weaker join when that is how far they still have to go.
    """
    reached, front = [], None
    for group in reversed(sources):
        front = group if front is None else front | group
        front = grid.slide(front & leave, direction)
        reached.append(front)
    return union(reached)


def may_be_hit(grid: Grid, bombs: Bits, strength: tuple[Bits, ...], max_strength: int) -> Bits:
    """Marks row and column of each bomb as far as its strength, one cell more than it reaches, through walls.

    This is the careless margin of the published planner's mask (`rules.legal_moves`).
    """
    return union(_grow(grid, _in_line(grid, bombs, strength, max_strength)))


def in_reach(grid: Grid, bombs: Bits, strength: tuple[Bits, ...], max_strength: int) -> Bits:
    """Marks row and column of each bomb as far as it reaches, through walls."""
    return union(_in_line(grid, bombs, strength, max_strength))


def _in_line(grid: Grid, bombs: Bits, strength: tuple[Bits, ...], max_strength: int) -> tuple[Bits, Bits]:
    """Gives the cells of each bomb's row and those of its column that are in its reach, without a look at walls."""
    lines = (grid.empty, grid.empty)
    for value in range(max_strength, START_BLAST_STRENGTH - 1, -1):
        group = sliced.equal(strength, value, bombs)
        lines = _grow(grid, (lines[0] | group, lines[1] | group))
    for _ in range(START_BLAST_STRENGTH - 2):
        lines = _grow(grid, lines)
    return lines


def _grow(grid: Grid, lines: tuple[Bits, Bits]) -> tuple[Bits, Bits]:
    """Lengthens rows and columns by a cell at both ends."""
    rows, columns = lines
    return (
        rows | grid.shift(rows, LEFT) | grid.shift(rows, RIGHT),
        columns | grid.shift(columns, UP) | grid.shift(columns, DOWN),
    )
