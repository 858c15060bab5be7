"""How moves are numbered. Rows count from the mover's own side, so that both players call the same way forward.

An action is (rows * column + row) * L + way for the cell it starts from; of the L = 2 (rows - 1) + 2 (columns - 1) ways the first
lead backwards, the longest first, then forwards, to lower columns and to higher ones. On 10 x 10 cells there are 3600, as in the
AlphaZe** paper's code. One more number passes, for who is not to move.
"""

from __future__ import annotations

import functools
import re
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.stratego.config import StrategoConfig
from jaxgames.stratego.constants import BLUE, FILES

_CELLS = re.compile(r"(\D(?:10|.))(\D(?:10|.))")


class Move(NamedTuple):
    """One piece goes from a cell to another.

    Attributes:
      start, end: int32 [], cells.
    """

    start: Array
    end: Array


def num_ways(config: StrategoConfig) -> int:
    """Gives how many ways lead from a cell, some of them off the board."""
    return 2 * (config.rows + config.columns - 2)


def num_moves(config: StrategoConfig) -> int:
    """Gives how many numbers there are without the pass."""
    return config.num_cells * num_ways(config)


def divided(numbers: Any, divisor: int, most: int) -> Any:
    """Divides whole numbers in 0..most (int32, or numpy): by a multiplication, as division is slow on vectors."""
    for shift in range(8, 24):
        factor = -(-(1 << shift) // divisor)
        if factor * most < 2**31 and factor * divisor - (1 << shift) <= (1 << shift) // (most + 1):
            return (numbers * factor) >> shift
    return numbers // divisor


def to_move(config: StrategoConfig, action: Array, seat: Array) -> tuple[Move, Array]:
    """Gives the move of an action (int []) of a seat, and whether there is such a move on the board: bool []."""
    rows, columns, ways, most = config.rows, config.columns, num_ways(config), num_moves(config)
    action = jnp.asarray(action).astype(jnp.int32)
    inside = (action >= 0) & (action < most)
    action = jnp.where(inside, action, 0)
    place = divided(action, ways, most)
    way = action - place * ways
    column = divided(place, rows, config.num_cells)
    row = place - column * rows
    vertical = way < 2 * (rows - 1)
    side = way - 2 * (rows - 1)
    down = jnp.where(way < rows - 1, way - (rows - 1), way - (rows - 2))
    right = jnp.where(side < columns - 1, side - (columns - 1), side - (columns - 2))
    row_after, column_after = row + jnp.where(vertical, down, 0), column + jnp.where(vertical, 0, right)
    inside = inside & (row_after >= 0) & (row_after < rows) & (column_after >= 0) & (column_after < columns)
    mirrored = seat == BLUE
    row, row_after = (jnp.where(mirrored, rows - 1 - each, each) for each in (row, row_after))
    return Move(row * columns + column, row_after * columns + column_after), inside


def to_action(config: StrategoConfig, move: Move, seat: Array) -> Array:
    """Gives the action of a move along a row or column, int32 []."""
    rows, columns = config.rows, config.columns
    row, row_after = config.grid.row_of(move.start), config.grid.row_of(move.end)
    column, column_after = move.start - row * columns, move.end - row_after * columns
    mirrored = seat == BLUE
    row, row_after = (jnp.where(mirrored, rows - 1 - each, each) for each in (row, row_after))
    down, right = row_after - row, column_after - column
    vertical = down + jnp.where(down < 0, rows - 1, rows - 2)
    horizontal = right + jnp.where(right < 0, columns - 1, columns - 2) + 2 * (rows - 1)
    way = jnp.where(right == 0, vertical, horizontal)
    return ((column * rows + row) * num_ways(config) + way).astype(jnp.int32)


class Table(NamedTuple):
    """All actions of a seat, int32 [num_moves] each; start and end are 0 where a way leads off the board.

    Attributes:
      start, end: cells.
      inside: bool, whether there is such a move.
    """

    start: np.ndarray
    end: np.ndarray
    inside: np.ndarray


@functools.cache
def table(config: StrategoConfig, seat: int) -> Table:
    """Gives the moves of all actions of a seat, made on the host."""
    rows, columns, ways = config.rows, config.columns, num_ways(config)
    place, way = np.divmod(np.arange(num_moves(config)), ways)
    column, row = np.divmod(place, rows)
    vertical = way < 2 * (rows - 1)
    side = way - 2 * (rows - 1)
    down = np.where(way < rows - 1, way - (rows - 1), way - (rows - 2)) * vertical
    right = np.where(side < columns - 1, side - (columns - 1), side - (columns - 2)) * ~vertical
    inside = (row + down >= 0) & (row + down < rows) & (column + right >= 0) & (column + right < columns)
    if seat == BLUE:
        row, down = rows - 1 - row, -down
    start = row * columns + column
    end = (row + down) * columns + column + right
    start, end = (np.where(inside, cells, 0).astype(np.int32) for cells in (start, end))
    return Table(start, end, inside)


def cell_name(config: StrategoConfig, cell: int) -> str:
    """Gives the name of a cell, such as a1 for the first; the file after i is k, and the rank after 9 is a colon."""
    row, column = divmod(cell, config.columns)
    return f"{FILES[column]}{chr(ord('1') + row)}"


def parse_cell(config: StrategoConfig, name: str) -> int:
    """Gives the number of a cell by its name; rank 10 may be written as 10 too.

    Raises:
      ValueError: there is no such cell.
    """
    column, rank = FILES.find(name[:1]) if name else -1, ":" if name[1:] == "10" else name[1:]
    row = ord(rank) - ord("1") if len(rank) == 1 else -1
    if not (0 <= column < config.columns and 0 <= row < config.rows):
        last = cell_name(config, config.num_cells - 1).replace(":", "10")
        raise ValueError(f"cell={name!r}: must be in a1..{last}{', where there is no column j' if 'k' in last else ''}")
    return row * config.columns + column


def move_text(config: StrategoConfig, action: int, seat: int) -> str:
    """Gives a move as text: where it starts and where it ends, such as a4a5."""
    moves = table(config, seat)
    if not 0 <= action < num_moves(config) or not moves.inside[action]:
        raise ValueError(f"action={action}: must be a move on the board, in 0..{num_moves(config) - 1}")
    return cell_name(config, int(moves.start[action])) + cell_name(config, int(moves.end[action]))


def parse_move(config: StrategoConfig, text: str, seat: int) -> int:
    """Gives the action of a move written as a4a5; rank 10 is a colon or 10.

    Raises:
      ValueError: it is none along a row or a column of the board.
    """
    cells = _CELLS.fullmatch(text)
    if not cells:
        raise ValueError(f"move={text!r}: must be two cells, such as a4a5")
    return action_of(config, parse_cell(config, cells[1]), parse_cell(config, cells[2]), seat)


def action_of(config: StrategoConfig, start: int, end: int, seat: int) -> int:
    """Gives the action of a move between two cells, on the host.

    Raises:
      ValueError: they are not in one row or column, or the same.
    """
    moves = table(config, seat)
    found = np.flatnonzero((moves.start == start) & (moves.end == end) & moves.inside)
    if not found.size:
        names = f"{cell_name(config, start)}{cell_name(config, end)}"
        raise ValueError(f"move={names!r}: must lead along a row or a column")
    return int(found[0])
