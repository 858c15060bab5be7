"""Populations of genomes, one per game: sorting, parents, and the steps between games and their genomes.

Letters: B games, N genomes of each, C of them new, G = B * C, L genes.
"""

from __future__ import annotations

import bisect
import dataclasses
from typing import Any, Protocol, TypeVar

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import checks, random_bits
from jaxgames.random_bits import LaneKey

# Games that think together on a CPU. Each brings a population, so few of them fill the vector units: with four times as many a
# turn costs a tenth less, but a match that is running dry wastes more.
POPULATIONS_AT_ONCE = 16

_FIRST_PARENT, _SECOND_PARENT = range(2)  # counters of a genome's key


class HasGenerations(Protocol):
    """Settings of a search that takes more evaluations the more generations it has."""

    @property
    def num_generations(self) -> int: ...

    @property
    def num_evaluations(self) -> int: ...


AnySettings = TypeVar("AnySettings", bound=HasGenerations)


def check_sizes(settings: Any, *names: str) -> None:
    """Raises a ValueError unless populations of these sizes, of which the share `survivors` is kept, can have children."""
    checks.shares(settings, "survivors")
    checks.below(checks.COUNTS, settings, *names)  # and whole numbers
    for name in names:
        size = getattr(settings, name)
        if size < 4:
            raise ValueError(f"{name}={size}: must be >= 4, for two parents and as many children")
        if not 2 <= survivors_of(size, settings.survivors) < size:
            raise ValueError(f"survivors={settings.survivors}: must leave 2 to {size - 1} of {name}={size}")


def check_lanes(settings: Any, genomes: int) -> None:
    """Raises a ValueError unless games think together, and so many genomes of each can be numbered in 32 bits."""
    checks.at_least(1, settings, "microbatch_size")
    if settings.microbatch_size * genomes >= checks.COUNTS:
        raise ValueError(
            f"microbatch_size={settings.microbatch_size}: with {genomes} genomes each, must be < {checks.COUNTS} in all"
        )


def survivors_of(size: int, share: float) -> int:
    """Gives how many of a population are kept from one generation to the next."""
    return int(size * share)


def generations_for(evaluations: int, settings: AnySettings) -> AnySettings:
    """Gives the settings with as many generations as so many evaluations allow.

    Raises:
      ValueError: they are no whole number, not enough for one, or too many to be counted.
    """
    if checks.as_integer(evaluations) is None:
        raise ValueError(f"num_evaluations={evaluations!r}: must be a whole number")
    if evaluations >= checks.COUNTS:
        raise ValueError(f"num_evaluations={evaluations}: must be < {checks.COUNTS}")

    def with_generations(count: int) -> AnySettings:
        return dataclasses.replace(settings, num_generations=count)  # type: ignore[type-var]

    least = with_generations(1).num_evaluations
    if evaluations < least:
        raise ValueError(f"num_evaluations={evaluations}: must be >= {least}, the first generation")
    fits = bisect.bisect(range(1, evaluations + 1), evaluations, key=lambda count: with_generations(count).num_evaluations)
    return with_generations(fits)


def genome_keys(lanes: LaneKey, count: int) -> LaneKey:
    """Gives each genome of each game a key: uint32 [B * count] each."""
    keys = random_bits.fold(lanes.column(), jnp.arange(count))
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
    rank = _ahead(values).sum(-1, dtype=jnp.int32)
    lane, number = jnp.arange(len(values))[:, None], jnp.arange(values.shape[1], dtype=jnp.int32)
    return jnp.zeros_like(rank).at[lane, rank].set(jnp.broadcast_to(number, rank.shape))


def _ahead(values: Array) -> Array:
    """Says whether the second genome is better than the first, or equal and before it: bool [B, N, N]."""
    number = jnp.arange(values.shape[1])
    first, second = values[:, :, None], values[:, None, :]
    return (second > first) | ((second == first) & (number[None, :] < number[:, None]))


def rows(tree: Any, index: Array) -> Any:
    """Picks genomes: [B, N, ...], int32 [B, C] -> [B, C, ...]."""

    def pick(leaf: Array) -> Array:
        return jnp.take_along_axis(leaf, index.reshape(*index.shape, *[1] * (leaf.ndim - 2)), axis=1)

    return jax.tree.map(pick, tree)


def parents(keys: LaneKey, survivors: int) -> tuple[Array, Array]:
    """Draws two different survivors for each child, int32 [G] each."""
    first = random_bits.below_many(random_bits.bits(keys, _FIRST_PARENT), survivors)
    other = random_bits.below_many(random_bits.bits(keys, _SECOND_PARENT), survivors - 1)
    return first, jnp.where(other >= first, other + 1, other)


def deduplicate(values: Array, outcomes: Array) -> Array:
    """Leaves its value to the best genome of each outcome alone, of equals the first; -inf to the others.

    Args:
      values: float32 [B, N].
      outcomes: uint32 [B, N, 2], what genomes lead to.
    """
    same = (outcomes[:, :, None] == outcomes[:, None, :]).all(-1)
    return jnp.where((same & _ahead(values)).any(-1), -jnp.inf, values)
