"""The smallest game in which players are eliminated: three sit in a ring, and whoever says LEAVE is out; the last one wins."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames import checks

STAY, LEAVE = range(2)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class State:
    """One game: there bool [3], step_count int32 [], terminated bool [], rewards float32 [3]."""

    there: Array
    step_count: Array
    terminated: Array
    rewards: Array


@dataclasses.dataclass(frozen=True)
class Fading:
    """The game. Who is out gets -1 in every step, as the official Pommerman does it.

    Attributes:
      late: the first -1 comes one step after, as Pommerman does it where the board collapses.
    """

    name: str = "fading"
    num_players: int = 3
    num_actions: int = 2
    num_arms: int = 2
    pass_action: int = STAY
    max_steps: int = 6
    opening_steps: int = 0
    late: bool = False

    def init(self, key: Array) -> State:
        del key
        return State(jnp.ones(3, bool), jnp.int32(0), jnp.bool_(False), jnp.zeros(3, jnp.float32))

    def step(self, state: State, actions: Array, key: Array | None = None) -> State:
        del key
        checks.actions(actions, 3)
        there, count = state.there & (actions != LEAVE), state.step_count + 1
        over = (there.sum() <= 1) | (count >= self.max_steps)
        running = jnp.where(state.there if self.late else there, 0.0, -1.0)
        rewards = jnp.where(over, jnp.where(there & (there.sum() == 1), 1.0, -1.0), running).astype(jnp.float32)
        rest = dataclasses.replace(state, rewards=jnp.zeros(3, jnp.float32))
        after = State(there, count, over, rewards)
        return jax.tree.map(lambda old, new: jnp.where(state.terminated, old, new), rest, after)

    def to_play(self, state: State) -> Array:
        del state
        return jnp.int32(-1)

    def legal_actions(self, state: State) -> Array:
        return jnp.stack([jnp.ones(3, bool), state.there], axis=1)

    def in_play(self, state: State) -> Array:
        return state.there

    def observe(self, state: State, player: Array) -> tuple[Array, Array]:
        """Who is there, beginning with oneself, and the steps so far."""
        order = (jnp.asarray(player) + np.arange(3)) % 3
        return state.there[order], state.step_count


class Pushing(Fading):
    """The same in turns: whoever says LEAVE throws out the next one."""

    def step(self, state: State, actions: Array, key: Array | None = None) -> State:
        mover = self.to_play(state)
        thrown = (np.arange(3) == (mover + 1) % 3) & (jnp.asarray(actions)[mover] == LEAVE)
        return super().step(state, jnp.where(thrown, LEAVE, STAY), key)

    def to_play(self, state: State) -> Array:
        """The next one who is there."""
        order = (state.step_count + np.arange(3)) % 3
        return order[jnp.argmax(state.there[order])].astype(jnp.int32)

    def legal_actions(self, state: State) -> Array:
        return jnp.stack([jnp.ones(3, bool), np.arange(3) == self.to_play(state)], axis=1)
