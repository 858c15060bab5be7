"""A 64-bit hash of a fixed number of words, as two uint32: the identity of a state in search tables."""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jax import Array

# Odd multipliers of well tested 32-bit mixers. The two hashes must share neither multiplier nor shift: a multiplication leaves
# a change of the top bit alone, so the change that undoes it in the next word is known, and only the shift tells where it is.
_MULTIPLIERS = (0x9E3779B1, 0x85EBCA77)
_SHIFTS = (15, 13)
_FINISH = (0xC2B2AE3D, 0x27D4EB2F)
_LANES = 4  # independent chains, which a processor works through side by side


def hash_words(words: Sequence[Array]) -> Array:
    """Hashes words; two lists that differ collide with a chance of about 2**-64.

    Args:
      words: uint32 [] each, the same number of them in every call.

    Returns:
      uint32 [2] (after the batch axes of the words).
    """
    halves = []
    for multiplier, shift, finish in zip(_MULTIPLIERS, _SHIFTS, _FINISH, strict=True):
        chains = [jnp.uint32((multiplier * (lane + 1)) & 0xFFFFFFFF) for lane in range(_LANES)]
        for position, word in enumerate(words):
            lane = position % _LANES
            chains[lane] = _absorb(chains[lane], word, multiplier, shift)
        total = jnp.uint32(len(words))
        for chain in chains:
            total = _absorb(total, _spread(chain, finish, multiplier), finish, shift)
        halves.append(_spread(total, finish, multiplier))
    # Not a stack: the compiler would work out both chains twice, once per half.
    return jnp.where(np.arange(2) == 0, halves[0][..., None], halves[1][..., None])


def _absorb(chain: Array, word: Array, multiplier: int, shift: int) -> Array:
    """Mixes one word in. For a given word this is a bijection of the chain, and the other way round."""
    mixed = (chain ^ word) * jnp.uint32(multiplier)
    return mixed ^ (mixed >> shift)


def _spread(chain: Array, first: int, second: int) -> Array:
    """Lets every bit count for every bit, so that changes of two chains do not cancel. A bijection."""
    mixed = (chain ^ (chain >> 16)) * jnp.uint32(first)
    mixed = (mixed ^ (mixed >> 15)) * jnp.uint32(second)
    return mixed ^ (mixed >> 16)
