"""The numbers of the game: unit and card rows, arena, clock, formations, integer arithmetic."""

from __future__ import annotations

import dataclasses
import functools
import json
from math import isqrt
from pathlib import Path
from typing import Any

TABLE = Path(__file__).parents[2] / "jaxgames" / "clash" / "data" / "cards.json"

WIDTH, HEIGHT, TILE = 18_000, 32_000, 1000
COLUMNS, ROWS = 18, 32
POSITIONS = COLUMNS * ROWS
SOUTH_BANK, NORTH_BANK = 15_000, 17_000
BRIDGES = ((2500, 4500), (13_500, 15_500))
BRIDGE_INSET = 250
MIDDLE = 9000

LEFT_TOWER, RIGHT_TOWER, KING = 0, 1, 2
NUM_TOWERS = 3
TOWER_CENTRES = ((3500, 6500), (14_500, 6500), (9000, 3000))  # own frame
FOOTPRINTS = ((range(2, 5), range(5, 8)), (range(13, 16), range(5, 8)), (range(7, 11), range(1, 5)))  # columns, rows

TICKS_PER_STEP = 5
REGULAR_TICKS, OVERTIME_TICKS, LAST_TICK = 1800, 1200, 3000
DOUBLE_ELIXIR_FROM = 1200
UNITS_PER_ELIXIR, MAX_ELIXIR = 28, 280
HAND = 4
SLACK = 1500
MAX_PUSH = 300
PAST_STEPS = 10
BARREL_RADIUS, BARREL_DEPLOY_TICKS = 550, 11

LEVEL = 11
FIRST_LEVELS = {"Common": 1, "Rare": 3, "Epic": 6, "Legendary": 9, "Champion": 11}
PERCENT = (100, 110, 121, 133, 146, 160, 176, 193, 212, 233, 256, 281, 309, 339)  # of the first level, level by level

DIRECTIONS = {  # own-right and forward, in thousandths, by the number of units
    1: ((0, 0),),
    2: ((-1000, 0), (1000, 0)),
    3: ((0, 1000), (-866, -500), (866, -500)),
    4: ((-707, 707), (707, 707), (-707, -707), (707, -707)),
    5: ((0, 1000), (-951, 309), (951, 309), (-588, -809), (588, -809)),
    6: ((-500, 866), (500, 866), (-1000, 0), (1000, 0), (-500, -866), (500, -866)),
}


def tdiv(numerator: int, denominator: int) -> int:
    """Quotient, truncated toward zero."""
    quotient = abs(numerator) // abs(denominator)
    return quotient if (numerator < 0) == (denominator < 0) else -quotient


def clip(value: int, low: int, high: int) -> int:
    return max(low, min(value, high))


def sign(value: int) -> int:
    return (value > 0) - (value < 0)


def distance(ax: int, ay: int, bx: int, by: int) -> int:
    return isqrt((ax - bx) ** 2 + (ay - by) ** 2)


def travel_ticks(length: int, speed: int) -> int:
    return max(1, -(-length // speed))


def formation(count: int, radius: int) -> list[tuple[int, int]]:
    """Offsets of units that appear together: own-right, forward."""
    return [(tdiv(right * radius, 1000), tdiv(forward * radius, 1000)) for right, forward in DIRECTIONS[count]]


def at_level(value: int, rarity: str, level: int) -> int:
    """A value of level 11 at another level: from the value at the rarity's first level, rounded down."""
    if level == LEVEL:  # also where no whole first value leads to it, as for towers
        return value
    first = FIRST_LEVELS[rarity]
    base = -(-value * 100 // PERCENT[LEVEL - first])
    return base * PERCENT[level - first] // 100


def to_absolute(player: int, x: int, y: int) -> tuple[int, int]:
    """A position of a player's own frame on the arena; the way back is the same."""
    return (x, y) if player == 0 else (WIDTH - x, HEIGHT - y)


def turn(player: int, right: int, forward: int) -> tuple[int, int]:
    """A vector of a player's own frame on the arena."""
    return (right, forward) if player == 0 else (-right, -forward)


@dataclasses.dataclass(frozen=True)
class UnitType:
    """A row of the table of units; lengths in 1/1000 tile, times in ticks."""

    id: int
    name: str
    kind: str
    rarity: str
    hp: int
    shield: int
    damage: int
    hit_ticks: int
    windup_ticks: int
    range: int
    min_range: int
    sight: int
    speed: int
    radius: int
    mass: int
    deploy_ticks: int
    lifetime_ticks: int
    flying: bool
    hits_air: bool
    hits_ground: bool
    buildings_only: bool
    kamikaze: bool
    ignore_pushback: bool
    projectile_speed: int
    homing: bool
    splash_radius: int
    splash_self: bool
    splash_air: bool
    splash_ground: bool
    crown_damage_pct: int
    death_damage: int
    death_radius: int
    death_delay_ticks: int
    death_crown_pct: int
    death_spawn_id: int
    death_spawn_count: int
    death_spawn_radius: int
    spawn_id: int
    spawn_count: int
    spawn_period_ticks: int
    spawn_first_ticks: int
    stun_ticks: int
    slow_pct: int
    slow_ticks: int

    @functools.cached_property
    def is_building(self) -> bool:
        """Whether it counts as a building; crown towers do."""
        return self.kind != "troop"

    @functools.cached_property
    def is_crown_tower(self) -> bool:
        return self.kind == "crown_tower"

    @functools.cached_property
    def is_king(self) -> bool:
        return self.name == "KingTower"

    def at_level(self, level: int) -> UnitType:
        names = ("hp", "shield", "damage", "death_damage")
        return dataclasses.replace(self, **{name: at_level(getattr(self, name), self.rarity, level) for name in names})


@dataclasses.dataclass(frozen=True)
class Card:
    """A row of the table of cards."""

    id: int
    key: str
    type: str
    cost: int
    rarity: str
    unit_id: int
    offsets: tuple[tuple[int, int], ...] = ()
    radius: int = 0
    damage: int = 0
    crown_damage_pct: int = 100
    building_damage_pct: int = 100
    projectile_speed: int = 0
    waves: int = 0
    wave_interval_ticks: int = 0
    first_wave_ticks: int = 0
    pushback: int = 0
    hits_air: bool = False
    hits_ground: bool = False
    stun_ticks: int = 0
    slow_pct: int = 0
    slow_ticks: int = 0
    spawn_id: int = -1
    spawn_count: int = 0

    @functools.cached_property
    def is_spell(self) -> bool:
        return self.type == "spell"

    def at_level(self, level: int) -> Card:
        return dataclasses.replace(self, damage=at_level(self.damage, self.rarity, level))


def _row(kind: type, row: dict[str, Any]) -> Any:
    names = {field.name for field in dataclasses.fields(kind)}
    values = {name: value for name, value in row.items() if name in names}
    if "offsets" in values:
        values["offsets"] = tuple(tuple(offset) for offset in values["offsets"])
    return kind(**values)


_TABLE = json.loads(TABLE.read_text())
UNITS: tuple[UnitType, ...] = tuple(_row(UnitType, row) for row in _TABLE["units"])
CARDS: tuple[Card, ...] = tuple(_row(Card, row) for row in _TABLE["cards"])
UNITS_BY_NAME = {unit.name: unit for unit in UNITS}
CARDS_BY_KEY = {card.key: card for card in CARDS}
BEGINNER_DECK: tuple[str, ...] = tuple(_TABLE["beginner_deck"])
PRINCESS_TOWER, KING_TOWER = UNITS_BY_NAME["PrincessTower"], UNITS_BY_NAME["KingTower"]
