"""What each slot of a side means for all units, put together. Arrays have the battles as their last axis.

A CPU goes through the slots one after the other, as far as any battle uses them. An accelerator looks at all pairs at once:
a loop would start several kernels for each slot, and ask the host in each round whether to go on.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.platforms import by_platform

Value = TypeVar("Value")

# Slots that an accelerator looks at in one reduction. Reductions of less than 32 numbers are loops within the kernel that makes
# the numbers; longer ones are kernels of their own, for which XLA writes all pairs to memory.
_AT_ONCE = 24


def used(flags: Array) -> Array:
    """Gives one more than the last slot of bool [2, H, B] that is used in any battle, int32 []: loops go no further."""
    return (flags.any((0, 2)) * np.arange(1, flags.shape[1] + 1, dtype=np.int32)).max()


def pick(values: Array, slot: Array | np.ndarray) -> Array:
    """Takes from [2, H, B] what is in a slot, for all who look at it.

    Args:
      values: of all slots.
      slot: what `put_together` gives: int32 [], or N in a row that are known when the program is traced, int32 [N, 1, 1, 1].

    Returns:
      [2, 1, B], or [N, 2, 1, B].
    """
    if isinstance(slot, np.ndarray):
        first, last = slot[0].item(), slot[-1].item()
        return jnp.moveaxis(values[:, first : last + 1], 1, 0)[:, :, None]
    return jax.lax.dynamic_slice_in_dim(values, slot, 1, axis=1)


def put_together(
    slots: int, end: Array, part: Callable[[Any], Value], join: Callable[[Value, Value], Value], nothing: Any
) -> Value:
    """Joins what each of so many slots means.

    Args:
      slots: how many there are.
      end: int32 [], one more than the last slot of which anything comes.
      part: what comes of a slot, leaves of a shape that can be broadcast to [2, H, B]; `pick` takes what is in it.
      join: puts two parts together, element by element; in which order must not matter.
      nothing: a part's tree of numbers, which change nothing where they are joined with a part.

    Returns:
      All parts together, leaves [2, H, B].
    """

    def one_by_one(end: Array) -> Value:
        leaves = jax.eval_shape(part, jnp.int32(0))
        shape = _common_shape(leaves)
        start = jax.tree.map(lambda leaf, number: jnp.full(shape, number, leaf.dtype), leaves, nothing)
        found: Value = jax.lax.fori_loop(0, end, lambda slot, before: join(before, part(slot)), start)
        return found

    def at_once(end: Array) -> Value:
        del end
        numbers = np.arange(slots, dtype=np.int32)[:, None, None, None]
        return functools.reduce(join, map(reduced, np.array_split(numbers, -(-slots // _AT_ONCE))))

    def reduced(numbers: np.ndarray) -> Value:
        parts = part(numbers)
        shape = _common_shape(parts)
        start = jax.tree.map(lambda leaf, number: jnp.asarray(number, leaf.dtype), parts, nothing)
        found: Value = jax.lax.reduce(jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, shape), parts), start, join, (0,))
        return found

    return by_platform(end, cpu=one_by_one, default=at_once)


def _common_shape(leaves: Any) -> tuple[int, ...]:
    return jnp.broadcast_shapes(*(leaf.shape for leaf in jax.tree.leaves(leaves)))
