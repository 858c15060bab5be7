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
