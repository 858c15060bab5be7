"""Searches in a tug of war, in a few lanes at once, that a network of made-up weights guides."""

import jax
import jax.numpy as jnp
import numpy as np

from tests.tug import Tug

GAME = Tug(length=4, max_steps=9, marks=64)
LANES = 5


def opinion(params, states, seats):
    """Logits by action and values, from the token as the seat sees it and a mark."""
    side = states.token * jnp.where(seats == 0, 1, -1)
    features = jnp.stack([side / 4, jnp.sin(states.mark * 1.7), jnp.cos(states.mark * 0.9), jnp.ones(len(seats))], axis=1)
    out = features @ params
    return out[:, :3], jnp.tanh(out[:, 3])


def weights(seed):
    return np.random.default_rng(seed).normal(size=(4, 4)).astype(np.float32)


def planned(planner, params, keys, states, seats):
    """A plan and the memory after it, as numpy arrays."""
    ones = np.ones(LANES, bool)
    run = jax.jit(lambda params, keys, *rest: planner.plan(params, keys, planner.init(LANES), *rest))
    return jax.device_get(run(params, keys, states, seats, ones))
