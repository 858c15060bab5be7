"""How well a Pommerman player in fog knows where its enemies are, by itself or with what its teammate tells it."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.pommerman import Pommerman
from jaxgames.pommerman.modelling import distance
from training.play.evaluate import Games, replay


def cells_off(game: Pommerman, key: Array, games: Games, *, heeds: bool, agent: int = 0) -> float | None:
    """Follows what one agent believed in the recorded games, as long as it lived.

    Args:
      game: as given to `evaluate.play`, with fog.
      key: as given to `evaluate.play`.
      games: what it returned, with recorded games.
      heeds: the agent believes what its teammate says; else it knows what it sees.
      agent: its number.

    Returns:
      The mean Manhattan distance between where it believed living enemies out of its view to be, and where they were; None if
      none ever was.
    """
    total, count = 0, 0
    for index in range(len(games.actions)):
        seat = int(games.seats[index, agent])
        states = replay(game, key, index, games)
        steps = len(states.step_count) - 1
        longest = game.max_steps  # one length for all games: each is compiled
        states = jax.tree.map(lambda leaf, more=longest - steps: np.concatenate([leaf, np.repeat(leaf[-1:], more, 0)]), states)
        actions = np.pad(np.maximum(games.actions[index, :steps, seat], 0), (0, longest - steps))
        off, seen = _followed(game, heeds)(states, actions.astype(np.int32), np.int32(seat))
        total, count = total + int(off[:steps].sum()), count + int(seen[:steps].sum())
    return round(total / count, 2) if count else None


@functools.cache
def _followed(game: Pommerman, heeds: bool) -> Any:
    """Compiles: states [T + 1] and own actions [T] of a seat -> per step the distances of all in question, and their number."""

    def follow(states: Any, actions: Array, seat: Array) -> tuple[Array, Array]:
        def step(belief: Any, found: tuple[Any, Array]) -> tuple[Any, tuple[Array, Array]]:
            state, action = found
            seen = game.observe(state, seat)
            before, belief = belief, game.update_belief(belief, seen, action)
            if heeds:
                belief = game.heed(before, belief, seen)
            off, number = jnp.int32(0), jnp.int32(0)
            for other, (here, there) in enumerate(zip(belief.bombers, state.bombers, strict=True)):
                asked = there.alive & (seen.bomber_cells[other] < 0) & game.are_enemies(seat, jnp.int32(other)) & seen.own.alive
                off += jnp.where(asked, distance(game.config.grid, here, there), 0)
                number += asked
            return belief, (off, number)

        first, later = (jax.tree.map(lambda leaf, part=part: leaf[part], states) for part in (0, slice(1, None)))
        begun = game.init_belief(game.observe(first, seat))
        told: tuple[Array, Array] = jax.lax.scan(step, begun, (later, actions))[1]
        return told

    return jax.jit(follow)
