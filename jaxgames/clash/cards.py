"""Units and cards: what each is, checked when made. They become rows of a table (`card_table`).

(Source: public game data of October 2023 at level 11; what each column means is told at the attributes.)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from jaxgames import checks
from jaxgames.clash.constants import WINDUP_SLACK
from jaxgames.clash.levels import FIRST_LEVELS

KINDS = ("crown_tower", "troop", "building")
CARD_TYPES = ("troop", "building", "spell")
MOST_CHILDREN = 6
_MOST_FLIGHT = 127  # ticks of shots and spells are counted in 8 bits


@dataclasses.dataclass(frozen=True)
class Unit:
    """A kind of troop, building or tower; values of level 11. Lengths in thousandths of a tile, times in ticks.

    Attributes:
      name: what cards and other units call it.
      kind: see `KINDS`.
      rarity: see `levels.FIRST_LEVELS`; by it values grow with the level.
      hp, shield, damage: `damage` is that of a blow or a shot; units without do not fight.
      hit_ticks, windup_ticks: from one blow to the next; of it, what cannot be prepared before a target is in reach.
      range, min_range, sight: between edges.
      speed: per tick; 0: it stands.
      radius, mass: of collisions; mass 0: nothing moves it.
      deploy_ticks: until it acts.
      lifetime_ticks: until a building has fallen apart; 0: it does not.
      flying, hits_air, hits_ground, buildings_only, kamikaze, ignore_pushback: as they say.
      projectile_speed, homing: per tick, 0: it strikes at once; others than homing land where the target stood.
      splash_radius, splash_self, splash_air, splash_ground: of blows that hit an area, around the target or itself.
      crown_damage_pct: of the damage, against crown towers.
      death_damage, death_radius, death_delay_ticks, death_crown_pct: what it does to enemies when it dies.
      death_spawn, death_spawn_count, death_spawn_radius: the units that it leaves; "" for none.
      spawn, spawn_count, spawn_period_ticks, spawn_first_ticks: the units that it makes.
      stun_ticks, slow_pct, slow_ticks: what its blows do beside damage.
      shown_as: name of the unit as which networks are shown it, such as the one of which it is a changed version; "": itself.
    """

    name: str
    kind: str
    rarity: str
    hp: int
    damage: int
    hit_ticks: int
    windup_ticks: int
    range: int
    sight: int
    speed: int
    radius: int
    mass: int
    shield: int = 0
    min_range: int = 0
    deploy_ticks: int = 10
    lifetime_ticks: int = 0
    flying: bool = False
    hits_air: bool = False
    hits_ground: bool = True
    buildings_only: bool = False
    kamikaze: bool = False
    ignore_pushback: bool = False
    projectile_speed: int = 0
    homing: bool = True
    splash_radius: int = 0
    splash_self: bool = False
    splash_air: bool = True
    splash_ground: bool = True
    crown_damage_pct: int = 100
    death_damage: int = 0
    death_radius: int = 0
    death_delay_ticks: int = 0
    death_crown_pct: int = 100
    death_spawn: str = ""
    death_spawn_count: int = 0
    death_spawn_radius: int = 0
    spawn: str = ""
    spawn_count: int = 0
    spawn_period_ticks: int = 0
    spawn_first_ticks: int = 0
    stun_ticks: int = 0
    slow_pct: int = 0
    slow_ticks: int = 0
    shown_as: str = ""

    def __post_init__(self) -> None:
        _check_row(self, f"unit {self.name!r}", _UNIT_LIMITS)
        _check_word(self, "kind", KINDS)
        _check_word(self, "rarity", tuple(FIRST_LEVELS))
        if self.speed == 0 and self.kind == "troop":
            raise ValueError(f"unit {self.name!r}: speed=0: a troop must move")
        if self.kind != "troop" and (self.speed or self.mass or self.flying):
            raise ValueError(f"unit {self.name!r}: a building must have speed 0, mass 0 and not fly")
        if self.kind == "troop" and self.mass == 0:
            raise ValueError(f"unit {self.name!r}: mass=0: must be in 1..{_UNIT_LIMITS['mass'][1]} for a troop")
        if self.spawn and not (self.spawn_count and self.spawn_period_ticks):
            raise ValueError(f"unit {self.name!r}: spawns {self.spawn!r}, so spawn_count and spawn_period_ticks must be >= 1")
        if self.death_spawn and not self.death_spawn_count:
            raise ValueError(f"unit {self.name!r}: leaves {self.death_spawn!r}, so death_spawn_count must be >= 1")
        self._check_flight()

    def _check_flight(self) -> None:
        """A unit has two shots in the air at most, so a shot at what is in reach must land before the second one after it.

        A target that has left the reach during the wind-up may be further away: then the third shot takes the place of the first.
        """
        if not self.projectile_speed:
            return
        edge = self.range + self.radius + _UNIT_LIMITS["radius"][1]
        flight, longest = (-(-way // self.projectile_speed) for way in (edge, edge + WINDUP_SLACK))
        where = f"unit {self.name!r}: projectile_speed={self.projectile_speed}: a shot flies"
        if not self.kamikaze and flight > 2 * self.hit_ticks:
            raise ValueError(f"{where} {flight} ticks, must be at most two hit_ticks, {2 * self.hit_ticks}")
        if longest > _MOST_FLIGHT:
            raise ValueError(f"{where} up to {longest} ticks, must be at most {_MOST_FLIGHT}")


_UNIT_LIMITS = {
    "hp": (1, 20_000),
    "shield": (0, 20_000),
    "damage": (0, 20_000),
    "hit_ticks": (1, 120),
    "windup_ticks": (1, 120),
    "range": (0, 12_000),
    "min_range": (0, 12_000),
    "sight": (0, 12_000),
    "speed": (0, 400),
    "radius": (100, 1_400),
    "mass": (0, 100),
    "deploy_ticks": (0, 120),
    "lifetime_ticks": (0, 800),
    "projectile_speed": (0, 10_000),
    "splash_radius": (0, 6_000),
    "crown_damage_pct": (0, 400),
    "death_damage": (0, 20_000),
    "death_radius": (0, 6_000),
    "death_delay_ticks": (0, 120),
    "death_crown_pct": (0, 400),
    "death_spawn_count": (0, MOST_CHILDREN),
    "death_spawn_radius": (0, 6_000),
    "spawn_count": (0, MOST_CHILDREN),
    "spawn_period_ticks": (0, 3_000),
    "spawn_first_ticks": (0, 3_000),
    "stun_ticks": (0, 120),
    "slow_pct": (0, 99),
    "slow_ticks": (0, 120),
}


@dataclasses.dataclass(frozen=True)
class Card:
    """A card: units that are deployed, or a spell.

    Attributes:
      name: for people.
      key: for decks.
      type: see `CARD_TYPES`.
      cost: elixir.
      rarity: see `levels.FIRST_LEVELS`.
      unit: name of what is deployed; "" for spells.
      offsets: of each unit from the centre of the tile: to the own right, forward.
      radius, damage, crown_damage_pct, building_damage_pct: of a spell, `damage` per wave.
      projectile_speed: of a spell that flies from the king's tower; 0: it begins after `first_wave_ticks`.
      waves, wave_interval_ticks, first_wave_ticks: of a spell.
      pushback: by which a spell moves what it hits.
      hits_air, hits_ground, stun_ticks, slow_pct, slow_ticks: of a spell.
      spawn, spawn_count: units that a spell brings; it may land anywhere.
      shown_as: key of the card as which networks are shown it; "": itself.
    """

    name: str
    key: str
    type: str
    cost: int
    rarity: str
    unit: str = ""
    offsets: tuple[tuple[int, int], ...] = ()
    radius: int = 0
    damage: int = 0
    crown_damage_pct: int = 100
    building_damage_pct: int = 100
    projectile_speed: int = 0
    waves: int = 0
    wave_interval_ticks: int = 0
    first_wave_ticks: int = 1
    pushback: int = 0
    hits_air: bool = True
    hits_ground: bool = True
    stun_ticks: int = 0
    slow_pct: int = 0
    slow_ticks: int = 0
    spawn: str = ""
    spawn_count: int = 0
    shown_as: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "offsets", _offsets(self))
        _check_row(self, f"card {self.key!r}", _CARD_LIMITS)
        if not self.key or set(self.key) & set(BETWEEN_KEYS):
            raise ValueError(f"card {self.key!r}: key: must be a word without {' or '.join(BETWEEN_KEYS)}")
        _check_word(self, "type", CARD_TYPES)
        _check_word(self, "rarity", tuple(FIRST_LEVELS))
        where = f"card {self.key!r}"
        if self.type == "spell":
            if self.unit or self.offsets:
                raise ValueError(f"{where}: a spell must have neither unit nor offsets")
            if not self.waves or (self.waves > 1 and not self.wave_interval_ticks):
                raise ValueError(f"{where}: a spell must have waves >= 1, and wave_interval_ticks >= 1 between several")
            if self.projectile_speed and -(-31_000 // self.projectile_speed) > _MOST_FLIGHT:
                raise ValueError(f"{where}: projectile_speed={self.projectile_speed}: must be 0 or at least 245")
            if self.spawn and not self.spawn_count:
                raise ValueError(f"{where}: brings {self.spawn!r}, so spawn_count must be >= 1")
        elif not self.unit or not self.offsets:
            raise ValueError(f"{where}: a {self.type} must have a unit and offsets, one for each")

    @property
    def count(self) -> int:
        """Units that it deploys."""
        return len(self.offsets)


BETWEEN_KEYS = "+/,"  # where decks are written, as in decks=knight+giant/knight+archers,slots=32
_CARD_LIMITS = {
    "cost": (1, 10),
    "radius": (0, 6_000),
    "damage": (0, 20_000),
    "crown_damage_pct": (0, 400),
    "building_damage_pct": (0, 1_000),
    "projectile_speed": (0, 10_000),
    "waves": (0, 100),
    "wave_interval_ticks": (0, 120),
    "first_wave_ticks": (1, 120),
    "pushback": (0, 2_000),
    "stun_ticks": (0, 120),
    "slow_pct": (0, 99),
    "slow_ticks": (0, 120),
    "spawn_count": (0, MOST_CHILDREN),
}
_MOST_OFFSET = 6_000
_MOST_UNITS = 20


def _offsets(card: Card) -> tuple[tuple[int, int], ...]:
    """Makes plain tuples of offsets."""
    try:
        rows = [tuple(checks.as_integer(number) for number in offset) for offset in card.offsets]
    except TypeError:
        rows = [()]
    for row in rows:
        if len(row) != 2 or None in row or max(map(abs, row)) > _MOST_OFFSET:  # type: ignore[arg-type]
            raise ValueError(f"card {card.key!r}: offsets must be pairs of integers in -{_MOST_OFFSET}..{_MOST_OFFSET}")
    if len(rows) > _MOST_UNITS:
        raise ValueError(f"card {card.key!r}: {len(rows)} offsets: must be at most {_MOST_UNITS}")
    return tuple((int(row[0] or 0), int(row[1] or 0)) for row in rows)


def _check_row(row: Any, where: str, limits: Mapping[str, tuple[int, int]]) -> None:
    """Raises unless all fields have their type and all numbers are in their limits."""
    for field in dataclasses.fields(row):
        value = getattr(row, field.name)
        if field.type == "bool" and not isinstance(value, bool):
            raise ValueError(f"{where}: {field.name}={value!r}: must be True or False")
        if field.type == "str" and not isinstance(value, str):
            raise ValueError(f"{where}: {field.name}={value!r}: must be text")
        if field.name in limits:
            low, high = limits[field.name]
            number = checks.as_integer(value)
            if number is None or not low <= number <= high:
                raise ValueError(f"{where}: {field.name}={value!r}: must be an integer in {low}..{high}")
            object.__setattr__(row, field.name, number)


def _check_word(row: Any, name: str, known: Iterable[str]) -> None:
    if getattr(row, name) not in known:
        label = getattr(row, "key", row.name)
        raise ValueError(
            f"{type(row).__name__.lower()} {label!r}: {name}={getattr(row, name)!r}: {checks.one_of(getattr(row, name), known)}"
        )
