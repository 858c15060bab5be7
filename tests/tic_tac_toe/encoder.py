"""What a network is shown: own marks, the other's marks, empty cells; an output per cell."""

from __future__ import annotations

import functools

import jax.numpy as jnp
from jax import Array

from jaxgames.encoder import Encoder
from jaxgames.symmetries import NUM_SYMMETRIES, cell_order
from tests.tic_tac_toe.game import State, TicTacToe


@functools.cache
def encoder(game: TicTacToe) -> Encoder:
    order = cell_order(3)

    def view(state: State, seat: Array) -> Array:
        return game.observe(state, seat)[0]

    def planes(board: Array) -> Array:
        return jnp.stack([board == 1, board == -1, board == 0], axis=-1).reshape(3, 3, 3).astype(jnp.float32)

    def transform_planes(planes: Array, which: Array) -> Array:
        return planes.reshape(9, 3)[jnp.asarray(order)[which]].reshape(3, 3, 3)

    return Encoder(
        name="cells",
        shape=(3, 3, 3),
        channels=("own", "other", "empty"),
        num_outputs=9,
        view=view,
        planes=planes,
        legal=lambda board: board == 0,
        outputs=lambda actions, seat: jnp.where((actions >= 0) & (actions < 9), actions, -1),
        actions=lambda outputs, seat: jnp.where((outputs >= 0) & (outputs < 9), outputs, 9),
        num_symmetries=NUM_SYMMETRIES,
        transform_planes=transform_planes,
        transform_outputs=lambda per_output, which: per_output[jnp.asarray(order)[which]],
    )
