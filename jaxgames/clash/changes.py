"""Changed cards beside the cards as they are: both as rows of one table, so that one compiled game plays with either.

A changed unit changes every card that brings it, and every unit that makes it or leaves it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from jaxgames import checks
from jaxgames.clash.card_file import read_row
from jaxgames.clash.card_table import Table, name_of
from jaxgames.clash.cards import Card, Unit
from jaxgames.clash.json_file import read_json

MARK = "*"  # after the names of changed versions


@dataclasses.dataclass(frozen=True)
class Changed:
    """A table with changed versions.

    Attributes:
      table: all rows as they were, and after them the changed versions and the new rows.
      versions: the key of the changed version of each card that has one.
      new: keys of cards that there were not.
    """

    table: Table
    versions: Mapping[str, str]
    new: tuple[str, ...]

    def deck(self, keys: Iterable[str]) -> tuple[str, ...]:
        """Gives a deck with the changed versions in the place of its cards."""
        return tuple(self.versions.get(key, key) for key in keys)


def read_change(table: Table, text: str) -> Unit | Card:
    """Reads a changed number, such as "Knight.hp=2000" (of a unit) or "arrows.cost=4" (of a card).

    Raises:
      ValueError: there is no such unit or card, number, or value.
    """
    name, dot, rest = text.partition(".")
    field, equals, value = rest.partition("=")
    if not (name and dot and field and equals and value):
        raise ValueError(f"change={text!r}: must be like Knight.hp=2000 or arrows.cost=4")
    if name not in table.unit_ids and name not in table.card_ids:
        known = (*table.unit_ids, *table.card_ids)
        meant = checks.perhaps(name, known) or f"there are {', '.join(known)}"
        raise ValueError(f"change={text!r}: {name!r} is no unit and no card; {meant}")
    row: Unit | Card = table.unit(name) if name in table.unit_ids else table.card(name)
    kinds = {one.name: str(one.type) for one in dataclasses.fields(row) if one.type in ("int", "bool")}
    if field not in kinds:
        raise ValueError(f"change={text!r}: {name} has no number {field!r}; it has {', '.join(kinds)}")
    return dataclasses.replace(row, **{field: _value(text, value, kinds[field])})  # type: ignore[arg-type]


def value_before(table: Table, text: str) -> int | bool:
    """Gives the number that a change, as `read_change` reads it, takes the place of."""
    name, _, rest = text.partition(".")
    row: Unit | Card = table.unit(name) if name in table.unit_ids else table.card(name)
    before: int | bool = getattr(row, rest.partition("=")[0])
    return before


def _value(text: str, value: str, kind: str) -> int | bool:
    if kind == "bool":
        if value.lower() not in ("0", "1", "false", "true"):
            raise ValueError(f"change={text!r}: must be true or false")
        return value.lower() in ("1", "true")
    try:
        return int(value)
    except ValueError:
        raise ValueError(f"change={text!r}: {value!r} must be a whole number") from None


def read_rows(path: str | Path) -> list[Unit | Card]:
    """Reads rows from a JSON file: one unit or card (with "key"), or an object with lists "units" and "cards", as in cards.json.

    Raises:
      ValueError: it cannot be read, or a row is not sound; the row and the field are named.
    """
    try:
        return _rows_of(read_json(path))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _rows_of(content: Any) -> list[Unit | Card]:
    if not isinstance(content, dict):
        raise ValueError("must hold an object: a unit, a card, or lists 'units' and 'cards'")
    units, cards = content.get("units"), content.get("cards")
    if units is None and cards is None:
        units, cards = ([], [content]) if "key" in content else ([content], [])
    if not all(isinstance(rows, list) for rows in (units or [], cards or [])):
        raise ValueError("'units' and 'cards' must be lists")
    return [read_row(Unit, row) for row in units or []] + [read_row(Card, row) for row in cards or []]


def with_versions(table: Table, rows: Iterable[Unit | Card], instead_of: str = "") -> Changed:
    """Puts changed versions beside the rows of a table.

    Args:
      table: units and cards as they are.
      rows: changed ones by the names of those, and new ones.
      instead_of: key of a card as which networks are shown a new card, and its unit.

    Raises:
      ValueError: a crown tower is to change, a row is there twice, or a row does not fit the others.
    """
    given = list(rows)
    names = [name_of(row) for row in given]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{name!r} is changed twice; put the changes into one row")
        if name in table.unit_ids and table.unit(name).kind == "crown_tower":
            raise ValueError(f"{name!r}: a crown tower belongs to no card, so it cannot be changed here")
    units = {row.name: row for row in given if isinstance(row, Unit)}
    cards = {row.key: row for row in given if isinstance(row, Card)}
    while more := [
        unit for unit in table.units if unit.name not in units and {unit.spawn, unit.death_spawn} & _known(units, table)
    ]:
        units |= {unit.name: unit for unit in more}
    touched = _known(units, table)
    cards |= {card.key: card for card in table.cards if {card.unit, card.spawn} & touched and card.key not in cards}

    def named(name: str) -> str:
        return name + MARK if name in touched else name

    shown = table.card(instead_of) if instead_of else None
    added: list[Unit | Card] = []
    for unit in units.values():
        known = unit.name in table.unit_ids
        like = unit.name if known else shown.unit if shown and _alike(table, shown, unit) else unit.shown_as
        spawn, death_spawn = named(unit.spawn), named(unit.death_spawn)
        added.append(dataclasses.replace(unit, name=named(unit.name), shown_as=like, spawn=spawn, death_spawn=death_spawn))
    for card in cards.values():
        known = card.key in table.card_ids
        mark, like = (MARK, card.key) if known else ("", instead_of or card.shown_as)
        version = dataclasses.replace(card, key=card.key + mark, name=card.name + mark, shown_as=like)
        added.append(dataclasses.replace(version, unit=named(card.unit), spawn=named(card.spawn)))
    versions = {key: key + MARK for key in cards if key in table.card_ids}
    return Changed(table.with_rows(*added), versions, tuple(key for key in cards if key not in table.card_ids))


def _known(units: Mapping[str, Unit], table: Table) -> set[str]:
    """Names of units of the table that change."""
    return {name for name in units if name in table.unit_ids}


def _alike(table: Table, card: Card, unit: Unit) -> bool:
    return bool(card.unit) and table.unit(card.unit).kind == unit.kind
