"""All units and cards of a game, as one table. A new card is a row."""

from __future__ import annotations

import dataclasses
import functools
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
        for label, rows, names in (
            ("units", self.units, [unit.name for unit in self.units]),
            ("cards", self.cards, [card.key for card in self.cards]),
        ):
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
                    name = list(ids)[rows.index(row)]
                    raise ValueError(
                        f"{label} {name!r}: shown_as={row.shown_as!r}: there is no such {label} that is shown as itself"
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
        if name not in self.unit_ids:
            raise ValueError(f"unit={name!r}: {checks.one_of(name, self.unit_ids)}")
        return self.units[self.unit_ids[name]]

    def card(self, key: str) -> Card:
        """Gives a card by its key.

        Raises:
          ValueError: there is none.
        """
        if key not in self.card_ids:
            raise ValueError(f"card={key!r}: is no card; {self.meant(key)}")
        return self.cards[self.card_ids[key]]

    def meant(self, key: str) -> str:
        """Says of a key that is not here which is perhaps meant, or which there are."""
        return checks.perhaps(key, self.card_ids) or f"there are {', '.join(self.card_ids)}"

    def with_rows(self, *rows: Unit | Card) -> Table:
        """Gives the table with these rows added, or put in the place of those of the same name."""
        units, cards = list(self.units), list(self.cards)
        for row in rows:
            if isinstance(row, Unit):
                units = _put(units, row, [place for place, unit in enumerate(units) if unit.name == row.name])
            else:
                cards = _put(cards, row, [place for place, card in enumerate(cards) if card.key == row.key])
        return Table(tuple(units), tuple(cards))


def _put(rows: list[Any], row: Any, places: list[int]) -> list[Any]:
    return [row if place in places else old for place, old in enumerate(rows)] + ([] if places else [row])
