"""Positions of Hex and DarkHex in letters."""

from __future__ import annotations

import numpy as np

from jaxgames import letters
from jaxgames.hex import interop
from jaxgames.hex.config import HexConfig
from jaxgames.hex.state import State

_STONES = {1: "x", 0: ".", -1: "o"}


def to_text(config: HexConfig, state: State) -> str:
    """Writes the true board: x black, who joins top and bottom; o white; names of cells as in pictures."""
    size = config.board_size
    codes = np.asarray(interop.board(config, state)).reshape(size, size).tolist()
    rows = [[_STONES[code] for code in row] for row in codes]
    names = [interop.cell_name(config, column)[:-1] for column in range(size)]
    return letters.board(rows, [str(row + 1) for row in range(size)], names, shift=1) + _result(state)


def _result(state: State) -> str:
    stone = "xo"[int(state.player)]
    return "the game is over\n" if state.terminated else f"{stone} is to move\n"
