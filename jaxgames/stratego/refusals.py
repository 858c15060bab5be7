"""Why a move is not legal, in words; on the host."""

from __future__ import annotations

import numpy as np

from jaxgames.stratego import moves
from jaxgames.stratego.config import StrategoConfig
from jaxgames.stratego.constants import IMMOBILE, KIND_NAMES, LAKE, SCOUT


def why_illegal(config: StrategoConfig, board: dict[str, np.ndarray], action: int, seat: int) -> str:
    """Says why a player may not make a move that is not legal.

    Args:
      config: the variant.
      board: as `interop.to_arrays` gives it.
      action: the number of a move.
      seat: who wants to make it.
    """
    table = moves.table(config, seat)
    if not table.inside[action]:
        return "it leads off the board"
    start, end = int(table.start[action]), int(table.end[action])
    names = moves.cell_name(config, start), moves.cell_name(config, end)
    piece, owner = board["piece"], board["owner"]
    if owner[start] != seat:
        return f"no piece of its own is on {names[0]}"
    if piece[start] in IMMOBILE:
        return f"a {KIND_NAMES[piece[start] - 1]} does not move"
    if piece[end] == LAKE:
        return f"{names[1]} is a lake"
    if owner[end] == seat:
        return f"a piece of its own is on {names[1]}"
    between = cells_between(config, start, end)
    if between and piece[start] != SCOUT:
        return f"a {KIND_NAMES[piece[start] - 1]} goes one cell at a time"
    if blocked := [cell for cell in between if piece[cell]]:
        return f"{moves.cell_name(config, blocked[0])} is in the way"
    return "it has gone to and fro between these cells too often"


def cells_between(config: StrategoConfig, start: int, end: int) -> list[int]:
    """Gives the cells between two of one row or column, from the first on."""
    apart = end - start
    step = config.columns if apart % config.columns == 0 else 1
    return list(range(start, end, step if apart > 0 else -step))[1:]
