"""The start of a game."""

from __future__ import annotations

import jax.numpy as jnp

from jaxgames.hex.config import HexConfig
from jaxgames.hex.geometry import BLACK
from jaxgames.hex.state import State


def init(config: HexConfig) -> State:
    """Gives the empty board; the first player (black, north to south) is to move."""
    empty = config.grid.empty_words()
    pair = (empty, empty)
    zero = jnp.int16(0)
    return State(
        stones=pair,
        found=pair,
        near=pair,
        far=pair,
        player=jnp.int8(BLACK),
        turns=(zero, zero),
        attempts=zero,
        last=jnp.int16(-1),
        terminated=jnp.bool_(False),
        seat_rewards=(jnp.int8(0), jnp.int8(0)),
    )
