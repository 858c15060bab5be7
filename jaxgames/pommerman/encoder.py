"""What networks are shown of Pommerman: an observation as feature planes; an output per move, and the eight symmetries.

Planes are computed from an `Observation` and nothing else, so that what a player cannot see cannot enter them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames import sliced
from jaxgames.bitboard import Grid
from jaxgames.bits import Bits, union
from jaxgames.encoder import Encoder, stack_planes
from jaxgames.pommerman import rules
from jaxgames.pommerman.config import PommermanConfig
from jaxgames.pommerman.constants import BOMB_LIFE, MAX_AMMO, MAX_BLAST_STRENGTH, NUM_MESSAGES, NUM_MOVES, Move
from jaxgames.pommerman.game import Pommerman
from jaxgames.pommerman.modelling import possible_moves
from jaxgames.pommerman.observation import Observation, item_cells, observe
from jaxgames.pommerman.state import State
from jaxgames.symmetries import NUM_SYMMETRIES, cell_order, direction_order

MAX_REACH, MANY_BOMBS = 11, 5  # by which PommerLearn divides

_BOARD = ("passage", "rigid", "wood", "bomb", "flames", "fog", "extra bomb", "range", "kick")
_OWN = ("own ammo", "own blast strength", "own kick", "own position")
_EXTRA = ("danger", "bomb strength", "bomb up", "bomb down", "bomb left", "bomb right", "flame life", "enemies", "teammate")
_GLOBAL = ("living enemies", "time")
PAPER, EXTENDED = (*_BOARD, "blast life", *_OWN), (*_BOARD, *_OWN, *_EXTRA, *_GLOBAL)
POMMERLEARN = (
    *("rigid", "wood", "extra bomb", "range", "kick", "bomb time", "bomb reach", "bomb right", "bomb up", "flames"),
    *("own position", "agent after", "second after", "third after", "own reach", "own active bombs", "own bombs", "own kick"),
    *("own alive", "alive after", "second alive", "third alive", "time"),
)
CENTRED, EXTENDED_CENTRED = "pommerlearn_centred", "extended_centred"


def _with_board(channels: tuple[str, ...]) -> tuple[str, ...]:
    """The channels of a board that is moved: in place of the own position, the middle, they show what is on the board."""
    return tuple("on the board" if name == "own position" else name for name in channels)


_CHANNELS = {
    "paper": PAPER,
    "paper_zero_life": PAPER,
    "extended": EXTENDED,
    EXTENDED_CENTRED: _with_board(EXTENDED),
    "pommerlearn": POMMERLEARN,
    CENTRED: _with_board(POMMERLEARN),
}


@functools.cache
def encoder(game: Pommerman, name: str) -> Encoder:
    """Makes an encoder by its name, one of `ENCODERS`. An output is a move, silent in radio mode."""
    config, size, words = game.config, game.config.board_size, NUM_MESSAGES if game.config.has_messages else 1
    channels, searches = _CHANNELS[name], name.startswith("pommerlearn")

    def planes(observation: Observation) -> Array:
        if name in ("extended", EXTENDED_CENTRED):
            return extended_planes(config, observation, centred=name == EXTENDED_CENTRED)
        return paper_planes(config, observation, blast_life=name == "paper")

    cells, directions = cell_order(size), direction_order()
    moves, places = (np.tile(np.arange(count), (NUM_SYMMETRIES, 1)) for count in (NUM_MOVES, len(channels)))
    moves[:, Move.UP : Move.RIGHT + 1] = Move.UP + directions
    if "bomb up" in channels and not searches:  # a plane per direction; the others turn two planes with signs
        first = channels.index("bomb up")
        places[:, first : first + 4] = first + directions

    def outputs(actions: Array, seat: Array) -> Array:
        del seat
        known = (actions >= 0) & (actions < game.num_actions) & (actions % words == 0)
        return jnp.where(known, actions // words, -1).astype(jnp.int32)

    def actions(outputs: Array, seat: Array) -> Array:
        del seat
        return jnp.where((outputs >= 0) & (outputs < NUM_MOVES), outputs * words, game.pass_action).astype(jnp.int32)

    def transform_planes(planes: Array, which: Array) -> Array:
        turned = planes.reshape(-1, len(channels))[jnp.asarray(cells)[which]]
        if searches:
            turned = _turned_axes(turned, jnp.asarray(directions)[which])
        return turned[:, jnp.asarray(places)[which]].reshape(planes.shape)

    return Encoder(
        name=name,
        shape=(size, size, len(channels)),
        channels=channels,
        num_outputs=NUM_MOVES,
        view=functools.partial(search_view, config) if searches else game.observe,
        planes=functools.partial(pommerlearn_planes, config, centred=name == CENTRED) if searches else planes,
        legal=(lambda view: view.possible)
        if searches
        else lambda observation: rules.as_array(rules.observed_moves(config, observation)),
        outputs=outputs,
        actions=actions,
        num_symmetries=NUM_SYMMETRIES if size % 2 or "centred" not in name else 1,  # a middle cell stays in the middle
        transform_planes=transform_planes,
        transform_outputs=lambda per_output, which: per_output[jnp.asarray(moves)[which]],
        output_names=tuple(move.name.lower() for move in Move),
        shows_observation=not searches,
        bounds=_bounds(name),
    )


def _bounds(name: str) -> tuple[float, float]:
    if name.startswith("extended"):
        return 0, 1
    return (-math.inf, math.inf) if name.startswith("pommerlearn") else (0, max(MAX_AMMO, MAX_BLAST_STRENGTH))


def paper_planes(config: PommermanConfig, observation: Observation, *, blast_life: bool = True) -> Array:
    """The 14 planes of Boney et al., with the numbers as they are (a network is given raw counts): float32 [H, W, 14].

    Other agents have no plane of their own: they are cells in which the planes of the board are all zero.

    Args:
      config: the variant.
      observation: what a player sees.
      blast_life: fill plane 9, the remaining life / 10 of bombs along their blast crosses (arms of `blast_strength` cells, walls
        ignored; the bomb that explodes first counts where crosses meet). The released code divides integers, so that the plane
        is always zero there; False reproduces that.
    """
    sets = _board_sets(config, observation, hide_bombs_under_agents=True)
    shape = (config.board_size, config.board_size)
    life = _cross_life(config, observation) / BOMB_LIFE if blast_life else jnp.zeros(shape)
    own = observation.own
    numbers = [jnp.full(shape, x.astype(jnp.float32)) for x in (own.ammo, own.blast_strength, own.can_kick)]
    position = config.grid.one_hot(own.cell).when(own.alive)
    planes = [config.grid.to_bool(cells) for cells in sets]
    return stack_planes([*planes, life, *numbers, config.grid.to_bool(position)])


def extended_planes(config: PommermanConfig, observation: Observation, *, centred: bool = False) -> Array:
    """Planes in which all that may be seen is seen, scaled to about [0, 1]: float32 [H, W, 24].

    Beyond the paper's: other agents; bombs under agents; how soon a cell will burn, with walls and chains of bombs taken into
    account ("danger", 1 in the step before the blast); strength and direction of bombs; the life of flames; time.

    Args:
      config: the variant.
      observation: what a player sees.
      centred: all planes are moved so that the own position is in the middle, and what leaves the board is lost. The plane of
        the own position is "on the board" instead; outside of it all is 0.
    """
    grid, own = config.grid, observation.own
    shape = (config.board_size, config.board_size)
    planes = [grid.to_bool(cells) for cells in _board_sets(config, observation, hide_bombs_under_agents=False)]
    numbers = (own.ammo / MAX_AMMO, own.blast_strength / MAX_BLAST_STRENGTH, own.can_kick)
    planes += [jnp.full(shape, jnp.asarray(x, jnp.float32)) for x in numbers]
    planes.append(jnp.ones(shape, bool) if centred else grid.to_bool(grid.one_hot(own.cell).when(own.alive)))
    strength = sliced.to_array(grid, observation.bomb_strength)
    planes += [_danger(config, observation), strength / MAX_BLAST_STRENGTH]
    planes += [grid.to_bool(cells) for cells in observation.bomb_moving]
    planes.append(sliced.to_array(grid, observation.flame_life) / 3)
    enemies, teammate = _others(config, observation)
    planes += [grid.to_bool(enemies), grid.to_bool(teammate)]
    alive = jnp.stack(observation.alive)
    living = (alive & ~_friends(config, observation.seat)).sum()
    planes += [jnp.full(shape, x.astype(jnp.float32)) for x in (living / 3, observation.step_count / config.max_steps)]
    return _moved_to_centre(grid, stack_planes(planes), own.cell) if centred else stack_planes(planes)


def _moved_to_centre(grid: Grid, planes: Array, cell: Array) -> Array:
    """Moves planes [H, W, C] so that a cell comes to the middle; 0 where there was nothing. A cell of -1 counts as the first."""
    rows, columns = grid.rows // 2, grid.columns // 2
    around = jnp.pad(planes, ((rows, rows), (columns, columns), (0, 0)))
    corner = jnp.maximum(cell, 0)
    return jax.lax.dynamic_slice(around, (grid.row_of(corner), grid.column_of(corner), jnp.int32(0)), planes.shape)


class SearchView(NamedTuple):
    """What an agent sees and what it knows besides: how many of its bombs lie about, and where it can go.

    Attributes:
      observation: what it sees.
      own_bombs: int8 [].
      possible: bool [6], see `modelling.possible_moves`.
    """

    observation: Observation
    own_bombs: Array
    possible: Array


def search_view(config: PommermanConfig, state: State, seat: Array) -> SearchView:
    """Gives the view of a seat (int32 []) in a state, or in what its player believes to be the state."""
    owner, cells = state.bombs.owner, state.bombs.cells
    counts = [sliced.equal(owner, each, cells).count() for each in range(config.num_players)]
    possible = possible_moves(config, state)
    mine = jnp.where(jnp.arange(config.num_players)[:, None] == seat, possible, False).any(0)
    return SearchView(observe(config, state, seat), _entry(counts, seat).astype(jnp.int8), mine)


def pommerlearn_planes(config: PommermanConfig, view: SearchView, *, centred: bool = False) -> Array:
    """The 23 planes of PommerLearn float32 [H, W, 23]; other agents in the order of their seats.

    "bomb reach" and "own reach" hold eleventh parts of the blast strength, one more than what published data sets and networks
    count (`pommerlearn_planes.as_published`).

    Args:
      config: the variant.
      view: of a seat.
      centred: the board is moved so that the own position is in the middle, and what leaves it is lost; agents who leave it are
        shown at its edge, in their direction. The plane of the own position is "on the board" instead.
    """
    observation, grid, players = view.observation, config.grid, config.num_players
    own, seat = observation.own, observation.seat
    places = [(seat + index) % players for index in range(4)]
    agents = [_entry(observation.bomber_cells, place) if index < players else jnp.int8(-1) for index, place in enumerate(places)]

    def moved(cells: Bits) -> Bits:
        return grid.centred(cells, own.cell) if centred else cells

    up, down, left, right = (moved(cells) for cells in observation.bomb_moving)
    life, strength, flames = (
        tuple(moved(digit) for digit in number)
        for number in (observation.bomb_life, observation.bomb_strength, observation.flame_life)
    )
    board: list[tuple[Bits, ...]] = [(moved(cells),) for cells in (observation.rigid, observation.wood, *item_cells(observation))]
    board += [_time_passed(grid, life), strength, _signed(grid, right, left), _signed(grid, up, down), flames]
    if centred:
        board.append((moved(grid.full),))
        agents = [_seen_from(grid, cell, own.cell) for cell in agents[1:]]
    board += [(grid.one_hot(cell),) for cell in agents]
    numbers: list[Any] = [jnp.minimum(own.blast_strength / MAX_REACH, 1.0), view.own_bombs / MANY_BOMBS]
    numbers += [(own.ammo + view.own_bombs) / MANY_BOMBS, own.can_kick]
    numbers += [_entry(observation.alive, place) if index < players else False for index, place in enumerate(places)]
    numbers.append(observation.step_count / max(config.max_steps - 1, 1))
    everywhere = jnp.stack([jnp.float32(0)] * len(board) + [jnp.asarray(number, jnp.float32) for number in numbers])
    shown = sliced.small_numbers(grid, [*board, *[()] * len(numbers)]) - _RAISED
    # Divided by a multiplication: the same floats as those of a division, which takes longer than all the rest.
    return jnp.minimum((shown * _SHARES).astype(jnp.float32) * np.float32(1 / _WHOLE), 1.0) + everywhere


_WHOLE = 2**30
_DIVISORS = {"bomb time": BOMB_LIFE - 1, "bomb reach": MAX_REACH, "flames": 2**2 - 1}
_SHARES = np.array([round(_WHOLE / _DIVISORS.get(name, 1)) for name in POMMERLEARN], np.int32)
_RAISED = np.array([name in ("bomb time", "bomb right", "bomb up") for name in POMMERLEARN], np.int32)
"""Numbers that may be negative are kept with one added."""


def _time_passed(grid: Grid, life: Sequence[Bits]) -> tuple[Bits, ...]:
    """How long bombs have been there, with one added: a bomb just laid is exactly 0, as is a cell without one."""
    bombs = union(life)
    return sliced.subtract(sliced.constants([(bombs, BOMB_LIFE), (grid.full - bombs, 1)]), life)[0]


def _signed(grid: Grid, plus: Bits, minus: Bits) -> tuple[Bits, ...]:
    """The numbers 1 and -1, with one added."""
    return grid.full - plus - minus, plus


def _seen_from(grid: Grid, cell: Array, own: Array) -> Array:
    """Where a cell (int [], -1: nowhere) is on the board moved to the own one; the nearest cell of the edge if it has left."""
    row = jnp.clip(grid.row_of(cell) - grid.row_of(own) + grid.rows // 2, 0, grid.rows - 1)
    column = jnp.clip(grid.column_of(cell) - grid.column_of(own) + grid.columns // 2, 0, grid.columns - 1)
    return jnp.where(cell >= 0, row * grid.columns + column, -1)


def _entry(values: Sequence[Array], index: Array) -> Array:
    """values[index] of numbers [] each, by comparing; in an array of their own, so few numbers take a loop per lane."""
    found = values[0]
    for number, value in enumerate(values[1:], 1):
        found = jnp.where(index == number, value, found)
    return found


def _turned_axes(planes: Array, order: Array) -> Array:
    """Turns the two planes of moving bombs, which have a sign per direction: [N, 23], int [4] of `direction_order`."""
    first = POMMERLEARN.index("bomb right")
    right, up = planes[:, first], planes[:, first + 1]
    by_direction = jnp.stack([jnp.maximum(up, 0), jnp.maximum(-up, 0), jnp.maximum(-right, 0), jnp.maximum(right, 0)], axis=1)
    turned = by_direction[:, order]
    signed = jnp.stack([turned[:, 3] - turned[:, 2], turned[:, 0] - turned[:, 1]], axis=1)
    return planes.at[:, first : first + 2].set(signed)


def _board_sets(config: PommermanConfig, observation: Observation, *, hide_bombs_under_agents: bool) -> list[Bits]:
    """The cells of each board code 0..8. A cell has the code of what lies on top: agents have none of these."""
    grid = config.grid
    agents = grid.empty
    for cell in observation.bomber_cells:
        agents = agents | grid.one_hot(cell)
    bombs = union(observation.bomb_life)
    shown_bombs = bombs - agents if hide_bombs_under_agents else bombs
    flames = union(observation.flame_life) - agents
    items = item_cells(observation)
    fog = grid.full - observation.view
    passage = observation.view - observation.rigid - observation.wood - bombs - flames - agents - union(items)
    return [passage, observation.rigid, observation.wood, shown_bombs, flames, fog, *items]


def _friends(config: PommermanConfig, seat: Array) -> Array:
    """bool [P]: the seat itself and its teammate."""
    seats = jnp.arange(config.num_players)
    return ~config.are_enemies(seats, seat)


def _others(config: PommermanConfig, observation: Observation) -> tuple[Bits, Bits]:
    """Cells of enemies and of the teammate, as far as in view (an agent out of view has cell -1: the empty set)."""
    grid, friends = config.grid, _friends(config, observation.seat)
    enemies, teammate = grid.empty, grid.empty
    for seat, cell in enumerate(observation.bomber_cells):
        here = grid.one_hot(cell).when(observation.seat != seat)
        enemies, teammate = enemies | here.when(~friends[seat]), teammate | here.when(friends[seat])
    return enemies, teammate


_NEVER = 100  # longer than any bomb lives


def _bombs(config: PommermanConfig, observation: Observation) -> tuple[Array, Array]:
    """Life (`_NEVER` where there is no bomb) and blast strength (0 there), int8 [H, W]."""
    digits = (observation.bomb_life, observation.bomb_strength)
    life, strength = (sliced.to_array(config.grid, planes).astype(jnp.int8) for planes in digits)
    return jnp.where(life > 0, life, _NEVER).astype(jnp.int8), strength


def _cross_life(config: PommermanConfig, observation: Observation) -> Array:
    """Life of the first bomb to explode whose cross covers a cell, walls ignored; 0 where there is none. float32 [H, W]."""
    life, strength = _bombs(config, observation)
    no_walls = jnp.zeros(life.shape, bool)
    first = _first_blast(life, strength, no_walls, config.max_blast_strength)
    return jnp.where(first == _NEVER, 0, first).astype(jnp.float32)


def _danger(config: PommermanConfig, observation: Observation) -> Array:
    """How soon each cell will burn: 1 for the next step, less for later, 0 for never. float32 [H, W].

    Blasts stop at walls; a bomb in the blast of another explodes with it (chains of up to three). Bombs are taken to stay.
    """
    grid = config.grid
    life, strength = _bombs(config, observation)
    walls, rigid = grid.to_bool(observation.rigid | observation.wood), grid.to_bool(observation.rigid)

    def burn(_: int, first: Array) -> Array:
        life = jnp.where(strength > 0, first, _NEVER).astype(jnp.int8)
        return _first_blast(life, strength - 1, walls, config.max_blast_strength - 1)

    first = jnp.where(rigid, _NEVER, jax.lax.fori_loop(0, 3, burn, life))
    return jnp.where(first == _NEVER, 0, BOMB_LIFE + 1 - first).astype(jnp.float32) / BOMB_LIFE


def _first_blast(life: Array, reach: Array, walls: Array, longest: int) -> Array:
    """Gives the life of the first bomb whose blast covers each cell, int8 [H, W].

    Args:
      life: int8 [H, W], of the bombs, `_NEVER` elsewhere.
      reach: int8 [H, W], arms of their blasts in cells.
      walls: bool [H, W], cells that end a blast; they burn.
      longest: no reach is greater.
    """

    def go_on(_: int, carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        first, lives, left = carry  # per direction: blasts on their way, one cell per round, and how far they still go
        lives, left = _step_out(lives, _NEVER), _step_out(left, 0)
        first = jnp.minimum(first, jnp.where(left > 0, lives, _NEVER).min(0))
        return first.astype(jnp.int8), lives, jnp.where(walls, 0, left - 1).astype(jnp.int8)

    start = (life, jnp.stack([life] * 4), jnp.stack([reach] * 4))
    return jax.lax.fori_loop(0, longest, go_on, start)[0]


def _step_out(boards: Array, fill: int) -> Array:
    """Shifts board 0 up, 1 down, 2 left, 3 right by one cell; what comes in is `fill`. [4, H, W]."""
    padded = jnp.pad(boards, ((0, 0), (1, 1), (1, 1)), constant_values=fill)
    return jnp.stack([padded[0, 2:, 1:-1], padded[1, :-2, 1:-1], padded[2, 1:-1, 2:], padded[3, 1:-1, :-2]])


ENCODERS: dict[str, Callable[[Pommerman], Encoder]] = {name: functools.partial(encoder, name=name) for name in _CHANNELS}
