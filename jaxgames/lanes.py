"""What is done lane by lane with trees of a batch."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array


def where_lanes(lanes: Array, new: Any, old: Any) -> Any:
    """Takes one tree in some lanes and another in the rest: leaves [B, ...] of both, lanes bool [B]."""

    def choose(a: Array, b: Array) -> Array:
        return jnp.where(lanes.reshape(-1, *[1] * (b.ndim - 1)), a, b)

    return jax.tree.map(choose, new, old)


def read_at(array: Array, *places: Any) -> Array:
    """Reads `array[places]` where all places are in range.

    Plain indexing wraps negative numbers and clips large ones, which can take as long as reading. Here the result for such a
    place is undefined.
    """
    return jnp.asarray(array).at[places].get(mode="promise_in_bounds", wrap_negative_indices=False)
