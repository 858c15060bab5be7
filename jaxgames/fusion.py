"""Keeping XLA from working out the same numbers again for each of their readers."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array


def worked_out(values: Array) -> Array:
    """Gives numbers that are worked out once, however many elements of other arrays read them.

    XLA fuses what makes numbers into what reads them at other places (turned, gathered, one per arm), which may repeat long work
    many times; it drops a plain `optimization_barrier` before that. It does not fuse over a reduction, so here is one of nothing.

    Args:
      values: integers or floats of any shape; -0.0 may become 0.0.
    """
    add = jax.lax.add if jnp.issubdtype(values.dtype, jnp.floating) else jax.lax.bitwise_or
    values = jax.lax.reduce(jnp.stack([values, jnp.zeros_like(values)]), values.dtype.type(0), add, (0,))
    return jax.lax.optimization_barrier(values)
