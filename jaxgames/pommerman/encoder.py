"""What networks are shown of Pommerman: an observation as planes; an output per move, and the eight symmetries of the board."""

from __future__ import annotations

import functools
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.encoder import Encoder
from jaxgames.pommerman import planes
from jaxgames.pommerman.constants import NUM_MESSAGES, NUM_MOVES, Move
from jaxgames.pommerman.game import Pommerman
from jaxgames.symmetries import NUM_SYMMETRIES, cell_order, direction_order


@functools.cache
def encoder(game: Pommerman, name: str) -> Encoder:
    """Makes an encoder with planes by their name, see `planes.by_name`. An output is a move, silent in radio mode."""
    config, shown = game.config, planes.by_name(game.config, name)
    size, num_channels = config.board_size, len(shown.channels)
    words = NUM_MESSAGES if config.has_messages else 1
    cells, directions = cell_order(size), direction_order()
    moves, channels = (np.tile(np.arange(count), (NUM_SYMMETRIES, 1)) for count in (NUM_MOVES, num_channels))
    moves[:, Move.UP : Move.RIGHT + 1] = Move.UP + directions
    if shown.first_direction is not None:
        channels[:, shown.first_direction : shown.first_direction + 4] = shown.first_direction + directions

    def outputs(actions: Array, seat: Array) -> Array:
        del seat
        known = (actions >= 0) & (actions < game.num_actions) & (actions % words == 0)
        return jnp.where(known, actions // words, -1).astype(jnp.int32)

    def actions(outputs: Array, seat: Array) -> Array:
        del seat
        return jnp.where((outputs >= 0) & (outputs < NUM_MOVES), outputs * words, game.pass_action).astype(jnp.int32)

    def transform_planes(planes: Array, which: Array) -> Array:
        turned = planes.reshape(-1, num_channels)[jnp.asarray(cells)[which]]
        return turned[:, jnp.asarray(channels)[which]].reshape(planes.shape)

    return Encoder(
        name=name,
        shape=(size, size, num_channels),
        channels=shown.channels,
        num_outputs=NUM_MOVES,
        view=game.observe,
        planes=shown.compute,
        legal=game.known_arms,
        outputs=outputs,
        actions=actions,
        num_symmetries=NUM_SYMMETRIES,
        transform_planes=transform_planes,
        transform_outputs=lambda per_output, which: per_output[jnp.asarray(moves)[which]],
        output_names=tuple(move.name.lower() for move in Move),
        shows_observation=True,
    )


ENCODERS: dict[str, Callable[[Pommerman], Encoder]] = {
    name: functools.partial(encoder, name=name) for name in ("paper", "extended", "paper_zero_life")
}
