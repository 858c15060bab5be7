"""A 64-bit hash of a fixed number of words, as two uint32: the identity of a state in search tables."""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jax import Array

# Odd multipliers of well tested 32-bit mixers; the two hashes of a word list must not share one.
_MULTIPLIERS = (0x9E3779B1, 0x85EBCA77)
_FINISH = (0xC2B2AE3D, 0x27D4EB2F)
_LANES = 4  # independent chains, which a processor works through side by side


def hash_words(words: Sequence[Array]) -> Array:
    """Hashes words; two lists that differ collide with a chance of about 2**-64.

    Args:
      words: uint32 [] each, always as many.

    Returns:
      uint32 [2] (behind the batch shape of the words).
    """
    halves = []
    for multiplier, finish in zip(_MULTIPLIERS, _FINISH, strict=True):
        chains = [jnp.uint32((multiplier * (lane + 1)) & 0xFFFFFFFF) for lane in range(_LANES)]
        for position, word in enumerate(words):
            lane = position % _LANES
            chains[lane] = _absorb(chains[lane], word, multiplier)
        total = chains[0]
        for chain in chains[1:]:
            total = _absorb(total, chain, finish)
        halves.append(_absorb(total, jnp.uint32(len(words)), finish))
    # Not a stack: the compiler would work out both chains twice, once per half.
    return jnp.where(np.arange(2) == 0, halves[0][..., None], halves[1][..., None])


def _absorb(chain: Array, word: Array, multiplier: int) -> Array:
    """Mixes one word in. For a given word this is a bijection of the chain, and the other way round."""
    mixed = (chain ^ word) * jnp.uint32(multiplier)
    return mixed ^ (mixed >> 15)
