"""The rules."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames import checks
from jaxgames.hashing import hash_words

LINES = np.array([[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8], [2, 4, 6]])


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class State:
    """One game: board int8 [9] (+1 first player, -1 second), player int8 [], terminated bool [], rewards float32 [2]."""

    board: Array
    player: Array
    terminated: Array
    rewards: Array


@dataclasses.dataclass(frozen=True)
class Config:
    """The one variant there is."""


@dataclasses.dataclass(frozen=True)
class TicTacToe:
    """The game. Actions 0..8 are cells, row by row, 9 passes; a cell that is taken changes nothing but whose turn it is."""

    config: Config = Config()
    name: str = "tic_tac_toe"
    num_players: int = 2
    num_actions: int = 10
    num_arms: int = 9
    pass_action: int = 9
    max_steps: int = 9
    opening_steps: int = 3

    def init(self, key: Array) -> State:
        del key
        return State(jnp.zeros(9, jnp.int8), jnp.int8(0), jnp.bool_(False), jnp.zeros(2, jnp.float32))

    def draw_chance(self, key: Array, state: State, actions: Array) -> tuple[()]:
        del key, state, actions
        return ()

    def apply(self, state: State, actions: Array, chance: tuple[()] = ()) -> State:
        del chance
        actions = checks.actions(actions, 2, 10)
        cell, sign = actions[state.player.astype(jnp.int32)], 1 - 2 * state.player
        board = jnp.where((jnp.arange(9) == cell) & (state.board == 0), sign, state.board).astype(jnp.int8)
        after = State(board, 1 - state.player, jnp.bool_(False), state.rewards)
        rewards = self.outcome(after)
        over = (rewards != 0).any() | (board != 0).all()
        after = dataclasses.replace(after, terminated=over, rewards=rewards)
        silent = dataclasses.replace(state, rewards=jnp.zeros(2, jnp.float32))
        return jax.tree.map(lambda old, new: jnp.where(state.terminated, old, new), silent, after)

    def step(self, state: State, actions: Array, key: Array | None = None) -> State:
        del key
        return self.apply(state, actions)

    def to_play(self, state: State) -> Array:
        return state.player.astype(jnp.int32)

    def legal_actions(self, state: State) -> Array:
        cells = jnp.append((state.board == 0) & ~state.terminated, state.terminated)
        waits = jnp.arange(10) == self.pass_action
        return jnp.where(jnp.arange(2)[:, None] == state.player, cells, waits)

    def search_arms(self, state: State) -> tuple[Array, Array]:
        legal = self.legal_actions(state)
        number = jnp.arange(9, dtype=jnp.int32)
        passes = legal[:, 9:]
        return jnp.where(passes & (number == 0), 9, number), jnp.where(passes, number == 0, legal[:, :9])

    def outcome(self, state: State) -> Array:
        sums = state.board[LINES].sum(-1)
        sign = (sums == 3).any().astype(jnp.float32) - (sums == -3).any().astype(jnp.float32)
        return sign * np.array([1, -1], np.float32)

    def in_play(self, state: State) -> Array:
        del state
        return jnp.ones(2, bool)

    def heuristic(self, state: State) -> Array:
        return self.outcome(state)

    def state_key(self, state: State) -> Array:
        return hash_words((((state.board + 1).astype(jnp.uint32) * 3 ** np.arange(9, dtype=np.uint32)).sum(),))

    def observe(self, state: State, player: Array) -> tuple[Array, Array]:
        """The board with the player's own marks as +1, int8 [9], and bool [], whether it is its turn."""
        return (state.board * jnp.where(player == 0, 1, -1)).astype(jnp.int8), state.player == player

    def draw(self, state: State, *, names: Sequence[str] = (), caption: str = "") -> str:
        from tests.tic_tac_toe import view

        return view.draw(state, names=names, caption=caption)

    def animate(self, states: State, actions: Any = None, *, names: Sequence[str] = ()) -> str:
        from tests.tic_tac_toe import view

        return view.animate(states, actions, names=names)
