"""From the dictionary that the official environment hands to an agent to what our players are shown."""

from __future__ import annotations

import numbers
import reprlib
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from jaxgames.pommerman.arrays import pack_number
from jaxgames.pommerman.config import MODES, PommermanConfig
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
    START_BLAST_STRENGTH,
    STRENGTH_DIGITS,
    Cell,
    GameType,
)
from jaxgames.pommerman.observation import Observation
from jaxgames.pommerman.state import Bomber

_HIGHEST = {
    "bomb_blast_strength": MAX_BLAST_STRENGTH,
    "bomb_life": BOMB_LIFE,
    "bomb_moving_direction": 4,
    "flame_life": FLAME_LIFE + 1,
}


def observation_from_dict(config: PommermanConfig, seen: Mapping[str, Any]) -> Observation:
    """Turns the official dictionary into an observation; the inverse of `official_observation.observation_dict`.

    Args:
      config: the variant.
      seen: with the official keys; teammates and enemies may be numbers or members of the official enumeration.

    Returns:
      One observation, its leaves numpy arrays.

    Raises:
      ValueError: a key is missing, or a value is not possible: names it. `game_type` may be missing; `game_env` is not looked at,
        as whoever makes an environment names it.
    """
    if not isinstance(seen, Mapping):
        raise ValueError(f"observation={_told(seen)}: must be a dictionary with the keys of the official environment")
    _check_game_type(config, seen)
    size, grid = config.board_size, config.grid
    build_bomber: Any = Bomber  # of numpy scalars, which are arrays to JAX
    build_observation: Any = Observation
    board = _map(seen, "board", size, int(Cell.AGENT_0) + config.num_players - 1)
    maps = {name: _map(seen, name, size, highest) for name, highest in _HIGHEST.items()}
    seat = _seat(config, seen)
    alive = _agents(config, seen, "alive", int(Cell.AGENT_0))
    row, column = _pair(seen, "position", size - 1)
    _check_bombs(maps)
    _check_pieces(config, board, alive, int(Cell.AGENT_0) + seat, (row, column))

    def where(cells: np.ndarray) -> Any:
        return grid.from_numpy(cells)

    items = np.where((board >= FIRST_ITEM) & (board < FIRST_ITEM + NUM_ITEM_KINDS), board - FIRST_ITEM + 1, 0)
    bombers = []
    for other in range(config.num_players):
        places = np.flatnonzero(board == Cell.AGENT_0 + other)
        bombers.append(np.int8(places[0] if len(places) else -1))
    life, direction = maps["bomb_life"], maps["bomb_moving_direction"]
    strength = _bounded(_entry(seen, "blast_strength"), "blast_strength", MAX_BLAST_STRENGTH, START_BLAST_STRENGTH)
    own = build_bomber(
        cell=np.int8(row * size + column),
        alive=np.bool_(Cell.AGENT_0 + seat in alive),
        ammo=np.int8(_bounded(_entry(seen, "ammo"), "ammo", MAX_AMMO)),
        blast_strength=np.int8(strength),
        can_kick=np.bool_(_flag(seen, "can_kick")),
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
        step_count=np.int16(_bounded(_entry(seen, "step_count"), "step_count", config.max_steps)),
    )
    result: Observation = jax.tree.map(np.asarray, observation)
    return result


def _entry(seen: Mapping[str, Any], name: str) -> Any:
    if name not in seen:
        raise ValueError(f"observation: {name} is missing; it must have the keys of the official environment")
    return seen[name]


def _told(value: Any) -> str:
    """A value on one short line."""
    return " ".join(reprlib.repr(value).split())


def _whole(value: Any, name: str) -> int:
    """An int out of a number, or a member of the official enumeration."""
    number = getattr(value, "value", value)
    if isinstance(number, np.ndarray) and number.ndim == 0:
        number = number.item()
    is_whole = isinstance(number, numbers.Integral) or (isinstance(number, numbers.Real) and float(number).is_integer())
    if not is_whole:
        raise ValueError(f"{name}={_told(value)}: must be a whole number")
    return int(number)


def _bounded(value: Any, name: str, highest: int, lowest: int = 0) -> int:
    number = _whole(value, name)
    if not lowest <= number <= highest:
        raise ValueError(f"{name}={_told(number)}: must be in {lowest}..{highest}")
    return number


def _flag(seen: Mapping[str, Any], name: str) -> bool:
    value = _entry(seen, name)
    if not isinstance(value, bool | np.bool_ | numbers.Integral) or value not in (0, 1):
        raise ValueError(f"{name}={_told(value)}: must be True or False")
    return bool(value)


def _list(seen: Mapping[str, Any], name: str, what: str) -> list[Any]:
    value = _entry(seen, name)
    if not isinstance(value, list | tuple | np.ndarray) or np.ndim(np.asarray(value, object)) != 1:
        raise ValueError(f"{name}={_told(value)}: must be a list of {what}")
    return list(value)


def _pair(seen: Mapping[str, Any], name: str, highest: int | None = None) -> tuple[int, int]:
    what = "two integers" if highest is None else f"two numbers in 0..{highest}"
    values = _list(seen, name, what)
    pair = tuple(_whole(value, name) for value in values)
    if len(pair) != 2 or not (highest is None or all(0 <= value <= highest for value in pair)):
        raise ValueError(f"{name}={_told(pair)}: must be {what}")
    return pair


def _agents(config: PommermanConfig, seen: Mapping[str, Any], name: str, lowest: int) -> set[int]:
    """Board codes of agents, from `lowest` on."""
    highest = int(Cell.AGENT_0) + config.num_players - 1
    return {_bounded(code, name, highest, lowest) for code in _list(seen, name, f"board codes in {lowest}..{highest}")}


def _check_game_type(config: PommermanConfig, seen: Mapping[str, Any]) -> None:
    """Raises a ValueError where another mode is played."""
    if "game_type" not in seen:
        return
    told = _bounded(seen["game_type"], "game_type", max(GameType), min(GameType))
    if told != config.game_type:
        raise ValueError(f"game_type={told}: is of mode {MODES[told - 1]}; must be {int(config.game_type)}, of {config.mode}")


def _check_bombs(maps: Mapping[str, np.ndarray]) -> None:
    """Raises a ValueError where one map shows a bomb and another does not."""
    life, strength = maps["bomb_life"] > 0, maps["bomb_blast_strength"] > 0
    for name, wrong in (
        ("bomb_blast_strength", strength != life),
        ("bomb_moving_direction", (maps["bomb_moving_direction"] > 0) & ~life),
    ):
        if wrong.any():
            place = tuple(np.argwhere(wrong)[0].tolist())
            both = f"{maps[name][place]}, and bomb_life is {maps['bomb_life'][place]}"
            raise ValueError(f"{name} at {place} is {both}: both must be above 0 where there is a bomb, and 0 elsewhere")


def _check_pieces(config: PommermanConfig, board: np.ndarray, alive: set[int], own: int, position: tuple[int, int]) -> None:
    """Raises a ValueError unless the board shows whoever looks where it stands, and of others at most one living piece each."""
    for code in range(Cell.AGENT_0, Cell.AGENT_0 + config.num_players):
        places = [tuple(place) for place in np.argwhere(board == code).tolist()]
        if places and code not in alive:
            raise ValueError(f"alive={sorted(alive)}: must hold {code}, which the board shows at {places[0]}")
        if len(places) > 1:
            raise ValueError(f"board: shows agent {code} {len(places)} times, at {places[0]} first; must show it once at most")
        if code == own and code in alive and places != [position]:
            shown = f"shows {code} at {places[0]}" if places else f"does not show {code}"
            raise ValueError(f"position={position}: must be where the board has the own piece, and it {shown}")


def _map(seen: Mapping[str, Any], name: str, size: int, highest: int) -> np.ndarray:
    """A map of the board, int64 [N, N]."""
    given = _entry(seen, name)
    try:
        cells = np.asarray(given, float)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name}={_told(given)}: must be {size} x {size} numbers") from None
    if cells.shape != (size, size):
        raise ValueError(f"{name} of shape {cells.shape}: must be {size} x {size} numbers")
    wrong = np.argwhere(~((cells >= 0) & (cells <= highest) & (cells == np.floor(cells))))
    if len(wrong):
        place = tuple(wrong[0].tolist())
        raise ValueError(f"{name} at {place} is {cells[place]}: must be an integer in 0..{highest}")
    return cells.astype(np.int64)


def _seat(config: PommermanConfig, seen: Mapping[str, Any]) -> int:
    """The seat that is neither the teammate's nor an enemy's."""
    nobody = int(Cell.DUMMY)
    others = _agents(config, seen, "enemies", nobody)
    others.add(_bounded(_entry(seen, "teammate"), "teammate", int(Cell.AGENT_0) + config.num_players - 1, nobody))
    mine = [seat for seat in range(config.num_players) if Cell.AGENT_0 + seat not in others]
    if len(mine) != 1:
        raise ValueError(f"enemies and teammate {sorted(others)}: must name all of {config.num_players} agents but one")
    return mine[0]


def _message(config: PommermanConfig, seen: Mapping[str, Any]) -> tuple[np.int8, ...]:
    if not config.has_messages:
        return ()
    words = _pair(seen, "message")
    if not all(0 <= word < NUM_WORDS for word in words):  # a teammate may say anything, and the environment passes it on
        words = (0, 0)
    return np.int8(words[0]), np.int8(words[1])
