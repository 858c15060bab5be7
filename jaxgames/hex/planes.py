"""Input planes of AlphaZe** (Table 2), always in the direction of the player who is shown them."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from jaxgames.bitboard import Bits, select
from jaxgames.hex.config import HexConfig
from jaxgames.hex.geometry import BLACK, WHITE
from jaxgames.hex.state import State

NUM_PLANES = 8
NUM_SYMMETRIES = 2
_ROTATED = [1, 0, 2, 3, 5, 4, 6, 7]  # the near edge becomes the far one


def planes(config: HexConfig, state: State, player: Array) -> Array:
    """Gives the planes of a full board: the true one, or one that was sampled.

    Args:
      config: the variant.
      state: one game.
      player: int [], who looks. The second player sees the board turned over (rows become columns), so that both join top and
        bottom; `turn_cells` turns actions.

    Returns:
      float32 [n, n, 8]: own stones joined to the near edge, to the far edge, to neither; empty cells; the other's likewise; and 1
      everywhere for the second player.
    """
    first = player == BLACK
    sets: list[Bits] = []
    for mine in (True, False):
        seat, other = (BLACK, WHITE) if mine else (WHITE, BLACK)
        stones, near, far = (select(first, pair[seat], pair[other]) for pair in (state.stones, state.near, state.far))
        sets += [near, far, stones - near - far]
    empty = config.grid.full - state.stones[BLACK] - state.stones[WHITE]
    boards = [config.grid.to_bool(cells) for cells in (*sets[:3], empty, *sets[3:])]
    shown = jnp.stack(boards, axis=-1).astype(jnp.float32)
    shown = jnp.where(first, shown, jnp.swapaxes(shown, 0, 1))
    side = jnp.broadcast_to(jnp.where(first, 0.0, 1.0), shown.shape[:2])
    return jnp.concatenate([shown, side[..., None]], axis=-1)


def turn_cells(config: HexConfig, per_cell: Array, player: Array) -> Array:
    """Turns numbers per cell, [n * n], from the player's direction to the board's, or back: it is its own inverse."""
    size = config.board_size
    turned = per_cell.reshape(size, size).T.reshape(-1)
    return jnp.where(player == BLACK, per_cell, turned)


def symmetry(planes: Array, per_cell: Array, which: Array) -> tuple[Array, Array]:
    """Turns boards by half a circle where `which` (int [], 0 or 1) is 1; the game stays the same.

    Args:
      planes: [B, n, n, 8].
      per_cell: [B, n * n], numbers that belong to the cells.
      which: for the whole batch.
    """
    turned = planes[:, ::-1, ::-1][..., jnp.array(_ROTATED)]
    return jnp.where(which == 1, turned, planes), jnp.where(which == 1, per_cell[:, ::-1], per_cell)
