"""The table of a game as arrays: a column per number, for units, cards and spells."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from jaxgames.clash.card_table import Table
from jaxgames.clash.cards import Card, Unit
from jaxgames.clash.config import ClashConfig
from jaxgames.clash.constants import AIR, AIR_BUILDING, BARREL_RADIUS, ELIXIR, GROUND, GROUND_BUILDING
from jaxgames.clash.levels import FIRST_LEVELS, at_level

FORMATIONS: dict[int, tuple[tuple[int, int], ...]] = {  # of a radius of 1000
    0: (),
    1: ((0, 0),),
    2: ((-1000, 0), (1000, 0)),
    3: ((0, 1000), (-866, -500), (866, -500)),
    4: ((-707, 707), (707, 707), (-707, -707), (707, -707)),
    5: ((0, 1000), (-951, 309), (951, 309), (-588, -809), (588, -809)),
    6: ((-500, 866), (500, 866), (-1000, 0), (1000, 0), (-500, -866), (500, -866)),
}


class Features(NamedTuple):
    """What of the rules a game can need; the rest is not compiled."""

    shields: bool
    stuns: bool
    slows: bool
    kamikaze: bool
    decay: bool
    children: bool
    bombs: bool
    unit_splash: bool


def features(config: ClashConfig) -> Features:
    """Gives what the cards of a game need."""
    units, spells = config.units, config.spells
    rows: tuple[Unit | Card, ...] = (*units, *spells)
    return Features(
        shields=any(unit.shield for unit in units),
        stuns=any(row.stun_ticks for row in rows),
        slows=any(row.slow_ticks for row in rows),
        kamikaze=any(unit.kamikaze for unit in units),
        decay=any(unit.lifetime_ticks for unit in units),
        children=any(unit.spawn or unit.death_spawn for unit in units) or any(card.spawn for card in spells),
        bombs=any(unit.death_damage for unit in units),
        unit_splash=any(unit.splash_radius for unit in units),
    )


class UnitColumns(NamedTuple):
    """Numbers of units by row, int32 [2, U]: first axis the player, whose level counts. Bits of classes: see `constants`."""

    hp: Any
    shield: Any
    damage: Any
    crown_damage: Any  # against crown towers
    layer: Any  # bit of its class
    accepts: Any  # bits of what it may aim at; 0: it does not fight
    splash_layers: Any
    hit_ticks: Any
    windup: Any
    reach: Any  # range and own radius
    least: Any  # square of the least range
    look: Any  # sight, or of what stands its range, and own radius
    least_look: Any
    speed: Any
    radius: Any
    mass: Any  # 0 for what cannot be pushed
    projectile_speed: Any
    homing: Any  # 0 or 1, as all flags
    splash_radius: Any
    splash_self: Any
    kamikaze: Any
    pushable: Any
    lifetime: Any
    deploy_ticks: Any
    stun_ticks: Any
    slow_pct: Any
    slow_ticks: Any
    bomb_ticks: Any  # 0: none
    spawn_period: Any
    spawn_first: Any  # age at the first wave
    spawn_unit: Any
    spawn_count: Any
    death_unit: Any
    death_count: Any


@functools.lru_cache(maxsize=64)
def unit_columns(config: ClashConfig) -> UnitColumns:
    """Makes the columns of a game's units."""
    rows = [[_unit_row(config.table, unit, level) for unit in config.table.units] for level in config.levels]
    return UnitColumns(*(np.array([[row[name] for row in player] for player in rows], np.int32) for name in UnitColumns._fields))


def _unit_row(table: Table, unit: Unit, level: int) -> dict[str, int]:
    building = unit.kind != "troop"
    everything = ((GROUND, GROUND_BUILDING), (AIR, AIR_BUILDING))
    accepts = sum(
        bit
        for hits, bits in zip((unit.hits_ground, unit.hits_air), everything, strict=True)
        for bit in bits
        if hits and (not unit.buildings_only or bit == bits[1])
    )
    damage = value_at(unit.damage, unit, level)
    stands = unit.speed == 0
    ids = table.unit_ids
    return {
        "hp": value_at(unit.hp, unit, level),
        "shield": value_at(unit.shield, unit, level),
        "damage": damage,
        "crown_damage": damage * unit.crown_damage_pct // 100,
        "layer": everything[unit.flying][building],
        "accepts": accepts if damage else 0,
        "splash_layers": _layers(unit.splash_ground, unit.splash_air),
        "hit_ticks": unit.hit_ticks,
        "windup": unit.windup_ticks,
        "reach": unit.range + unit.radius,
        "least": unit.min_range**2,
        "look": (unit.range if stands else max(unit.sight, unit.range)) + unit.radius,
        "least_look": unit.min_range**2 if stands else 0,
        "speed": unit.speed,
        "radius": unit.radius,
        "mass": unit.mass,
        "projectile_speed": unit.projectile_speed,
        "homing": int(unit.homing),
        "splash_radius": unit.splash_radius,
        "splash_self": int(unit.splash_self),
        "kamikaze": int(unit.kamikaze),
        "pushable": int(not building and not unit.ignore_pushback),
        "lifetime": unit.lifetime_ticks,
        "deploy_ticks": unit.deploy_ticks,
        "stun_ticks": unit.stun_ticks,
        "slow_pct": unit.slow_pct if unit.slow_ticks else 0,
        "slow_ticks": unit.slow_ticks,
        "bomb_ticks": max(unit.death_delay_ticks, 1) if unit.death_damage else 0,
        "spawn_period": unit.spawn_period_ticks,
        "spawn_first": unit.deploy_ticks + unit.spawn_first_ticks,
        "spawn_unit": ids.get(unit.spawn, 0),
        "spawn_count": unit.spawn_count if unit.spawn else 0,
        "death_unit": ids.get(unit.death_spawn, 0),
        "death_count": unit.death_spawn_count if unit.death_spawn else 0,
    }


def value_at(value: int, row: Unit | Card, level: int) -> int:
    """Gives hit points or damage of a row at a level, or at its first one, where that is higher: such rows are not in play."""
    return at_level(value, row.rarity, max(level, FIRST_LEVELS[row.rarity]))


class SpellColumns(NamedTuple):
    """Numbers of spells, int32 [2, C + U]: cards by row, and after them what units do when they die."""

    radius: Any
    damage: Any
    crown_damage: Any
    building_damage: Any
    layers: Any
    pushback: Any
    interval: Any
    stun_ticks: Any
    slow_pct: Any
    slow_ticks: Any
    spawn_unit: Any
    spawn_count: Any


@functools.lru_cache(maxsize=64)
def spell_columns(config: ClashConfig) -> SpellColumns:
    """Makes the columns of a game's spells."""
    table = config.table
    rows = [
        [_spell_row(table, card, level) for card in table.cards] + [_bomb_row(unit, level) for unit in table.units]
        for level in config.levels
    ]
    return SpellColumns(
        *(np.array([[row[name] for row in player] for player in rows], np.int32) for name in SpellColumns._fields)
    )


def _spell_row(table: Table, card: Card, level: int) -> dict[str, int]:
    damage = value_at(card.damage, card, level)
    return {
        "radius": card.radius,
        "damage": damage,
        "crown_damage": damage * card.crown_damage_pct // 100,
        "building_damage": damage * card.building_damage_pct // 100,
        "layers": _layers(card.hits_ground, card.hits_air) if card.radius else 0,
        "pushback": card.pushback,
        "interval": card.wave_interval_ticks,
        "stun_ticks": card.stun_ticks,
        "slow_pct": card.slow_pct if card.slow_ticks else 0,
        "slow_ticks": card.slow_ticks,
        "spawn_unit": table.unit_ids.get(card.spawn, 0),
        "spawn_count": card.spawn_count if card.spawn else 0,
    }


def _bomb_row(unit: Unit, level: int) -> dict[str, int]:
    damage = value_at(unit.death_damage, unit, level)
    row = dict.fromkeys(SpellColumns._fields, 0)
    crown = damage * unit.death_crown_pct // 100
    layers = _layers(True, True)
    return row | {
        "radius": unit.death_radius,
        "damage": damage,
        "crown_damage": crown,
        "building_damage": damage,
        "layers": layers,
    }


def _layers(ground: bool, air: bool) -> int:
    return ground * (GROUND + GROUND_BUILDING) + air * (AIR + AIR_BUILDING)


class CardColumns(NamedTuple):
    """Numbers of cards by row, int32 [C]; offsets int32 [C, K, 2]."""

    cost: Any  # in units of the state
    unit: Any
    count: Any
    is_spell: Any
    is_building: Any
    radius: Any  # of the unit
    speed: Any
    first_wave: Any
    waves: Any
    offsets: Any


@functools.lru_cache(maxsize=64)
def card_columns(config: ClashConfig) -> CardColumns:
    """Makes the columns of a game's cards."""
    table, cards = config.table, config.table.cards
    most = max([1, *(card.count for both in config.cards_of for card in both)])
    offsets = np.zeros((len(cards), most, 2), np.int32)
    for row, card in enumerate(cards):
        for place, offset in enumerate(card.offsets[:most]):
            offsets[row, place] = offset

    def column(values: Any) -> np.ndarray:
        return np.array(list(values), np.int32)

    units = [table.unit_ids.get(card.unit, 0) for card in cards]
    return CardColumns(
        cost=column(card.cost * ELIXIR for card in cards),
        unit=column(units),
        count=column(card.count for card in cards),
        is_spell=column(card.type == "spell" for card in cards),
        is_building=column(card.type == "building" for card in cards),
        radius=column(table.units[unit].radius for unit in units),
        speed=column(card.projectile_speed for card in cards),
        first_wave=column(card.first_wave_ticks for card in cards),
        waves=column(card.waves for card in cards),
        offsets=offsets,
    )


class Children(NamedTuple):
    """Where children stand, int32 [.., K, 2] from their parent, own frame: of dying units, of waves, of spells."""

    death: Any
    wave: Any
    spell: Any


@functools.lru_cache(maxsize=64)
def children(config: ClashConfig) -> Children:
    """Makes the tables of a game's children."""
    table = config.table
    spread = {unit.name: unit.radius for unit in table.units}
    death = [_formation(unit.death_spawn_count, unit.death_spawn_radius) for unit in table.units]
    wave = [_formation(unit.spawn_count, unit.radius + spread.get(unit.spawn, 0)) for unit in table.units]
    spell = [_formation(card.spawn_count, BARREL_RADIUS) for card in table.cards]
    most = max([1, *(len(rows) for rows in (*death, *wave, *spell))])
    return Children(
        *(np.array([rows + [(0, 0)] * (most - len(rows)) for rows in each], np.int32) for each in (death, wave, spell))
    )


def _formation(count: int, radius: int) -> list[tuple[int, int]]:
    """Places around a point, cut toward zero."""
    return [(int(x * radius / 1000), int(y * radius / 1000)) for x, y in FORMATIONS[count]]
