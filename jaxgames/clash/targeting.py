"""Whom every unit aims at. Arrays have the battles as their last axis."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.clash.constants import KING, TOWERS, WINDUP_SLACK
from jaxgames.clash.integers import square
from jaxgames.clash.kinds import Places
from jaxgames.clash.slots import pick, put_together, used
from jaxgames.clash.state import State
from jaxgames.clash.tables import UnitColumns

_FAR = np.int32(1 << 29)  # beyond all sight: towers that are walked to
_NOBODY = np.int32(2**31 - 2)  # more than any distance beyond
_BITS = 15  # of a coordinate


class Aim(NamedTuple):
    """Targets; [2, H, B] each, slots and places as the player sees the other's units.

    Attributes:
      acting: bool, units that fight now.
      target: int32, a slot; -1: none.
      x, y: int32, where it is.
      distance: int32, squared; of no meaning without a target.
      attacking: bool, the target is in reach, or a blow has begun.
      shot_x, shot_y: int32 [2, 2, H, B], where the targets of shots are; 0 without one.
    """

    acting: Array
    target: Array
    x: Array
    y: Array
    distance: Array
    attacking: Array
    shot_x: Array
    shot_y: Array


def choose(state: State, kinds: UnitColumns, places: Places) -> Aim:
    """Chooses targets (steps 2 and 3 of a tick): who is kept, else the closest in sight, else the closest tower.

    Ties go to the lowest slot. Units whose blow has begun keep a target that leaves their reach by up to 1.5 tiles.
    """
    slot = np.arange(state.alive.shape[1], dtype=np.int32)[:, None]
    acting = state.alive & (state.deploying == 0) & (kinds.damage > 0) & (state.stun == 0)
    acting &= state.king_awake[:, None] | (slot != KING)
    accepts = jnp.where(acting, kinds.accepts, 0)
    walks = acting & (kinds.speed > 0)
    layer = jnp.where(state.alive, kinds.layer, 0)[::-1]
    radius = kinds.radius[::-1]
    held = state.target.astype(jnp.int32)
    hold = kinds.reach + jnp.where(state.cooldown < kinds.windup, WINDUP_SLACK, 0)
    where = places.other_x + (places.other_y << _BITS)
    of_shots = state.shot_target.astype(jnp.int32)

    def look_at(other: Array) -> tuple[Array, ...]:
        its_layer, its_radius, its_place = pick(layer, other), pick(radius, other), pick(where, other)
        distance = square(pick(places.other_x, other) - places.x) + square(pick(places.other_y, other) - places.y)
        can = (accepts & its_layer) != 0
        far_enough = distance >= kinds.least
        keeps = can & (held == other) & (distance <= square(hold + its_radius)) & far_enough
        sees = can & (distance <= square(kinds.look + its_radius)) & (distance >= kinds.least_look)
        tower = walks & (its_layer != 0) & (other < TOWERS)
        cost = jnp.where(keeps, -1, jnp.where(sees, distance, jnp.where(tower, distance + _FAR, _NOBODY)))
        in_reach = (distance <= square(kinds.reach + its_radius)) & far_enough
        # What is chosen by and whether it is in reach as one number, so that a kernel works it out once for all its readers.
        offer = (cost + 1).astype(jnp.uint32) << 1 | (keeps | in_reach).astype(jnp.uint32)
        shots = [jnp.where(of_shots[:, turn] == other, its_place, 0) for turn in range(2)]
        return offer, other, its_place, *shots

    def better(one: tuple[Array, ...], other: tuple[Array, ...]) -> tuple[Array, ...]:
        closer = (other[0] >> 1 < one[0] >> 1) | ((other[0] >> 1 == one[0] >> 1) & (other[1] < one[1]))
        best = [jnp.where(closer, new, old) for old, new in zip(one[:3], other[:3], strict=True)]
        return *best, *(jnp.maximum(old, new) for old, new in zip(one[3:], other[3:], strict=True))

    nothing = (2 * (int(_NOBODY) + 1), -1, 0, 0, 0)
    best, target, place, *shot_places = put_together(state.alive.shape[1], used(state.alive), look_at, better, nothing)
    reached = (best & 1) != 0
    x, y = _apart(place)
    squared = square(x - places.x) + square(y - places.y)
    return Aim(acting, target, x, y, squared, acting & reached, *_apart(jnp.stack(shot_places, axis=1)))


def _apart(place: Array) -> tuple[Array, Array]:
    return place & ((1 << _BITS) - 1), place >> _BITS
