"""Trees of small numbers as rows of 32-bit words, so that many of them are one array and keeping one more is one write.

A number takes as many bits as its type has, a bool one. The numbers of a row lie in the order of their widths, widest first.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

WORD_BITS = 32
_WIDTHS = (32, 16, 8, 1)


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
        """Words of a row."""
        return sum(-(-self._count(width) // (WORD_BITS // width)) for width in _WIDTHS)

    def pack(self, tree: Any) -> Array:
        """Returns uint32 [num_words] of one tree."""
        # After a barrier, or XLA computes everything that a row joins once per part.
        leaves = jax.lax.optimization_barrier([_as_unsigned(leaf).reshape(-1) for leaf in jax.tree.leaves(tree)])
        groups = [[leaves[place] for place in self._places(width)] for width in _WIDTHS]
        words = [_join(jnp.concatenate(group), width) for group, width in zip(groups, _WIDTHS, strict=True) if group]
        return jnp.concatenate(words)

    def unpack(self, words: Array) -> Any:
        """Returns the tree that was packed into uint32 [num_words]."""
        leaves: dict[int, Array] = {}
        start = 0
        for width in _WIDTHS:
            count = self._count(width)
            stop = start + -(-count // (WORD_BITS // width))
            numbers, start = _split(words[start:stop], width)[:count], stop
            first = 0
            for place in self._places(width):
                shape = self.shapes[place]
                leaves[place] = _from_unsigned(numbers[first : first + math.prod(shape.shape)], shape)
                first += math.prod(shape.shape)
        return jax.tree.unflatten(self.structure, [leaves[place] for place in range(len(self.shapes))])

    def _places(self, width: int) -> list[int]:
        return [place for place, leaf in enumerate(self.shapes) if _width(leaf.dtype) == width]

    def _count(self, width: int) -> int:
        return sum(math.prod(self.shapes[place].shape) for place in self._places(width))


def packing_of(tree: Any) -> Packing:
    """Gives the packing of trees like this one (arrays, or shapes from `jax.eval_shape`).

    Raises:
      ValueError: a leaf holds no numbers of 8, 16 or 32 bits, nor bools.
    """
    leaves, structure = jax.tree.flatten(tree)
    for leaf in leaves:
        if _width(leaf.dtype) not in _WIDTHS:
            raise ValueError(f"leaf of type {leaf.dtype}: must be of bools, or of numbers of 8, 16 or 32 bits")
    return Packing(structure, tuple(jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in leaves))


def _width(dtype: Any) -> int:
    return 1 if dtype == jnp.bool_ else 8 * dtype.itemsize


def packed_flags(flags: Sequence[Array]) -> Array:
    """Packs at most 32 flags (bool []) into one word, uint32 []: bit i for flag i."""
    word = jnp.uint32(0)
    for index, flag in enumerate(flags):
        word = word | (flag.astype(jnp.uint32) << index)
    return word


def _as_unsigned(leaf: Array) -> Array:
    return leaf if leaf.dtype == jnp.bool_ else jax.lax.bitcast_convert_type(leaf, f"uint{_width(leaf.dtype)}")


def _from_unsigned(numbers: Array, like: jax.ShapeDtypeStruct) -> Array:
    if like.dtype == jnp.bool_:
        return (numbers != 0).reshape(like.shape)
    return jax.lax.bitcast_convert_type(numbers.astype(f"uint{_width(like.dtype)}"), like.dtype).reshape(like.shape)


def _join(numbers: Array, width: int) -> Array:
    """Joins numbers of `width` bits, [n], to words of 32; the last may be filled up."""
    if width == WORD_BITS:
        return numbers
    parts = WORD_BITS // width
    filled = jnp.pad(numbers.astype(jnp.uint32), (0, -len(numbers) % parts)).reshape(-1, parts)
    return (filled << np.arange(0, WORD_BITS, width, dtype=np.uint32)).sum(-1, dtype=jnp.uint32)


def _split(words: Array, width: int) -> Array:
    """Takes words apart into numbers of `width` bits, as uint32."""
    if width == WORD_BITS:
        return words
    return ((words[:, None] >> np.arange(0, WORD_BITS, width, dtype=np.uint32)) & ((1 << width) - 1)).reshape(-1)
