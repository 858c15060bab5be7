"""A game of signals whose arms are drawn from the state, in an order that varies: an arm means nothing of its own.

Each step shows a signal. Who chooses the action that answers it gets a point, and who has more points at the end wins. Of the
actions only some are offered, the right one among them, and each state offers them in an order of its own.
"""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames.encoder import Encoder
from jaxgames.hashing import hash_words

NUM_SIGNALS = 6


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class State:
    """One game: word uint32 [], from which signals and arms are drawn; points int32 [2], step_count int32 [], and the end."""

    word: Array
    points: Array
    step_count: Array
    terminated: Array
    rewards: Array


@dataclasses.dataclass(frozen=True)
class Signals:
    """The game; all at once, or in turns. Action `a` answers signal `(a + 2) % 6`; the last action passes."""

    in_turns: bool = False
    max_steps: int = 2
    opening_steps: int = 1
    num_arms: int = 4
    name: str = "signals"
    num_players: int = 2
    num_actions: int = NUM_SIGNALS + 1
    pass_action: int = NUM_SIGNALS

    def init(self, key: Array) -> State:
        zero = jnp.int32(0)
        return State(jax.random.bits(key, (), jnp.uint32), jnp.zeros(2, jnp.int32), zero, jnp.bool_(False), jnp.zeros(2))

    def signal(self, state: State) -> Array:
        """The signal of the present step, int32 []."""
        return (hash_words((state.word, state.step_count.astype(jnp.uint32)))[0] % NUM_SIGNALS).astype(jnp.int32)

    def right(self, state: State) -> Array:
        """The action that answers it."""
        return (self.signal(state) - 2) % NUM_SIGNALS

    def step(self, state: State, actions: Array, key: Array) -> State:
        del key
        points = state.points + (self.chooses(state) & (actions == self.right(state)))
        count = state.step_count + 1
        after = State(state.word, points, count, count >= self.max_steps, state.rewards)
        after = dataclasses.replace(after, rewards=self.outcome(after))
        silent = dataclasses.replace(state, rewards=jnp.zeros(2))
        return jax.tree.map(lambda old, new: jnp.where(state.terminated, old, new), silent, after)

    def chooses(self, state: State) -> Array:
        """bool [2]: who may act."""
        return (jnp.arange(2) == state.step_count % 2) | (not self.in_turns)

    def to_play(self, state: State) -> Array:
        return state.step_count % 2 if self.in_turns else jnp.int32(-1)

    def legal_actions(self, state: State) -> Array:
        passes = jnp.arange(self.num_actions) == self.pass_action
        return jnp.where((self.chooses(state) & ~state.terminated)[:, None], ~passes, passes)

    def search_arms(self, state: State) -> tuple[Array, Array]:
        """The right action and others, in an order of this state and player; or the pass alone."""

        player, action = jnp.arange(2, dtype=jnp.uint32)[:, None], jnp.arange(NUM_SIGNALS, dtype=jnp.uint32)
        drawn = hash_words((state.word, state.step_count.astype(jnp.uint32), player, action))
        offered = jnp.argsort(jnp.where(action == self.right(state), 0, drawn[..., 0]), axis=1)[:, : self.num_arms]
        order = jnp.argsort(jnp.take_along_axis(drawn[..., 1], offered, axis=1), axis=1)
        offered = jnp.take_along_axis(offered, order, axis=1).astype(jnp.int32)
        free = (self.chooses(state) & ~state.terminated)[:, None]
        return jnp.where(free, offered, self.pass_action), free | (jnp.arange(self.num_arms) == 0)

    def outcome(self, state: State) -> Array:
        ahead = jnp.sign(state.points - state.points[::-1]).astype(jnp.float32)
        return jnp.where(state.terminated, ahead, 0.0)

    def in_play(self, state: State) -> Array:
        del state
        return jnp.ones(2, bool)

    def heuristic(self, state: State) -> Array:
        return jnp.sign(state.points - state.points[::-1]).astype(jnp.float32)

    def state_key(self, state: State) -> Array:
        points = state.points.astype(jnp.uint32)
        return hash_words((state.word, state.step_count.astype(jnp.uint32), points[0], points[1]))

    def observe(self, state: State, player: Array) -> Array:
        del player
        return self.signal(state)


def encoder(game: Signals) -> Encoder:
    """The signal as a row of cells; outputs are numbered backwards for the second player; signals may be turned in a ring."""

    def outputs(actions: Array, seat: Array) -> Array:
        number = jnp.where(seat == 0, actions, NUM_SIGNALS - 1 - actions)
        return jnp.where((actions >= 0) & (actions < NUM_SIGNALS), number, -1).astype(jnp.int32)

    def actions(outputs: Array, seat: Array) -> Array:
        number = jnp.where(seat == 0, outputs, NUM_SIGNALS - 1 - outputs)
        return jnp.where((outputs >= 0) & (outputs < NUM_SIGNALS), number, game.pass_action).astype(jnp.int32)

    def view(state: State, seat: Array) -> Array:
        """The output that is right, and nothing of what is offered."""
        return outputs(game.right(state), seat)

    return Encoder(
        name="signal",
        shape=(1, NUM_SIGNALS, 1),
        channels=("signal",),
        num_outputs=NUM_SIGNALS,
        view=view,
        planes=lambda view: (jnp.arange(NUM_SIGNALS) == (view + 2) % NUM_SIGNALS).astype(jnp.float32)[None, :, None],
        legal=lambda view: jnp.ones(NUM_SIGNALS, bool),
        outputs=outputs,
        actions=actions,
        num_symmetries=NUM_SIGNALS,
        transform_planes=lambda planes, which: jnp.roll(planes, which, axis=1),
        transform_outputs=lambda per_output, which: jnp.roll(per_output, which),
    )
