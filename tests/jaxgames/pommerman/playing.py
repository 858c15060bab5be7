"""Random games for the tests of Pommerman, by programs that all of them share."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np

import jaxgames
from jaxgames import random_bits
from jaxgames.pommerman import rules, setup
from jaxgames.pommerman.config import preset
from jaxgames.pommerman.replay import step_batch

ROWS = 64  # states per call


@functools.cache
def _compiled(mode: str, method: str):
    return jax.jit(jax.vmap(getattr(jaxgames.make("pommerman", mode), method)))


@functools.cache
def acting(maker, mode: str):
    """An agent and its compiled function."""
    agent = maker(jaxgames.make("pommerman", mode))
    return agent, jax.jit(agent.act)


def in_portions(compute, states, rows: int, *more):
    """Computes something of any number of states [S], so many at a time, the last ones filled up; numpy arrays."""
    count = len(states.terminated)
    numbers = np.arange(-(-count // rows) * rows) % count
    parts = [
        jax.device_get(compute(jax.tree.map(lambda leaf, part=part: np.asarray(leaf)[part], states), *more))
        for part in numbers.reshape(-1, rows)
    ]
    return jax.tree.map(lambda *leaves: np.concatenate(leaves)[:count], *parts)


def search_arms(mode: str, states):
    """The arms of states [S], and which of them are legal."""
    return in_portions(_compiled(mode, "search_arms"), states, ROWS)


@functools.cache
def _begun(mode: str):
    return jax.jit(jax.vmap(functools.partial(setup.init, preset(mode))))


def start_states(mode: str, games: int, seed: int):
    """Start states [G], at most `ROWS`."""
    states = _begun(mode)(jax.random.split(jax.random.key(seed), ROWS))
    return jax.tree.map(lambda leaf: leaf[:games], jax.device_get(states))


def random_games(mode: str, games: int, steps: int, seed: int):
    """Legal moves at random: the states before each step and after the last, leaves [steps + 1, G]."""
    rng, states = np.random.default_rng(seed), [start_states(mode, games, seed)]
    for _ in range(steps):
        arms, legal = search_arms(mode, states[-1])
        choice = np.where(legal, rng.random(legal.shape), -1).argmax(-1)
        moves = np.take_along_axis(arms, choice[..., None], -1)[..., 0]
        states.append(step_batch(preset(mode), states[-1], moves))
    return jax.tree.map(lambda *leaves: np.stack(leaves), *states)


def played_out(config, moves_of, start, memories, lane):
    """The last state of one game in which all seats decide by `moves_of`, such as `all_simple_moves`; inside jit."""

    def step(carry):
        state, memories = carry
        moves, memories = moves_of(config, state, memories, random_bits.fold(lane, state.step_count))
        return rules.step(config, state, jnp.stack(moves)), memories

    return jax.lax.while_loop(lambda carry: ~carry[0].terminated, step, (start, memories))[0]
