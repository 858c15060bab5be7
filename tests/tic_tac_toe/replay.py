"""Recordings: cells int8 [G, 9], -1 after the last; boards int8 [G, 9], the last board."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.replay import Arrays, BadRecording, Findings
from tests.tic_tac_toe.game import TicTacToe

GAME = TicTacToe()


def replay(arrays: Arrays, findings: Findings) -> int:
    for name in ("cells", "boards"):
        if name not in arrays:
            raise BadRecording(f"lacks {name}")

    def play(cells):
        def step(state, cell):
            return GAME.apply(state, jnp.stack([cell, cell])), None

        return jax.lax.scan(step, GAME.init(jax.random.key(0)), cells)[0].board

    boards = np.asarray(jax.jit(jax.vmap(play))(jnp.asarray(arrays["cells"], jnp.int32)))
    findings.compare("board", arrays["boards"], boards, lambda row: f"game {row}")
    return int((arrays["cells"] >= 0).sum())
