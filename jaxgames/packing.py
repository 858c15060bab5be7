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
      tight: numbers take the bits that they need: of a bool one, of an int8 eight; else a word each, which is faster.
    """

    structure: Any
    shapes: tuple[jax.ShapeDtypeStruct, ...]
    tight: bool = False

    @property
    def num_words(self) -> int:
        return sum(-(-count * width // 32) for width, count in self._counts().items())

    def pack(self, tree: Any) -> Array:
        """Returns uint32 [num_words] of one tree."""
        # After a barrier, or XLA computes everything that a row joins once per part.
        leaves = jax.lax.optimization_barrier([_to_words(leaf) for leaf in jax.tree.leaves(tree)])
        if not self.tight:
            return jnp.concatenate(leaves)
        parts: dict[int, list[Array]] = {}
        for leaf, like in zip(leaves, self.shapes, strict=True):
            parts.setdefault(self._width(like), []).append(leaf)
        return jnp.concatenate([_squeeze(jnp.concatenate(part), width) for width, part in parts.items()])

    def unpack(self, words: Array) -> Any:
        """Returns the tree that was packed into uint32 [num_words]."""
        numbers, start = {}, 0
        for width, count in self._counts().items():
            size = -(-count * width // 32)
            numbers[width] = _spread(words[start : start + size], width)
            start += size
        leaves, place = [], dict.fromkeys(numbers, 0)
        for leaf in self.shapes:
            width, size = self._width(leaf), int(np.prod(leaf.shape))
            leaves.append(_from_words(numbers[width][place[width] : place[width] + size], leaf))
            place[width] += size
        return jax.tree.unflatten(self.structure, leaves)

    def _width(self, leaf: jax.ShapeDtypeStruct) -> int:
        """Bits that a number of a leaf takes."""
        if not self.tight:
            return 32
        return 1 if leaf.dtype == jnp.bool_ else 8 * leaf.dtype.itemsize

    def _counts(self) -> dict[int, int]:
        """Numbers by the bits that they take, in the order of the parts of a row."""
        counts: dict[int, int] = {}
        for leaf in self.shapes:
            width = self._width(leaf)
            counts[width] = counts.get(width, 0) + int(np.prod(leaf.shape))
        return counts


def packing_of(tree: Any, *, tight: bool = False) -> Packing:
    """Gives the packing of trees like this one (arrays, or shapes from `jax.eval_shape`)."""
    leaves, structure = jax.tree.flatten(tree)
    return Packing(structure, tuple(jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in leaves), tight)


def _squeeze(numbers: Array, width: int) -> Array:
    """Puts numbers uint32 [N] of so many bits into as few words as they need."""
    each = 32 // width
    if each == 1:
        return numbers
    kept = jnp.pad(numbers, (0, -len(numbers) % each)).reshape(-1, each) & np.uint32((1 << width) - 1)
    shifts = np.arange(each, dtype=np.uint32) * np.uint32(width)
    return (kept << shifts).sum(1, dtype=jnp.uint32)


def _spread(words: Array, width: int) -> Array:
    """The inverse, with the padding: uint32 [N]."""
    if width == 32:
        return words
    shifts = np.arange(32 // width, dtype=np.uint32) * np.uint32(width)
    return (words[:, None] >> shifts & np.uint32((1 << width) - 1)).reshape(-1)


def _to_words(leaf: Array) -> Array:
    if jnp.issubdtype(leaf.dtype, jnp.floating):
        same_size = jnp.dtype(f"uint{8 * leaf.dtype.itemsize}")
        leaf = jax.lax.bitcast_convert_type(leaf, same_size).astype(jnp.uint32)
    elif leaf.dtype != jnp.uint32:
        leaf = leaf.astype(jnp.int32).astype(jnp.uint32)
    return leaf.reshape(-1)


def _from_words(words: Array, like: jax.ShapeDtypeStruct) -> Array:
    if jnp.issubdtype(like.dtype, jnp.floating):
        same_size = jnp.dtype(f"uint{8 * like.dtype.itemsize}")
        words = jax.lax.bitcast_convert_type(words.astype(same_size), like.dtype)
    elif like.dtype == jnp.bool_:
        words = words != 0
    elif like.dtype != jnp.uint32:
        words = words.astype(jnp.dtype(f"int{8 * like.dtype.itemsize}"))
    return words.astype(like.dtype).reshape(like.shape)
