"""Who plays the game of signals: a network so small that a learner compiles in seconds, and a player who knows all answers."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp

from jaxgames.agent import Agent, memoryless
from tests.signals import NUM_SIGNALS, Signals, encoder
from training.models.networks import follower as networks
from training.models.networks.follower import NetworkConfig
from training.models.policy_value import PolicyValue


def knowing(game: Signals) -> Agent:
    """A player who always answers right."""
    return memoryless("knowing", lambda params, keys, views, seats: jax.vmap(game.right)(views), sees_state=True)


def network(game: Signals) -> PolicyValue:
    """One narrow convolution and a value."""
    shown = encoder(game)
    config = NetworkConfig(width=8, layers=1, value_head=True)
    return PolicyValue(game, shown, networks.make(config, shown.shape, NUM_SIGNALS), {})


def share_of_right_answers(who: PolicyValue, params) -> float:
    """By both seats, in all steps of some games."""
    return shares_of_right_answers(who, params)[0]


def shares_of_right_answers(who: PolicyValue, *several) -> list[float]:
    """The same with each of several parameters."""
    game, agent = who.game, who.agent()

    @jax.jit
    def answer(params):
        states = jax.vmap(game.init)(jax.random.split(jax.random.key(9), 64))
        states = dataclasses.replace(states, step_count=jnp.arange(64, dtype=jnp.int32) % game.max_steps)
        seats = (states.step_count + (0 if game.in_turns else jnp.arange(64) // 2)) % 2
        chosen, _ = agent.act(params, jax.random.split(jax.random.key(5), 64), (), states, seats, jnp.ones(64, bool))
        return (chosen == jax.vmap(game.right)(states)).mean()

    return [float(answer(params)) for params in several]
