"""Rows of measurements, kept in one JSON file per device: a list, one row per line, the newest last."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from training.storage import provenance
from training.storage.files import alone_in, write_atomically

Row = Mapping[str, Any]

SCHEMA: Mapping[str, tuple[type, ...]] = {
    "case": (str,),
    "unit": (str,),
    "per_cpu_second": (float, int, type(None)),
    "per_wall_second": (float, int, type(None)),
    "cores": (int,),
    "devices": (int,),
    "batch": (int,),
    "compile_seconds": (float, int),
    "mean_episode_length": (float, int, type(None)),
    "resets": (int, type(None)),
    "checksum": (str, type(None)),
    "repeats": (dict,),
    "settings": (dict,),
    "details": (dict,),
    "device": (str,),
    "platform": (str,),
    "versions": (dict,),
    "commit": (str, type(None)),
    "date": (str,),
}


def check(row: Row) -> None:
    """Raises a ValueError unless a row has every field, with a value of its type."""
    for name, kinds in SCHEMA.items():
        if name not in row:
            raise ValueError(f"a row without {name!r}; it must have {', '.join(SCHEMA)}")
        if not isinstance(row[name], kinds):
            raise ValueError(f"a row with {name}={row[name]!r}: must be {' or '.join(kind.__name__ for kind in kinds)}")


def path_of(folder: Path, device: str) -> Path:
    """Gives the file of a device."""
    return folder / f"{provenance.slug(device)}.json"


def read(path: Path) -> list[Row]:
    """Reads the rows of a file; none where it does not exist.

    Raises:
      ValueError: it holds something else.
      OSError: it cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not a text file") from error
    try:
        rows = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}: no JSON ({error})") from error
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError(f"{path}: must hold a list of rows")
    for row in rows:
        try:
            check(row)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
    return rows


def append(folder: Path, row: Row) -> Path:
    """Adds a row to the file of its device, which is written whole and at once. Returns the file.

    Raises:
      ValueError: the row is not complete, or the file holds something else.
      OSError: the file cannot be read or written.
    """
    check(row)
    path = path_of(folder, row["device"])
    folder.mkdir(parents=True, exist_ok=True)
    with alone_in(folder):
        lines = ",\n".join(json.dumps(each) for each in [*read(path), row])
        write_atomically(path, f"[\n{lines}\n]\n")
    return path


def read_all(folder: Path) -> list[Row]:
    """Reads the rows of all devices, file by file."""
    return [row for path in sorted(folder.glob("*.json")) for row in read(path)]


def newest(rows: Iterable[Row]) -> Sequence[Row]:
    """Keeps the last row of each device, case and number of cores."""
    return list({(row["device"], row["case"], row["cores"]): row for row in rows}.values())
