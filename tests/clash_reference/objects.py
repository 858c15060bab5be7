"""What is on the arena and what a player has: units (towers too), projectiles, spells, players."""

from __future__ import annotations

import dataclasses

from tests.clash_reference.tables import (
    HEIGHT,
    MIDDLE,
    NORTH_BANK,
    NUM_TOWERS,
    PAST_STEPS,
    SOUTH_BANK,
    UNITS,
    WIDTH,
    Card,
    UnitType,
    clip,
    tdiv,
)


@dataclasses.dataclass(eq=False)
class Unit:
    """A troop, a building or a crown tower that stands, or has stood, on the arena."""

    type: UnitType
    player: int
    slot: int
    x: int
    y: int
    hp: int
    shield: int
    cooldown: int
    deploy_left: int
    serial: int
    target: Unit | None = None
    age: int = 0
    shots: int = 0
    alive: bool = True
    awake: bool = True  # a dormant king is not
    stun: int = 0
    slow_ticks: int = 0
    slow_percent: int = 0

    @property
    def mobile(self) -> bool:
        return self.type.speed > 0

    @property
    def acting(self) -> bool:
        return self.alive and self.awake and self.deploy_left == 0 and self.type.damage > 0 and self.stun == 0

    @property
    def speed(self) -> int:
        return self.type.speed * (100 - self.slow_percent) // 100

    @property
    def in_river(self) -> bool:
        return SOUTH_BANK < self.y < NORTH_BANK

    @property
    def on_left_bridge(self) -> bool:
        return self.x < MIDDLE

    def may_hit(self, other: Unit) -> bool:
        """Whether the other is a target of this unit's kind, however far it is."""
        if other.player == self.player or not other.alive:
            return False
        layer = self.type.hits_air if other.type.flying else self.type.hits_ground
        return layer and (other.type.is_building or not self.type.buildings_only)

    def squared_distance(self, other: Unit) -> int:
        return (self.x - other.x) ** 2 + (self.y - other.y) ** 2

    def within(self, other: Unit, length: int) -> bool:
        """Whether the edges are at most `length` apart."""
        return self.squared_distance(other) <= (length + self.type.radius + other.type.radius) ** 2

    def reaches(self, other: Unit, slack: int = 0) -> bool:
        far_enough = self.squared_distance(other) >= self.type.min_range**2
        return far_enough and self.within(other, self.type.range + slack)


@dataclasses.dataclass
class Projectile:
    """A shot in flight. It lands where its target is (homing) or was."""

    type: UnitType  # of who shot
    target: Unit
    x: int
    y: int
    ticks: int


@dataclasses.dataclass(frozen=True)
class Area:
    """What a spell, or the death of a unit, does to all around its centre."""

    radius: int
    damage: int
    crown_damage_pct: int = 100
    building_damage_pct: int = 100
    pushback: int = 0
    hits_air: bool = True
    hits_ground: bool = True
    stun_ticks: int = 0
    slow_pct: int = 0
    slow_ticks: int = 0

    def damage_to(self, unit: Unit) -> int:
        if unit.type.is_crown_tower:
            return self.damage * self.crown_damage_pct // 100
        if unit.type.is_building:
            return self.damage * self.building_damage_pct // 100
        return self.damage

    def hits(self, unit: Unit, x: int, y: int) -> bool:
        layer = self.hits_air if unit.type.flying else self.hits_ground
        return layer and (unit.x - x) ** 2 + (unit.y - y) ** 2 <= (self.radius + unit.type.radius) ** 2

    def displacement(self, unit: Unit, x: int, y: int, length: int) -> tuple[int, int]:
        """How a unit is pushed, `length` being its distance from the centre."""
        if unit.type.is_building or unit.type.ignore_pushback or length == 0:
            return 0, 0
        return tdiv((unit.x - x) * self.pushback, length), tdiv((unit.y - y) * self.pushback, length)


@dataclasses.dataclass
class Spell:
    """A spell in flight or between two waves, or the bomb that a dead unit leaves."""

    area: Area
    x: int
    y: int
    ticks: int
    waves: int = 1
    card: Card | None = None
    corpse: UnitType | None = None


class Player:
    """One side: units by slot, shots by the slot of who shot and parity, spells by slot, elixir, cards."""

    def __init__(self, seat: int, deck: tuple[Card, ...], level: int, slots: int, spell_slots: int, elixir: int):
        self.seat = seat
        self.kinds = tuple(kind.at_level(level) for kind in UNITS)
        self.slots = slots
        self.units: dict[int, Unit] = {}
        self.projectiles: dict[tuple[int, int], Projectile] = {}
        self.spells: list[Spell | None] = [None] * spell_slots
        self.serials = [0] * slots
        self.elixir = elixir
        self.hand = [card.at_level(level) for card in deck[:4]]
        self.queue = [card.at_level(level) for card in deck[4:]]
        self.saving_for: int | None = None
        self.past = [(-1, 0, 0)] * PAST_STEPS

    @property
    def towers(self) -> list[Unit]:
        return [unit for slot, unit in self.units.items() if slot < NUM_TOWERS]

    @property
    def king(self) -> Unit | None:
        return self.units.get(2)

    def free_slots(self) -> list[int]:
        """Troop slots without a unit and without a shot of their last unit in flight."""
        shooting = {slot for slot, _ in self.projectiles}
        return [slot for slot in range(NUM_TOWERS, self.slots) if slot not in self.units and slot not in shooting]

    def idle_spell_slot(self) -> int | None:
        return next((index for index, spell in enumerate(self.spells) if spell is None), None)

    def place(self, kind: UnitType, slot: int, x: int, y: int, deploy_ticks: int) -> Unit:
        """Sets a new unit into a slot, at a position of the arena."""
        self.serials[slot] += 1
        unit = Unit(
            type=kind,
            player=self.seat,
            slot=slot,
            x=clip(x, kind.radius, WIDTH - kind.radius),
            y=clip(y, kind.radius, HEIGHT - kind.radius),
            hp=kind.hp,
            shield=kind.shield,
            cooldown=kind.hit_ticks,
            deploy_left=deploy_ticks,
            serial=self.serials[slot],
        )
        self.units[slot] = unit
        return unit

    def cast(self, spell: Spell) -> None:
        """Puts a spell into the first idle slot; without one it is lost."""
        index = self.idle_spell_slot()
        if index is not None:
            self.spells[index] = spell
