"""What every network is: two pure functions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array

from jaxgames.platforms import by_platform

_PART = 32  # boards that a CPU works on at once


class Network(NamedTuple):
    """A network as pure functions.

    Attributes:
      init: `init(key) -> params`.
      apply: `apply(params, planes) -> (logits float32 [B, A], value float32 [B])`, planes float32 [B, H, W, C]; the value is
        in [-1, 1].
      has_value: values are learnt; else they are all 0.
    """

    init: Callable[[Array], Any]
    apply: Callable[[Any, Array], tuple[Array, Array]]
    has_value: bool = True


def from_module(build: Callable[[Array], nnx.Module], *, has_value: bool = True) -> Network:
    """Makes the pure functions of a module that has nothing but parameters.

    Args:
      build: `build(key)` makes the module with parameters drawn by the key.
      has_value: see `Network`.
    """
    structure = nnx.split(nnx.eval_shape(lambda: build(jax.random.key(0))), nnx.Param)[0]

    def init(key: Array) -> Any:
        return nnx.to_pure_dict(nnx.split(build(key), nnx.Param)[1])

    def whole(params: Any, planes: Array) -> tuple[Array, Array]:
        return nnx.merge(structure, nnx.State(params))(planes)

    def apply(params: Any, planes: Array) -> tuple[Array, Array]:
        return in_parts(whole, params, planes)

    return Network(init, apply, has_value)


def in_parts(function: Callable[[Any, Any], tuple[Array, Array]], params: Any, shown: Any) -> tuple[Array, Array]:
    """Applies a network, on a CPU to so few boards at a time that all layers of them fit into a core's cache.

    All boards of a large batch at once take up to twice as long there, and the gradient up to four times.

    Args:
      function: `function(params, shown) -> (logits, value)`.
      params: its parameters.
      shown: planes, or what planes are made from, leaves [B, ...]; zeros fill the last part, and are not seen in the result.
    """
    if len(jax.tree.leaves(shown)[0]) <= _PART:
        return function(params, shown)
    return by_platform(params, shown, cpu=functools.partial(_in_parts, function), default=function)


def _in_parts(function: Callable[[Any, Any], tuple[Array, Array]], params: Any, shown: Any) -> tuple[Array, Array]:
    batch = len(jax.tree.leaves(shown)[0])
    count = -(-batch // _PART)

    def split(leaf: Array) -> Array:
        filled = jnp.pad(leaf, [(0, count * _PART - batch), *[(0, 0)] * (leaf.ndim - 1)])
        return filled.reshape(count, _PART, *leaf.shape[1:])

    found = jax.lax.map(functools.partial(function, params), jax.tree.map(split, shown))
    return jax.tree.map(lambda rows: rows.reshape(-1, *rows.shape[2:])[:batch], found)
