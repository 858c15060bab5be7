"""What an agent sees as the dictionary of the official environment, and as the arrays of recorded games.

The arrays, with S observations in front (all of them numpy):

    o_board                             uint8 [S, N, N]   board codes, 5 for fog
    o_blast, o_life, o_dir, o_flame     uint8 [S, N, N]   blast strength, life and direction of bombs, life of flames
    o_message                           int8 [S, 2]       radio only: the words of the teammate

Recorded games hold all seats, so they have another axis P after S.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from jaxgames.pommerman.arrays import unpack, unpack_number
from jaxgames.pommerman.config import PommermanConfig
from jaxgames.pommerman.constants import FIRST_ITEM, Cell
from jaxgames.pommerman.observation import Observation
from jaxgames.replay import Arrays

OBSERVATION_FIELDS = ("o_board", "o_blast", "o_life", "o_dir", "o_flame")
MESSAGE_FIELD = "o_message"

OFFICIAL_MAPS = {
    "bomb_blast_strength": "o_blast",
    "bomb_life": "o_life",
    "bomb_moving_direction": "o_dir",
    "flame_life": "o_flame",
}


def observations_to_arrays(config: PommermanConfig, observation: Observation) -> Arrays:
    """Turns a batch of observations into recorded arrays (see the top of this file).

    Args:
      config: the variant.
      observation: leaves [S].
    """
    grid = config.grid
    seen: Observation = jax.tree.map(np.asarray, observation)
    items, strength = unpack_number(grid, seen.items), unpack_number(grid, seen.bomb_strength)
    life, flame = unpack_number(grid, seen.bomb_life), unpack_number(grid, seen.flame_life)
    board = np.where(items > 0, items + (FIRST_ITEM - 1), 0)
    board = np.where(unpack(grid, seen.rigid), Cell.RIGID, np.where(unpack(grid, seen.wood), Cell.WOOD, board))
    board = np.where(life > 0, Cell.BOMB, board)
    for seat, cell in enumerate(seen.bomber_cells):
        at = np.flatnonzero(cell >= 0)
        board[at, cell[at] // grid.columns, cell[at] % grid.columns] = Cell.AGENT_0 + seat
    board = np.where(flame > 0, Cell.FLAMES, board)
    board = np.where(unpack(grid, seen.view), board, Cell.FOG)
    direction = sum(unpack(grid, cells).astype(np.uint8) * np.uint8(1 + d) for d, cells in enumerate(seen.bomb_moving))
    arrays = {
        "o_board": board.astype(np.uint8),
        "o_blast": strength,
        "o_life": life,
        "o_dir": np.asarray(direction, np.uint8),
        "o_flame": flame,
    }
    if config.has_messages:
        arrays[MESSAGE_FIELD] = np.stack(seen.message, axis=-1).astype(np.int8)
    return arrays


def observation_dict(config: PommermanConfig, observation: Observation) -> dict[str, Any]:
    """Turns what one agent sees into the dictionary that the official environment hands out.

    Args:
      config: the variant.
      observation: one, no batch axis.

    Returns:
      The official keys. `board` uint8 [N, N]; the four maps float64 [N, N]; `position` and, in radio mode, `message` tuples of
      two ints; `alive`, `enemies` lists of board codes and `teammate` one of them; `can_kick` a bool; the rest ints but for
      `game_env`, the name of the official class. Officially `teammate`, `enemies` and `game_type` are members of an
      enumeration; here they are its numbers.
    """
    seen: Observation = jax.tree.map(np.asarray, observation)
    arrays = observations_to_arrays(config, jax.tree.map(lambda leaf: leaf[None], seen))
    seat, own = int(seen.seat), seen.own
    teammate, enemies = allegiance(config, seat)
    result: dict[str, Any] = {
        "alive": [int(Cell.AGENT_0) + other for other, alive in enumerate(seen.alive) if alive],
        "board": arrays["o_board"][0],
        **{name: arrays[field][0].astype(np.float64) for name, field in OFFICIAL_MAPS.items()},
        "game_type": int(config.game_type),
        "game_env": game_env(config),
        "position": (int(own.cell) // config.board_size, int(own.cell) % config.board_size),
        "blast_strength": int(own.blast_strength),
        "can_kick": bool(own.can_kick),
        "teammate": teammate,
        "ammo": int(own.ammo),
        "enemies": enemies,
        "step_count": int(seen.step_count),
    }
    if config.has_messages:
        result["message"] = tuple(int(word) for word in arrays[MESSAGE_FIELD][0])
    return result


def allegiance(config: PommermanConfig, seat: int) -> tuple[int, list[int]]:
    """Gives the board codes of the teammate and of the enemies, the dead included; 9 stands for nobody."""
    others = [int(Cell.AGENT_0) + other for other in range(config.num_players) if other != seat]
    if not config.is_team:
        return int(Cell.DUMMY), others
    teammate = int(Cell.AGENT_0) + config.teammate_of(seat)
    return teammate, [code for code in others if code != teammate] + [int(Cell.DUMMY)]


def game_env(config: PommermanConfig) -> str:
    """Gives the name of the official class that plays this variant."""
    version = 2 if config.has_messages else 1 if config.collapse_steps else 0
    return f"pommerman.envs.v{version}:Pomme"
