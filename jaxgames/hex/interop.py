"""States as the plain arrays, tensors and texts of OpenSpiel, and back."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames import checks
from jaxgames.bits import Bits
from jaxgames.hex.config import HexConfig
from jaxgames.hex.geometry import BLACK, WHITE
from jaxgames.hex.rules import legal_cells, step
from jaxgames.hex.setup import init
from jaxgames.hex.state import State

# Codes of cells, times +1 for the first player and -1 for the second.
PLAIN, JOINED_FAR, JOINED_NEAR, WINNING = 1, 2, 3, 4
NUM_CODES = 9
_SIGNS = {BLACK: 1, WHITE: -1}
_LETTERS = {1: "x", 0: ".", -1: "o"}


def board(config: HexConfig, state: State) -> np.ndarray:
    """Gives the true board, int8 [..., n * n]: 1 first player, -1 second, 0 empty."""
    return config.grid.to_numpy(state.stones[BLACK]) - config.grid.to_numpy(state.stones[WHITE])


def joined_codes(config: HexConfig, state: State) -> np.ndarray:
    """Gives OpenSpiel's codes of Hex, int8 [..., n * n].

    0 is empty, +-1 plain, +-2 joined to the far edge, +-3 to the near edge, +-4 the winning stone.
    """
    codes = np.zeros_like(board(config, state))
    for player, sign in _SIGNS.items():
        kinds = (
            (PLAIN, state.stones[player]),
            (JOINED_FAR, state.far[player]),
            (JOINED_NEAR, state.near[player]),
        )
        for code, cells in kinds:
            codes = np.where(config.grid.to_numpy(cells) > 0, sign * code, codes)
    return _with_winning_stone(config, state, codes).astype(np.int8)


def view_codes(config: HexConfig, state: State, player: int) -> np.ndarray:
    """Gives a player's view in DarkHex, int8 [..., n * n]: 1, -1, 0 and +-4 for its own winning stone."""
    checks.seat(np.asarray(player), 2)
    sign = _SIGNS[int(player)]
    codes = sign * (config.grid.to_numpy(state.stones[player]) - config.grid.to_numpy(state.found[player]))
    won = _with_winning_stone(config, state, codes)
    mine = np.asarray(state.player)[..., None] == player
    return np.where(mine, won, codes).astype(np.int8)


def observation_tensor(config: HexConfig, state: State, player: int) -> np.ndarray:
    """Gives OpenSpiel's observation tensor, float32: [n * n * 9] in DarkHex (cell by cell), [9, n, n] in Hex."""
    codes = view_codes(config, state, player) if config.is_dark else joined_codes(config, state)
    hot = np.eye(NUM_CODES, dtype=np.float32)[codes.astype(int) + NUM_CODES // 2]
    if config.is_dark:
        return hot.reshape(*codes.shape[:-1], -1)
    size = config.board_size
    return np.moveaxis(hot, -1, -2).reshape(*codes.shape[:-1], NUM_CODES, size, size)


def observation_string(config: HexConfig, state: State, player: int) -> str:
    """Gives OpenSpiel's observation string of DarkHex: the rows of the player's own view (one game)."""
    codes = np.sign(view_codes(config, state, player)).reshape(config.board_size, config.board_size)
    return "\n".join("".join(_LETTERS[int(code)] for code in row) for row in codes)


def information_string(config: HexConfig, state: State, player: int, attempts: np.ndarray) -> str:
    """Gives OpenSpiel's information-state string of DarkHex (one game).

    Args:
      config: the variant.
      state: one game.
      player: whose.
      attempts: int [k], the cells that this player has tried, in order.
    """
    tried = "".join(f"{player},{int(cell)} " for cell in attempts)
    return f"{observation_string(config, state, player)}\n{int(state.attempts)}\n{tried}"


def cell_name(config: HexConfig, cell: int) -> str:
    """Gives the name of a cell, such as a1 for the north-west corner and b1 for the one east of it."""
    row, column = divmod(cell, config.board_size)
    return f"{chr(ord('a') + column)}{row + 1}"


def parse_cell(config: HexConfig, name: str) -> int:
    """Gives the number of a cell by its name.

    Raises:
      ValueError: there is no such cell.
    """
    column, row = ord(name[:1] or " ") - ord("a"), name[1:]
    if not row.isdecimal() or not 0 <= column < config.board_size or not 1 <= int(row) <= config.board_size:
        last = cell_name(config, config.num_cells - 1)
        raise ValueError(f"cell={name!r}: must be in a1..{last}")
    return (int(row) - 1) * config.board_size + column


def attempt(config: HexConfig, state: State, cell: int | str) -> State:
    """Lets the player to move try a cell, after checking that it may (one game).

    Args:
      config: the variant.
      state: one game.
      cell: its number or its name.

    Raises:
      ValueError: there is no such cell, it is not empty in the mover's view, or the game is over.
    """
    number = parse_cell(config, cell) if isinstance(cell, str) else checks.as_integer(cell)
    if number is None or not 0 <= number < config.num_cells:
        raise ValueError(f"cell={cell!r}: must be an integer in 0..{config.num_cells - 1}, or a name")
    if bool(state.terminated):
        raise ValueError(f"cell={cell_name(config, number)}: the game is over")
    if not bool((config.grid.one_hot(jnp.int32(number)) & legal_cells(config, state)).any()):
        raise ValueError(f"cell={cell_name(config, number)}: is taken in the view of the player to move")
    return step(config, state, jnp.int32(number))


def from_board(config: HexConfig, cells: np.ndarray, player: int, found: tuple[np.ndarray, np.ndarray] | None = None) -> State:
    """Makes a state that is not finished from a board, also one that no game comes to: anybody may be to move.

    Args:
      config: the variant.
      cells: int [n * n], 1, -1 or 0.
      player: whose turn it is.
      found: DarkHex: bool [n * n] each, the other's stones that each player has run into; None: nothing.

    Raises:
      ValueError: another shape, another code, somebody has won, or something was found where no stone is, or in Hex.
    """
    cells = np.asarray(cells).reshape(-1)
    if cells.size != config.num_cells:
        raise ValueError(f"{cells.size} cells: a board of {config.board_size} x {config.board_size} has {config.num_cells}")
    wrong = np.flatnonzero(~np.isin(cells, (-1, 0, 1)))
    if wrong.size:
        raise ValueError(f"cell {wrong[0]} is {cells[wrong[0]]}: must be 1, -1 or 0")
    if player not in (BLACK, WHITE):
        raise ValueError(f"player={player}: must be 0 or 1")
    stones = np.stack([cells == sign for sign in _SIGNS.values()])
    met = np.zeros_like(stones) if found is None else _found(config, found)
    for seat in (BLACK, WHITE):
        if (met[seat] & ~stones[1 - seat]).any():
            raise ValueError(f"found[{seat}]: has a cell without a stone of the other player")
    state, has_won = _of_sets(config, *(_sets(config, masks) for masks in (stones, met)), np.int8(player))
    for seat in (seat for seat in (BLACK, WHITE) if has_won[seat]):
        raise ValueError(f"player {seat} has won on this board: the game is over")
    return state


def _found(config: HexConfig, found: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Checks what both players have run into: bool [2, n * n]."""
    if not config.is_dark:
        raise ValueError("found: must be None in Hex, where all stones are seen")
    masks = [np.asarray(part, bool).reshape(-1) for part in found]
    sizes = [mask.size for mask in masks]
    if sizes != [config.num_cells] * 2:
        raise ValueError(f"found: arrays of {sizes} cells: must be two, of {config.num_cells} each")
    return np.stack(masks)


def _sets(config: HexConfig, masks: np.ndarray) -> Any:
    """Makes two sets out of bool [2, n * n]."""
    size = config.board_size
    return tuple(config.grid.from_numpy(mask.reshape(size, size)) for mask in masks)


@functools.partial(jax.jit, static_argnums=0)
def _of_sets(config: HexConfig, stones: tuple[Bits, Bits], met: tuple[Bits, Bits], player: Array) -> tuple[State, Array]:
    """Makes a state, and says who has won, bool [2]."""
    grid = config.grid
    near, far = (
        tuple(grid.flood(stones[seat] & grid.edges(seat)[edge], stones[seat]) for seat in (BLACK, WHITE)) for edge in (0, 1)
    )
    placed, failed = ([pair[seat].count() for seat in (BLACK, WHITE)] for pair in (stones, met))
    # A failed attempt ends a turn in abrupt DarkHex alone.
    turns = [placed[seat] + failed[seat] if config.rules == "abrupt" else placed[seat] for seat in (BLACK, WHITE)]
    start = init(config)
    state = State(
        stones=stones,
        found=met,
        near=(near[0], near[1]),
        far=(far[0], far[1]),
        player=player,
        turns=(turns[0].astype(jnp.int16), turns[1].astype(jnp.int16)),
        attempts=sum(placed + failed, jnp.int32(0)).astype(jnp.int16),
        last=start.last,
        terminated=start.terminated,
        seat_rewards=start.seat_rewards,
    )
    return state, jnp.stack([near[seat].overlaps(far[seat]) for seat in (BLACK, WHITE)])


def _with_winning_stone(config: HexConfig, state: State, codes: np.ndarray) -> np.ndarray:
    last, player = np.asarray(state.last)[..., None], np.asarray(state.player)[..., None]
    return np.where(np.arange(config.num_cells) == last, np.where(player == BLACK, WINNING, -WINNING), codes)
