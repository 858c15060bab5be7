"""What happens to every piece in a game, and when: for pictures that move."""

from __future__ import annotations

import dataclasses

import numpy as np

from jaxgames.stratego import interop
from jaxgames.stratego.config import StrategoConfig
from jaxgames.stratego.state import State

SECONDS, SECONDS_AT_END = 0.5, 4.0
_OFFSET = 0.28  # of a cell, by which an attacker stands off its target during the battle


@dataclasses.dataclass
class Piece:
    """One piece.

    Attributes:
      kind, owner: what it is.
      places: where it stands from which time on: (time, column, row); a battle is fought beside the cell.
      shown: from which time on the other player knows it; None: never.
      gone: when it was captured; None: never.
      moved: from which time on it has moved; None: never.
    """

    kind: int
    owner: int
    places: list[tuple[float, float, float]]
    shown: float | None = None
    gone: float | None = None
    moved: float | None = None


@dataclasses.dataclass(frozen=True)
class Fight:
    """A battle: its time, its cell, and who attacked whom."""

    time: float
    cell: int
    attacker: Piece
    defender: Piece


@dataclasses.dataclass(frozen=True)
class Film:
    """A game as pictures.

    Attributes:
      pieces: all of them.
      fights: in the order of time.
      moves: (time, start, end) of each move.
      seconds: how long it lasts.
    """

    pieces: list[Piece]
    fights: list[Fight]
    moves: list[tuple[float, int, int]]
    seconds: float


def still(config: StrategoConfig, state: State) -> Film:
    """One position, as a film in which nothing happens."""
    pieces, _ = _first(config, interop.to_arrays(config, state))
    start, end = (int(cell) for cell in state.last)
    return Film(pieces, [], [(0.0, start, end)] if start >= 0 else [], 0.0)


def film_of(config: StrategoConfig, states: State) -> Film:
    """A game, of the states before and after each of its moves (leaves [length + 1])."""
    boards = interop.to_arrays(config, states)
    first = {name: array[0] for name, array in boards.items()}
    pieces, at = _first(config, first)
    fights: list[Fight] = []
    moves: list[tuple[float, int, int]] = []
    time = 0.0
    for number in range(1, len(boards["piece"])):
        time += SECONDS
        if boards["ply"][number] == boards["ply"][number - 1]:
            continue  # the game was given up by a move that is not legal
        start, end = (int(cell) for cell in boards["last"][number])
        moves.append((time, start, end))
        mover, met = at.pop(start), at.get(end)
        if met is not None:
            _fight(config, time, start, end, mover, met)
            fights.append(Fight(time, end, mover, met))
            time += SECONDS
        mover.moved = time if mover.moved is None else mover.moved
        stays = int(boards["piece"][number, end])
        if met is not None and not (stays == met.kind and boards["owner"][number, end] == met.owner):
            met.gone = time
            del at[end]
        if stays == mover.kind and boards["owner"][number, end] == mover.owner:
            at[end] = mover
            mover.places.append((time, *_place(config, end)))
        else:
            mover.gone = time
        for cell, piece in at.items():
            if piece.shown is None and boards["visible"][number, cell]:
                piece.shown = time
    return Film(pieces, fights, moves, time + SECONDS_AT_END)


def _place(config: StrategoConfig, cell: int) -> tuple[float, float]:
    row, column = divmod(cell, config.columns)
    return float(column), float(row)


def _first(config: StrategoConfig, board: dict[str, np.ndarray]) -> tuple[list[Piece], dict[int, Piece]]:
    at = {}
    for cell in np.flatnonzero(board["piece"] > 0).tolist():
        piece = Piece(int(board["piece"][cell]), int(board["owner"][cell]), [(0.0, *_place(config, cell))])
        piece.shown = 0.0 if board["visible"][cell] else None
        piece.moved = 0.0 if board["moved"][cell] else None
        at[cell] = piece
    return list(at.values()), at


def _fight(config: StrategoConfig, time: float, start: int, end: int, mover: Piece, met: Piece) -> None:
    """Lets both stand in the cell, side by side and open."""
    (x, y), (x_before, y_before) = _place(config, end), _place(config, start)
    right, down = np.sign(x - x_before), np.sign(y - y_before)
    mover.places.append((time, x - float(right) * _OFFSET, y - float(down) * _OFFSET))
    for piece in (mover, met):
        if piece.shown is None:
            piece.shown = time
