"""Levels of cards and units: at which one they begin, and how their values grow from level to level."""

from __future__ import annotations

from jaxgames.clash.constants import LEVEL

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
