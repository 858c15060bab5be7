"""Cheap random words for hot loops: a counter hashed with a lane's key.

A simulation step may draw dozens of words per lane, and threefry would cost more than the step. Here a word is four
multiplications of a pure function of (lane key, counter), so it is elementwise, fuses with its use, and depends on neither
batch size nor order. The intended use:

    lane = lane_key(key)                                # once per lane, from an ordinary key
    def body(t, state):
        step_lane = fold(lane, t)                       # a child key per step, or per player, or per simulation
        cell = below(bits(step_lane, 0), count)         # counters name the draws of a step
        theta = uniform(bits(step_lane, 1))

As with keys, a pair (lane key, counter) is drawn once. Draws use counters below 2^31; `fold` takes its children from above.
The words are good enough for simulations and are no cryptography. Where speed does not matter, use `jax.random`.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

# Odd multipliers: 2^32 over the golden ratio spreads neighbouring counters; the second is from the end of murmur3; the last
# two (with shifts 16, 15, 15) are the best two-round 32-bit mixer of github.com/skeeto/hash-prospector.
COUNTER_STRIDE = np.uint32(0x9E3779B9)
FIRST_ROUND = np.uint32(0x85EBCA6B)
SECOND_ROUND = np.uint32(0x21F0AAAD)
THIRD_ROUND = np.uint32(0x735A2D97)

FIRST_CHILD = np.uint32(1 << 31)


class LaneKey(NamedTuple):
    """The key of one lane, from `lane_key` or `fold`.

    Never make one of counters by hand: the halves are mixed too little for that. Where they count upwards, words repeat too
    rarely between lanes, and where only their high bits differ, neighbouring lanes are detectably correlated (a chi-square over
    a million words). Pass numbers through `fold`, whose children show nothing of the kind.

    Attributes:
      first: uint32 [].
      second: uint32 [].
    """

    first: Array
    second: Array

    def column(self) -> LaneKey:
        """Gives the same keys with one more axis, [...] -> [..., 1], to be taken with the numbers of many words or children."""
        return LaneKey(self.first[..., None], self.second[..., None])


def lane_key(key: Array) -> LaneKey:
    """Makes a lane key from an ordinary key, and consumes it.

    Args:
      key: one typed key (or an old uint32 [2] one) of any implementation.

    Returns:
      the lane key, uint32 [] each.
    """
    words = jax.random.bits(key, (2,), jnp.uint32)
    return LaneKey(words[0], words[1])


def typed_keys(lanes: LaneKey) -> Array:
    """Makes ordinary keys of lane keys, of the same shape, for what asks for such: threefry's, whatever JAX makes by default."""
    return jax.random.wrap_key_data(jnp.stack(lanes, axis=-1), impl="threefry2x32")


def bits(lane: LaneKey, counter: ArrayLike) -> Array:
    """Draws the word with number `counter`.

    For a fixed lane the words of all counters are distinct: the map is a bijection. So it is from either half of the key when
    the rest is fixed; the halves enter at different places, so that lanes share a stream only if both halves agree.

    Args:
      lane: uint32 [] each, or a common batch shape.
      counter: integer [] in [0, 2^31), or a shape which broadcasts with the lane's. Python ints cost one multiplication less.

    Returns:
      uint32, the common shape: 32 random bits.
    """
    word = jnp.asarray(counter).astype(jnp.uint32) * COUNTER_STRIDE + lane.first
    word = (word ^ (word >> 16)) * FIRST_ROUND
    # Two more rounds after the second half has come in: with one, some bits of that half never reach the low bits.
    word = word + lane.second
    word = (word ^ (word >> 16)) * SECOND_ROUND
    word = (word ^ (word >> 15)) * THIRD_ROUND
    return word ^ (word >> 15)


def fold(lane: LaneKey, number: ArrayLike) -> LaneKey:
    """Derives the child key with this number. Children with different numbers differ, from each other and from the draws.

    Args:
      lane: uint32 [] each, or a common batch shape.
      number: integer [] in [0, 2^30), or a shape which broadcasts with the lane's.

    Returns:
      uint32 each, the common shape.
    """
    counter = FIRST_CHILD + jnp.asarray(number).astype(jnp.uint32) * np.uint32(2)
    return LaneKey(bits(lane, counter), bits(lane, counter + np.uint32(1)))


def uniform(word: Array) -> Array:
    """Turns a word into a number between 0 and 1, both excluded, with mean exactly 1/2.

    The result is an odd multiple of 2^-24, from the 23 high bits. A centred grid of 2^-24 would need 25 digits, and its
    last point would round to 1.

    Args:
      word: uint32, any shape.

    Returns:
      float32, the same shape: at least 2^-24, at most 1 - 2^-24.
    """
    # Through int32, because CPUs older than AVX-512 have no conversion from unsigned words.
    odd = ((word >> 8) | np.uint32(1)).astype(jnp.int32)
    return odd.astype(jnp.float32) * np.float32(2.0**-24)


def below(word: Array, n: ArrayLike) -> Array:
    """Turns a word into an integer in [0, n): the high half of `word * n`, in two 16-bit steps because there is no uint64.

    The product is exact. Each value gets floor or ceil of 2^32 / n of the words, so its probability is off by a factor
    of at most 1 + n / 2^32 (1.5e-5 for the largest n).

    Args:
      word: uint32, any shape.
      n: integer in [0, 2^16], [] or a shape which broadcasts. For n = 0, which has no valid answer, the result is 0.

    Returns:
      int32, the common shape.
    """
    n = jnp.asarray(n).astype(jnp.uint32)
    high = (word >> 16) * n + (((word & np.uint32(0xFFFF)) * n) >> 16)
    return (high >> 16).astype(jnp.int32)


def below_many(word: Array, n: ArrayLike) -> Array:
    """Turns a word into an integer in [0, n) as `below` does, also for large n.

    Args:
      word: uint32, any shape.
      n: integer in [0, 2^31), [] or a shape which broadcasts. For n = 0, which has no valid answer, the result is 0.

    Returns:
      int32, the common shape.
    """
    half = np.uint32(0xFFFF)
    n = jnp.asarray(n).astype(jnp.uint32)
    high, low, many, few = word >> 16, word & half, n >> 16, n & half
    middle = high * few + ((low * few) >> 16)
    return (high * many + (middle >> 16) + ((low * many + (middle & half)) >> 16)).astype(jnp.int32)
