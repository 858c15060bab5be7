"""Between `State` and the arrays of recorded games (recordings of the official environment), for whole batches.

The arrays, with S states in front (all of them numpy):

    s_board  uint8 [S, N, N]      true board codes (agents hide bombs; hidden items are not shown)
    s_items  uint8 [S, N, N]      item code under wood or flames, 0 none
    s_flames uint8 [S, N, N]      bit k: a flame of life k
    s_nbombs uint8 [S]            number of bombs
    s_bombs  int8  [S, K, 6]      row, column, owner, life, blast strength, direction (0 none, 1..4); -1 after the last
    s_agents int8  [S, P, 6]      row, column, alive, ammo, blast strength, can_kick
    s_step   int16 [S]            step count

K is 32, or more where there are so many power-ups that more bombs may lie (see `listed_bombs`). Bombs have no order in a `State`;
they come back sorted by row and column.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import numpy as np

from jaxgames import replay
from jaxgames.bitboard import Grid
from jaxgames.bits import Bits
from jaxgames.pommerman import rules
from jaxgames.pommerman.config import PommermanConfig
from jaxgames.pommerman.constants import (
    BOMB_LIFE,
    FIRST_ITEM,
    FLAME_LIFE,
    ITEM_DIGITS,
    LIFE_DIGITS,
    MAX_AMMO,
    NUM_ITEM_KINDS,
    OWNER_DIGITS,
    START_AMMO,
    START_BLAST_STRENGTH,
    STRENGTH_DIGITS,
    Cell,
)
from jaxgames.pommerman.state import Bomber, Bombs, State
from jaxgames.replay import Arrays, any_in_row

STATE_FIELDS = ("s_board", "s_items", "s_flames", "s_nbombs", "s_bombs", "s_agents", "s_step")
LEAST_LISTED_BOMBS = 32  # of the official variants


def listed_bombs(config: PommermanConfig) -> int:
    """Gives the rows of `s_bombs`, K: as many as there may be bombs, and at least those of the official variants."""
    return max(LEAST_LISTED_BOMBS, min(config.num_players * START_AMMO + config.num_items, config.num_players * MAX_AMMO))


def unpack(grid: Grid, cells: Bits) -> np.ndarray:
    """Unpacks sets with leaves [S] into bool [S, rows, columns] with numpy."""
    words = np.stack([np.asarray(word, np.uint32) for word in cells.words], axis=-1)
    bits = np.unpackbits(np.ascontiguousarray(words).view(np.uint8), axis=-1, bitorder="little")
    return bits[:, : grid.num_cells].reshape(-1, grid.rows, grid.columns).astype(bool)


def pack_number(grid: Grid, numbers: np.ndarray, digits: int) -> tuple[Bits, ...]:
    """Packs int [S, rows, columns] into binary digits, lowest first."""
    return tuple(grid.from_numpy((numbers >> digit) & 1 != 0) for digit in range(digits))


def unpack_number(grid: Grid, planes: tuple[Bits, ...]) -> np.ndarray:
    """Unpacks binary digits with leaves [S] into uint8 [S, rows, columns]."""
    digits = [unpack(grid, plane).astype(np.uint8) << digit for digit, plane in enumerate(planes)]
    return np.bitwise_or.reduce(digits)


def from_arrays(config: PommermanConfig, arrays: Mapping[str, np.ndarray]) -> State:
    """Makes a batch of states from recorded arrays.

    Args:
      config: the variant; its board size and number of players must be those of the arrays.
      arrays: see the top of this file. Others are ignored; messages of radio games start as (0, 0).

    Returns:
      A `State` with leaves [S] (numpy), not terminated, rewards 0.

    Raises:
      ValueError: a field is missing or has another shape, or a state cannot occur (the message names state and fact).
    """
    check_arrays(config, arrays)
    grid, size = config.grid, config.board_size
    board, hidden, agents, count = (arrays[name].astype(np.int32) for name in ("s_board", "s_items", "s_agents", "s_nbombs"))
    states = len(board)

    planes = np.zeros((4, states, size, size), np.uint8)  # life, strength, owner, direction
    at, slot = np.nonzero(np.arange(listed_bombs(config)) < count[:, None])
    row, column, owner, life, strength, direction = arrays["s_bombs"][at, slot].T
    for plane, value in zip(planes, (life, strength, owner, direction), strict=True):
        plane[at, row, column] = value
    visible = np.where((board >= FIRST_ITEM) & (board < FIRST_ITEM + NUM_ITEM_KINDS), board, 0)
    kinds = np.maximum(hidden + visible - (FIRST_ITEM - 1), 0)

    seats = config.num_players
    facts: Any = {  # numpy where a State says jax: the two are interchangeable outside jit
        "bombers": tuple(_bomber(agents[:, seat], size) for seat in range(seats)),
        "messages": ((np.zeros(states, np.int8),) * 2,) * seats if config.has_messages else (),
        "step_count": arrays["s_step"].astype(np.int16),
        "terminated": np.zeros(states, bool),
        "seat_rewards": (np.zeros(states, np.int8),) * seats,
        "ring_falls": np.zeros(states, bool) if config.collapse_steps else (),
    }
    return State(
        rigid=grid.from_numpy(board == Cell.RIGID),
        wood=grid.from_numpy(board == Cell.WOOD),
        items=pack_number(grid, kinds, ITEM_DIGITS),
        flames=pack_number(grid, arrays["s_flames"], FLAME_LIFE + 1),
        bombs=Bombs(
            life=pack_number(grid, planes[0], LIFE_DIGITS),
            strength=pack_number(grid, planes[1], STRENGTH_DIGITS),
            owner=pack_number(grid, planes[2], OWNER_DIGITS),
            moving=tuple(grid.from_numpy(planes[3] == 1 + d) for d in range(4)),
        ),
        **facts,
    )


def _bomber(numbers: np.ndarray, size: int) -> Bomber:
    """Makes one seat's bombers from their columns, int [S, 6]."""
    row, column, alive, ammo, strength, kick = numbers.T
    facts: Any = ((row * size + column).astype(np.int8), alive != 0, ammo.astype(np.int8), strength.astype(np.int8), kick != 0)
    return Bomber(*facts)


def to_arrays(config: PommermanConfig, state: State) -> Arrays:
    """Turns a batch of states into recorded arrays, the inverse of `from_arrays` with bombs sorted by row and column.

    The official environment saves a state when a ring of the board has fallen that nobody has seen fall yet, and so do these.

    Args:
      config: the variant.
      state: leaves [S].
    """
    return shown_arrays(config, _compiled_collapse(config)(state) if config.collapse_steps else state)


@functools.cache
def _compiled_collapse(config: PommermanConfig) -> Callable[[State], State]:
    return jax.jit(jax.vmap(functools.partial(rules.collapse, config)))


def shown_arrays(config: PommermanConfig, state: State) -> Arrays:
    """Gives the arrays of `to_arrays` with the board as everybody sees it now, for pictures."""
    grid = config.grid
    state = jax.tree.map(np.asarray, state)
    cell = np.stack([agent.cell for agent in state.bombers], axis=1).astype(np.int32)
    columns = [np.stack([getattr(a, f) for a in state.bombers], axis=1) for f in ("alive", "ammo", "blast_strength", "can_kick")]
    agents = np.stack([cell // grid.columns, cell % grid.columns, *columns], axis=2).astype(np.int8)
    life, strength, owner = (
        unpack_number(grid, planes) for planes in (state.bombs.life, state.bombs.strength, state.bombs.owner)
    )
    direction = np.zeros_like(life)
    for d, plane in enumerate(state.bombs.moving):
        direction += unpack(grid, plane) * np.uint8(1 + d)
    kinds = unpack_number(grid, state.items)
    flames = unpack_number(grid, state.flames)
    wood = unpack(grid, state.wood)
    codes = np.where(kinds > 0, kinds + (FIRST_ITEM - 1), 0)
    is_hidden = wood | (flames > 0)

    board = np.where(unpack(grid, state.rigid), Cell.RIGID, np.where(wood, Cell.WOOD, np.where(is_hidden, 0, codes)))
    board = np.where(life > 0, Cell.BOMB, board)
    for seat in range(config.num_players):
        at = np.flatnonzero(agents[:, seat, 2])
        board[at, agents[at, seat, 0], agents[at, seat, 1]] = Cell.AGENT_0 + seat
    board = np.where(flames > 0, Cell.FLAMES, board)

    bombs = np.full((len(board), listed_bombs(config), 6), -1, np.int8)
    at, row, column = np.nonzero(life)
    count = np.bincount(at, minlength=len(board))
    slot = np.arange(len(at)) - np.repeat(np.cumsum(count) - count, count)
    listed = [row, column, *(plane[at, row, column] for plane in (owner, life, strength, direction))]
    bombs[at, slot] = np.stack(listed, axis=1)
    return {
        "s_board": board.astype(np.uint8),
        "s_items": np.where(is_hidden, codes, 0).astype(np.uint8),
        "s_flames": flames,
        "s_nbombs": count.astype(np.uint8),
        "s_bombs": bombs,
        "s_agents": agents,
        "s_step": np.asarray(state.step_count, np.int16),
    }


def sort_bombs(arrays: Mapping[str, np.ndarray]) -> Arrays:
    """Gives the arrays with every bomb list sorted by row and column, as `to_arrays` writes them."""
    bombs = arrays["s_bombs"].astype(np.int32)
    listed = np.arange(bombs.shape[1]) < arrays["s_nbombs"].astype(np.int32)[:, None]
    order = np.where(listed, bombs[..., 0] * 64 + bombs[..., 1], 1 << 20)
    order = np.argsort(order, axis=1, kind="stable")
    bombs = np.take_along_axis(arrays["s_bombs"], order[..., None], axis=1)
    return {**arrays, "s_bombs": bombs}


def check_arrays(config: PommermanConfig, arrays: Mapping[str, np.ndarray]) -> None:
    """Checks that recorded arrays have the right form and can be states of a game.

    Raises:
      ValueError: names the field, or the first state and what is impossible about it.
    """
    check_form(config, arrays)
    for fact, wrong in impossible_facts(config, arrays):
        states = np.flatnonzero(any_in_row(wrong))
        if len(states):
            raise ValueError(f"state {states[0]}: {fact} ({len(states)} states)")


def check_form(config: PommermanConfig, arrays: Mapping[str, np.ndarray]) -> None:
    """Checks that recorded arrays have the right names, shapes and types.

    Raises:
      ValueError: names the field.
    """
    replay.check_form(arrays, {name: ("S", *shape) for name, shape in state_shapes(config).items()}, {"S": "s_board"})


def state_shapes(config: PommermanConfig) -> dict[str, tuple[int, ...]]:
    """Gives the shapes of the arrays of one state."""
    board, seats = (config.board_size, config.board_size), config.num_players
    return dict(zip(STATE_FIELDS, (board, board, board, (), (listed_bombs(config), 6), (seats, 6), ()), strict=True))


def impossible_facts(config: PommermanConfig, arrays: Mapping[str, np.ndarray]) -> Iterator[tuple[str, np.ndarray]]:
    """Yields (fact, bool [S, ...]) for everything that may be wrong with a state; the arrays must have the right form."""
    size = config.board_size
    board, hidden, flames, agents, count = (
        arrays[name].astype(np.int32) for name in ("s_board", "s_items", "s_flames", "s_agents", "s_nbombs")
    )
    states = np.arange(len(board))
    codes = [0, 1, 2, 3, 4, 6, 7, 8, *range(Cell.AGENT_0, Cell.AGENT_0 + agents.shape[1])]
    yield f"a board code is none of 0..4, 6..8, 10..{codes[-1]}", ~np.isin(board, codes)
    yield "a hidden item is none of 0, 6, 7, 8", ~np.isin(hidden, [0, 6, 7, 8])
    yield "an item is hidden where there is neither wood nor flames", (hidden > 0) & (board != Cell.WOOD) & (flames == 0)
    yield "a flame has bits beyond life 0..2", flames >> (FLAME_LIFE + 1) != 0
    yield "flames and board code 4 do not agree", (flames > 0) != (board == Cell.FLAMES)

    bombs = arrays["s_bombs"].astype(np.int32)
    most = listed_bombs(config)
    yield f"s_nbombs is above {most}", count > most
    listed = np.arange(most) < count[:, None]
    yield "a row after the last bomb is not -1", ~listed[..., None] & (bombs != -1)
    low = np.array([0, 0, 0, 1, START_BLAST_STRENGTH, 0])
    high = np.array([size - 1, size - 1, agents.shape[1] - 1, BOMB_LIFE - 1, config.max_blast_strength, 4])
    yield "a bomb has a number out of range", listed[..., None] & ((bombs < low) | (bombs > high))
    row, column = (np.clip(bombs[..., axis], 0, size - 1) for axis in (0, 1))
    place = np.where(listed, row * size + column, -1 - np.arange(most))
    place = np.sort(place, axis=1)
    yield "two bombs share a cell", place[:, 1:] == place[:, :-1]
    has_bomb = np.zeros((len(board), size, size), bool)
    at, slot = np.nonzero(listed)
    has_bomb[at, row[at, slot], column[at, slot]] = True

    low = np.array([0, 0, 0, 0, START_BLAST_STRENGTH, 0])
    high = np.array([size - 1, size - 1, 1, MAX_AMMO, config.max_blast_strength, 1])
    yield "an agent has a number out of range", (agents < low) | (agents > high)
    shown = np.zeros((len(board), size, size), np.int32)
    for seat in range(agents.shape[1]):
        alive = agents[:, seat, 2] == 1
        where = (states, np.clip(agents[:, seat, 0], 0, size - 1), np.clip(agents[:, seat, 1], 0, size - 1))
        yield "two living agents share a cell", alive & (shown[where] > 0)
        shown[where] = np.where(alive, Cell.AGENT_0 + seat, shown[where])
    yield "living agents and the board do not agree", shown != np.where(board >= Cell.AGENT_0, board, 0)
    yield "bombs and board code 3 do not agree", (has_bomb & (shown == 0)) != (board == Cell.BOMB)
    rolls = listed & (bombs[..., 5] > 0) & (shown[states[:, None], row, column] > 0)
    yield "a bomb rolls under a living agent", rolls
    yield "the step count is out of range", (arrays["s_step"] < 0) | (arrays["s_step"] > config.max_steps)
