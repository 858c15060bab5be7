"""Values that XLA works out once, before they are put together."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import Array


def settled(values: Sequence[Array]) -> list[Array]:
    """Gives the same arrays, each worked out once.

    In a stack XLA works deep expressions out again and again, optimization barrier or not. The operands of a loop are worked out
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
