"""Boards in letters, for terminals."""

from __future__ import annotations

from collections.abc import Sequence


def board(rows: Sequence[Sequence[str]], row_names: Sequence[str], column_names: Sequence[str], *, shift: int = 0) -> str:
    """Writes a board as lines of text.

    Args:
      rows: the cells of each row, from the top.
      row_names: one per row.
      column_names: one per column.
      shift: letters by which each row stands further to the right than the one above it.
    """
    margin = max(map(len, row_names))
    wide = max(len(cell) for cells in (*rows, column_names) for cell in cells)
    lines = [" " * (margin + 1) + _line(column_names, wide)]
    for number, (name, cells) in enumerate(zip(row_names, rows, strict=True)):
        lines.append(" " * (number + 1) * shift + f"{name:>{margin}} " + _line(cells, wide))
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str], wide: int) -> str:
    return " ".join(f"{cell:>{wide}}" for cell in cells).rstrip()
