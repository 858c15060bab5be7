"""Whether a game can be played on a board: which cells can be reached past the lakes. For when settings are made, not for jit."""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence

import numpy as np

Homes = tuple[tuple[int, ...], tuple[int, ...]]

_TRIED, _ENOUGH = 2000, 8  # draws of lakes that are tried, and how many of them must be fair


def reached(columns: int, land: Collection[int], start: int) -> set[int]:
    """Gives the cells that can be reached from one over others of the land."""
    found, waiting = {start}, [start]
    while waiting:
        new = {cell for cell in neighbours(columns, waiting.pop()) if cell in land and cell not in found}
        found |= new
        waiting += new
    return found


def neighbours(columns: int, cell: int) -> list[int]:
    """Gives the cells beside one; above and below also some that no board has."""
    beside = [cell - 1] * (cell % columns > 0) + [cell + 1] * ((cell + 1) % columns > 0)
    return [cell - columns, cell + columns, *beside]


def is_joined(columns: int, land: Collection[int], homes: Homes) -> bool:
    """Says whether somebody can walk from home cells of one side to home cells of the other."""
    other, left = set(homes[1]), set(homes[0])
    while left:
        part = reached(columns, land, next(iter(left)))
        if part & other:
            return True
        left -= part
    return False


@functools.lru_cache(maxsize=64)
def can_be_blocked(columns: int, land: tuple[int, ...], homes: Homes, mobile: int, still: int, count: int) -> bool:
    """Says whether at least one of 250 draws of so many lakes leaves a fair game (see `is_fair`), with pieces set up evenly.

    Args:
      columns: of the board.
      land: all cells without lakes of their own.
      homes: the home cells of both sides.
      mobile: pieces of a side that move; pieces may stand on any home cell.
      still: pieces of a side that do not.
      count: lakes to draw.
    """
    random, fair = np.random.default_rng(0), 0
    for _ in range(_TRIED):
        sides = [random.permutation(home)[: mobile + still].tolist() for home in homes]
        empty = sorted(set(land) - set(sides[0]) - set(sides[1]))
        dry = set(land) - set(random.permutation(empty)[:count].tolist())
        fair += is_fair(columns, dry, sides, mobile)
        if fair == _ENOUGH:
            return True
    return False


def is_fair(columns: int, land: Collection[int], sides: Sequence[Sequence[int]], mobile: int) -> bool:
    """Says whether all pieces stand on one part of the land, and both sides can move.

    Args:
      columns: of the board.
      land: cells that are no lakes.
      sides: where the pieces of both stand, those that move first.
      mobile: how many of each side move.
    """
    if not set(sides[0]) | set(sides[1]) <= reached(columns, land, sides[0][0]):
        return False
    return all(
        any(cell in land and cell not in own for piece in own[:mobile] for cell in neighbours(columns, piece)) for own in sides
    )
