"""One state as the JSON text that the official environment saves and starts from.

The text is an object whose values are themselves JSON texts: `board_size`, `step_count`, `board` (rows of codes), `agents`,
`bombs`, `flames` (lists of objects), `items` (pairs of a position and an item code, for items that are hidden) and
`intended_actions` (the actions of the last step). In radio mode also `radio_vocab_size`, `radio_num_words` and
`_radio_from_agent` (the last message by board code). Published recordings hold the values themselves instead of texts; both
are read.

The text does not say whether the game is over, nor what was paid. A position in which it is over is read as terminated, with
rewards 0; except just after a collapse, which ends a game only with the next step.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.pommerman import rules
from jaxgames.pommerman.arrays import from_arrays, impossible_facts, listed_bombs, to_arrays
from jaxgames.pommerman.config import PommermanConfig
from jaxgames.pommerman.constants import (
    BOMB_LIFE,
    FIRST_ITEM,
    FLAME_LIFE,
    MAX_AMMO,
    NUM_ITEM_KINDS,
    NUM_WORDS,
    START_BLAST_STRENGTH,
    WORDS_PER_MESSAGE,
    Cell,
    Move,
)
from jaxgames.pommerman.official_actions import from_official_actions, to_official_actions
from jaxgames.pommerman.state import State
from jaxgames.replay import Arrays

FIELDS = ("board_size", "step_count", "board", "agents", "bombs", "flames", "items")
OTHER_FIELDS = ("intended_actions", "radio_vocab_size", "radio_num_words", "collapses")  # read past; also all that begin with _
MESSAGES = "_radio_from_agent"
VOCABULARY = 8  # as declared; words are passed on unchecked


# --- writing -----------------------------------------------------------------------------------------------------------


def to_json(config: PommermanConfig, state: State, actions: Sequence[int] | None = None) -> str:
    """Writes a state as the official environment saves it; bombs, flames and items from the top left to the bottom right.

    Args:
      config: the variant.
      state: one game, no batch axis.
      actions: int [P], those of the step that led here, which a state does not hold; None: all stopped.

    Returns:
      The text.

    Raises:
      ValueError: an action is out of range.
    """
    batch = to_arrays(config, jax.tree.map(lambda leaf: np.asarray(leaf)[None], state))
    arrays = {name: array[0] for name, array in batch.items()}
    intended = to_official_actions(config, np.zeros(config.num_players, np.int32) if actions is None else actions)
    hidden = np.argwhere(arrays["s_items"] > 0)
    pieces: dict[str, Any] = {
        "board_size": config.board_size,
        "step_count": int(arrays["s_step"]),
        "board": arrays["s_board"].tolist(),
        "agents": [_agent_piece(seat, numbers) for seat, numbers in enumerate(arrays["s_agents"].tolist())],
        "bombs": [_bomb_piece(numbers) for numbers in arrays["s_bombs"][: arrays["s_nbombs"]].tolist()],
        "flames": _flame_pieces(arrays["s_flames"]),
        "items": [[position, int(arrays["s_items"][tuple(position)])] for position in hidden.tolist()],
        "intended_actions": intended,
    }
    if config.has_messages:
        pieces["radio_vocab_size"], pieces["radio_num_words"] = VOCABULARY, WORDS_PER_MESSAGE
        spoken = enumerate(state.messages)
        pieces[MESSAGES] = {str(Cell.AGENT_0 + seat): [int(word) for word in words] for seat, words in spoken}
    return json.dumps({name: json.dumps(piece) for name, piece in pieces.items()}, sort_keys=True, indent=4)


def _agent_piece(seat: int, numbers: Sequence[int]) -> dict[str, Any]:
    row, column, alive, ammo, strength, kick = numbers
    facts = {"agent_id": seat, "is_alive": bool(alive), "position": [row, column], "ammo": ammo}
    return {**facts, "blast_strength": strength, "can_kick": bool(kick)}


def _bomb_piece(numbers: Sequence[int]) -> dict[str, Any]:
    row, column, owner, life, strength, direction = numbers
    facts = {"position": [row, column], "bomber_id": owner, "life": life, "blast_strength": strength}
    return {**facts, "moving_direction": direction or None}


def _flame_pieces(flames: np.ndarray) -> list[dict[str, Any]]:
    """One piece per flame: a cell with flames of two lives has two."""
    lives = np.arange(FLAME_LIFE + 1)
    found = np.argwhere((flames[..., None] >> lives) & 1)
    return [{"position": [row, column], "life": life} for row, column, life in found.tolist()]


# --- reading -----------------------------------------------------------------------------------------------------------


def from_json(config: PommermanConfig, text: str | bytes) -> State:
    """Reads a state from the text that the official environment, or `to_json`, has written.

    Args:
      config: the variant; board size and number of agents must agree.
      text: JSON.

    Returns:
      One game, no batch axis; see the top of this file for `terminated`.

    Raises:
      ValueError: names the first field that is missing, unknown or wrong (`agents[2].ammo: missing`).
    """
    pieces = _open(text)
    size = config.board_size
    if _integer(pieces["board_size"], "board_size", 0, 1 << 30) != size:
        raise ValueError(f"board_size: {pieces['board_size']!r}, must be {size} in this variant")
    board = _read_board(pieces["board"], size)
    agents = [_read_agent(config, piece, f"agents[{i}]") for i, piece in enumerate(_list(pieces["agents"], "agents"))]
    if sorted(agent[0] for agent in agents) != list(range(config.num_players)):
        raise ValueError(f"agents: ids {[agent[0] for agent in agents]}, must be 0..{config.num_players - 1}, each once")
    bombs = [_read_bomb(config, piece, f"bombs[{i}]") for i, piece in enumerate(_list(pieces["bombs"], "bombs"))]
    most = listed_bombs(config)
    if len(bombs) > most:
        raise ValueError(f"bombs: {len(bombs)}, must be at most {most}")
    bomb_rows = np.full((most, 6), -1, np.int8)
    bomb_rows[: len(bombs)] = np.array(bombs, np.int8).reshape(-1, 6)
    arrays = {
        "s_board": board,
        "s_items": _read_items(pieces["items"], size),
        "s_flames": _read_flames(pieces["flames"], size),
        "s_nbombs": np.uint8(len(bombs)),
        "s_bombs": bomb_rows,
        "s_agents": np.array([agent[1:] for agent in sorted(agents)], np.int8),
        "s_step": np.int16(_integer(pieces["step_count"], "step_count", 0, config.max_steps)),
    }
    batch: Arrays = {name: np.asarray(array)[None] for name, array in arrays.items()}
    for fact, wrong in impossible_facts(config, batch):
        if wrong.any():
            raise ValueError(f"impossible state: {fact}")
    _read_actions(config, pieces.get("intended_actions"))
    state: State = jax.tree.map(lambda leaf: leaf[0], from_arrays(config, batch))
    return _with_end(config, _with_messages(config, state, pieces.get(MESSAGES)))


def _open(text: str | bytes) -> dict[str, Any]:
    """Parses the outer object and the texts in it."""
    try:
        outer = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:  # no text; of Unicode and of endless numbers too
        raise ValueError(f"the state is not JSON: {error}") from None
    if not isinstance(outer, dict):
        raise ValueError(f"the state is a JSON {type(outer).__name__}, must be an object with {', '.join(FIELDS)}")
    for name in FIELDS:
        if name not in outer:
            raise ValueError(f"{name}: missing")
    pieces = {}
    for name, value in outer.items():
        if name not in FIELDS and name not in OTHER_FIELDS and not name.startswith("_"):
            raise ValueError(f"{name}: unknown field; a state has {', '.join(FIELDS)}")
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except (ValueError, RecursionError) as error:
                raise ValueError(f"{name}: not JSON: {error}") from None
        pieces[name] = value
    return pieces


def _read_board(value: Any, size: int) -> np.ndarray:
    board = np.zeros((size, size), np.uint8)
    for row, codes in enumerate(_list(value, "board", size)):
        for column, code in enumerate(_list(codes, f"board[{row}]", size)):
            board[row, column] = _integer(code, f"board[{row}][{column}]", 0, 255)
    return board


def _read_agent(config: PommermanConfig, value: Any, where: str) -> tuple[int, ...]:
    """Returns the id and the row of `s_agents`."""
    piece = _object(value, where, ("agent_id", "is_alive", "position", "ammo", "blast_strength", "can_kick"))
    seat = _integer(piece["agent_id"], f"{where}.agent_id", 0, config.num_players - 1)
    row, column = _position(piece["position"], f"{where}.position", config.board_size)
    ammo = _integer(piece["ammo"], f"{where}.ammo", 0, MAX_AMMO)
    strength = _integer(piece["blast_strength"], f"{where}.blast_strength", START_BLAST_STRENGTH, config.max_blast_strength)
    alive, kick = (_truth(piece[name], f"{where}.{name}") for name in ("is_alive", "can_kick"))
    return seat, row, column, int(alive), ammo, strength, int(kick)


def _read_bomb(config: PommermanConfig, value: Any, where: str) -> tuple[int, ...]:
    """Returns the row of `s_bombs`."""
    piece = _object(value, where, ("position", "bomber_id", "life", "blast_strength", "moving_direction"))
    row, column = _position(piece["position"], f"{where}.position", config.board_size)
    owner = _integer(piece["bomber_id"], f"{where}.bomber_id", 0, config.num_players - 1)
    life = _integer(piece["life"], f"{where}.life", 1, BOMB_LIFE - 1)
    strength = _integer(piece["blast_strength"], f"{where}.blast_strength", START_BLAST_STRENGTH, config.max_blast_strength)
    direction = piece["moving_direction"]
    # Officially a bomb at rest has null; 0, which is the move "stop", is understood too.
    direction = 0 if direction is None else _integer(direction, f"{where}.moving_direction", Move.STOP, Move.RIGHT)
    return row, column, owner, life, strength, direction


def _read_flames(value: Any, size: int) -> np.ndarray:
    flames = np.zeros((size, size), np.uint8)
    for i, entry in enumerate(_list(value, "flames")):
        piece = _object(entry, f"flames[{i}]", ("position", "life"))
        position = _position(piece["position"], f"flames[{i}].position", size)
        bit = 1 << _integer(piece["life"], f"flames[{i}].life", 0, FLAME_LIFE)
        if flames[position] & bit:
            raise ValueError(f"flames[{i}]: the second of this life in cell {list(position)}")
        flames[position] |= bit
    return flames


def _read_items(value: Any, size: int) -> np.ndarray:
    items = np.zeros((size, size), np.uint8)
    for i, entry in enumerate(_list(value, "items")):
        where, code = _list(entry, f"items[{i}]", 2)
        position = _position(where, f"items[{i}][0]", size)
        if items[position]:
            raise ValueError(f"items[{i}]: the second in cell {list(position)}")
        items[position] = _integer(code, f"items[{i}][1]", FIRST_ITEM, FIRST_ITEM + NUM_ITEM_KINDS - 1)
    return items


def _read_actions(config: PommermanConfig, value: Any) -> None:
    """Checks the actions that led here, which a state does not hold; there are none at the start of a game."""
    if value is not None and _list(value, "intended_actions"):
        try:
            from_official_actions(config, value)
        except ValueError as error:
            raise ValueError(f"intended_actions: {error}") from None


def _with_messages(config: PommermanConfig, state: State, value: Any) -> State:
    """Puts the last messages into the state of a radio game; without them it is silent."""
    if not config.has_messages or value is None:
        return state
    names = tuple(str(Cell.AGENT_0 + seat) for seat in range(config.num_players))
    piece = _object(value, MESSAGES, names)
    spoken = []
    for name in names:
        words = _list(piece[name], f"{MESSAGES}.{name}", WORDS_PER_MESSAGE)
        checked = (_integer(word, f"{MESSAGES}.{name}[{i}]", 0, NUM_WORDS - 1) for i, word in enumerate(words))
        spoken.append(tuple(np.int8(word) for word in checked))
    messages: Any = tuple(spoken)
    return dataclasses.replace(state, messages=messages)


def _with_end(config: PommermanConfig, state: State) -> State:
    agents = jax.tree.map(jnp.asarray, state.bombers)
    over = bool(rules.is_over(config, agents, jnp.asarray(state.step_count)))
    over = over and int(state.step_count) not in config.collapse_steps
    terminated: Any = np.bool_(over)
    return dataclasses.replace(state, terminated=terminated)


# --- one value ---------------------------------------------------------------------------------------------------------


def _object(value: Any, where: str, fields: Sequence[str]) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{where}: {_short(value)}, must be an object with {', '.join(fields)}")
    for name in fields:
        if name not in value:
            raise ValueError(f"{where}.{name}: missing")
    for name in value:
        if name not in fields:
            raise ValueError(f"{where}.{name}: unknown field; there are {', '.join(fields)}")
    return value


def _list(value: Any, where: str, length: int | None = None) -> list[Any]:
    if not isinstance(value, list) or length not in (None, len(value)):
        raise ValueError(f"{where}: {_short(value)}, must be a list" + ("" if length is None else f" of {length}"))
    return value


def _position(value: Any, where: str, size: int) -> tuple[int, int]:
    row, column = (_integer(part, f"{where}[{i}]", 0, size - 1) for i, part in enumerate(_list(value, where, 2)))
    return row, column


def _integer(value: Any, where: str, low: int, high: int) -> int:
    return int(_checked(value, where, f"an integer in {low}..{high}", lambda v: type(v) is int and low <= v <= high))


def _truth(value: Any, where: str) -> bool:
    return bool(_checked(value, where, "true or false", lambda v: type(v) is bool))


def _checked(value: Any, where: str, form: str, is_right: Callable[[Any], bool]) -> Any:
    if not is_right(value):
        raise ValueError(f"{where}: {_short(value)}, must be {form}")
    return value


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else text[:37] + "..."
