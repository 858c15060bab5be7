"""What the pieces on the board are worth, for searches without a network."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from jaxgames.stratego import legal
from jaxgames.stratego.config import StrategoConfig
from jaxgames.stratego.constants import BLUE, NUM_KINDS, RED, WORTH
from jaxgames.stratego.state import State

MOST = 0.9  # of an undecided game


def balance(config: StrategoConfig, state: State) -> Array:
    """Gives Red's points less Blue's as a share of a side's points at the start, cut to ±1 and times 0.9: float32 []."""
    points = [jnp.int32(0), jnp.int32(0)]
    for kind in range(1, NUM_KINDS + 1):
        worth = int(WORTH[kind])
        if not worth:
            continue
        cells = legal.of_kind(state.kinds, kind)
        for seat in (RED, BLUE):
            points[seat] = points[seat] + worth * (cells & state.pieces[seat]).count()
    most = sum(int(WORTH[kind]) * count for kind, count in enumerate(config.pieces, 1))
    return jnp.clip((points[RED] - points[BLUE]) / max(most, 1), -1, 1) * jnp.float32(MOST)
