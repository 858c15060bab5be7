"""Rule-based players."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.agent import Agent, memoryless
from tests.tic_tac_toe.game import LINES, State, TicTacToe


@dataclasses.dataclass(frozen=True)
class CarefulSettings:
    """How a careful player plays.

    Attributes:
      blocks: it also looks whether the other could win.
    """

    blocks: bool = True


def random_agent(game: TicTacToe) -> Agent:
    """Plays any free cell."""

    def choose(key: Array, state: State, seat: Array) -> Array:
        scores = jax.random.uniform(key, (game.num_actions,))
        return jnp.where(game.legal_actions(state)[seat], scores, -1.0).argmax().astype(jnp.int32)

    return memoryless("random", lambda params, keys, views, seats: jax.vmap(choose)(keys, views, seats), sees_state=True)


def careful_agent(game: TicTacToe, settings: CarefulSettings) -> Agent:
    """Completes a line of three where it can, hinders the other's, and else plays near the middle."""
    middle = np.array([1, 0, 1, 0, 2, 0, 1, 0, 1])

    def choose(state: State, seat: Array) -> Array:
        board = game.observe(state, seat)[0]
        lines = board[LINES].sum(-1)
        inside = jnp.asarray((LINES[:, :, None] == np.arange(9)).any(1))
        wins = (inside & (lines == 2)[:, None]).any(0)
        blocks = (inside & (lines == -2)[:, None]).any(0) & settings.blocks
        score = 100 * wins + 10 * blocks + middle
        return jnp.where(seat == state.player, jnp.where(board == 0, score, -1).argmax(), game.pass_action)

    return memoryless("careful", lambda params, keys, views, seats: jax.vmap(choose)(views, seats), sees_state=True)
