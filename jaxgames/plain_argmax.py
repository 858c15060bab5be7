"""`argmax` and `argmin` of JAX as two plain reductions, on CPUs.

JAX makes a single reduction over pairs of them. XLA's compiler for CPUs does not work such a reduction out in vectors, and ends
the process with `Check failed: buffer != nullptr` where multi-output fusion, which `runtime.prepare` asks for, joins two of them:
a loop that looks twice for the next player who is left was enough (jaxlib 0.10 to 0.12).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax import Array, lax
from jax.extend.core import primitives
from jax.interpreters import mlir


def register() -> None:
    """Has both compiled so on CPUs from now on, wherever they are called; results are the same. May be called again."""
    for primitive, extreme in ((primitives.argmax_p, jnp.max), (primitives.argmin_p, jnp.min)):
        mlir.register_lowering(primitive, mlir.lower_fun(_first_of(extreme), multiple_results=False), platform="cpu")


def _first_of(extreme: Callable[..., Array]) -> Callable[..., Array]:
    """Gives the function that `argmax` stands for: the number of the first of the highest along an axis, or of the first NaN."""

    def place(values: Array, *, axes: tuple[int], index_dtype: Any, **_: Any) -> Array:
        (axis,) = axes
        found = values == extreme(values, axis, keepdims=True)  # nowhere, if one of them is NaN
        if jnp.issubdtype(values.dtype, jnp.floating):
            found = found | jnp.isnan(values)
        numbers = lax.broadcasted_iota(index_dtype, values.shape, axis)
        return jnp.where(found, numbers, values.shape[axis] - 1).min(axis)

    return place
