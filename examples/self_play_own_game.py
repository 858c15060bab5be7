"""Self-play from nothing in a game of one's own: the rules of "three in a row" with gravity, and a learner that plays itself.

    python examples/self_play_own_game.py

A game is a frozen dataclass with the methods of `jaxgames.Game`; `jaxgames.check_game` tells what is missing. Once it is written,
environments, planners and matches take it. Both seats are played by one network, which learns from the outcomes of its games.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import tyro
from flax import nnx

import jaxgames
from jaxgames import checks, runtime
from jaxgames.game import GameBase
from jaxgames.hashing import hash_words

ROWS, COLUMNS, LINE, OPTIMIZER = 4, 5, 3, optax.adam(1e-3)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class State:
    """One game: board int8 [R, C] (+1 first player, -1 second), player int8 [], terminated bool [], rewards float32 [2]."""

    board: jax.Array
    player: jax.Array
    terminated: jax.Array
    rewards: jax.Array


@dataclasses.dataclass(frozen=True)
class Config:
    """Of the one variant."""

    max_steps: int = ROWS * COLUMNS  # a stone in every cell


@dataclasses.dataclass(frozen=True)
class Drop(GameBase):
    """Stones fall down columns; three in a row, in any direction, win. Action C passes; a full column loses the game."""

    config: Config = Config()
    name: str = "drop"
    num_players: int = 2
    num_actions: int = COLUMNS + 1
    num_arms: int = COLUMNS + 1
    pass_action: int = COLUMNS
    opening_steps: int = 4

    def init(self, key: jax.Array) -> State:
        return State(jnp.zeros((ROWS, COLUMNS), jnp.int8), jnp.int8(0), jnp.bool_(False), jnp.zeros(2, jnp.float32))

    def apply(self, state: State, actions: jax.Array, chance: tuple = ()) -> State:
        actions = checks.actions(actions, 2, self.num_actions)
        column, sign = actions[state.player.astype(jnp.int32)], 1 - 2 * state.player
        height = (state.board[:, jnp.clip(column, 0, COLUMNS - 1)] != 0).sum()
        here = (jnp.arange(ROWS)[:, None] == height) & (jnp.arange(COLUMNS) == column)
        legal = here.any()
        board = jnp.where(here, sign, state.board).astype(jnp.int8)
        won = has_line(board == sign)
        result = jnp.where(won, 1.0, jnp.where(legal, 0.0, -1.0)) * jnp.where(jnp.arange(2) == state.player, 1.0, -1.0)
        over = won | ~legal | (board != 0).all()
        after = State(board, (1 - state.player).astype(jnp.int8), over, result.astype(jnp.float32))
        rest = dataclasses.replace(state, rewards=jnp.zeros(2, jnp.float32))
        return jax.tree.map(lambda old, new: jnp.where(state.terminated, old, new), rest, after)

    def to_play(self, state: State) -> jax.Array:
        return state.player.astype(jnp.int32)

    def legal_actions(self, state: State) -> jax.Array:
        """Columns that are not full for who is to move; the other passes."""
        free = jnp.append((state.board == 0).any(0) & ~state.terminated, state.terminated)
        return jnp.where(jnp.arange(2)[:, None] == state.player, free, jnp.arange(COLUMNS + 1) == COLUMNS)

    def search_arms(self, state: State) -> tuple[jax.Array, jax.Array]:
        return jnp.tile(jnp.arange(COLUMNS + 1, dtype=jnp.int32), (2, 1)), self.legal_actions(state)

    def outcome(self, state: State) -> jax.Array:
        """By the lines on the board; without one who moved last has lost, unless the board is full."""
        first, second = has_line(state.board == 1), has_line(state.board == -1)
        lines = first.astype(jnp.float32) - second
        wrong = state.terminated & (lines == 0) & (state.board == 0).any()
        return jnp.where(wrong, jnp.where(state.player == 0, 1.0, -1.0), lines) * jnp.array([1.0, -1.0])

    heuristic = outcome

    def state_key(self, state: State) -> jax.Array:
        word = ((state.board.astype(jnp.int32) + 1).reshape(2, -1) * 3 ** np.arange(ROWS * COLUMNS // 2)).sum(1)
        return hash_words((word[0].astype(jnp.uint32), word[1].astype(jnp.uint32), state.player.astype(jnp.uint32)))

    def observe(self, state: State, player: jax.Array) -> jax.Array:
        """The board as a player sees it: own stones are 1."""
        return jnp.where(player == 0, state.board, -state.board)


def has_line(stones: jax.Array) -> jax.Array:
    """Whether stones, bool [R, C], make a line."""
    found = jnp.bool_(False)
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
        line = stones
        for step in range(1, LINE):
            rows, columns = np.arange(ROWS)[:, None] + down * step, np.arange(COLUMNS) + right * step
            line &= jnp.roll(stones, (-down * step, -right * step), (0, 1)) & (rows < ROWS) & (columns >= 0) & (columns < COLUMNS)
        found = found | line.any()
    return found


class Network(nnx.Module):
    """Logits of the actions, and a value for who is to move."""

    def __init__(self, rngs: nnx.Rngs) -> None:
        self.first, self.second = nnx.Linear(2 * ROWS * COLUMNS, 128, rngs=rngs), nnx.Linear(128, 64, rngs=rngs)
        self.policy, self.value = nnx.Linear(64, COLUMNS + 1, rngs=rngs), nnx.Linear(64, 1, rngs=rngs)

    def __call__(self, board: jax.Array, legal: jax.Array) -> tuple[jax.Array, jax.Array]:
        flat = jnp.concatenate([board == 1, board == -1], axis=1).reshape(len(board), -1).astype(jnp.float32)
        hidden = nnx.relu(self.second(nnx.relu(self.first(flat))))
        return jnp.where(legal, self.policy(hidden), -1e9), jnp.tanh(self.value(hidden)[:, 0])


def main(lanes: int = 256, rounds: int = 300, seed: int = 0) -> dict[str, float]:
    """Trains and prints; gives the share of games won against random play, before and after.

    Args:
      lanes: games at once.
      rounds: of play and learning.
      seed: of everything that is drawn.
    """
    runtime.prepare()
    game, everywhere, (begin, play_on, test) = Drop(), jnp.arange(lanes), jax.random.split(jax.random.key(seed), 3)
    table = jaxgames.MultiEnvironment(game, lanes)
    graph, params = nnx.split(Network(nnx.Rngs(seed)), nnx.Param)

    def loss(params: Any, boards: Any, legal: Any, actions: Any, results: Any) -> jax.Array:
        logits, value = nnx.merge(graph, params)(boards, legal)
        everything = jax.nn.log_softmax(logits)
        chosen = jnp.take_along_axis(everything, actions[:, None], axis=1)[:, 0]
        chaos = jnp.where(legal, jnp.exp(everything) * everything, 0).sum(1)  # minus the entropy
        return (-chosen * (results - jax.lax.stop_gradient(value)) + (results - value) ** 2 + 0.02 * chaos).mean()

    @jax.jit
    def learn(params: Any, moments: Any, games: Any) -> tuple[Any, Any, Any]:
        def step(carry: Any, _: None) -> tuple[Any, Any]:
            state, now, key = carry
            key, draw, chance = jax.random.split(key, 3)
            board, legal = now.observation["observation"][everywhere, now.seat], now.legal[everywhere, now.seat]
            action = jax.random.categorical(draw, nnx.merge(graph, params)(board, legal)[0])
            joint = jnp.full((lanes, 2), game.pass_action).at[everywhere, now.seat].set(action)
            state, after = table.step(state, joint, chance)
            return (state, after, key), (board, legal, action, now.seat, after.reward, after.terminated.all(1))

        games, (boards, legal, actions, movers, rewards, over) = jax.lax.scan(step, games, length=2 * ROWS * COLUMNS)

        def back(result: jax.Array, told: Any) -> tuple[jax.Array, jax.Array]:
            reward, over, mover = told
            result = jnp.where(over[:, None], reward, result)
            return result, result[everywhere, mover]

        # The last games of a round go on; they count as drawn.
        _, results = jax.lax.scan(back, jnp.zeros((lanes, 2)), (rewards, over, movers), reverse=True)
        flat = [leaf.reshape(-1, *leaf.shape[2:]) for leaf in (boards, legal, actions, results)]
        changes, moments = OPTIMIZER.update(jax.grad(loss)(params, *flat), moments)
        return optax.apply_updates(params, changes), moments, games

    rival = jaxgames.Environment(game, lanes, opponents="random", seat="rotating")

    @jax.jit
    def measure(params: Any, key: jax.Array) -> jax.Array:
        def step(carry: Any, key: jax.Array) -> tuple[Any, Any]:
            logits, _ = nnx.merge(graph, params)(carry[1].observation["observation"], carry[1].legal)
            state, after = rival.step(carry[0], logits.argmax(1), key)
            return (state, after), (after.done.sum(), (after.reward > 0).sum())

        keys = jax.random.split(key, 1 + 4 * ROWS * COLUMNS)
        _, (games, won) = jax.lax.scan(step, rival.reset(keys[0]), keys[1:])
        return won.sum() / games.sum()

    moments, games = OPTIMIZER.init(params), (*jax.jit(table.reset)(begin), play_on)
    told = {"before": float(measure(params, test))}
    print(f"before: {told['before']:.3f} of games won against random play")
    for number in range(1, rounds + 1):
        params, moments, games = learn(params, moments, games)
        if number % max(rounds // 10, 1) == 0:
            told["after"] = float(measure(params, test))
            print(f"round {number:4}: {told['after']:.3f}")
    return told


if __name__ == "__main__":
    tyro.cli(main)
