"""What a SimpleAgent works out on the board: how far things are, the first move towards them, where it would be stuck.

All of it works on sets of cells, for one agent, without branches. `own` is always the set of the agent's cell.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames.bitboard import DIRECTIONS, DOWN, LEFT, OPPOSITE, RIGHT, UP, Grid
from jaxgames.bits import Bits, select, union
from jaxgames.platforms import by_platform, repeated

SEARCH_RADIUS = 10  # rows, columns and steps (Manhattan distance) that the official search looks away from the agent


def lines(grid: Grid, cell: Array) -> tuple[Bits, Bits]:
    """Gives all cells of the row and all cells of the column of `cell` (int [])."""
    row, column = grid.row_of(cell), grid.column_of(cell)
    return (
        union(grid.row(index).when(row == index) for index in range(grid.rows)),
        union(grid.column(index).when(column == index) for index in range(grid.columns)),
    )


def cells_after(grid: Grid, own: Bits) -> Bits:
    """Gives all cells with a higher number than the one in `own`: the later ones in row-major order."""
    words, passed = [], jnp.bool_(False)
    for word, full in zip(own.words, grid.full.words, strict=True):
        above = (jnp.uint32(0) - word) & ~word  # the bits above the one that is set; nothing for an empty word
        words.append(jnp.where(passed, full, above & full))
        passed = passed | (word != 0)
    return Bits(tuple(words))


def window(grid: Grid, cell: Array) -> Bits:
    """Gives the rows and columns that the search looks at, from `cell` (int []).

    The official search goes up to, but not including, row `x + 10` and column `y + 10`: from the first row of a board of
    side 11 it does not see the last one. Its limit on the Manhattan distance matters to `any_beyond` alone, because
    nothing within that many steps is farther away.
    """
    if max(grid.rows, grid.columns) <= SEARCH_RADIUS:
        return grid.full
    first_row, first_column = grid.row_of(cell) == 0, grid.column_of(cell) == 0
    unseen = grid.row(SEARCH_RADIUS).when(first_row) | grid.column(SEARCH_RADIUS).when(first_column)
    return grid.full - unseen


def levels(grid: Grid, own: Bits, open_cells: Bits, candidates: Bits, count: int) -> tuple[Bits, ...]:
    """Searches breadth-first.

    Args:
      grid: the board.
      own: where the search starts.
      open_cells: cells that can be crossed, `own` among them.
      candidates: cells that can be reached; those that are not open get a distance but are not crossed.
      count: how many levels (a Python int).

    Returns:
      Entry d is the set of cells at distance d, d = 0..count.
    """

    def grow(carry: tuple[Bits, Bits], _: None) -> tuple[tuple[Bits, Bits], Bits]:
        front, rest = carry
        front = grid.neighbours(front & open_cells) & rest
        return (front, rest - front), front

    def in_a_loop(start: tuple[Bits, Bits]) -> tuple[Bits, ...]:
        # Although straight-line code is a tenth faster with multi-output fusion: without it, XLA's CPU kernels compute each level
        # again for every use in the next one, and ten levels in a row take ten thousand times as long.
        _, fronts = jax.lax.scan(grow, start, None, length=count, unroll=2)
        return tuple(jax.tree.map(lambda words, d=d: words[d], fronts) for d in range(count))

    def in_a_row(start: tuple[Bits, Bits]) -> tuple[Bits, ...]:
        fronts, carry = [], start
        for _ in range(count):
            carry, front = grow(carry, None)
            fronts.append(front)
        return tuple(fronts)

    return (own, *by_platform((own, candidates - own), cpu=in_a_loop, default=in_a_row))


def any_beyond(grid: Grid, own: Bits, open_cells: Bits, candidates: Bits, wanted: Bits, count: int, asked: Array) -> Array:
    """Says whether the search meets a cell of `wanted` at a distance above `count`.

    Hardly any position asks for this, so it stands in a loop of at most one round, which a batch enters only if one of its
    games asks. The loop carries the search itself: XLA moves whatever does not depend on the carry out of a loop, and it
    would then be computed always.

    Args:
      grid: the board.
      own: where the search starts.
      open_cells: cells that can be crossed.
      candidates: cells that can be reached.
      wanted: what is looked for.
      count: see above (a Python int).
      asked: bool [], whether the answer matters; it is False elsewhere.

    Returns:
      bool [].
    """

    def search(carry: tuple[Array, Bits]) -> tuple[Array, Bits]:
        _, start = carry
        ball = repeated(SEARCH_RADIUS, lambda cells: cells | grid.neighbours(cells), start)
        inside = candidates & ball

        def grow(cells: Bits) -> Bits:
            return cells | (grid.neighbours(cells & open_cells) & inside)

        def grow_on(carry: tuple[Bits, Array]) -> tuple[Bits, Array]:
            grown = grow(carry[0])
            return grown, (grown ^ carry[0]).any()

        near = repeated(count, grow, start)
        cells, _ = jax.lax.while_loop(lambda carry: carry[1], grow_on, (near, jnp.bool_(True)))
        return jnp.bool_(False), cells - near

    _, beyond = jax.lax.while_loop(lambda carry: carry[0], search, (asked, own))
    return asked & beyond.overlaps(wanted)


def lowest(cells: Bits) -> Bits:
    """Gives the set of the first cell of a set; empty if that is."""
    words, passed = [], jnp.bool_(False)
    for word in cells.words:
        words.append(jnp.where(passed, jnp.uint32(0), word & (jnp.uint32(0) - word)))
        passed = passed | (word != 0)
    return Bits(tuple(words))


def highest(grid: Grid, cells: Bits) -> Bits:
    """Gives the set of the last cell of a set; empty if that is."""
    return grid.one_hot(cells.last())


def nearest(levels_around: Sequence[Bits], kinds: Sequence[Bits]) -> Bits:
    """Finds what is nearest; of kinds equally near, the last kind.

    Args:
      levels_around: the cells at distance 1, 2, ...
      kinds: the cells of each kind looked for.

    Returns:
      All cells of that kind at that distance; empty if nothing is so near.
    """
    every = union(kinds)
    near = levels_around[-1] & every
    for level in reversed(levels_around[:-1]):
        here = level & every
        near = select(here.any(), here, near)
    found = near & kinds[0]
    for kind in kinds[1:]:
        here = near & kind
        found = select(here.any(), here, found)
    return found


def step_back(grid: Grid, cell: Bits, before: Bits, coin: Array) -> Bits:
    """Gives the parent of a cell in the search: a neighbour one step nearer to the start, each equally likely.

    In the official search a later parent replaces the earlier one with probability 1/2. Up to distance 3 a cell has at most
    two possible parents, because there the distance is the Manhattan distance; so this is one fair coin per cell.

    Args:
      grid: the board.
      cell: set of one cell, at most 3 steps from the start.
      before: open cells one step nearer than the cell.
      coin: bool [].

    Returns:
      Set of one cell; empty if no neighbour is in `before`.
    """
    parents = grid.neighbours(cell) & before
    one = lowest(parents)
    other = parents - one
    return select(coin & other.any(), other, one)


def escapes(
    grid: Grid,
    open_cells: Bits,
    cell: Array,
    beside: Sequence[Bits],
    rays: Sequence[Bits],
    blast_strength: Sequence[Array],
    longest: int,
) -> tuple[Array, ...]:
    """Says for each direction whether the agent can step there and then get away from a bomb that it lays.

    From the next cell `a` it gets away if it can reach a cell off the row and the column of `a`, or one at a distance from
    `a` above the blast strength. Until a path leaves row and column, it is a straight ray; so the rays from `a`, and the
    cells beside them, tell. Rays of one direction from the four next cells never meet: they are filled together.

    Args:
      grid: the board.
      open_cells: cells that can be crossed, without the agent's own, which the bomb blocks.
      cell: int32 [], the agent's cell.
      beside: per direction the set of the next cell, empty if off the board.
      rays: per direction the cells of the agent's row or column on that side.
      blast_strength: int32 [] per direction.
      longest: no ray is longer (a Python int).

    Returns:
      bool [] per direction.
    """
    starts = union(beside) & open_cells
    filled = [_fill(grid, starts, open_cells, direction, longest) for direction in DIRECTIONS]
    above_or_below = grid.shift(open_cells, UP) | grid.shift(open_cells, DOWN)
    left_or_right = grid.shift(open_cells, LEFT) | grid.shift(open_cells, RIGHT)
    sideways = (filled[LEFT] | filled[RIGHT]) & above_or_below
    upright = (filled[UP] | filled[DOWN]) & left_or_right
    # Row and column of each next cell, without the cell itself. In the agent's own line only one side counts.
    row, column = rays[LEFT] | rays[RIGHT], rays[UP] | rays[DOWN]
    row_of_next = (grid.shift(row, UP), grid.shift(row, DOWN), rays[LEFT], rays[RIGHT])
    column_of_next = (rays[UP], rays[DOWN], grid.shift(column, LEFT), grid.shift(column, RIGHT))
    result = []
    for direction in DIRECTIONS:
        away = (sideways & row_of_next[direction]) | (upright & column_of_next[direction])
        away = away | _just_out_of_reach(grid, filled, cell, direction, blast_strength[direction])
        result.append(away.any() & beside[direction].overlaps(open_cells))
    return tuple(result)


def _just_out_of_reach(grid: Grid, filled: Sequence[Bits], cell: Array, direction: int, strength: Array) -> Bits:
    """Gives the cells on the rays of the next cell in `direction` that are one step farther than the blast strength."""
    delta = (-grid.columns, grid.columns, -1, 1)
    targets = []
    for ray in DIRECTIONS:
        if ray != OPPOSITE[direction]:  # there the bomb is in the way
            # A number that has run over the side of the board names a cell on the other side of the agent, where no ray of
            # this direction goes; only a blast longer than the board could name one on this side again.
            target = cell + delta[direction] + delta[ray] * (strength + 1)
            target = jnp.where(strength < grid.columns - 1, target, -1)
            targets.append(filled[ray] & grid.one_hot(target))
    return union(targets)


def _fill(grid: Grid, starts: Bits, open_cells: Bits, direction: int, longest: int) -> Bits:
    """Gives the open cells on straight rays from `starts`, without `starts`."""
    far_side = {LEFT: grid.columns - 1, RIGHT: 0}
    enter = open_cells - grid.column(far_side[direction]) if direction in far_side else open_cells
    front, cells = starts, grid.empty
    for _ in range(longest):
        front = grid.slide(front, direction) & enter
        cells = cells | front
    return cells
