"""What every network is: two pure functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
from flax import nnx
from jax import Array


class Network(NamedTuple):
    """A network as pure functions.

    Attributes:
      init: `init(key) -> params`.
      apply: `apply(params, planes) -> (logits float32 [B, A], value float32 [B])`, planes float32 [B, H, W, C]; the value is
        in [-1, 1].
    """

    init: Callable[[Array], Any]
    apply: Callable[[Any, Array], tuple[Array, Array]]


def from_module(build: Callable[[Array], nnx.Module]) -> Network:
    """Makes the pure functions of a module that has nothing but parameters.

    Args:
      build: `build(key)` makes the module with parameters drawn by the key.
    """
    structure = nnx.split(nnx.eval_shape(lambda: build(jax.random.key(0))), nnx.Param)[0]

    def init(key: Array) -> Any:
        return nnx.to_pure_dict(nnx.split(build(key), nnx.Param)[1])

    def apply(params: Any, planes: Array) -> tuple[Array, Array]:
        return nnx.merge(structure, nnx.State(params))(planes)

    return Network(init, apply)
