"""Reductions as a CPU likes them."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
from jax import Array

from jaxgames.platforms import by_platform

_FEW = 8  # are reduced at once


def first_highest(scores: Array) -> tuple[Array, Array]:
    """Gives the first of the highest of scores, float32 [..., C] and no NaN: its number, int32 [...], and it, float32 [...].

    On a CPU by two plain reductions, of many scores in vectors. An accelerator has one kernel for both of few scores.
    """
    return by_platform(scores, cpu=_by_two_reductions, default=_by_argmax if scores.shape[-1] <= _FEW else _by_two_reductions)


def _by_argmax(scores: Array) -> tuple[Array, Array]:
    return scores.argmax(-1).astype(jnp.int32), scores.max(-1)


def _by_two_reductions(scores: Array) -> tuple[Array, Array]:
    highest = _by_halves(scores, jnp.maximum).max(-1)
    number = jnp.arange(scores.shape[-1], dtype=jnp.int32)
    among = jnp.where(scores == highest[..., None], number, scores.shape[-1] - 1)
    return _by_halves(among, jnp.minimum).min(-1), highest


def picked(rows: Array, places: Array) -> Array:
    """Picks entries per lane: [L, P, ...] and int32 [L, M] to [L, M, ...]; a place out of range gives 0.

    By a sum: by selecting or a gather, XLA works out all that `rows` depend on again for each of their numbers.
    """
    here = places[:, :, None] == jnp.arange(rows.shape[1])
    here = here.reshape(*here.shape, *[1] * (rows.ndim - 2))
    wide = rows.dtype if jnp.issubdtype(rows.dtype, jnp.floating) else jnp.int32
    return jnp.where(here, rows[:, None], 0).sum(2, dtype=wide).astype(rows.dtype)


def _by_halves(values: Array, choose: Callable[[Array, Array], Array]) -> Array:
    """Makes half as many of some values again and again, while their number is even.

    XLA does that in vectors, but not a reduction over the last axis.
    """
    while values.shape[-1] > _FEW and values.shape[-1] % 2 == 0:
        half = values.shape[-1] // 2
        values = choose(values[..., :half], values[..., half:])
    return values
