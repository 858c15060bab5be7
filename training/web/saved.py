"""A game as a file: who played, from which random numbers, and every action; all else follows from these."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import jaxgames
from jaxgames.game import Game

FORMAT, VERSION = "jaxgames game", 1
YOU = "you"  # the agent that is a person
LARGEST = 2**32 - 1


@dataclasses.dataclass(frozen=True)
class SavedGame:
    """A game of which every step can be played again.

    Attributes:
      game, mode: names.
      seed: of the root key.
      number: of the game, as in `training.play.evaluate`.
      start: number of the game whose start state it has.
      agents: by seat, as on command lines; `YOU` is a person.
      actions: of each step, by seat.
    """

    game: str
    mode: str
    seed: int
    number: int
    start: int
    agents: tuple[str, ...]
    actions: tuple[tuple[int, ...], ...] = ()

    def to_text(self) -> str:
        """Writes the game as JSON."""
        return json.dumps({"format": FORMAT, "version": VERSION, **dataclasses.asdict(self)}, separators=(",", ":")) + "\n"


def read(text: str) -> tuple[SavedGame, Game]:
    """Reads a saved game, and makes the game that was played; whether its actions are legal is found by playing it.

    Raises:
      ValueError: it is no saved game, or one that cannot be played here; in one line.
    """
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):  # of no JSON, of a number of thousands of digits, of too many brackets
        raise ValueError("saved game: is no JSON, or only a part of it") from None
    if not isinstance(told, dict) or told.get("format") != FORMAT:
        raise ValueError(f'saved game: must be an object with "format": "{FORMAT}"')
    if told.get("version") != VERSION:
        raise ValueError(f"saved game: version={told.get('version')!r}: must be {VERSION}")
    for name in ("game", "mode"):
        if not isinstance(told.get(name), str):
            raise ValueError(f"saved game: {name}={short(told.get(name))}: must be a name")
    for name in ("seed", "number", "start"):
        if not _is_whole(told.get(name)) or not 0 <= told[name] <= LARGEST:
            raise ValueError(f"saved game: {name}={short(told.get(name))}: must be a whole number in 0..{LARGEST}")
    game = jaxgames.make(told["game"], told["mode"])
    agents, actions = told.get("agents"), told.get("actions")
    if not isinstance(agents, list) or len(agents) != game.num_players or not all(isinstance(each, str) for each in agents):
        raise ValueError(f"saved game: agents={short(agents)}: must be {game.num_players} names")
    if not isinstance(actions, list) or len(actions) > game.max_steps:
        raise ValueError(f"saved game: actions: must be a list of at most {game.max_steps} steps")
    for step, row in enumerate(actions):
        if not isinstance(row, list) or len(row) != game.num_players or not all(map(_is_whole, row)):
            raise ValueError(f"saved game: step {step} is {short(row)}: must be {game.num_players} actions")
        for action in row:
            if not 0 <= action < game.num_actions:
                raise ValueError(f"saved game: step {step}, action={action}: must be in 0..{game.num_actions - 1}")
    whole = {name: told[name] for name in ("game", "mode", "seed", "number", "start")}
    return SavedGame(**whole, agents=tuple(agents), actions=tuple(map(tuple, actions))), game


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def short(value: Any) -> str:
    """Gives what came from outside as a message repeats it: of 60 letters at most."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
