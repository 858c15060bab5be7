"""From the dictionary that the official environment hands to an agent to what our players are shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from jaxgames.pommerman.arrays import pack_number
from jaxgames.pommerman.config import PommermanConfig
from jaxgames.pommerman.constants import (
    BOMB_LIFE,
    FIRST_ITEM,
    FLAME_LIFE,
    ITEM_DIGITS,
    LIFE_DIGITS,
    MAX_AMMO,
    MAX_BLAST_STRENGTH,
    NUM_ITEM_KINDS,
    NUM_WORDS,
    STRENGTH_DIGITS,
    WORDS_PER_MESSAGE,
    Cell,
)
from jaxgames.pommerman.observation import Observation
from jaxgames.pommerman.state import Bomber

_HIGHEST = {
    "bomb_blast_strength": MAX_BLAST_STRENGTH,
    "bomb_life": BOMB_LIFE,
    "bomb_moving_direction": 4,
    "flame_life": FLAME_LIFE + 1,
}
_NUMBERS = {"blast_strength": MAX_BLAST_STRENGTH, "ammo": MAX_AMMO, "step_count": 10_000}


def observation_from_dict(config: PommermanConfig, seen: Mapping[str, Any]) -> Observation:
    """Turns the official dictionary into an observation; the inverse of `official_observation.observation_dict`.

    Args:
      config: the variant.
      seen: with the official keys; teammates and enemies may be numbers or members of the official enumeration.

    Returns:
      One observation, its leaves numpy arrays.

    Raises:
      ValueError: a key is missing, or a value is not possible: names it.
    """
    size, grid = config.board_size, config.grid
    build_bomber: Any = Bomber  # of numpy scalars, which are arrays to JAX
    build_observation: Any = Observation
    board = _map(seen, "board", size, int(Cell.AGENT_0) + config.num_players - 1)
    maps = {name: _map(seen, name, size, highest) for name, highest in _HIGHEST.items()}
    seat = _seat(config, seen)
    alive = {_number(code, "alive") for code in _entry(seen, "alive")}
    numbers = {name: _bounded(seen, name, highest) for name, highest in _NUMBERS.items()}
    row, column = (_number(part, "position") for part in _entry(seen, "position"))
    if not (0 <= row < size and 0 <= column < size):
        raise ValueError(f"position={(row, column)}: must be on the board of {size} x {size} cells")

    def where(cells: np.ndarray) -> Any:
        return grid.from_numpy(cells)

    items = np.where((board >= FIRST_ITEM) & (board < FIRST_ITEM + NUM_ITEM_KINDS), board - FIRST_ITEM + 1, 0)
    bombers = []
    for other in range(config.num_players):
        places = np.flatnonzero(board == Cell.AGENT_0 + other)
        bombers.append(np.int8(places[0] if len(places) else -1))
    life, direction = maps["bomb_life"], maps["bomb_moving_direction"]
    own = build_bomber(
        cell=np.int8(row * size + column),
        alive=np.bool_(Cell.AGENT_0 + seat in alive),
        ammo=np.int8(numbers["ammo"]),
        blast_strength=np.int8(numbers["blast_strength"]),
        can_kick=np.bool_(_entry(seen, "can_kick")),
    )
    observation = build_observation(
        view=where(board != Cell.FOG),
        rigid=where(board == Cell.RIGID),
        wood=where(board == Cell.WOOD),
        items=pack_number(grid, items, ITEM_DIGITS),
        flame_life=pack_number(grid, maps["flame_life"], 2),
        bomb_life=pack_number(grid, life, LIFE_DIGITS),
        bomb_strength=pack_number(grid, np.where(life > 0, maps["bomb_blast_strength"], 0), STRENGTH_DIGITS),
        bomb_moving=tuple(where((direction == 1 + index) & (life > 0)) for index in range(4)),
        bomber_cells=tuple(bombers),
        alive=tuple(np.bool_(Cell.AGENT_0 + other in alive) for other in range(config.num_players)),
        seat=np.int32(seat),
        own=own,
        message=_message(config, seen),
        step_count=np.int16(numbers["step_count"]),
    )
    result: Observation = jax.tree.map(np.asarray, observation)
    return result


def _entry(seen: Mapping[str, Any], name: str) -> Any:
    if name not in seen:
        raise ValueError(f"observation: {name} is missing; it must have the keys of the official environment")
    return seen[name]


def _number(value: Any, name: str) -> int:
    """An int out of a number, or a member of the official enumeration."""
    try:
        number = int(getattr(value, "value", value))
    except (TypeError, ValueError):
        raise ValueError(f"{name}={value!r}: must be a number") from None
    return number


def _bounded(seen: Mapping[str, Any], name: str, highest: int) -> int:
    number = _number(_entry(seen, name), name)
    if not 0 <= number <= highest:
        raise ValueError(f"{name}={number}: must be in 0..{highest}")
    return number


def _map(seen: Mapping[str, Any], name: str, size: int, highest: int) -> np.ndarray:
    """A map of the board, int64 [N, N]."""
    given = _entry(seen, name)
    try:
        cells = np.asarray(given, float)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: must be {size} x {size} numbers") from None
    if cells.shape != (size, size):
        raise ValueError(f"{name} of shape {cells.shape}: must be {size} x {size} numbers")
    wrong = np.argwhere(~((cells >= 0) & (cells <= highest) & (cells == np.floor(cells))))
    if len(wrong):
        place = tuple(wrong[0].tolist())
        raise ValueError(f"{name} at {place} is {cells[place]}: must be an integer in 0..{highest}")
    return cells.astype(np.int64)


def _seat(config: PommermanConfig, seen: Mapping[str, Any]) -> int:
    """The seat that is neither the teammate's nor an enemy's."""
    others = {_number(code, "enemies") for code in _entry(seen, "enemies")}
    others.add(_number(_entry(seen, "teammate"), "teammate"))
    mine = [seat for seat in range(config.num_players) if Cell.AGENT_0 + seat not in others]
    if len(mine) != 1:
        raise ValueError(f"enemies and teammate {sorted(others)}: must name all of {config.num_players} agents but one")
    return mine[0]


def _message(config: PommermanConfig, seen: Mapping[str, Any]) -> tuple[np.int8, ...]:
    if not config.has_messages:
        return ()
    words = [_number(word, "message") for word in _entry(seen, "message")]
    if len(words) != WORDS_PER_MESSAGE or not all(0 <= word < NUM_WORDS for word in words):
        raise ValueError(f"message={words}: must be two words in 0..{NUM_WORDS - 1}")
    return tuple(np.int8(word) for word in words)
