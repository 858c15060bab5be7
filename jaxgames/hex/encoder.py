"""What networks are shown of Hex: the open board in the direction of the player; an output per cell, in the same direction."""

from __future__ import annotations

import functools
from collections.abc import Callable

import jax.numpy as jnp
from jax import Array

from jaxgames.encoder import Encoder
from jaxgames.hex import planes
from jaxgames.hex.game import Hex
from jaxgames.hex.geometry import BLACK
from jaxgames.hex.state import State

CHANNELS = ("own near", "own far", "own stones", "empty", "other near", "other far", "other stones", "second player")
_ROTATED = (1, 0, 2, 3, 5, 4, 6, 7)  # the near edge becomes the far one


@functools.cache
def encoder(game: Hex) -> Encoder:
    """Makes the encoder. The second player sees rows as columns: both join top and bottom. A view is (open state, seat)."""
    config, grid = game.config, game.config.grid
    size, num_cells = config.board_size, config.num_cells

    def legal(view: tuple[State, Array]) -> Array:
        state, seat = view
        empty = grid.to_bool(grid.full - state.stones[0] - state.stones[1])
        return planes.turn_cells(config, empty.reshape(-1), seat) & ~state.terminated

    def turn(cells: Array, seat: Array, outside: int) -> Array:
        cells = jnp.asarray(cells)
        turned = jnp.where(seat == BLACK, cells, cells % size * size + cells // size)
        return jnp.where((cells >= 0) & (cells < num_cells), turned, outside).astype(jnp.int32)

    def transform_planes(planes: Array, which: Array) -> Array:
        return jnp.where(which == 1, planes[::-1, ::-1][..., jnp.array(_ROTATED)], planes)

    return Encoder(
        name="alphaze",
        shape=(size, size, len(CHANNELS)),
        channels=CHANNELS,
        num_outputs=num_cells,
        view=lambda state, seat: (game.open_state(state), jnp.asarray(seat).astype(jnp.int8)),
        planes=lambda view: planes.planes(config, *view),
        legal=legal,
        outputs=lambda actions, seat: turn(actions, seat, -1),
        actions=lambda outputs, seat: turn(outputs, seat, game.pass_action),
        num_symmetries=2,
        transform_planes=transform_planes,
        transform_outputs=lambda per_output, which: jnp.where(which == 1, per_output[::-1], per_output),
    )


ENCODERS: dict[str, Callable[[Hex], Encoder]] = {"alphaze": encoder}
