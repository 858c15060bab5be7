"""Positions of Stratego in letters."""

from __future__ import annotations

from jaxgames import letters
from jaxgames.stratego import interop
from jaxgames.stratego.config import StrategoConfig
from jaxgames.stratego.constants import FILES, LAKE, PLAYERS, SYMBOLS
from jaxgames.stratego.state import State


def to_text(config: StrategoConfig, state: State) -> str:
    """Writes the true board: r and b for whose a piece is, then its rank as in pictures; ~ lakes. Red is at the bottom."""
    arrays = interop.to_arrays(config, state)
    cells = []
    for kind, owner in zip(arrays["piece"].tolist(), arrays["owner"].tolist(), strict=True):
        cells.append("rb"[owner] + SYMBOLS[kind - 1] if kind > 0 else "~" if kind == LAKE else ".")
    rows = [cells[row * config.columns : (row + 1) * config.columns] for row in reversed(range(config.rows))]
    board = letters.board(rows, [str(row) for row in range(config.rows, 0, -1)], FILES[: config.columns])
    return board + ("the game is over\n" if state.terminated else f"{PLAYERS[int(state.player)]} is to move\n")
