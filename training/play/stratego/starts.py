"""How games begin: with set-ups of the players' own, dealt ones, or positions out of a file."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import jax
import numpy as np

from jaxgames.stratego import Stratego, interop, moves, notation
from jaxgames.stratego.constants import KIND_NAMES, LETTERS, PLAYERS
from jaxgames.stratego.state import State


def dealt(game: Stratego, seed: int) -> Callable[[int], State]:
    """Gives the start of every number, with set-ups that are drawn for both sides."""
    init, key = jax.jit(game.init), jax.random.key(seed)

    def start(number: int) -> State:
        state: State = jax.device_get(init(jax.random.fold_in(key, number)))
        return state

    return start


def from_file(game: Stratego, path: str) -> Callable[[int], State]:
    """Reads positions, one per line as FENfS; after the last of them the first comes again.

    Raises:
      ValueError: a line is no start of this variant, or there is none.
      OSError: the file cannot be read.
    """
    config = dataclasses.replace(game.config, blocked_fields=0, start="")
    states = []
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise ValueError(f"starts={path!r}: must be text, a position per line") from None
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                states.append(_start(Stratego(config), line))
            except ValueError as error:
                raise ValueError(f"{path}, line {number}: {error}") from None
    if not states:
        raise ValueError(f"starts={path!r}: must have a position per line, and has none")
    return lambda number: states[number % len(states)]


def _start(game: Stratego, text: str) -> State:
    """Reads a start: all pieces are there, in their home rows, hidden and unmoved, and red is to move."""
    config, letters = game.config, text.split()[0]
    for seat, name in enumerate(PLAYERS):
        for kind, count in enumerate(config.pieces, 1):
            found = letters.upper().count(LETTERS[seat][kind - 1])
            if found != count and len(letters) == config.num_cells:
                raise ValueError(f"{found} pieces of kind {KIND_NAMES[kind - 1]} of {name}: must be {count}")
    state = notation.read(config, text)
    arrays = interop.to_arrays(config, state)
    if int(state.player) or int(state.ply):
        raise ValueError("must begin with red's first move: r 0")
    for seat, name in enumerate(PLAYERS):
        outside = np.setdiff1d(np.flatnonzero(arrays["owner"] == seat), config.home_cells[seat])
        if outside.size:
            raise ValueError(f"{name}'s piece on {moves.cell_name(config, int(outside[0]))}: must be in its home rows")
        told = np.flatnonzero((arrays["owner"] == seat) & (arrays["visible"] | arrays["moved"]))
        if told.size:
            where = moves.cell_name(config, int(told[0]))
            raise ValueError(f"{name}'s piece on {where}: must be hidden, an upper-case letter, and not have moved")
    return state
