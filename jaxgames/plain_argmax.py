"""`argmax` and `argmin` of JAX as two plain reductions, on CPUs.

JAX makes a single reduction over pairs of them. XLA's compiler for CPUs ends the process with `Check failed: buffer != nullptr`
where multi-output fusion, which `runtime.prepare` asks for, joins two of those: a loop that looks twice for the next player who
is left was enough (jaxlib 0.10 to 0.12).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax import Array, lax
from jax.extend.core import primitives
from jax.interpreters import mlir

from jaxgames.fusion import worked_out


def register() -> None:
    """Compiles both in this way on CPUs, with the same results, wherever they are traced from now on. May be called again."""
    for primitive, extreme in ((primitives.argmax_p, jnp.max), (primitives.argmin_p, jnp.min)):
        mlir.register_lowering(primitive, mlir.lower_fun(_first_of(extreme), multiple_results=False), platform="cpu")


def _first_of(extreme: Callable[..., Array]) -> Callable[..., Array]:
    """Gives the function that `argmax` stands for: the number of the first of the highest along an axis, or of the first NaN."""

    def place(values: Array, *, axes: tuple[int], index_dtype: Any) -> Array:
        (axis,) = axes
        is_exact = not jnp.issubdtype(values.dtype, jnp.inexact)
        if not is_exact:  # numbers that are rounded otherwise where they are worked out again would equal none
            values = worked_out(values)
        found = values == extreme(values, axis, keepdims=True)
        if not is_exact:
            found = found | jnp.isnan(values)  # the highest is one too, and equals nothing
        numbers = lax.broadcasted_iota(index_dtype, values.shape, axis)
        return jnp.where(found, numbers, jnp.iinfo(index_dtype).max).min(axis)

    return place
