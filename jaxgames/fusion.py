"""Keeping XLA from working out the same numbers again for each of their readers."""

from __future__ import annotations

from collections.abc import Sequence

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


def settled(values: Sequence[Array]) -> list[Array]:
    """Gives the same arrays, each worked out once, before they are put together.

    For many arrays of different shapes, where `worked_out` would take a reduction each. The operands of a loop are worked out
    before it; this one has no round, which XLA cannot know.

    Args:
      values: one or more, the first of them not empty.
    """
    values = [jnp.asarray(value) for value in values]
    word = values[0].reshape(-1)[0].astype(jnp.int32)
    never = jax.lax.population_count(word) > 32

    def body(carry: tuple[Array, list[Array]]) -> tuple[Array, list[Array]]:
        return carry[0], [jnp.zeros_like(value) for value in carry[1]]

    return jax.lax.while_loop(lambda carry: carry[0], body, (never, values))[1]
