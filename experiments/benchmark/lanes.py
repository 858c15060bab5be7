"""What cases share: keys and checksums of lanes, play without end, and shapes of what is compiled."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from experiments.benchmark.case import Tally
from jaxgames import random_bits
from jaxgames.game import Game
from jaxgames.random_bits import LaneKey
from search.planner import Planner

CHECKSUM_FACTOR = np.uint32(0x9E3779B1)

# A function and the shapes of its arguments.
Compiled = tuple[Callable, Sequence[Any]]


def lane_keys(key: Array, numbers: Array) -> LaneKey:
    """Makes the keys of lanes by their numbers: they do not depend on how lanes are spread over devices."""
    return jax.vmap(lambda number: random_bits.lane_key(jax.random.fold_in(key, number)))(numbers)


def typed_keys(keys: LaneKey, clock: Array) -> Array:
    """Makes typed keys [B] of lanes at a time."""
    return jax.random.wrap_key_data(jnp.stack(random_bits.fold(keys, clock), axis=-1))


def mixed(checksum: Array, digest: Array) -> Array:
    """Puts one more word into the checksums of lanes, uint32 [B]."""
    return checksum * CHECKSUM_FACTOR + digest


def visits_digest(visits: Array) -> Array:
    """One word per lane of visits, int32 [B, K]."""
    weights = 2 * np.arange(visits.shape[1], dtype=np.uint32) + 1
    return (visits.astype(jnp.uint32) * weights).sum(-1, dtype=jnp.uint32)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Lanes:
    """Games on one device.

    Attributes:
      games: whatever the case keeps of them.
      keys: of the lanes, leaves [B].
      clock: int32 [], steps so far.
    """

    games: Any
    keys: LaneKey
    clock: Array


LEAST_STEPS = 128
MANY_LANES = 2048


def steps_per_call(steps: int, batch: int, usual: int) -> tuple[int, int]:
    """Shares out steps to calls: of very many lanes each call makes fewer.

    Args:
      steps: of one call, of the usual batch.
      batch: lanes.
      usual: up to so many lanes the steps stay.

    Returns:
      The steps of one call, and how many calls make about as many as one usual call, or 1024.
    """
    shared = steps if batch <= usual else max(min(LEAST_STEPS, steps), steps * usual // batch)
    return shared, max(1, -(-min(steps, 1024) // shared))


def together(batch: int) -> dict[str, Any]:
    """Gives the setting by which as many lanes are planned for at once as only accelerators have; none for fewer."""
    return {"microbatch_size": batch} if batch >= MANY_LANES else {}


class Step(NamedTuple):
    """One step of all lanes.

    Attributes:
      games: after it, the next ones where games have ended.
      over: bool [B], whether they have.
      lengths: [B], steps of these games; zeros where their mean would mislead.
      digest: uint32 [B], of what was computed.
    """

    games: Any
    over: Array
    lengths: Array
    digest: Array


def play_on(step: Callable[[Any, LaneKey], Step], steps: int, lanes: Lanes, tally: Tally) -> tuple[Lanes, Tally]:
    """Plays so many steps of all lanes by `step(games, keys)`; one step of one game is one unit."""

    def one(carry: tuple[Lanes, Tally], _: None) -> tuple[tuple[Lanes, Tally], None]:
        lanes, tally = carry
        clock = lanes.clock + 1
        games, over, lengths, digest = step(lanes.games, random_bits.fold(lanes.keys, clock))
        tally = tally._replace(
            episodes=tally.episodes + over.astype(jnp.uint32),
            lengths=tally.lengths + jnp.where(over, lengths, 0).astype(jnp.uint32),
            checksum=mixed(tally.checksum, digest),
        )
        return (Lanes(games, lanes.keys, clock), tally), None

    (lanes, tally), _ = jax.lax.scan(one, (lanes, tally), length=steps)
    return lanes, tally._replace(units=tally.units + np.uint32(steps))


def start_shapes(game: Game, lanes: int) -> tuple[Any, Any]:
    """Gives the shapes of so many keys and start states."""
    keys = jax.eval_shape(lambda: jax.random.split(jax.random.key(0), lanes))
    return keys, jax.eval_shape(jax.vmap(game.init), keys)


def compiled_plan(game: Game, planner: Planner, lanes: int) -> Compiled:
    """Gives the plan of so many lanes with the shapes of its arguments."""
    keys, states = start_shapes(game, lanes)
    seats, active = jax.ShapeDtypeStruct((lanes,), jnp.int32), jax.ShapeDtypeStruct((lanes,), bool)
    return planner.plan, (None, keys, jax.eval_shape(lambda: planner.init(lanes)), states, seats, active)
