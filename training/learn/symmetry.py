"""The eight symmetries of a square board, for planes and for the six moves of Pommerman."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.bitboard import DIRECTIONS

NUM_SYMMETRIES = 8
_STEP = ((-1, 0), (1, 0), (0, -1), (0, 1))  # of up, down, left, right


def cell_order(size: int) -> np.ndarray:
    """Gives int32 [8, size * size]: the cell from which each cell of the turned board is taken."""
    cells = np.arange(size * size).reshape(size, size)
    boards = [np.rot90(flipped, turns) for flipped in (cells, cells.T) for turns in range(4)]
    return np.stack([board.reshape(-1) for board in boards]).astype(np.int32)


def direction_order() -> np.ndarray:
    """Gives int32 [8, 4]: the direction that becomes each direction of the turned board."""
    size = 3
    result = []
    for order in cell_order(size):
        place = np.argsort(order)  # where each cell goes
        became = []
        for row, column in _STEP:
            target = place[(1 + row) * size + 1 + column]
            became.append(_STEP.index((target // size - 1, target % size - 1)))
        result.append(np.argsort(became))
    return np.stack(result).astype(np.int32)


def turn(planes: Array, targets: Array, which: Array, first_direction: int | None) -> tuple[Array, Array]:
    """Turns a batch of boards, all in the same way.

    Args:
      planes: [B, H, H, C].
      targets: [B, 6], per move: stop, the four directions, bomb.
      which: int32 [], the symmetry, 0 for none.
      first_direction: the first of four planes that belong to up, down, left, right; None if there are none.

    Returns:
      planes and targets of the turned boards.
    """
    batch, size, _, channels = planes.shape
    directions = jnp.asarray(direction_order())[which]
    order = jnp.arange(channels)
    if first_direction is not None:
        order = order.at[first_direction : first_direction + len(DIRECTIONS)].set(first_direction + directions)
    cells = jnp.asarray(cell_order(size))[which]
    turned = planes.reshape(batch, -1, channels)[:, cells][:, :, order].reshape(planes.shape)
    moves = jnp.concatenate([jnp.zeros(1, jnp.int32), 1 + directions, jnp.full(1, 5, jnp.int32)])
    return turned, targets[:, moves]
