"""Keeping XLA from working out the same numbers again for each of their readers, and from choosing in every round of a loop."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.lanes import where_lanes
from jaxgames.platforms import only_cpus

Function = TypeVar("Function", bound=Callable[..., Any])
Tree = TypeVar("Tree")


def worked_out(values: Array) -> Array:
    """Gives numbers that are worked out once, however many elements of other arrays read them.

    XLA fuses what makes numbers into what reads them at other places (turned, gathered, one per arm), which may repeat long work
    many times; it drops a plain `optimization_barrier` before that. It does not fuse over a reduction, so here is one of nothing.

    Args:
      values: integers, floats or flags of any shape; -0.0 may become 0.0.
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

    def body(carry: tuple[Array, list[Array]]) -> tuple[Array, list[Array]]:
        return carry[0], [jnp.zeros_like(value) for value in carry[1]]

    return jax.lax.while_loop(lambda carry: carry[0], body, (_never(values[0].reshape(-1)[0]), values))[1]


def copied(values: Tree) -> Tree:
    """Gives a pytree of arrays that is copied for a loop which begins with it, where the values are read again later.

    A loop writes into what it begins with, so XLA makes a copy; on an accelerator that is a kernel for each array. Here it is a
    choice, lane by lane, that XLA cannot foresee, which it fuses: one kernel for some ninety arrays. On a CPU, and where there is
    no array to choose by, these are the values themselves.

    Args:
      values: arrays [B, ...], also of typed keys.
    """
    plain = [leaf for leaf in jax.tree.leaves(values) if _holds_numbers(leaf)]
    if only_cpus() or not plain:
        return values
    never = _never(plain[0].reshape(len(plain[0]), -1)[:, 0])
    fresh: Tree = jax.tree.map(
        lambda leaf: where_lanes(never, jnp.zeros_like(leaf), leaf) if _holds_numbers(leaf) else leaf, values
    )
    return fresh


def _holds_numbers(leaf: Array) -> bool:
    """Not empty, and no typed keys."""
    return leaf.size > 0 and not jnp.issubdtype(leaf.dtype, jax.dtypes.extended)


def _never(numbers: Array) -> Array:
    """False for each number, which XLA cannot know."""
    return jax.lax.population_count(numbers.astype(jnp.int32)) > 32


def boundary(values: Tree) -> Tree:
    """Gives a pytree of arrays that a GPU or TPU works out before what reads them; a CPU fuses over it as if it were not there.

    Between two long pieces of work: without it XLA may repeat much of the first in every kernel of the second, and then compares
    each pair of those kernels, which can take minutes. And between reading a large array and writing it: without it XLA may put
    the reading off, and copy the array for that. `scripts/kernels.py` tells what one is worth.
    """
    bounded: Tree = jax.lax.optimization_barrier(values)
    return bounded


def all_lanes(function: Function) -> Function:
    """Lets `jax.vmap` give a function all lanes at once, instead of mapping what is in it.

    For loops that stop by themselves. A mapped loop chooses in each round, lane by lane, between what it had and what it has now.
    In here a loop sees all lanes, goes on until `any_lane` says that none has anything left to do, and a lane that is done must
    stay as it is.

    Args:
      function: of pytrees of arrays that all have the shape of the lanes, () for a single one, to such a pytree; what it does to
        a lane depends on no other.
    """
    mapped: Any = jax.custom_batching.custom_vmap(function)

    @mapped.def_vmap
    def with_lanes(size: int, batched: Sequence[Any], *arguments: Any) -> tuple[Any, Any]:
        arguments = jax.tree.map(
            lambda leaf, has_lanes: leaf if has_lanes else jnp.broadcast_to(leaf, (size, *jnp.shape(leaf))),
            arguments,
            tuple(batched),
        )
        found = mapped(*arguments)
        return found, jax.tree.map(lambda leaf: True, found)

    return mapped


def any_lane(words: Array) -> Array:
    """Says whether one of some words (uint32, of any shape) is not zero: bool []. By halves, which XLA does in vectors."""
    words = words.reshape(-1)
    while words.shape[0] % 2 == 0 and words.shape[0] > 16:
        parts = 16 if words.shape[0] % 256 == 0 else 2
        size = words.shape[0] // parts
        words = functools.reduce(jnp.bitwise_or, [words[part * size : (part + 1) * size] for part in range(parts)])
    return jax.lax.reduce(words, np.uint32(0), jax.lax.bitwise_or, (0,)) != 0
