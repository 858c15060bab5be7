"""How battles end."""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.clash.config import ClashConfig
from jaxgames.clash.constants import DRAW, KING, RUNNING, TOWERS
from jaxgames.clash.state import State


def ended(config: ClashConfig, state: State) -> State:
    """Finds the battles, leaves [..., B], that are over (step 12 of a tick).

    First a dead king, of both players: a draw; then, from the end of regular time on, unequal numbers of towers; then time.
    """
    towers = state.alive[:, :TOWERS]
    lost = ~state.alive[:, KING]
    # Of two players, the advantage of the first as a number: sums over masks instead of single values of a vector.
    sign = np.array([1, -1], np.int32)[:, None]
    by_king = -(sign * lost).sum(0)
    by_towers = jnp.sign((sign[:, None] * towers).sum((0, 1)))
    tick = state.tick.astype(jnp.int32)
    late, over_time = tick >= config.regular_ticks, tick >= config.last_tick
    by_hp = jnp.zeros_like(tick)
    if config.tiebreak == "lowest_tower_hp":
        weakest = jnp.where(towers, state.hp[:, :TOWERS].astype(jnp.int32), 2**15).min(1)
        by_hp = jnp.sign((sign * weakest).sum(0))
    any_lost = lost.any(0)
    counted = jnp.where(by_towers == 0, by_hp * over_time, by_towers)
    ahead = jnp.where(any_lost, by_king, jnp.where(late, counted, 0))
    over = any_lost | (late & (by_towers != 0)) | over_time
    winner = jnp.where(over, jnp.where(ahead == 0, DRAW, (1 - ahead) // 2), RUNNING)
    return dataclasses.replace(
        state,
        winner=winner.astype(jnp.int8),
        terminated=over,
        seat_rewards=(ahead * over * sign).astype(jnp.int8),
    )


def tower_counts(towers: Array) -> Array:
    """Counts towers that stand, bool [2, 3], of a battle: int32 [2]; those of a player without a king count as down."""
    return jnp.where(towers[:, KING], towers.sum(1), 0)
