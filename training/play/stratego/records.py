"""Records of games: the start, the moves and how it ended, as JSON; to be played again, and drawn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxgames.stratego import StrategoConfig, interop, moves, notation, view
from jaxgames.stratego.state import State
from training.play.stratego import protocol, referee
from training.play.stratego.games import NOBODY, Played

_NEEDED = {"mode": str, "red": str, "blue": str, "start": str, "moves": str}


def record(played: Played, config: StrategoConfig, mode: str, start: State | None) -> dict[str, Any]:
    """Gives a game for a JSON file.

    Args:
      played: the game.
      config: the variant.
      mode: its name.
      start: the position it began with; None if no board was set up.
    """
    legal = [move for move, outcome in played.moves if outcome.word != "ILLEGAL"]
    ending = played.ending
    return {
        "game": "stratego",
        "mode": mode,
        "red": played.names[0],
        "blue": played.names[1],
        "start": notation.write(config, start) if start is not None else "",
        "moves": " ".join(_text(config, move) for move in legal),
        "ended": ending.word,
        "winner": None if ending.winner == NOBODY else protocol.COLOURS[ending.winner],
        "reason": ending.reason,
        "result": played.result,
        "drawn_moves": dict(zip(("red", "blue"), played.drawn, strict=True)),
        "slowest": {name: round(seconds, 4) for name, seconds in zip(("red", "blue"), played.slowest, strict=True)},
    }


def _text(config: StrategoConfig, move: protocol.Move) -> str:
    return "".join(moves.cell_name(config, referee.cell_of(*cell)) for cell in ((move.x, move.y), move.target))


def read(path: str | Path) -> dict[str, Any]:
    """Reads a record.

    Raises:
      ValueError: the file holds none.
      OSError: it cannot be read.
    """
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or found.get("game") != "stratego":
        raise ValueError(f"record={str(path)!r}: is no record of a game of Stratego")
    for name, kind in _NEEDED.items():
        if not isinstance(found.get(name), kind):
            raise ValueError(f"record={str(path)!r}: {name} is missing or of another type")
    return found


def replay(found: dict[str, Any]) -> tuple[Any, State, np.ndarray]:
    """Plays a recorded game again.

    Args:
      found: a record.

    Returns:
      The game; states, leaves [T + 1]; actions int32 [T, 2].

    Raises:
      ValueError: it has no board, or a move is not legal.
    """
    if not found["start"]:
        raise ValueError("the game ended before there was a board")
    listed = found["moves"].split()
    game = referee.variant(found["mode"], len(listed) + 1)
    config = game.config
    states, actions = [notation.read(config, found["start"])], []
    for number, text in enumerate(listed):
        state = states[-1]
        seat = int(state.player)
        try:
            action = moves.parse_move(config, text, seat)
            states.append(interop.play(config, state, action))
        except ValueError as error:
            raise ValueError(f"move {number + 1}: {error}") from None
        actions.append([action if player == seat else game.pass_action for player in (0, 1)])
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *states)
    return game, stacked, np.array(actions, np.int32).reshape(-1, 2)


def draw(found: dict[str, Any]) -> str:
    """Draws a recorded game as an animation, SVG; one without a move as a picture of its start.

    Raises:
      ValueError: as `replay`.
    """
    game, states, actions = replay(found)
    names = found["red"], found["blue"]
    if not len(actions):
        return view.draw(game.config, jax.tree.map(lambda leaf: leaf[0], states), names=names)
    film: str = game.animate(states, actions, names=names)
    return film
