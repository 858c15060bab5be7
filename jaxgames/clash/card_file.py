"""Reads units and cards from JSON files; the one that comes with the game is the standard table."""

from __future__ import annotations

import dataclasses
import difflib
import functools
from pathlib import Path
from typing import Any

from jaxgames.clash.card_table import Table
from jaxgames.clash.cards import Card, Unit
from jaxgames.clash.json_file import read_json

STANDARD_FILE = Path(__file__).with_name("data") / "cards.json"
# What the public data tell beside; not slips of the pen.
_UNREAD = {"load_ticks", "pushback", "count", "summon_radius", "id", "unit_id", "spawn_id", "death_spawn_id", "tier", "note"}


@functools.cache
def standard_table() -> Table:
    """Gives the 58 units and 63 cards that come with the game."""
    return read_table(STANDARD_FILE)


def read_table(path: str | Path) -> Table:
    """Reads a table from a JSON file.

    Raises:
      ValueError: it cannot be read, or a row is not sound; the row and the field are named.
    """
    try:
        content = read_json(path)
        if not isinstance(content, dict) or not all(isinstance(content.get(name), list) for name in ("units", "cards")):
            raise ValueError("must hold an object with lists 'units' and 'cards'")
        return Table(
            tuple(read_row(Unit, row) for row in content["units"]), tuple(read_row(Card, row) for row in content["cards"])
        )
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def read_row(kind: type[Any], given: Any) -> Any:
    """Makes a row, `Unit` or `Card`, of what a file holds; fields of the file that are unknown are left out.

    Raises:
      ValueError: a field is missing or not sound, or one that is unknown has nearly the name of one that is not given.
    """
    label = "unit" if kind is Unit else "card"
    if not isinstance(given, dict):
        raise ValueError(f"{label} row {given!r}: must be an object")
    name = given.get("key", given.get("name"))
    absent = [field.name for field in dataclasses.fields(kind) if field.name not in given]
    known = _UNREAD | {field.name for field in dataclasses.fields(kind)}
    for other in given.keys() - known:
        if near := difflib.get_close_matches(other, absent, n=1, cutoff=0.8):
            raise ValueError(f"{label} {name!r}: {other!r} is no field; perhaps {near[0]}?")
    values = {}
    for field in dataclasses.fields(kind):
        value = given.get(field.name)
        if value is None and field.type == "str" and field.name in given:
            value = ""
        if value is None and field.name in given:
            raise ValueError(f"{label} {name!r}: {field.name} has no value")
        if value is not None:
            values[field.name] = value
        elif field.default is dataclasses.MISSING:
            raise ValueError(f"{label} {name!r}: {field.name} is missing")
    return kind(**values)
