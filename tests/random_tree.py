"""A game that is nothing but a random tree: which arms are legal, what ends, and what it is worth follows from where one is.

Players take turns, or one plays alone. Every way of choosing leads to a state of its own.
"""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.hashing import hash_words


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class State:
    """One game: place uint32 [2], depth and player int32 [], terminated bool [], rewards float32 [P]."""

    place: Array
    depth: Array
    player: Array
    terminated: Array
    rewards: Array


@dataclasses.dataclass(frozen=True)
class RandomTree:
    """The game."""

    num_players: int = 2
    num_arms: int = 6
    max_steps: int = 7
    name: str = "random tree"

    @property
    def num_actions(self) -> int:
        return self.num_arms + 1

    @property
    def pass_action(self) -> int:
        return self.num_arms

    def init(self, key: Array) -> State:
        place = hash_words((jax.random.bits(key, (), jnp.uint32),))
        return State(place, jnp.int32(0), jnp.int32(0), jnp.bool_(False), jnp.zeros(self.num_players))

    def legal(self, state: State) -> Array:
        """Half of the arms, the first always: bool [K]."""
        drawn = (state.place[0] >> np.arange(self.num_arms, dtype=np.uint32) % 32) & 1
        return (drawn != 0) | (np.arange(self.num_arms) == 0)

    def step(self, state: State, actions: Array, key: Array | None = None) -> State:
        del key
        action = actions[jnp.minimum(state.player, len(actions) - 1)]
        place = hash_words((*state.place, action.astype(jnp.uint32)))
        depth = state.depth + 1
        over = (depth >= self.max_steps) | (place[1] % 8 == 0)
        after = State(place, depth, (state.player + 1) % self.num_players, over, state.rewards)
        after = dataclasses.replace(after, rewards=self.outcome(after))
        return jax.tree.map(lambda old, new: jnp.where(state.terminated, old, new), state, after)

    def to_play(self, state: State) -> Array:
        return state.player

    def legal_actions(self, state: State) -> Array:
        own = jnp.append(self.legal(state), False)
        passes = jnp.arange(self.num_actions) == self.pass_action
        return jnp.where(jnp.arange(self.num_players)[:, None] == state.player, own, passes)

    def search_arms(self, state: State) -> tuple[Array, Array]:
        arms = jnp.broadcast_to(jnp.arange(self.num_arms), (self.num_players, self.num_arms))
        return arms, self.legal_actions(state)[:, :-1]

    def outcome(self, state: State) -> Array:
        result = (state.place[0] >> 8).astype(jnp.float32) / 2.0**23 - 1
        return jnp.where(state.terminated, result, 0.0) * np.array([1, -1], np.float32)[: self.num_players]

    def heuristic(self, state: State) -> Array:
        return self.outcome(state)

    def in_play(self, state: State) -> Array:
        return jnp.ones(self.num_players, bool)

    def state_key(self, state: State) -> Array:
        return state.place

    def opinion(self, states: State) -> tuple[Array, Array]:
        """Logits float32 [B, K] and values float32 [B] for the player to move, as a network would give them."""
        # Mixes the place with one odd number per output; cheaper to compile than `hash_words`.
        multipliers = 2 * np.arange(100, 101 + self.num_arms, dtype=np.uint32) + 1
        words = (states.place[:, :1] ^ (states.place[:, 1:] >> 7)) * multipliers
        words = (words ^ (words >> 15)) * np.uint32(0x85EBCA77)
        words = words ^ (words >> 13)
        numbers = (words >> 8).astype(jnp.float32) / 2.0**23 - 1
        return 2 * numbers[:, :-1], numbers[:, -1]
