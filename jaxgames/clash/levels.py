"""Levels of cards and units: at which one they begin, and how their values grow from level to level."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from jaxgames import checks
from jaxgames.clash.constants import LEVEL, MOST_LEVEL

if TYPE_CHECKING:
    from jaxgames.clash.cards import Card, Unit

FIRST_LEVELS = {"Common": 1, "Rare": 3, "Epic": 6, "Legendary": 9, "Champion": 11}
# Per cent of the first level's value, at the first level, the second, ...; values are cut to whole numbers.
POWER = (100, 110, 121, 133, 146, 160, 176, 193, 212, 233, 256, 281, 309, 339)


def at_level(value: int, rarity: str, level: int) -> int:
    """Gives a value of level 11 at another level: by the percentages of the levels, from the value of the first one.

    Raises:
      ValueError: that level is below the first one.
    """
    first = FIRST_LEVELS[rarity]
    if level < first:
        raise ValueError(f"level={level}: must be >= {first} for rarity {rarity}")
    base = -(-value * 100 // POWER[LEVEL - first])
    return base * POWER[level - first] // 100 if level != LEVEL else value


def check_level(level: Any, rows: Iterable[Card | Unit]) -> None:
    """Raises unless there are all these cards and units at a level."""
    number = checks.as_integer(level)
    if number is None or not 1 <= number <= MOST_LEVEL:
        raise ValueError(f"level={level!r}: must be an integer in 1..{MOST_LEVEL}")
    for row in rows:
        if number < FIRST_LEVELS[row.rarity]:
            name = row.key if hasattr(row, "key") else f"unit {row.name!r}"
            raise ValueError(f"level={number}: must be {FIRST_LEVELS[row.rarity]}..{MOST_LEVEL}, as {name} is {row.rarity}")
