"""The hash that identifies states: no collisions where none may be, and every bit counts."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxgames.hashing import hash_words

hash_batch = jax.jit(lambda words: hash_words([words[..., i] for i in range(words.shape[-1])]))


@pytest.mark.parametrize("count", [1, 2, 4, 5, 97])
def test_every_bit_changes_both_words(count):
    rng = np.random.default_rng(count)
    for words in (np.zeros(count, np.uint32), rng.integers(0, 1 << 32, count, dtype=np.uint32)):
        flips = np.eye(32 * count, dtype=np.uint8)
        masks = np.packbits(flips, axis=1, bitorder="little").view("<u4")
        hashes = np.asarray(hash_batch(jnp.asarray(np.concatenate([words[None], words ^ masks]))))
        assert (hashes[1:] != hashes[0]).all()
        both = hashes[:, 0].astype(np.uint64) << 32 | hashes[:, 1]
        assert len(np.unique(both)) == len(both)


def test_changes_of_two_words_do_not_cancel():
    """A change of the top bit passes a multiplication as it is: such changes are the ones that could cancel for certain."""
    rng = np.random.default_rng(1)
    high = [1 << bit for bit in range(24, 32)] + [1 << 31 | 1 << bit for bit in range(10, 24)]
    masks = np.zeros((1, 12), np.uint32)
    for i in range(12):
        pairs = np.array([(a, b) for a in high for b in high], np.uint32)
        for j in range(i):
            block = np.zeros((len(pairs), 12), np.uint32)
            block[:, i], block[:, j] = pairs.T
            masks = np.concatenate([masks, block])
    for words in (np.zeros(12, np.uint32), rng.integers(0, 1 << 32, 12, dtype=np.uint32)):
        hashes = np.asarray(hash_batch(jnp.asarray(words ^ masks)))
        assert len(np.unique(hashes, axis=0)) == len(masks)


def test_a_flipped_bit_flips_about_half_of_the_bits():
    rng = np.random.default_rng(0)
    words = rng.integers(0, 1 << 32, (2000, 24), dtype=np.uint32)
    flipped = words.copy()
    flipped[np.arange(2000), rng.integers(0, 24, 2000)] ^= np.uint32(1) << rng.integers(0, 32, 2000, dtype=np.uint32)
    changed = np.bitwise_count(np.asarray(hash_batch(jnp.asarray(words))) ^ np.asarray(hash_batch(jnp.asarray(flipped))))
    assert 10 < changed[:, 0].mean() < 22
    assert 10 < changed[:, 1].mean() < 22


def test_order_and_length_count():
    base = jnp.arange(1, 9, dtype=jnp.uint32)
    hashes = {
        tuple(np.asarray(hash_batch(words)).tolist())
        for words in (base, base[::-1], jnp.roll(base, 1), base[:7], jnp.append(base, 0))
    }
    assert len(hashes) == 5


def test_counters_do_not_collide_and_spread_evenly():
    """Words like those of quiet states: nearly all zero, a few small numbers."""
    first, second = np.meshgrid(np.arange(512, dtype=np.uint32), np.arange(256, dtype=np.uint32), indexing="ij")
    words = np.zeros((first.size, 12), np.uint32)
    words[:, 3], words[:, 10] = first.ravel(), second.ravel()
    hashes = np.asarray(hash_batch(jnp.asarray(words)))
    assert len(np.unique(hashes, axis=0)) == len(hashes)
    for half in hashes.T:
        for shift in (0, 8, 16, 24):
            counts = np.bincount((half >> shift) & 255, minlength=256)
            assert stats.chisquare(counts).pvalue > 1e-6
        # About n^2 / 2^33 = 2 collisions are expected among 2^17 words of 32 bits.
        assert len(half) - len(np.unique(half)) < 15
