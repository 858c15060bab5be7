"""The SimpleUnbiasedAgent of pomcpp2: the same distribution of decisions, on bit planes.

It is what PommerLearn learnt from, played against and modelled opponents by. The clauses of its decision, in order:

    A  in reach of a bomb: towards a safe place, if the first step is safe
    B  otherwise, with a bomb to lay: next to an enemy, lay it
    C  an enemy within 14 rows and columns together: a random step where it has gone to and fro, else towards the enemy
    D  next to wood, lay a bomb
    E  towards a power-up within 5 rows and columns
    F  a safe step, if possible not where it has just been

Walls do not protect in its eyes, and what bombs do to each other it does not see. Among equals it chooses by orders of the
seats, the rows and the columns, which it draws once per game and keeps in its memory: so it favours no corner in the mean.

All chance comes from JAX keys: the memory holds no generator. Orders are drawn in the first decision after a reset, because
that has a key. pomcpp2 keeps, beyond a reset, the contents of its queue, of which one entry may be looked at once (see
`to_and_fro`); here a new memory is empty, so that no game depends on the one before it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import random_bits, sliced
from jaxgames.bitboard import DIRECTIONS
from jaxgames.bits import Bits, select, union
from jaxgames.packing import packed_flags
from jaxgames.pommerman import explosions, orders
from jaxgames.pommerman.config import PommermanConfig
from jaxgames.pommerman.constants import Move
from jaxgames.pommerman.observation import Observation
from jaxgames.pommerman.simple_scene import Scene, enemies_of, look
from jaxgames.pommerman.simple_seats import decide_all, decide_seats
from jaxgames.pommerman.simple_unbiased_memory import (
    NUM_DIRECTIONS,
    Chance,
    UnbiasedMemory,
    draw_chance,
    remember,
    safe_step,
    target_of,
    to_and_fro,
)
from jaxgames.pommerman.simple_unbiased_search import around, first_step, least, nearest, reach, threats_to
from jaxgames.pommerman.state import Bomber, State

CHASE_RADIUS, ITEM_RADIUS = 14, 5


def decide(
    config: PommermanConfig, observation: Observation, memory: UnbiasedMemory, chance: Chance
) -> tuple[Array, UnbiasedMemory]:
    """Chooses the move of one SimpleUnbiasedAgent.

    Args:
      config: the variant.
      observation: what the agent sees.
      memory: what it remembers, with orders.
      chance: fresh.

    Returns:
      move: int32 [], a `Move`; for a dead agent some move, which the game ignores.
      memory: after the decision.
    """
    outlook = _survey(config, _look(config, observation), observation.seat, observation.own, memory)
    return _choose(config, outlook, memory, chance)


def all_unbiased_moves(
    config: PommermanConfig, state: State, memories: tuple[UnbiasedMemory, ...], lane: random_bits.LaneKey
) -> tuple[tuple[Array, ...], tuple[UnbiasedMemory, ...]]:
    """Chooses the moves of all seats: the fastest way to let SimpleUnbiasedAgents play each other.

    Args:
      config: the variant.
      state: one game; each agent decides by its own observation alone.
      memories: one per seat.
      lane: fresh chance; its children below P are used up.

    Returns:
      moves: int32 [] per seat.
      memories: after the decisions.
    """
    return decide_all(config, state, memories, functools.partial(_look, config), _seat_decision(config, lane))


def some_unbiased_moves(
    config: PommermanConfig, state: State, seats: Array, memories: UnbiasedMemory, lane: random_bits.LaneKey
) -> tuple[Array, UnbiasedMemory]:
    """Chooses the moves of some seats (int32 [S]) as `all_unbiased_moves` does; memories and moves have a leading axis [S]."""
    return decide_seats(config, state, seats, memories, functools.partial(_look, config), _seat_decision(config, lane))


def _seat_decision(
    config: PommermanConfig, lane: random_bits.LaneKey
) -> Callable[[_View, Array, Bomber, UnbiasedMemory], tuple[Array, UnbiasedMemory]]:
    def decide_seat(view: _View, seat: Array, agent: Bomber, memory: UnbiasedMemory) -> tuple[Array, UnbiasedMemory]:
        memory, chance = draw_chance(config, memory, random_bits.fold(lane, seat))
        return _choose(config, _survey(config, view, seat, agent, memory), memory, chance)

    return decide_seat


class _View(NamedTuple):
    """The board as the agents see it.

    Attributes:
      scene: sorted as for a SimpleAgent.
      cells: int8 [] per seat, -1 if not in view.
      life: of bombs, 4 digits.
      hot: hot[n] are the cells in reach of a bomb with n steps to live or fewer, n = 0, 1, 2.
    """

    scene: Scene
    cells: tuple[Array, ...]
    life: tuple[Bits, ...]
    hot: tuple[Bits, ...]


def _look(config: PommermanConfig, observation: Observation) -> _View:
    grid, life = config.grid, observation.bomb_life
    scene = look(config, observation)
    due = [sliced.equal(life, 1, scene.bombs)]
    due.append(due[0] | sliced.equal(life, 2, scene.bombs))
    hot = (explosions.in_reach(grid, bombs, observation.bomb_strength, config.max_blast_strength) for bombs in due)
    return _View(scene, observation.bomber_cells, life, (grid.empty, *hot))


class _Outlook(NamedTuple):
    """What an agent thinks of its position before it searches for ways; at most one of `meets`, `strays` and `in_danger`.

    Attributes:
      cell: int32 [], where it stands.
      own: set of that.
      walkable: cells that can be crossed.
      others: cells of the others in view.
      refuges: A: where it wants to go if it can be reached; empty unless it is in danger.
      quarries: C: bits of the seats of enemies that it wants to go to, uint32 [].
      cells: int8 [] per seat, -1 if not in view.
      items: E: power-ups.
      first: A or C: bits of the directions of the first step that are safe enough, uint32 [].
      safe: E and F: the same.
      meets: bool [], B.
      strays: bool [], C, a random step.
      at_wood: bool [], D, if nothing before it applies.
    """

    cell: Array
    own: Bits
    walkable: Bits
    others: Bits
    refuges: Bits
    quarries: Array
    cells: tuple[Array, ...]
    items: Bits
    first: Array
    safe: Array
    meets: Array
    strays: Array
    at_wood: Array


def _survey(config: PommermanConfig, view: _View, seat: Array, agent: Bomber, memory: UnbiasedMemory) -> _Outlook:
    """Looks around."""
    grid, scene, cell = config.grid, view.scene, agent.cell.astype(jnp.int32)
    own = grid.one_hot(cell)
    beside = tuple(grid.shift(own, direction) for direction in DIRECTIONS)
    next_to = union(beside)
    safe, safer = (packed_flags([step.overlaps(scene.walkable - view.hot[n]) for step in beside]) for n in (1, 2))
    others = union(scene.agents) - own

    danger = least(view.life, threats_to(grid, own, scene.at_least))
    in_danger = danger > 0
    armed = (agent.ammo > 0) & ~in_danger
    enemies = enemies_of(config, scene, seat)
    meets = armed & union(enemies).overlaps(next_to)
    near = [enemy.any() & _is_near(config, cell, other) for enemy, other in zip(enemies, view.cells, strict=True)]
    hunted = jnp.where(armed & ~meets, packed_flags(near), 0)
    strays = (hunted != 0) & to_and_fro(memory)
    at_wood = armed & next_to.overlaps(scene.wood)
    nothing_else = ~(meets | strays | at_wood) & (safe != 0)
    return _Outlook(
        cell=cell,
        own=own,
        walkable=scene.walkable,
        others=others,
        refuges=_refuges(config, memory, cell, danger) & ((scene.walkable | others) - view.hot[1]),
        quarries=jnp.where(strays, 0, hunted),
        cells=view.cells,
        items=(union(scene.items) & _window(config, cell)).when(nothing_else),
        first=jnp.where(in_danger, safe, safer),
        safe=safe,
        meets=meets,
        strays=strays,
        at_wood=at_wood,
    )


class _Way(NamedTuple):
    """A, C and E: the first step to where an agent wants to go.

    Attributes:
      goes: bool [], there is a way, and its first step is safe enough.
      direction: int32 [].
    """

    goes: Array
    direction: Array


class _Wish(NamedTuple):
    """What an agent still wants.

    Attributes:
      goal: A and C: set of a cell that can be reached, or none; tried first.
      nearest: E: power-ups that are nearest, or none.
      items: all power-ups that can be reached.
    """

    goal: Bits
    nearest: Bits
    items: Bits


def _find_way(config: PommermanConfig, outlook: _Outlook, memory: UnbiasedMemory) -> _Way:
    """A, C and E: searches for a way to a goal, or else to the nearest power-up."""
    grid, own, walkable = config.grid, outlook.own, outlook.walkable

    def try_one(wish: _Wish, item: Bits) -> tuple[_Wish, _Way]:
        to_goal = wish.goal.any()
        direction = first_step(grid, own, walkable, select(to_goal, wish.goal, item))
        goes = ((jnp.where(to_goal, outlook.first, outlook.safe) >> direction.astype(jnp.uint32)) & 1) != 0
        goes = goes & (wish.goal | item).any()
        tried = item.when(~to_goal)
        # No way leads to an item under another bomber, as on a board that is only believed: then no more is tried.
        more = ~goes & (to_goal | item.any())
        left = _Wish(wish.goal - wish.goal, (wish.nearest - tried).when(more), (wish.items - tried).when(more))
        return left, _Way(goes, direction)

    def try_on(carry: tuple[_Wish, _Way]) -> tuple[_Wish, _Way]:
        wish, _ = carry
        more = nearest(grid, own, walkable, wish.items.when(~wish.nearest.any()))
        wish = wish._replace(nearest=wish.nearest | more)
        return try_one(wish, _first_cell(config, memory, wish.nearest))

    reached = reach(grid, own, walkable, outlook.others, outlook.items)
    refuges, steps = outlook.refuges & reached.cells, outlook.first != 0
    flees = refuges.any() & (outlook.quarries == 0) & steps
    # Who flees wants no item yet: one look at the orders does for both.
    first = _first_cell(config, memory, select(flees, refuges, reached.nearest))
    goal = select(outlook.quarries != 0, _first_quarry(config, outlook, memory, reached.cells).when(steps), first.when(flees))
    tried = try_one(_Wish(goal, reached.nearest, outlook.items & reached.cells), first)
    # Only for the few whose first step was not safe.
    return jax.lax.while_loop(lambda carry: carry[0].items.any(), try_on, tried)[1]


def _choose(config: PommermanConfig, outlook: _Outlook, memory: UnbiasedMemory, chance: Chance) -> tuple[Array, UnbiasedMemory]:
    """Chooses the move, and remembers where it was to lead."""
    way = _find_way(config, outlook, memory)
    steps, step = safe_step(config, memory, outlook.cell, outlook.safe, chance)
    move = jnp.where(steps, step + int(Move.UP), int(Move.STOP))
    move = jnp.where(outlook.at_wood, int(Move.BOMB), move)
    move = jnp.where(way.goes, way.direction + int(Move.UP), move)
    move = jnp.where(outlook.strays, random_bits.below(chance.choice, NUM_DIRECTIONS) + int(Move.UP), move)
    move = jnp.where(outlook.meets, int(Move.BOMB), move)
    return move, remember(memory, target_of(config, outlook.cell, move))


def _refuges(config: PommermanConfig, memory: UnbiasedMemory, cell: Array, danger: Array) -> Bits:
    """A: gives the cells that are looked at for a safe place: within `danger` steps as the crow flies; none if that is 0.

    In each row they are looked at in the order of the columns, up to the first that is farther away than `danger`: the rest of
    the row is left out, whatever it holds. Cells `danger` rows below or columns to the right do not count either.
    """
    grid, size = config.grid, config.board_size
    row, column = grid.row_of(cell), grid.column_of(cell)
    radius = jnp.maximum(danger, 1)
    columns = orders.before_others(memory.columns, size, around(column, radius, radius - 1))
    rows = jnp.where(danger > 0, around(row, radius, radius - 1), 0)
    found = []
    for index in range(size):
        width = jnp.maximum(radius - jnp.abs(row - index), 0)
        found.append(jnp.where(((rows >> index) & 1) != 0, around(column, width, width) & columns, 0))
    return grid.from_rows(found)


def _first_cell(config: PommermanConfig, memory: UnbiasedMemory, cells: Bits) -> Bits:
    """Gives the first of some cells in the orders of rows and columns; a set of one, or none."""
    size, rows = config.board_size, config.grid.rows_of(cells)
    row = orders.first(memory.rows, size, packed_flags([here != 0 for here in rows]))
    chosen = jnp.uint32(0)
    for index, here in enumerate(rows):
        chosen = jnp.where(row == index, here, chosen)
    cell = row * size + orders.first(memory.columns, size, chosen)
    return config.grid.one_hot(jnp.where(chosen != 0, cell, -1))


def _first_quarry(config: PommermanConfig, outlook: _Outlook, memory: UnbiasedMemory, reached: Bits) -> Bits:
    """C: gives the cell of the first enemy hunted that can be reached, in the order of the seats; a set of one, or none."""
    there = outlook.quarries & packed_flags([config.grid.one_hot(cell).overlaps(reached) for cell in outlook.cells])
    chosen = orders.first((memory.seats,), config.num_players, there)
    cell = jnp.int32(-1)
    for seat, other in enumerate(outlook.cells):
        cell = jnp.where(chosen == seat, other.astype(jnp.int32), cell)
    return config.grid.one_hot(cell)


def _is_near(config: PommermanConfig, cell: Array, other: Array) -> Array:
    """C: says whether a cell is within 14 rows and columns together."""
    grid = config.grid
    rows = jnp.abs(grid.row_of(cell) - grid.row_of(other))
    return rows + jnp.abs(grid.column_of(cell) - grid.column_of(other)) <= CHASE_RADIUS


def _window(config: PommermanConfig, cell: Array) -> Bits:
    """E: gives the cells at most 5 rows and 5 columns away."""
    grid, size = config.grid, config.board_size
    row = grid.row_of(cell)
    columns = around(grid.column_of(cell), ITEM_RADIUS, ITEM_RADIUS) & ((1 << size) - 1)
    return grid.from_rows([jnp.where(jnp.abs(row - index) <= ITEM_RADIUS, columns, 0) for index in range(size)])
