"""A tug of war, the smallest game that has what planners must cope with; written against the Game protocol.

Two players pull a token along a short track. Who pulls it to the own end wins; after `max_steps` it is a draw. All act at once:

    REST   nothing
    PULL   one cell towards the own end (player 0: up, player 1: down); both together cancel out
    SHOUT  nothing, and allowed only while the token is in the middle

Whoever has the back to the wall (one more cell and the game is lost) may only pull. An illegal action counts as REST.
Pulling is a dominant action everywhere. The key leaves out the step count, so that states come back within a simulation. With
`marks` > 1 a mark that changes with every action makes many states; with `slips` a pull fails by chance one time in four (without
them nobody loses, for whoever is cornered pulls).
"""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.agent import Agent, memoryless
from jaxgames.hashing import hash_words

REST, PULL, SHOUT = range(3)
ARMS = np.array([[REST, PULL, SHOUT], [SHOUT, REST, PULL]], np.int32)  # arm and action are different things


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class State:
    """One game: token int32 [] in -length..length, mark int32 [], step_count int32 [], terminated bool [], rewards [2]."""

    token: Array
    mark: Array
    step_count: Array
    terminated: Array
    rewards: Array


@dataclasses.dataclass(frozen=True)
class Tug:
    """The game."""

    length: int = 2
    max_steps: int = 12
    marks: int = 1
    slips: bool = False
    name: str = "tug"
    num_players: int = 2
    num_actions: int = 3
    num_arms: int = 3
    pass_action: int = REST

    def init(self, key: Array) -> State:
        """Half of the games start in the middle, the others one cell from there."""
        token = jax.random.randint(key, (), -1, 3) % 2 * jnp.where(jax.random.bernoulli(jax.random.fold_in(key, 1)), 1, -1)
        return self.state(token.astype(jnp.int32))

    def state(self, token: int | Array, step_count: int = 0) -> State:
        """A position."""
        numbers = (jnp.asarray(x, jnp.int32) for x in (token, 0, step_count))
        return State(*numbers, terminated=jnp.bool_(False), rewards=jnp.zeros(2, jnp.float32))

    def draw_chance(self, key: Array, state: State, actions: Array) -> Array:
        """Who slips, bool [2]."""
        del state, actions
        return jax.random.bernoulli(key, 0.25, (2,)) if self.slips else jnp.zeros(2, bool)

    def apply(self, state: State, actions: Array, chance: Array) -> State:
        legal = self.legal_actions(state)
        inside = (actions >= 0) & (actions < 3)
        fine = inside & jnp.take_along_axis(legal, jnp.clip(actions, 0, 2)[:, None], axis=1)[:, 0]
        actions = jnp.where(fine, actions, REST)
        pulls = ((actions == PULL) & ~chance).astype(jnp.int32)
        after = State(
            token=state.token + pulls[0] - pulls[1],
            mark=(5 * state.mark + 3 * actions[0] + actions[1] + 1) % self.marks,
            step_count=state.step_count + 1,
            terminated=jnp.bool_(False),
            rewards=state.rewards,
        )
        over = (jnp.abs(after.token) == self.length) | (after.step_count >= self.max_steps)
        after = dataclasses.replace(after, terminated=over)
        after = dataclasses.replace(after, rewards=self.outcome(after))
        silent = dataclasses.replace(state, rewards=jnp.zeros(2, jnp.float32))
        return jax.tree.map(lambda old, new: jnp.where(state.terminated, old, new), silent, after)

    def step(self, state: State, actions: Array, key: Array) -> State:
        return self.apply(state, actions, self.draw_chance(key, state, actions))

    def to_play(self, state: State) -> Array:
        del state
        return jnp.int32(-1)

    def legal_actions(self, state: State) -> Array:
        wall = self.length - 1
        cornered = state.token * np.array([-1, 1]) == wall
        middle = (state.token == 0) & ~cornered
        flags = (~cornered, jnp.ones(2, bool), middle)
        return jnp.stack(flags, axis=1)

    def search_arms(self, state: State) -> tuple[Array, Array]:
        return jnp.asarray(ARMS), jnp.take_along_axis(self.legal_actions(state), ARMS, axis=1)

    def outcome(self, state: State) -> Array:
        side = jnp.where(jnp.abs(state.token) == self.length, jnp.sign(state.token), 0)
        return side * np.array([1, -1], np.float32)

    def in_play(self, state: State) -> Array:
        del state
        return jnp.ones(2, bool)

    def heuristic(self, state: State) -> Array:
        """The outcome, and a quarter for who is ahead in a game that runs on."""
        ahead = jnp.sign(state.token) * np.array([0.25, -0.25], np.float32)
        return jnp.where(jnp.abs(state.token) == self.length, self.outcome(state), ahead)

    def state_key(self, state: State) -> Array:
        return hash_words((state.token.astype(jnp.uint32), state.mark.astype(jnp.uint32)))

    def observe(self, state: State, player: Array) -> Array:
        """The token, seen from the player's side: int32 []."""
        return jnp.where(player == 0, state.token, -state.token)


@functools.partial(jax.jit, static_argnums=0)
def _states(game: Tug, tokens: Array, step_count: Array) -> State:
    return jax.vmap(game.state, (0, None))(tokens, step_count)


def states_of(game: Tug, tokens, step_count: int = 0) -> State:
    """Positions [B], as numpy arrays."""
    return jax.device_get(_states(game, np.array(tokens, np.int32), np.int32(step_count)))


@functools.partial(jax.jit, static_argnums=0)
def _step(game: Tug, states: State, actions: Array, keys: Array) -> State:
    return jax.vmap(game.step)(states, actions, keys)


def step_all(game: Tug, states: State, actions, keys: Array) -> State:
    """The states [B] after a step, as numpy arrays."""
    return jax.device_get(_step(game, states, actions, keys))


def random_player(name: str = "random", sees_state: bool = True) -> Agent:
    """Plays anything, illegal actions included; its memory counts since the last reset: resets, then calls, int32 [B, 2]."""

    def act(params, keys, memory, views, seats, active):
        del params, views, seats
        actions = jax.vmap(lambda key: jax.random.randint(key, (), 0, 3))(keys)
        return actions, memory + jnp.stack([jnp.zeros_like(active), active], axis=1)

    def reset(memory, lanes):
        return jnp.where(lanes[:, None], jnp.stack([memory[:, 0] + 1, jnp.zeros_like(memory[:, 1])], axis=1), memory)

    return Agent(name, lambda batch_size: jnp.zeros((batch_size, 2), jnp.int32), reset, act, sees_state)


def steady_player(action: int) -> Agent:
    """Always plays one action."""

    return memoryless(f"always {action}", lambda params, keys, views, seats: jnp.full(keys.shape[0], action, jnp.int32))
