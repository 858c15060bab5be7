"""A game of waiting whose end is known from its start, and who plays it."""

import dataclasses

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames.agent import Agent


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Countdown:
    """A state of `Waiting`: leaves int32 [4] (when each seat drops out), int32 [], int32 [4], bool [], float32 [4]."""

    out_at: Array
    step_count: Array
    played: Array
    terminated: Array
    rewards: Array


@dataclasses.dataclass(frozen=True)
class Waiting:
    """Four players wait until they drop out, at steps drawn at the start; the last one wins, or the last two draw."""

    name: str = "waiting"
    num_players: int = 4
    num_actions: int = 10
    pass_action: int = 0
    max_steps: int = 8

    def init(self, key: Array) -> Countdown:
        zero = jnp.zeros(4, jnp.int32)
        return Countdown(jax.random.randint(key, (4,), 1, 8), jnp.int32(0), zero, jnp.bool_(False), jnp.zeros(4))

    def step(self, state: Countdown, actions: Array, key: Array) -> Countdown:
        del key
        count = state.step_count + 1
        over = (state.out_at > count).sum() <= 1
        after = Countdown(state.out_at, count, actions, over, state.rewards)
        return jax.tree.map(lambda old, new: jnp.where(state.terminated, old, new), state, after)

    def to_play(self, state: Countdown) -> Array:
        del state
        return jnp.int32(-1)

    def in_play(self, state: Countdown) -> Array:
        return state.out_at > state.step_count

    def outcome(self, state: Countdown) -> Array:
        left = self.in_play(state)
        return jnp.where(state.terminated & left.any(), jnp.where(left, 1.0, -1.0), 0.0)

    def observe(self, state: Countdown, player: Array) -> Array:
        return state.out_at[player]


def numbered(number: int) -> Agent:
    """Plays the number of its seat plus this one. Its memory: calls since the last reset, int32 [B]."""

    def act(params, keys, memory, views, seats, active):
        del params, keys
        assert views.shape == seats.shape  # what the seat knows, not the state
        return (seats + number).astype(jnp.int32), memory + active

    return Agent(f"{number}", lambda size: jnp.zeros(size, jnp.int32), lambda memory, lanes: jnp.where(lanes, 0, memory), act)
