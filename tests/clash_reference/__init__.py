"""Clash once more, object by object and slowly: what the arrays of `jaxgames.clash` are compared with.

Written from the rules alone: plain integers, no JAX, nothing shared with the other engine but the table of cards.
"""

from tests.clash_reference.battle import Battle, Settings
from tests.clash_reference.objects import Area, Player, Projectile, Spell, Unit
from tests.clash_reference.tables import CARDS, CARDS_BY_KEY, UNITS, UNITS_BY_NAME, Card, UnitType

__all__ = [
    "CARDS",
    "CARDS_BY_KEY",
    "UNITS",
    "UNITS_BY_NAME",
    "Area",
    "Battle",
    "Card",
    "Player",
    "Projectile",
    "Settings",
    "Spell",
    "Unit",
    "UnitType",
]
