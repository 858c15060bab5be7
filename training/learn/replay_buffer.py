"""A replay buffer on the device: a ring of rows in which the oldest give way."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
from jax import Array

MOST_DRAWN = 2**16  # rows at a time: their places are worked out in 32 bits


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Ring:
    """A buffer of N rows of W words.

    Attributes:
      rows: uint32 [N, W].
      added: int32 [1], rows added so far, modulo N once the ring is full (`size` tells whether it is).
      size: int32 [1], rows that hold something.
    """

    rows: Array
    added: Array
    size: Array


def init(capacity: int, num_words: int) -> Ring:
    """Makes an empty ring of `capacity` rows of `num_words` words.

    Raises:
      ValueError: a capacity below 1.
    """
    if capacity < 1:
        raise ValueError(f"capacity={capacity}: must be >= 1")
    return Ring(jnp.zeros((capacity, num_words), jnp.uint32), jnp.zeros(1, jnp.int32), jnp.zeros(1, jnp.int32))


def add(ring: Ring, rows: Array, use: Array) -> Ring:
    """Adds some rows.

    Args:
      ring: the buffer.
      rows: uint32 [M, W], M at most the capacity.
      use: bool [M], those to add.

    Raises:
      ValueError: more rows than the capacity.
    """
    capacity = ring.rows.shape[0]
    if rows.shape[0] > capacity:
        raise ValueError(f"{rows.shape[0]} rows at once: the buffer holds {capacity}; take a larger one or fewer lanes")
    place = (ring.added + jnp.cumsum(use.astype(jnp.int32)) - 1) % capacity
    count = use.sum(dtype=jnp.int32)
    return Ring(
        rows=ring.rows.at[jnp.where(use, place, capacity)].set(rows, mode="drop"),
        added=(ring.added + count) % capacity,
        size=jnp.minimum(ring.size + count, capacity),
    )


def sample(ring: Ring, key: Array, count: int) -> Array:
    """Draws rows, all equally likely: one from each of `count` parts of what is held, so none twice while there are enough.

    Args:
      ring: not empty (of an empty one, the first row is given).
      key: a random key.
      count: how many, at most 65 536.

    Returns:
      uint32 [count, W].

    Raises:
      ValueError: there are to be more.
    """
    if count > MOST_DRAWN:
        raise ValueError(f"count={count}: must be <= {MOST_DRAWN}")
    held = jnp.maximum(ring.size[0], 1)
    number, rest = jnp.arange(count + 1), (held % count).astype(jnp.uint32)
    # number * held // count, which may not fit into 32 bits; number * rest does.
    edges = number * (held // count) + (number.astype(jnp.uint32) * rest // count).astype(jnp.int32)
    first, width = edges[:-1], edges[1:] - edges[:-1]
    spot_key, turn_key = jax.random.split(key)
    spot = first + (jax.random.uniform(spot_key, (count,)) * width).astype(jnp.int32)
    # Parts differ by one row in width: where they begin is drawn too.
    return ring.rows[(spot + jax.random.randint(turn_key, (), 0, held)) % held]
