"""Random games for the tests of Hex."""

from __future__ import annotations

import functools
import types

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.hex import Hex, rules

METHODS = ("init", "step", "outcome", "legal_actions", "search_arms", "observe", "init_information", "update_information")


@functools.partial(jax.jit, static_argnums=(0, 2))
def random_games(game: Hex, keys, steps: int):
    """Plays uniformly at random; gives states and both players' information [G, steps + 1], cells tried int32 [G, steps]."""
    players = jnp.arange(2)

    def start():
        return game.init(), jax.vmap(game.init_information)(players)

    def attempt(carry, key):
        state, infos = carry
        legal = rules.legal_cells(game.config, state)
        cell = legal.pick(jax.random.randint(key, (), 0, jnp.maximum(legal.count(), 1)))
        cell = jnp.where(state.terminated, game.pass_action, cell)
        actions = jnp.where(players == state.player, cell, game.pass_action)
        state = game.step(state, actions)
        views = jax.vmap(lambda player: game.observe(state, player))(players)
        infos = jax.vmap(game.update_information)(infos, views, actions)
        return (state, infos), ((state, infos), cell)

    def one(key):
        _, (rest, cells) = jax.lax.scan(attempt, start(), jax.random.split(key, steps))
        return jax.tree.map(lambda first, others: jnp.concatenate([first[None], others]), start(), rest), cells

    (states, infos), cells = jax.vmap(one)(keys)
    return states, infos, cells


def random_tries(size: int, count: int, seed: int):
    """Cells int [count, 2 size * size] that two players try by turns, each of them every cell once."""
    random = np.random.default_rng(seed)
    return np.stack([random.permuted(np.tile(np.arange(size * size), (2, 1)), axis=1).T.reshape(-1) for _ in range(count)])


def play(game: Hex, cells, start=None):
    """Plays cells one after another, from the start of a game or a state; gives that and the state after each."""
    states = [jax.device_get(game.init()) if start is None else start]
    for cell in cells:
        states.append(jax.device_get(_step(game, states[-1], np.int32(cell))))
    return states


@functools.partial(jax.jit, static_argnums=0)
def _step(game: Hex, state, cell):
    return rules.step(game.config, state, cell)


@functools.cache
def compiled(game: Hex):
    """The methods of a game, compiled once and giving numpy arrays."""

    def method(name):
        function = jax.jit(getattr(game, name))
        return lambda *arguments: jax.device_get(function(*arguments))

    return types.SimpleNamespace(config=game.config, **{name: method(name) for name in METHODS})


def at(tree, *index):
    """Takes one element out of a batch, as numpy."""
    return jax.tree.map(lambda leaf: np.asarray(leaf)[index], tree)


def joined(board, sign):
    """Whether a player (1 or -1) has joined its edges on a board, int [n, n]; in plain Python."""
    own = (board if sign == 1 else board.T) == sign
    size, seen, todo = len(board), set(), [(0, int(column)) for column in np.flatnonzero(own[0])]
    while todo:
        row, column = todo.pop()
        if (row, column) in seen:
            continue
        seen.add((row, column))
        for down, right in ((-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0)):
            r, c = row + down, column + right
            if 0 <= r < size and 0 <= c < size and own[r, c]:
                todo.append((r, c))
    return any(row == size - 1 for row, _ in seen)
