"""Openings of the small Stratego, compiled once for all tests of planners that value by hand."""

from __future__ import annotations

import functools

import jax

import jaxgames

STRATEGO = jaxgames.make("stratego", "mini")


@functools.cache
def three_openings():
    """States, their prospects and their heuristics."""
    states = jax.jit(jax.vmap(STRATEGO.init))(jax.random.split(jax.random.key(0), 3))
    return states, *(jax.jit(jax.vmap(value))(states).tolist() for value in (STRATEGO.prospects, STRATEGO.heuristic))
