"""A network and an oracle so small that a learner compiles in seconds, and what learners leave in their buffers."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

import jaxgames
from search.planner import Plan, Planner
from training.models.networks import follower as networks
from training.models.networks.follower import NetworkConfig
from training.models.policy_value import PolicyValue

GAME = jaxgames.make("pommerman", "ffa", board_size=8, num_rigid=12, num_wood=12, num_items=10, max_steps=40)


def network(game=GAME) -> PolicyValue:
    """Two narrow convolutions and a value."""
    encoder = jaxgames.encoder_of(game)
    config = NetworkConfig(width=4, layers=2, value_head=True)
    return PolicyValue(game, encoder, networks.make(config, encoder.shape, encoder.num_outputs), {})


def drawing_oracle(game=GAME) -> Planner:
    """Draws values 0.1 to 0.4, so that equal ones are common.

    They depend on the key and on how often it was asked in this episode, which is its memory.
    """

    def plan(params, keys, memory, views, seats, active):
        del params, seats
        arms, legal = jax.vmap(game.search_arms)(views)
        keys = jax.vmap(jax.random.fold_in)(keys, memory)
        drawn = jax.vmap(lambda key: jax.random.randint(key, legal.shape[1:], 1, 5))(keys)
        values = jnp.where(legal, drawn / 10, -1.0)
        best = values >= values.max(-1, keepdims=True)
        choice = jnp.argmax(best, -1)[..., None]
        chosen = Plan(
            actions=jnp.take_along_axis(arms, choice, -1)[..., 0],
            arms=arms,
            legal=legal,
            qvalues=values,
            visit_counts=legal.astype(jnp.int32),
            action_weights=best / best.sum(-1, keepdims=True),
            root_value=values.max(-1),
            metrics={},
        )
        return chosen, memory + active

    def reset(memory, lanes):
        return jnp.where(lanes, 0, memory)

    return Planner(
        "drawing", lambda size: jnp.zeros(size, jnp.int32), reset, plan, memory_bytes=4, metrics={}, value_range=(-1.0, 1.0)
    )


def rows_of(buffer) -> np.ndarray:
    """What a ring holds, while nothing has given way: device by device, in the order in which it came; uint32 [N, W]."""
    shares = np.split(np.asarray(buffer.rows), len(buffer.size))
    return np.concatenate([share[:size] for share, size in zip(shares, np.asarray(buffer.size), strict=True)])


def as_set(rows: np.ndarray) -> list[bytes]:
    """Rows without their order."""
    return sorted(row.tobytes() for row in rows)


def on_one_device(function):
    """Runs what programs run on each device of the axis "data", on one alone."""
    mapped = jax.jit(jax.vmap(function, axis_name="data"))

    def run(*args):
        return jax.tree.map(lambda leaf: leaf[0], mapped(*jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], args)))

    return run
