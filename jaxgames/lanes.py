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
    """Reads an array at places that are known to be on it, as `array[places]` does.

    There a negative number counts from the end, and one beyond the end is moved to it. To ask that of each element that is read
    can take as long as to read it. Here such a place gives any element.
    """
    return jnp.asarray(array).at[places].get(mode="promise_in_bounds", wrap_negative_indices=False)
