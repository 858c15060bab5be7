"""Populations of genomes, one per game: sorting, parents, and the steps between games and their genomes.

Letters: B games, N genomes of each, C of them new, G = B * C, L genes.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import random_bits
from jaxgames.random_bits import LaneKey

_FIRST_PARENT, _SECOND_PARENT = range(2)  # counters of a genome's key


def genome_keys(lanes: LaneKey, count: int) -> LaneKey:
    """Gives each genome of each game a key: uint32 [B * count] each."""
    keys = random_bits.fold(LaneKey(lanes.first[:, None], lanes.second[:, None]), jnp.arange(count))
    return LaneKey(keys.first.reshape(-1), keys.second.reshape(-1))


def spread(tree: Any, count: int) -> Any:
    """Repeats every game for each of its genomes: [B, ...] -> [B * count, ...]."""
    return jax.tree.map(lambda leaf: jnp.repeat(leaf, count, axis=0), tree)


def by_game(tree: Any, count: int) -> Any:
    """[B * count, ...] -> [B, count, ...]."""
    return jax.tree.map(lambda leaf: leaf.reshape(-1, count, *leaf.shape[1:]), tree)


def order_of(values: Array) -> Array:
    """Where each place of the sorted population comes from, the best first, equals in their order.

    By counting, which on a CPU is much faster than a sort.

    Args:
      values: float32 [B, N].

    Returns:
      int32 [B, N].
    """
    number = jnp.arange(values.shape[1])
    ahead = values[:, None, :] > values[:, :, None]
    ahead = ahead | ((values[:, None, :] == values[:, :, None]) & (number[None, :] < number[:, None]))
    rank = ahead.sum(-1, dtype=jnp.int32)
    lane = jnp.arange(len(values))[:, None]
    return jnp.zeros_like(rank).at[lane, rank].set(jnp.broadcast_to(number.astype(jnp.int32), rank.shape))


def rows(tree: Any, index: Array) -> Any:
    """Picks genomes: [B, N, ...], int32 [B, C] -> [B, C, ...]."""

    def pick(leaf: Array) -> Array:
        return jnp.take_along_axis(leaf, index.reshape(*index.shape, *[1] * (leaf.ndim - 2)), axis=1)

    return jax.tree.map(pick, tree)


def parents(keys: LaneKey, survivors: int) -> tuple[Array, Array]:
    """Draws two different survivors for each child, int32 [G] each."""
    first = random_bits.below(random_bits.bits(keys, _FIRST_PARENT), survivors)
    other = random_bits.below(random_bits.bits(keys, _SECOND_PARENT), survivors - 1)
    return first, jnp.where(other >= first, other + 1, other)


def without_twins(values: Array, outcomes: Array) -> Array:
    """Leaves its value to the best genome of each outcome alone, of equals the first; -inf to the others.

    Args:
      values: float32 [B, N].
      outcomes: uint32 [B, N, 2], what genomes lead to.
    """
    number = jnp.arange(values.shape[1])
    same = (outcomes[:, :, None] == outcomes[:, None, :]).all(-1)
    ahead = values[:, None, :] > values[:, :, None]
    ahead = ahead | ((values[:, None, :] == values[:, :, None]) & (number[None, :] < number[:, None]))
    return jnp.where((same & ahead).any(-1), -jnp.inf, values)
