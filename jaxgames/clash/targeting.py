"""Whom every unit aims at."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.clash.constants import KING, TOWERS, WINDUP_SLACK
from jaxgames.clash.integers import square
from jaxgames.clash.kinds import Places
from jaxgames.clash.state import State
from jaxgames.clash.tables import UnitColumns

_FAR = np.int32(1 << 29)  # beyond all sight: towers that are walked to
_NOBODY = np.int32(2**31 - 1)


class Aim(NamedTuple):
    """Targets; [2, H] each, slots and places as the player sees the other's units.

    Attributes:
      acting: bool, units that fight now.
      target: int32, a slot; -1: none.
      x, y: int32, where it is.
      distance: int32, squared; of no meaning without a target.
      attacking: bool, the target is in reach, or a blow has begun.
    """

    acting: Array
    target: Array
    x: Array
    y: Array
    distance: Array
    attacking: Array


def choose(state: State, kinds: UnitColumns, places: Places) -> Aim:
    """Chooses targets (steps 2 and 3 of a tick): who is kept, else the closest in sight, else the closest tower.

    Ties go to the lowest slot. Units whose blow has begun keep a target that leaves their reach by up to 1.5 tiles.
    """
    slots = state.alive.shape[-1]
    slot = np.arange(slots, dtype=np.int32)
    acting = state.alive & (state.deploying == 0) & (kinds.damage > 0) & (state.stun == 0)
    acting &= state.king_awake[:, None] | (slot != KING)
    accepts = jnp.where(acting, kinds.accepts, 0)
    layer = jnp.where(state.alive, kinds.layer, 0)[::-1]
    radius = kinds.radius[::-1]
    slack = jnp.where(state.cooldown < kinds.windup, WINDUP_SLACK, 0)
    # A tower is walked to by those who move; of others the threshold is below every slot.
    walks_to = jnp.where(acting & (kinds.speed > 0), TOWERS, 0)
    tower = jnp.where(state.alive[::-1], slot, slots)

    def own(values: Array) -> Array:
        return values[:, :, None]

    def others(values: Array) -> Array:
        return values[:, None, :]

    distance = square(others(places.other_x) - own(places.x)) + square(others(places.other_y) - own(places.y))
    can = (own(accepts) & others(layer)) != 0
    keeps = (own(state.target) == slot) & (distance <= square(own(kinds.reach + slack) + others(radius)))
    keeps &= distance >= own(kinds.least)
    sees = (distance <= square(own(kinds.look) + others(radius))) & (distance >= own(kinds.least_look))
    cost = jnp.where(others(tower) < own(walks_to), distance + _FAR, _NOBODY)
    cost = jnp.where(can & sees, distance, cost)
    cost = jnp.where(can & keeps, -1, cost)
    best = cost.min(-1)
    target = jnp.where(cost == own(best), slot, slots).min(-1)
    target = jnp.where(best == _NOBODY, -1, target)
    x, y = look(target, places)
    wide = jnp.where(own(target) == slot, others(radius), 0).max(-1)
    squared = square(x - places.x) + square(y - places.y)
    in_reach = (target >= 0) & (squared <= square(kinds.reach + wide)) & (squared >= kinds.least)
    return Aim(acting, target, x, y, squared, acting & ((best == -1) | in_reach))


def look(targets: Array, places: Places) -> tuple[Array, Array]:
    """Gives where the other's units of these slots (int32 [2, ...]; -1: none, which gives 0) are: x and y, int32."""
    slot = np.arange(places.x.shape[-1], dtype=np.int32)
    shape = (2, *[1] * (targets.ndim - 1), -1)
    both = places.other_x.reshape(shape) + (places.other_y.reshape(shape) << 15)
    found = jnp.where(targets[..., None] == slot, both, 0).max(-1)
    return found & 0x7FFF, found >> 15
