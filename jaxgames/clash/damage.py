"""Who is hit by blows, shots and spells, and what that does."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.clash.attacks import Shots, Strike
from jaxgames.clash.constants import AIR_BUILDING, GROUND_BUILDING, TOWERS
from jaxgames.clash.integers import divide, root, square
from jaxgames.clash.kinds import Kinds, Places
from jaxgames.clash.state import State
from jaxgames.clash.tables import Features, UnitColumns
from jaxgames.clash.targeting import Aim


class Hits(NamedTuple):
    """What hits the units of both players in a tick, int32 [2, H] each; in the frame of who is hit.

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
    """Blows and shots that land, [2, 3H] each."""

    lands: Array
    target: Array
    x: Array
    y: Array


def of_units(state: State, kinds: UnitColumns, places: Places, aim: Aim, blow: Strike, shots: Shots, need: Features) -> Hits:
    """Counts what blows and landing shots of units do (steps 4 and 6 of a tick)."""

    def joined(of_blow: Array, of_shots: Array) -> Array:
        return jnp.concatenate([of_blow, of_shots[:, 0], of_shots[:, 1]], axis=1)

    self_centred = kinds.splash_self > 0
    impacts = _Impacts(
        lands=joined(blow.strikes, shots.landed),
        target=joined(aim.target, shots.target),
        x=joined(jnp.where(self_centred, places.x, aim.x), shots.x),
        y=joined(jnp.where(self_centred, places.y, aim.y), shots.y),
    )

    def by_impact(column: Array) -> Array:
        """[2, 1, 3H]."""
        return jnp.concatenate([column] * 3, axis=1)[:, None, :]

    slots = state.alive.shape[-1]
    slot = np.arange(slots, dtype=np.int32)[:, None]
    alive = state.alive[::-1]
    single = impacts.lands if not need.unit_splash else impacts.lands & (by_impact(kinds.splash_radius)[:, 0] == 0)
    hit = jnp.where(single, impacts.target, -1)[:, None, :] == slot
    if need.unit_splash:
        layer = jnp.where(alive, kinds.layer[::-1], 0)[:, :, None]
        wide = impacts.lands[:, None, :] & (by_impact(kinds.splash_radius) > 0)
        layers = jnp.where(wide, by_impact(kinds.splash_layers), 0)
        distance = square(places.other_x[:, :, None] - impacts.x[:, None, :]) + square(
            places.other_y[:, :, None] - impacts.y[:, None, :]
        )
        reach = by_impact(kinds.splash_radius) + kinds.radius[::-1][:, :, None]
        hit |= ((layers & layer) != 0) & (distance <= square(reach))
    amount = by_impact(kinds.damage)
    damage = jnp.where(hit, jnp.where(slot < TOWERS, by_impact(kinds.crown_damage), amount), 0).sum(-1)

    def most(column: Array, needed: bool) -> Array:
        return jnp.where(hit, by_impact(column), 0).max(-1)[::-1] if needed else jnp.zeros_like(damage)

    nothing = jnp.zeros_like(damage)
    return Hits(
        damage[::-1],
        most(kinds.stun_ticks, need.stuns),
        most(kinds.slow_ticks, need.slows),
        most(kinds.slow_pct, need.slows),
        nothing,
        nothing,
    )


def of_spells(state: State, kinds: Kinds, places: Places, need: Features) -> Hits:
    """Counts what landing waves of spells do (step 5 of a tick)."""
    spells, units = kinds.spells, kinds.units

    def waves(column: Array) -> Array:
        """[2, 1, S]."""
        return column[:, None, :]

    def others(column: Array) -> Array:
        """[2, H, 1], of the other's units."""
        return column[::-1][:, :, None]

    layer = others(jnp.where(state.alive, units.layer, 0))
    layers = waves(jnp.where(state.spell_ticks == 1, spells.layers, 0))
    away_x = places.other_x[:, :, None] - waves(state.spell_x.astype(jnp.int32))
    away_y = places.other_y[:, :, None] - waves(state.spell_y.astype(jnp.int32))
    distance = square(away_x) + square(away_y)
    hit = ((layers & layer) != 0) & (distance <= square(waves(spells.radius) + others(units.radius)))
    tower = np.arange(state.alive.shape[-1])[:, None] < TOWERS
    building = (layer & (GROUND_BUILDING | AIR_BUILDING)) != 0
    amount = jnp.where(building, waves(spells.building_damage), waves(spells.damage))
    amount = jnp.where(tower, waves(spells.crown_damage), amount)
    pushed = hit & (others(units.pushable) > 0) & (distance > 0) & (waves(spells.pushback) > 0)
    length = jnp.maximum(root(jnp.where(pushed, distance, 1)), 1)

    def push(away: Array) -> Array:
        # What is pushed lies within a few tiles of the centre; the other frame points the other way.
        return -jnp.where(pushed, divide(jnp.where(pushed, away, 0) * waves(spells.pushback), length), 0).sum(-1)[::-1]

    def most(column: Array, needed: bool) -> Array:
        return jnp.where(hit, waves(column), 0).max(-1)[::-1] if needed else jnp.zeros(state.alive.shape, jnp.int32)

    return Hits(
        jnp.where(hit, amount, 0).sum(-1)[::-1],
        most(spells.stun_ticks, need.stuns),
        most(spells.slow_ticks, need.slows),
        most(spells.slow_pct, need.slows),
        push(away_x),
        push(away_y),
    )


def added(first: Hits, second: Hits) -> Hits:
    """Puts hits together."""
    return Hits(
        first.damage + second.damage,
        jnp.maximum(first.stun, second.stun),
        jnp.maximum(first.slow, second.slow),
        jnp.maximum(first.slow_pct, second.slow_pct),
        first.push_x + second.push_x,
        first.push_y + second.push_y,
    )


def decay(state: State, kinds: UnitColumns) -> Array:
    """Gives the hit points that buildings lose by age in this tick, int32 [2, H]."""
    lifetime = jnp.maximum(kinds.lifetime, 1)
    age = jnp.minimum(state.age.astype(jnp.int32), lifetime)  # nothing is older, whatever lies in slots of the dead
    lost = divide(kinds.hp * (age + 1), lifetime) - divide(kinds.hp * age, lifetime)
    return jnp.where(state.alive & (kinds.lifetime > 0), lost, 0)
