"""Blows and shots: cooldowns, who strikes, and shots on their way. Arrays have the battles as their last axis."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.clash.integers import divide, root
from jaxgames.clash.state import State
from jaxgames.clash.tables import UnitColumns
from jaxgames.clash.targeting import Aim


class Shots(NamedTuple):
    """Shots in the air, int32 [2, 2, H, B] each; see `State`. landed: bool, in this tick."""

    ticks: Array
    target: Array
    x: Array
    y: Array
    landed: Array


def fly(state: State, kinds: UnitColumns, aim: Aim) -> Shots:
    """Moves shots on (step 4 of a tick); those that home follow their target as long as it lives."""
    ticks, target = state.shot_ticks.astype(jnp.int32), state.shot_target.astype(jnp.int32)
    follows = (ticks > 0) & (target >= 0) & (kinds.homing[:, None] > 0)
    x = jnp.where(follows, aim.shot_x, state.shot_x)
    y = jnp.where(follows, aim.shot_y, state.shot_y)
    return Shots(jnp.maximum(ticks - 1, 0), target, x, y, ticks == 1)


class Strike(NamedTuple):
    """What units do in a tick, [2, H, B] each.

    Attributes:
      cooldown: int32, after it.
      fires: bool.
      strikes: bool, fires without a shot.
    """

    cooldown: Array
    fires: Array
    strikes: Array


def strike(state: State, kinds: UnitColumns, aim: Aim, beat: Array | int) -> Strike:
    """Counts cooldowns down and strikes (step 6 of a tick).

    A new target costs the wind-up; who does not attack prepares the rest of the time.

    Args:
      state: the battles.
      kinds: of the units.
      aim: their targets.
      beat: 1, or int32 [2, H, B] with 0 for slowed units that rest in this tick.
    """
    cooldown = state.cooldown.astype(jnp.int32)
    cooldown = jnp.where(aim.target != state.target, jnp.maximum(cooldown, kinds.windup), cooldown)
    cooldown = jnp.where(aim.attacking, cooldown - beat, jnp.maximum(cooldown - beat, kinds.windup))
    cooldown = jnp.where(state.stun > 0, kinds.hit_ticks, cooldown)
    fires = aim.attacking & (cooldown <= 0)
    return Strike(jnp.where(fires, kinds.hit_ticks, cooldown), fires, fires & (kinds.projectile_speed == 0))


def shoot(shots: Shots, state: State, kinds: UnitColumns, aim: Aim, blow: Strike) -> Shots:
    """Sends new shots off, each in the slot whose turn it is; a shot still there gives way."""
    speed = jnp.maximum(kinds.projectile_speed, 1)
    flight = jnp.maximum(1, divide(root(aim.distance) + speed - 1, speed))
    leaves = blow.fires & (kinds.projectile_speed > 0)
    new = leaves[:, None] & (state.turn[:, None] == np.arange(2, dtype=np.int8)[:, None, None])

    def put(value: Array, old: Array) -> Array:
        return jnp.where(new, value[:, None], old)

    return Shots(put(flight, shots.ticks), put(aim.target, shots.target), put(aim.x, shots.x), put(aim.y, shots.y), shots.landed)
