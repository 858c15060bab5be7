"""Who is hit by blows, shots and spells, and what that does. Arrays have the battles as their last axis.

All is told from the side of those who are hit: what is in each of the other's slots does something to all own units.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.clash.attacks import Shots, Strike
from jaxgames.clash.constants import AIR_BUILDING, GROUND_BUILDING, HEIGHT, TOWERS, WIDTH
from jaxgames.clash.integers import divide, root, square
from jaxgames.clash.kinds import Kinds, Places
from jaxgames.clash.slots import pick, put_together, used
from jaxgames.clash.state import State
from jaxgames.clash.tables import Features, SpellColumns, UnitColumns
from jaxgames.clash.targeting import Aim
from jaxgames.fusion import boundary

Columns = TypeVar("Columns", UnitColumns, SpellColumns)

_SUMS = ("damage", "push_x", "push_y")  # of all that hits a unit; of the rest it is the most


class Hits(NamedTuple):
    """What hits the units of both players in a tick, int32 [2, H, B] each; in the frame of who is hit.

    Attributes:
      damage: sum.
      stun, slow, slow_pct: the most of each.
      push_x, push_y: by which spells move them.
    """

    damage: Array
    stun: Array
    slow: Array
    slow_pct: Array
    push_x: Array
    push_y: Array


class _Impacts(NamedTuple):
    """Blows and shots that land, [2, H, B] each, of the other's units as those see it who are hit; target -1: an area."""

    lands: Array
    target: Array
    x: Array
    y: Array


class Hitters(NamedTuple):
    """The other's slots from which something comes in a tick, as those see them who are hit.

    Attributes:
      slots: how many there are.
      end: int32 [], one more than the last slot that may hit.
      hit: `hit(slot) -> (touched, damage)`: bool and int32 [2, H, B], for a slot of the other's.
    """

    slots: int
    end: Array
    hit: Callable[[Array], tuple[Array, Array]]


def hitting_units(
    state: State, kinds: UnitColumns, places: Places, aim: Aim, blow: Strike, shots: Shots, need: Features
) -> Hitters:
    """Says whom blows and landing shots of each unit hit, and with how much."""
    around_self = kinds.splash_self > 0
    sources = [
        _Impacts(blow.strikes, aim.target, *(jnp.where(around_self, a, b) for a, b in ((places.x, aim.x), (places.y, aim.y))))
    ]
    sources += [_Impacts(shots.landed[:, turn], shots.target[:, turn], shots.x[:, turn], shots.y[:, turn]) for turn in range(2)]
    impacts = [_Impacts(one.lands[::-1], one.target[::-1], WIDTH - one.x[::-1], HEIGHT - one.y[::-1]) for one in sources]
    other = _turned(kinds)
    layer = jnp.where(state.alive, kinds.layer, 0)
    slot = np.arange(state.alive.shape[1], dtype=np.int32)[:, None]
    lands = impacts[0].lands | impacts[1].lands | impacts[2].lands

    def hit(number: Array) -> tuple[Array, Array]:
        amount, crown = pick(other.damage, number), pick(other.crown_damage, number)
        amount = jnp.where(slot < TOWERS, crown, amount)
        radius, layers = pick(other.splash_radius, number), pick(other.splash_layers, number)
        wide = square(radius + kinds.radius)
        exposed = (layers & layer) != 0
        times = jnp.zeros(state.alive.shape, jnp.int32)
        for one in impacts:
            hit = pick(one.target, number) == slot
            if need.unit_splash:
                distance = square(places.x - pick(one.x, number)) + square(places.y - pick(one.y, number))
                hit = jnp.where(radius > 0, exposed & (distance <= wide), hit)
            hit &= pick(one.lands, number)
            times = times + hit
        if need.stuns or need.slows:  # an accelerator would else keep each part of it for all who read it
            times = boundary(times.astype(jnp.int8)).astype(jnp.int32)
        return times > 0, times * amount

    return Hitters(lands.shape[1], used(lands), hit)


def of_units(state: State, kinds: UnitColumns, places: Places, aim: Aim, blow: Strike, shots: Shots, need: Features) -> Hits:
    """Gives what blows and landing shots of units do (steps 4 and 6 of a tick)."""
    other = _turned(kinds)
    hitters = hitting_units(state, kinds, places, aim, blow, shots, need)

    def hit_by(number: Array) -> dict[str, Array]:
        touched, damage = hitters.hit(number)
        return {"damage": damage, **_effects(other, number, touched, need)}

    return _of_all(hitters, state.alive.shape, hit_by)


def _effects(columns: UnitColumns | SpellColumns, number: Array, touched: Array, need: Features) -> dict[str, Array]:
    """Says how what is in a slot stuns and slows those whom it touches."""
    found = {}
    if need.stuns:
        found["stun"] = jnp.where(touched, pick(columns.stun_ticks, number), 0)
    if need.slows:
        found["slow"] = jnp.where(touched, pick(columns.slow_ticks, number), 0)
        found["slow_pct"] = jnp.where(touched, pick(columns.slow_pct, number), 0)
    return found


def _turned(columns: Columns) -> Columns:
    """The columns [2, ...] of the other player for each."""
    return type(columns)(*(column[::-1] for column in columns))


def _other_spells(state: State, kinds: Kinds) -> tuple[SpellColumns, Array, Array]:
    """The other's spells and where they are, as those see them who are hit."""
    at_x, at_y = (edge - at[::-1].astype(jnp.int32) for edge, at in ((WIDTH, state.spell_x), (HEIGHT, state.spell_y)))
    return _turned(kinds.spells), at_x, at_y


def hitting_spells(state: State, kinds: Kinds, places: Places) -> Hitters:
    """Says whom landing waves of each spell hit, and with how much."""
    units = kinds.units
    lands = state.spell_ticks[::-1] == 1
    spells, at_x, at_y = _other_spells(state, kinds)
    layer = jnp.where(state.alive, units.layer, 0)
    building = (layer & (GROUND_BUILDING | AIR_BUILDING)) != 0
    tower = np.arange(state.alive.shape[1])[:, None] < TOWERS

    def hit(number: Array) -> tuple[Array, Array]:
        distance = square(places.x - pick(at_x, number)) + square(places.y - pick(at_y, number))
        hit = ((pick(spells.layers, number) & layer) != 0) & pick(lands, number)
        hit &= distance <= square(pick(spells.radius, number) + units.radius)
        amount = jnp.where(building, pick(spells.building_damage, number), pick(spells.damage, number))
        amount = jnp.where(tower, pick(spells.crown_damage, number), amount)
        return hit, jnp.where(hit, amount, 0)

    return Hitters(lands.shape[1], used(lands), hit)


def of_spells(state: State, kinds: Kinds, places: Places, need: Features) -> Hits:
    """Gives what landing waves of spells do (step 5 of a tick)."""
    units = kinds.units
    spells, at_x, at_y = _other_spells(state, kinds)
    hitters = hitting_spells(state, kinds, places)

    def hit_by(number: Array) -> dict[str, Array]:
        hit, damage = hitters.hit(number)
        away_x, away_y = places.x - pick(at_x, number), places.y - pick(at_y, number)
        distance = square(away_x) + square(away_y)
        force = pick(spells.pushback, number)
        pushed = hit & (units.pushable > 0) & (distance > 0) & (force > 0)
        length = jnp.maximum(root(jnp.where(pushed, distance, 1)), 1)

        def push(away: Array) -> Array:
            return divide(jnp.where(pushed, away, 0) * force, length)

        return {"damage": damage, "push_x": push(away_x), "push_y": push(away_y), **_effects(spells, number, hit, need)}

    return _of_all(hitters, state.alive.shape, hit_by)


def both(one: Hits, other: Hits) -> Hits:
    """Joins what hits the same units."""
    return Hits(**_joined(one._asdict(), other._asdict()))


def _of_all(hitters: Hitters, shape: tuple[int, ...], part: Callable[[Array], dict[str, Array]]) -> Hits:
    """Joins what comes of each slot: a dict of those fields of `Hits` that anything can come of; the others are 0."""
    nothing = dict.fromkeys(jax.eval_shape(part, jnp.int32(0)), 0)
    found = put_together(hitters.slots, hitters.end, part, _joined, nothing)
    return Hits(**dict.fromkeys(Hits._fields, jnp.zeros(shape, jnp.int32)) | found)


def _joined(one: dict[str, Array], other: dict[str, Array]) -> dict[str, Array]:
    return {name: one[name] + other[name] if name in _SUMS else jnp.maximum(one[name], other[name]) for name in one}


def decay(state: State, kinds: UnitColumns) -> Array:
    """Gives the hit points that buildings lose by age in this tick, int32 [2, H, B]."""
    lifetime = jnp.maximum(kinds.lifetime, 1)
    age = jnp.minimum(state.age.astype(jnp.int32), lifetime)  # nothing is older, whatever lies in slots of the dead
    lost = divide(kinds.hp * (age + 1), lifetime) - divide(kinds.hp * age, lifetime)
    return jnp.where(state.alive & (kinds.lifetime > 0), lost, 0)


def forget(targets: tuple[Array, ...], gone: Array) -> tuple[Array, ...]:
    """Takes the targets that are gone away from all who aim at them.

    Args:
      targets: int32 [2, H, B] each, slots of the other.
      gone: bool [2, H, B], units that have died.

    Returns:
      The same, -1 for what is gone.
    """
    others = gone[::-1]

    def aimed_at(number: Array) -> tuple[Array, ...]:
        return tuple((target == number) & pick(others, number) for target in targets)

    def either(one: tuple[Array, ...], other: tuple[Array, ...]) -> tuple[Array, ...]:
        return tuple(a | b for a, b in zip(one, other, strict=True))

    lost = put_together(gone.shape[1], used(gone), aimed_at, either, (False,) * len(targets))
    return tuple(jnp.where(forgotten, -1, target) for forgotten, target in zip(lost, targets, strict=True))
