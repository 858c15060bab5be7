"""Rows of measurements of which each replaces an older one, kept in one JSON file: a list, one row per line."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from training.storage.files import alone_in, write_atomically
from training.storage.json_files import read_rows

Row = Mapping[str, Any]


def read(path: Path, key: Callable[[Row], Hashable]) -> dict[Any, Row]:
    """Reads the rows of a file by their keys; none where it does not exist.

    Raises:
      ValueError: the file is torn, or holds something else.
      OSError: it cannot be read.
    """
    what, then = "list of rows", "remove it, or give another file"
    try:
        return {key(row): row for row in read_rows(path, what, then=then)} if path.exists() else {}
    except (LookupError, TypeError):  # of a key: rows of something else
        raise ValueError(f"{path}: torn, or no {what}; {then}") from None


def put(
    path: Path,
    rows: Iterable[Row],
    key: Callable[[Row], Hashable],
    make: Callable[[list[Row]], None],
    order: Sequence[Hashable] | None = None,
    piece: Callable[[Row], Hashable] | None = None,
) -> None:
    """Puts rows in place of those with the same keys, and makes something of all, while no other process adds to the file.

    Args:
      path: the file; its folder is made where it is missing.
      rows: new ones.
      key: of a row.
      make: `make(rows)`, of all that are kept now.
      order: keys in their order, of all rows that stay; None: all stay, new ones at the end.
      piece: what a row is of, if several rows are of one thing: all that was kept of a thing gives way to new rows of it.

    Raises:
      OSError: a file cannot be read or written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with alone_in(path.parent):
        rows, known = list(rows), read(path, key)
        if piece is not None:
            measured = {piece(row) for row in rows}
            known = {each: row for each, row in known.items() if piece(row) not in measured}
        known |= {key(row): row for row in rows}
        kept = [known[each] for each in (known if order is None else order) if each in known]
        write_atomically(path, "[\n" + ",\n".join(map(json.dumps, kept)) + "\n]\n")
        make(kept)
