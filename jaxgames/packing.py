"""Trees of small numbers as rows of 32-bit words, so that many of them are one array and keeping one more is one write."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array


@dataclasses.dataclass(frozen=True)
class Packing:
    """How trees of one kind become rows.

    Attributes:
      structure: of the tree.
      shapes: shape and dtype of each leaf (at most 32 bits a number).
    """

    structure: Any
    shapes: tuple[jax.ShapeDtypeStruct, ...]

    @property
    def num_words(self) -> int:
        return sum(int(np.prod(leaf.shape)) for leaf in self.shapes)

    def pack(self, tree: Any) -> Array:
        """Returns uint32 [num_words] of one tree."""
        # Behind a barrier, or XLA computes everything that a row joins once per part.
        leaves = jax.lax.optimization_barrier([_to_words(leaf) for leaf in jax.tree.leaves(tree)])
        return jnp.concatenate(leaves)

    def unpack(self, words: Array) -> Any:
        """Returns the tree that was packed into uint32 [num_words]."""
        leaves, start = [], 0
        for leaf in self.shapes:
            size = int(np.prod(leaf.shape))
            leaves.append(_from_words(words[start : start + size], leaf))
            start += size
        return jax.tree.unflatten(self.structure, leaves)


def packing_of(tree: Any) -> Packing:
    """Gives the packing of trees like this one (arrays, or shapes from `jax.eval_shape`)."""
    leaves, structure = jax.tree.flatten(tree)
    return Packing(structure, tuple(jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in leaves))


def _to_words(leaf: Array) -> Array:
    if jnp.issubdtype(leaf.dtype, jnp.floating):
        leaf = jax.lax.bitcast_convert_type(leaf.astype(jnp.float32), jnp.uint32)
    elif leaf.dtype != jnp.uint32:
        leaf = leaf.astype(jnp.int32).astype(jnp.uint32)
    return leaf.reshape(-1)


def _from_words(words: Array, like: jax.ShapeDtypeStruct) -> Array:
    if jnp.issubdtype(like.dtype, jnp.floating):
        words = jax.lax.bitcast_convert_type(words, jnp.float32)
    elif like.dtype != jnp.uint32:
        words = words.astype(jnp.int32)
    return words.astype(like.dtype).reshape(like.shape)
