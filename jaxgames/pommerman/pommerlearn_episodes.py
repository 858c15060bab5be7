"""What PommerLearn's data sets tell of episodes: how each began, what was done and how it ended."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.pommerman.arrays import unpack, unpack_number
from jaxgames.pommerman.game import Pommerman

_WOOD, _FIRST_AGENT = 2, ord("A")  # of EpisodeInitialState
_REPLAYED = 64  # games at once


def episodes(game: Pommerman, keys: Array, actions: np.ndarray, lengths: np.ndarray) -> dict[str, list]:
    """Gives the attributes of episodes of a data set, by playing the games again.

    Args:
      game: free-for-all.
      keys: [G], of their start states.
      actions: int8 [G, T, P], of games 0..G - 1.
      lengths: int [G], steps.
    """
    replay, parts = _replayer(game), []
    for start in range(0, len(lengths), _REPLAYED):
        numbers = np.minimum(np.arange(start, start + _REPLAYED), len(lengths) - 1)
        parts.append(jax.device_get(replay(keys[numbers], actions[numbers], lengths[numbers])))
    first, last, lived = jax.tree.map(lambda *leaves: np.concatenate(leaves)[: len(lengths)], *parts)
    alive = np.stack([bomber.alive for bomber in last.bombers], 1)
    living = alive.sum(1)
    one = living == 1
    return {
        "EpisodeInitialState": _boards(game, first),
        "EpisodeWinner": np.where(one, alive.argmax(1), -1).tolist(),
        "EpisodeWinningTeam": [-1] * len(lengths),
        "EpisodeDone": (living <= 1).astype(int).tolist(),
        "EpisodeDraw": (living == 0).tolist(),
        "EpisodeSteps": lengths.tolist(),
        "EpisodeActions": [
            [actions[number, :steps, seat].tolist() for seat, steps in enumerate(lived[number])] for number in range(len(lengths))
        ],
        "EpisodeDead": (~alive).tolist(),
        "EpisodeGameMode": [0] * len(lengths),
    }


@functools.lru_cache(maxsize=2)
def _replayer(game: Pommerman) -> Callable:
    """Jits the replay of games: their first and last states, and for how many steps each seat lived."""

    def replay(key: Array, actions: Array, length: Array) -> tuple[Any, Any, Array]:
        start = game.init(key)

        def step(carry: tuple[Any, Array], now: tuple[Array, Array]) -> tuple[tuple[Any, Array], None]:
            state, lived = carry
            clock, chosen = now
            after = game.apply(state, chosen.astype(jnp.int32))
            going = clock < length
            lived = lived + (going & game.in_play(state))
            return (jax.tree.map(lambda new, old: jnp.where(going, new, old), after, state), lived), None

        begin = (start, jnp.zeros(game.num_players, jnp.int32))
        (last, lived), _ = jax.lax.scan(step, begin, (jnp.arange(len(actions)), actions))
        return start, last, lived

    return jax.jit(jax.vmap(replay))


def _boards(game: Pommerman, states: Any) -> list[str]:
    """Start states as texts: 0 passage, 1 rigid, 2 wood, 3 to 5 wood over an extra bomb, a range or a kick, A to D agents."""
    grid = game.config.grid
    signs = unpack(grid, states.rigid) + unpack(grid, states.wood) * (_WOOD + unpack_number(grid, states.items))
    signs = (signs + ord("0")).astype(np.uint8).reshape(len(signs), -1)
    for seat, bomber in enumerate(states.bombers):
        signs[np.arange(len(signs)), bomber.cell] = _FIRST_AGENT + seat
    return [row.tobytes().decode() for row in signs]
