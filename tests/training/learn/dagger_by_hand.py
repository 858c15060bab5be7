"""What a `Dagger` plays once more, step by step, and what its ring holds."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from tests.training.tiny import GAME
from training.learn.dagger import Sample

PLAYERS = 4


class Episode:
    """An episode played by the parts of a `Dagger` outside its program, the keys as they are written down in `EpisodeRules`.

    Without parameters the oracle plays.
    """

    def __init__(self, dagger, key, number, params=None):
        self.parts, self.params, self.oracle = _parts(dagger), params, dagger.rules.oracle
        self.key, self.rules = jax.random.fold_in(key, number), dagger.rules
        self.state, self.memory = self.parts[0](jax.random.fold_in(self.key, 0)), self.oracle.init(1)
        self.clock, self.quiet, self.past, self.over = 0, 0, [], False

    def step(self):
        """Plays a step. Returns the rows of the living players, uint32 [number of them, W]."""
        key = jax.random.fold_in(jax.random.fold_in(self.key, 1), self.clock)
        _, look, policy, step = self.parts
        plan, alive, rows, self.memory = look(key, self.memory, self.state)
        drawn = plan.actions if self.params is None else policy(self.params, key, self.state)
        actions = np.where(alive, drawn, 0)
        self.state, self.clock = step(self.state, actions), self.clock + 1
        self.past.append(np.argmax(plan.action_weights, -1).tolist())
        self.quiet = 0 if (actions == 5).any() else self.quiet + 1
        still = len(self.past) > 10 and all(past == self.past[-1] for past in self.past[-11:])
        self.over = bool(self.state.terminated) or still or self.quiet > self.rules.stop_when_quiet
        return np.asarray(rows)[np.asarray(alive)]

    def rest(self):
        """Plays to the end."""
        rows = []
        while not self.over:
            rows.append(self.step())
        return np.concatenate(rows)


@functools.cache
def _parts(dagger):
    """Compiled once: `init`, `look`, `policy`, `step`."""
    config, who, seats = dagger.config, dagger.who, jnp.arange(PLAYERS)

    def look(key, memory, state):
        states = jax.tree.map(lambda leaf: leaf[None], state)
        plan_key = jax.random.fold_in(key, 1)
        plan, memory = dagger.rules.oracle.plan(None, plan_key[None], memory, states, jnp.zeros(1, jnp.int32), jnp.ones(1, bool))
        plan = jax.tree.map(lambda leaf: leaf[0], plan)
        target = plan.action_weights
        if config.target == "values":
            weights = jnp.where(GAME.search_arms(state)[1], jnp.exp((plan.qvalues - 1) / 2 / config.temperature), 0.0)
            target = weights / weights.sum(-1, keepdims=True)
        legal = GAME.search_arms(state)[1]
        matters = (plan.qvalues.max(-1) - (plan.qvalues * legal).sum(-1) / legal.sum(-1)) / 2  # values lie in [-1, 1]
        chance = (plan.root_value + 1) / 2
        per_output = target[:, ::-1]  # arms are in the opposite order
        samples = Sample(jax.vmap(lambda seat: GAME.observe(state, seat))(seats), per_output, chance, matters)
        return plan, GAME.in_play(state), jax.vmap(dagger.updates.packing.pack)(samples), memory

    def policy(params, key, state):
        scores = who.policy(params, jax.vmap(lambda seat: GAME.observe(state, seat))(seats))
        return jnp.argmax(scores + jax.random.gumbel(jax.random.fold_in(key, 3), scores.shape), -1)

    return jax.jit(GAME.init), jax.jit(look), jax.jit(policy), jax.jit(GAME.step)


def unpacked(dagger, buffer):
    """What a ring holds, the first rows of it that count, as numpy arrays."""
    samples = jax.device_get(_unpack(dagger)(buffer.rows))
    return jax.tree.map(lambda leaf: leaf[: buffer.size[0]], samples)


@functools.cache
def _unpack(dagger):
    return jax.jit(jax.vmap(dagger.updates.packing.unpack))
