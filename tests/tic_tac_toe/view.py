"""Pictures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jaxgames import checks, svg
from tests.tic_tac_toe.game import State

SECONDS = 0.5


def draw(state: State, *, names: Sequence[str] = (), caption: str = "") -> str:
    return _picture(_marks(np.asarray(state.board)), f"{' - '.join(svg.names_of(names, ('x', 'o')))} {caption}")


def animate(states: State, actions: np.ndarray | None = None, *, names: Sequence[str] = ()) -> str:
    del actions
    checks.film(states)
    boards, names = np.asarray(states.board), svg.names_of(names, ("x", "o"))
    seconds = SECONDS * len(boards)
    frames = [
        f"<g>{svg.shown_between(SECONDS * time, SECONDS * (time + 1), seconds)}{_marks(board)}</g>"
        for time, board in enumerate(boards)
    ]
    return _picture("".join(frames), " - ".join(names))


def _marks(board: np.ndarray) -> str:
    cells = ((cell, "x" if board[cell] > 0 else "o") for cell in np.flatnonzero(board))
    return "".join(f"<text x='{20 * (cell % 3) + 10}' y='{20 * (cell // 3) + 15}'>{mark}</text>" for cell, mark in cells)


def _picture(body: str, line: str) -> str:
    return f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 60 80'>{body}<text y='75'>{svg.plain(line)}</text></svg>"
