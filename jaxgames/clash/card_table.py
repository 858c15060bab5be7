"""All units and cards of a game, as one table. A new card is a row."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable
from typing import Any

from jaxgames import checks
from jaxgames.clash.cards import Card, Unit

MOST_ROWS = 127  # units and cards are counted in 8 bits


@dataclasses.dataclass(frozen=True, repr=False)
class Table:
    """All units and cards of a game; the first two units are the towers of the princesses and of the king.

    Attributes:
      units: rows.
      cards: rows.
    """

    units: tuple[Unit, ...]
    cards: tuple[Card, ...]

    def __repr__(self) -> str:
        """How large it is; all rows would be a wall of text."""
        return f"<Table of {len(self.units)} units and {len(self.cards)} cards>"

    def __post_init__(self) -> None:
        for label, kind in (("units", Unit), ("cards", Card)):
            given: Any = getattr(self, label)
            rows = tuple(given) if isinstance(given, Iterable) else None
            if rows is None or not all(isinstance(row, kind) for row in rows):
                raise ValueError(f"{label} of type {type(given).__name__}: must be rows of type {kind.__name__} alone")
            object.__setattr__(self, label, rows)
            names = [name_of(row) for row in rows]
            if not 1 <= len(rows) <= MOST_ROWS:
                raise ValueError(f"{len(rows)} {label}: must be 1..{MOST_ROWS}")
            twice = [name for name in names if names.count(name) > 1]
            if twice:
                raise ValueError(f"{label}: {twice[0]!r} is there twice")
        kinds = [unit.kind == "crown_tower" for unit in self.units]
        if not all(kinds[:2]) or any(kinds[2:]) or len(kinds) < 2:
            raise ValueError("units: the first two and no others must be of kind crown_tower")
        for unit in self.units:
            for field in ("death_spawn", "spawn"):
                self._check_unit(f"unit {unit.name!r}: {field}", getattr(unit, field), allowed="")
        for card in self.cards:
            if card.type == "spell":
                self._check_unit(f"card {card.key!r}: spawn", card.spawn, allowed="")
            else:
                self._check_unit(f"card {card.key!r}: unit", card.unit)
                if self.unit(card.unit).kind != card.type:
                    raise ValueError(f"card {card.key!r}: type={card.type!r}: its unit is a {self.unit(card.unit).kind}")

        for label, ids, rows in (("unit", self.unit_ids, self.units), ("card", self.card_ids, self.cards)):
            for row in rows:
                if row.shown_as and (row.shown_as not in ids or rows[ids[row.shown_as]].shown_as):
                    raise ValueError(
                        f"{label} {name_of(row)!r}: shown_as={row.shown_as!r}: there is no such {label} that is shown as itself"
                    )

    def _check_unit(self, where: str, name: str, allowed: str | None = None) -> None:
        if name != allowed and name not in self.unit_ids:
            raise ValueError(f"{where}={name!r}: there is no such unit")
        if name in self.unit_ids and self.unit_ids[name] < 2:
            raise ValueError(f"{where}={name!r}: a crown tower cannot be made")

    def __hash__(self) -> int:
        return self._hash

    @functools.cached_property
    def _hash(self) -> int:  # rows are many, and every call of a compiled function asks
        return hash((self.units, self.cards))

    @functools.cached_property
    def unit_ids(self) -> dict[str, int]:
        """Rows by name."""
        return {unit.name: row for row, unit in enumerate(self.units)}

    @functools.cached_property
    def card_ids(self) -> dict[str, int]:
        """Rows by key."""
        return {card.key: row for row, card in enumerate(self.cards)}

    @functools.cached_property
    def shown_units(self) -> tuple[int, ...]:
        """The row as which each unit is shown to networks."""
        return tuple(self.unit_ids[unit.shown_as or unit.name] for unit in self.units)

    @functools.cached_property
    def shown_cards(self) -> tuple[int, ...]:
        """The row as which each card is shown to networks."""
        return tuple(self.card_ids[card.shown_as or card.key] for card in self.cards)

    def unit(self, name: str) -> Unit:
        """Gives a unit by its name.

        Raises:
          ValueError: there is none.
        """
        row = self.unit_ids.get(str(name))  # files may hold anything in its place
        if row is None:
            raise ValueError(f"unit={name!r}: {checks.one_of(name, self.unit_ids)}")
        return self.units[row]

    def card(self, key: str) -> Card:
        """Gives a card by its key.

        Raises:
          ValueError: there is none.
        """
        row = self.card_ids.get(str(key))
        if row is None:
            raise ValueError(f"card={key!r}: is no card; {self.meant(str(key))}")
        return self.cards[row]

    def meant(self, key: str) -> str:
        """Says of a key that is not here which is perhaps meant, or which there are."""
        return checks.perhaps(key, self.card_ids) or f"there are {', '.join(self.card_ids)}"

    def with_rows(self, *rows: Unit | Card) -> Table:
        """Gives the table with these rows added, or put in the place of those of the same name.

        Raises:
          ValueError: one is neither a unit nor a card, or does not fit the others.
        """
        units, cards = {unit.name: unit for unit in self.units}, {card.key: card for card in self.cards}
        for row in rows:
            if isinstance(row, Unit):
                units[row.name] = row
            elif isinstance(row, Card):
                cards[row.key] = row
            else:
                raise ValueError(f"row={row!r}: must be a Unit or a Card")
        return Table(tuple(units.values()), tuple(cards.values()))


def name_of(row: Unit | Card) -> str:
    """Gives what rows are called by: the name of a unit, the key of a card."""
    return row.name if isinstance(row, Unit) else row.key
