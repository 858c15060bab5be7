"""The SimpleAgent of the official environment: the same distribution of decisions, on bit planes.

The clauses of its decision, in order; the first that applies settles the move:

    A  breadth-first search, at most 10 rows, columns and steps away
    B  flee from bombs in line whose strength is not below their distance, walls ignored
    C  lay a bomb next to an enemy
    D  chase an enemy within 3 steps
    E  fetch a power-up within 2 steps
    F  bomb the wood next to the agent
    G  go to wood within 2 steps
    H  wander, not to the cells remembered from earlier wandering

A decision takes two random words; the official agent draws in another way, so single games differ from its games.
Where the official agent would fail with an error (no passage at all among the cells it searches), this one lays no bomb.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxgames import random_bits
from jaxgames.bitboard import DIRECTIONS, DOWN, LEFT, RIGHT, UP
from jaxgames.bits import Bits, select, union
from jaxgames.packing import packed_flags
from jaxgames.pommerman import simple_search
from jaxgames.pommerman.config import PommermanConfig
from jaxgames.pommerman.constants import Move
from jaxgames.pommerman.observation import Observation
from jaxgames.pommerman.simple_scene import Scene, enemies_of, look
from jaxgames.pommerman.simple_seats import decide_all, decide_seats
from jaxgames.pommerman.state import Bomber, State

MEMORY_LENGTH = 6
NOWHERE = -1
CHASE_RADIUS, ITEM_RADIUS, WOOD_RADIUS = 3, 2, 2


class SimpleMemory(NamedTuple):
    """What a SimpleAgent remembers. The official one keeps it even from game to game.

    Attributes:
      recent: 6 cells, int8 [] each, the latest first: where it stood when it wandered (H); -1 for none yet.
      previous: int8 [], the direction of its last chase (D), a `Move`; 0 for none yet.
    """

    recent: tuple[Array, ...]
    previous: Array


class Words(NamedTuple):
    """The chance in one decision.

    Attributes:
      coins: uint32 [], read bit by bit.
      choice: uint32 [], for the last choice among equal moves.
    """

    coins: Array
    choice: Array


def init_memory() -> SimpleMemory:
    """Gives the memory of a fresh agent."""
    return SimpleMemory((jnp.int8(NOWHERE),) * MEMORY_LENGTH, jnp.int8(0))


def draw_words(lane: random_bits.LaneKey, number: ArrayLike = 0) -> Words:
    """Draws the chance of one decision.

    Args:
      lane: its counters 2 * number and 2 * number + 1 are used up.
      number: int [], which decision of this lane.
    """
    return Words(random_bits.bits(lane, 2 * number), random_bits.bits(lane, 2 * number + 1))


def decide(config: PommermanConfig, observation: Observation, memory: SimpleMemory, words: Words) -> tuple[Array, SimpleMemory]:
    """Chooses the move of one SimpleAgent.

    Args:
      config: the variant.
      observation: what the agent sees.
      memory: what it remembers.
      words: fresh chance.

    Returns:
      move: int32 [], a `Move`; for a dead agent some move, which the game ignores.
      memory: after the decision.
    """
    return _decide(config, look(config, observation), observation.seat, observation.own, memory, words)


def all_simple_moves(
    config: PommermanConfig, state: State, memories: tuple[SimpleMemory, ...], lane: random_bits.LaneKey
) -> tuple[tuple[Array, ...], tuple[SimpleMemory, ...]]:
    """Chooses the moves of all seats: the fastest way to let SimpleAgents play each other.

    Without fog the board is sorted once for all.

    Args:
      config: the variant.
      state: one game; each agent decides by its own observation alone.
      memories: one per seat.
      lane: fresh chance; its counters below 2 P are used up.

    Returns:
      moves: int32 [] per seat.
      memories: after the decisions.
    """
    return decide_all(config, state, memories, functools.partial(look, config), _seat_decision(config, lane))


def some_simple_moves(
    config: PommermanConfig, state: State, seats: Array, memories: SimpleMemory, lane: random_bits.LaneKey
) -> tuple[Array, SimpleMemory]:
    """Chooses the moves of some seats (int32 [S]) as `all_simple_moves` does; memories and moves have a leading axis [S]."""
    return decide_seats(config, state, seats, memories, functools.partial(look, config), _seat_decision(config, lane))


def _seat_decision(
    config: PommermanConfig, lane: random_bits.LaneKey
) -> Callable[[Scene, Array, Bomber, SimpleMemory], tuple[Array, SimpleMemory]]:
    def decide_seat(scene: Scene, seat: Array, agent: Bomber, memory: SimpleMemory) -> tuple[Array, SimpleMemory]:
        return _decide(config, scene, seat, agent, memory, draw_words(lane, seat))

    return decide_seat


@dataclasses.dataclass(frozen=True)
class _Place:
    """The board from where one agent stands.

    Attributes:
      cell: int32 [], its cell.
      own: set of its cell.
      beside: per direction the set of the next cell, empty if off the board.
      rays: per direction all cells of its row or column on that side.
      off_lines: all cells in neither its row nor its column.
      enemies: per seat the set of its cell if it is an enemy in view.
      open: passages, power-ups, team-mates and the own cell: what it may walk on.
      candidates: what the search looks at.
      reached: reached[d] are the cells at distance d.
    """

    cell: Array
    own: Bits
    beside: tuple[Bits, ...]
    rays: tuple[Bits, ...]
    off_lines: Bits
    enemies: tuple[Bits, ...]
    open: Bits
    candidates: Bits
    reached: tuple[Bits, ...]

    @property
    def depth(self) -> int:
        """Up to which distance the cells are known."""
        return len(self.reached) - 1


def _survey(config: PommermanConfig, scene: Scene, seat: Array, cell: Array) -> _Place:
    """A: searches the board from one agent's cell, as far as most decisions need."""
    grid = config.grid
    own = grid.one_hot(cell)
    enemies = enemies_of(config, scene, seat)
    open_cells = scene.walkable | own | (union(scene.agents) - union(enemies))
    candidates = scene.candidates
    if config.view_radius is None or config.view_radius >= simple_search.SEARCH_RADIUS:
        candidates = candidates & simple_search.window(grid, cell)
    row, column = simple_search.lines(grid, cell)
    later = simple_search.cells_after(grid, own)
    earlier = grid.full - later - own
    return _Place(
        cell=cell,
        own=own,
        beside=tuple(grid.shift(own, direction) for direction in DIRECTIONS),
        rays=(column & earlier, column & later, row & earlier, row & later),
        off_lines=grid.full - row - column,
        enemies=enemies,
        open=open_cells,
        candidates=candidates,
        reached=simple_search.levels(grid, own, open_cells, candidates, max(CHASE_RADIUS, config.max_blast_strength)),
    )


def _decide(
    config: PommermanConfig, scene: Scene, seat: Array, agent: Bomber, memory: SimpleMemory, words: Words
) -> tuple[Array, SimpleMemory]:
    """`decide` with the board already sorted."""
    grid = config.grid
    place = _survey(config, scene, seat, agent.cell.astype(jnp.int32))
    coins = [((words.coins >> index) & 1) != 0 for index in range(4)]
    in_danger, cornered, flights, last_flight = _flee(config, scene, place)
    wanderings = _wander(scene, place, [grid.one_hot(cell) for cell in memory.recent])
    chosen = pick_move(jnp.where(in_danger, flights, wanderings), words.choice, most=4)

    enemy = simple_search.nearest(place.reached[1 : CHASE_RADIUS + 1], place.enemies)
    chase = _move_to(place, _first_cell(config, place, enemy, (coins[0], coins[1])))
    chases = enemy.any() & ((chase != memory.previous) | coins[2])
    item = simple_search.nearest(place.reached[1 : ITEM_RADIUS + 1], scene.items)
    fetches = item.any()
    # G is asked only where no wood is at distance 1.
    wood = scene.wood & place.reached[WOOD_RADIUS]
    goal = simple_search.highest(grid, select(fetches, item, wood))
    way = _first_cell(config, place, goal, (coins[3],))
    towards = _move_to(place, way)
    goes = wood.any() & ~scene.unsafe.overlaps(way)

    next_to_enemy = place.reached[1].overlaps(union(place.enemies))
    next_to_wood = place.reached[1].overlaps(scene.wood)
    at_wood = next_to_wood & ~chases & ~fetches
    armed = (agent.ammo > 0) & ~in_danger & (next_to_enemy | at_wood)
    bombs = armed & _has_escape(config, scene, place, agent.blast_strength.astype(jnp.int32), armed)

    move = jnp.where(goes, towards, chosen)
    move = jnp.where(next_to_wood, int(Move.STOP), move)
    move = jnp.where(fetches, towards, move)
    move = jnp.where(chases, chase, move)
    move = jnp.where(in_danger, jnp.where(cornered, last_flight, chosen), move)
    move = jnp.where(bombs, int(Move.BOMB), move)
    chases = chases & ~in_danger & ~bombs
    wanders = ~(in_danger | bombs | chases | fetches | next_to_wood | goes)
    recent = select(wanders, (agent.cell, *memory.recent[:-1]), memory.recent)
    return move, SimpleMemory(recent, jnp.where(chases, chase.astype(jnp.int8), memory.previous))


def _flee(config: PommermanConfig, scene: Scene, place: _Place) -> tuple[Array, Array, Array, Array]:
    """B: bombs in line, and ways out.

    Returns:
      in_danger: bool [].
      cornered: bool [], all four directions are unsafe.
      flights: uint32 [], mask of the moves to choose among if not cornered.
      last_flight: int32 [], the move if cornered.
    """
    near = union(level & bombs for level, bombs in zip(place.reached, scene.at_least, strict=False))
    threats = tuple(near & ray for ray in place.rays)
    threatened = tuple(threat.any() for threat in threats)
    on_bomb = place.own.overlaps(scene.bombs)
    unsafe = tuple(threat | on_bomb for threat in threatened)
    in_danger = unsafe[UP] | unsafe[DOWN] | unsafe[LEFT] | unsafe[RIGHT]
    cornered = unsafe[UP] & unsafe[DOWN] & unsafe[LEFT] & unsafe[RIGHT]

    # (The official agent would also step into fog; but the next cells are always in view.)
    safe = packed_flags([place.beside[d].overlaps(place.open) & ~unsafe[d] for d in DIRECTIONS])
    on_board = packed_flags([place.beside[d].any() & unsafe[d] for d in DIRECTIONS])
    flights = jnp.where(safe != 0, safe, on_board) << Move.UP

    own_bomb = place.own & scene.bombs
    strength = tuple(scene.strongest(threat | own_bomb) for threat in threats)
    longest = config.board_size - 1 if config.view_radius is None else min(config.board_size - 1, config.view_radius)
    escapes = simple_search.escapes(config.grid, place.open - place.own, place.cell, place.beside, place.rays, strength, longest)
    # The first way out counts, in the order in which the bombs, row by row, made directions unsafe. A bomb under the agent
    # adds right, left, up, down; before it come bombs above and to the left. Without one, there are bombs on all sides.
    order = [(LEFT, escapes[LEFT] & threatened[LEFT]), *((d, escapes[d]) for d in (RIGHT, LEFT, UP, DOWN))]
    last_flight = jnp.int32(Move.STOP)
    for direction, possible in reversed([(UP, escapes[UP] & threatened[UP]), *order]):
        last_flight = jnp.where(possible, direction + int(Move.UP), last_flight)
    return in_danger, cornered, flights, last_flight


def _has_escape(config: PommermanConfig, scene: Scene, place: _Place, strength: Array, asked: Array) -> Array:
    """C and F: says whether a bomb laid here leaves a passage to flee to: off its lines, or farther than its strength.

    Args:
      config: the variant.
      scene: what the agent sees.
      place: where it stands.
      strength: int32 [], the agent's blast strength.
      asked: bool [], whether the answer matters; elsewhere it is any.
    """
    passages = place.off_lines & scene.passages & union(place.reached[1:])
    for distance, cells in enumerate(place.reached[1:], start=1):
        passages = passages | (cells & scene.passages).when(distance > strength)
    found = passages.any()
    # Any passage beyond the known levels would do, as no bomb is that strong.
    open_end = place.reached[-1].overlaps(place.open)
    return found | simple_search.any_beyond(
        config.grid, place.own, place.open, place.candidates, scene.passages, place.depth, asked & ~found & open_end
    )


def _first_cell(config: PommermanConfig, place: _Place, goal: Bits, coins: Sequence[Array]) -> Bits:
    """Gives the first cell of a shortest way.

    Args:
      config: the variant.
      place: where the agent stands.
      goal: set of one cell at distance 1 .. len(coins) + 1; or none.
      coins: bool [] for each step but the first, to choose among ways that are equally short.

    Returns:
      Set of a cell next to the agent; empty if there is no goal.
    """
    for distance, coin in zip(range(len(coins) + 1, 1, -1), coins, strict=True):
        before = place.reached[distance - 1] & place.open
        parent = simple_search.step_back(config.grid, goal, before, coin)
        goal = select(goal.overlaps(place.reached[distance]), parent, goal)
    return goal


def _move_to(place: _Place, cells: Bits) -> Array:
    """Gives the move to a cell next to the agent, int32 []; stop for the empty set."""
    move = jnp.int32(Move.STOP)
    for direction in DIRECTIONS:
        move = jnp.where(cells.overlaps(place.beside[direction]), direction + int(Move.UP), move)
    return move


def _wander(scene: Scene, place: _Place, recent: Sequence[Bits]) -> Array:
    """H: gives the mask of moves (uint32 []) to cells that are open, safe, and if possible not in `recent`."""
    places = (place.own, *place.beside)
    inviting = place.open - scene.unsafe
    new = inviting - union(recent)
    fresh = packed_flags([cell.overlaps(new) for cell in places])
    moves = jnp.where(fresh != 0, fresh, packed_flags([cell.overlaps(inviting) for cell in places]))
    stop = jnp.uint32(1 << Move.STOP)
    return jnp.where(moves > stop, moves & ~stop, moves)


def pick_move(moves: Array, word: Array, most: int = len(Move)) -> Array:
    """Picks a move from a mask, each with the same probability.

    Args:
      moves: uint32 [], bit m for move m.
      word: uint32 [], fresh chance.
      most: no mask has more moves (a Python int).

    Returns:
      int32 [], a `Move`; stop if the mask is empty.
    """
    rank = random_bits.below(word, jax.lax.population_count(moves))
    for passed in range(most - 1):
        moves = jnp.where(rank > passed, moves & (moves - 1), moves)
    first = moves & (jnp.uint32(0) - moves)  # now a power of two, or zero
    move = jnp.int32(Move.STOP)
    for other in range(1, len(Move)):
        move = move + (first >= jnp.uint32(1 << other)).astype(jnp.int32)
    return move
