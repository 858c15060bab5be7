"""What every network is: two pure functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from jax import Array


class Network(NamedTuple):
    """A network as pure functions.

    Attributes:
      init: `init(key) -> params`.
      apply: `apply(params, planes) -> (logits float32 [B, K], value float32 [B])`, planes float32 [B, H, W, C]; the value is
        in [-1, 1].
    """

    init: Callable[[Array], Any]
    apply: Callable[[Any, Array], tuple[Array, Array]]
