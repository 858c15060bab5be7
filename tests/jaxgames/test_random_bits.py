"""The hash against its definition, then statistics over the patterns in which games use it; all inputs are fixed."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxgames import random_bits
from jaxgames.random_bits import LaneKey

LANES, COUNTERS = 1 << 14, 1 << 6
MASK = (1 << 32) - 1
SEQUENCE = np.arange(LANES, dtype=np.uint32)


def word_by_definition(first, second, counter):
    word = (counter * 0x9E3779B9 + first) & MASK
    word = ((word ^ (word >> 16)) * 0x85EBCA6B) & MASK
    word = (word + second) & MASK
    word = ((word ^ (word >> 16)) * 0x21F0AAAD) & MASK
    word = ((word ^ (word >> 15)) * 0x735A2D97) & MASK
    return word ^ (word >> 15)


def table(lane):
    """Words [LANES, COUNTERS] of lane keys with uint32 [LANES] halves."""
    return np.asarray(jax.jit(random_bits.bits)(LaneKey(*map(np.asarray, lane)).column(), np.arange(COUNTERS)[None]))


def folded(numbers, lane=(0 * SEQUENCE, 0 * SEQUENCE)):
    return jax.jit(random_bits.fold)(LaneKey(*lane), numbers)


TABLES = {
    "first half counts": lambda: table((SEQUENCE, 0 * SEQUENCE)),
    "second half counts": lambda: table((0 * SEQUENCE, SEQUENCE)),
    "children 0, 1, 2": lambda: table(folded(SEQUENCE)),
    "children of high bits": lambda: table(folded(SEQUENCE << 16)),
    "children of neighbours": lambda: table(folded(SEQUENCE & 15, (0 * SEQUENCE + 3, SEQUENCE >> 4))),
    "lane keys of split keys": lambda: table(jax.jit(jax.vmap(random_bits.lane_key))(jax.random.split(jax.random.key(0), LANES))),
}


@functools.cache
def table_of(name):
    return TABLES[name]()


@pytest.fixture(scope="module", params=TABLES)
def words(request):
    return table_of(request.param)


def assert_plausible(statistic, degrees):
    """Rejects at one in a million on either side: seeds are fixed, so a sound generator never comes near."""
    assert stats.chi2.sf(statistic, degrees) > 1e-6
    assert stats.chi2.cdf(statistic, degrees) > 1e-6


def chi_square(values, cells):
    counts = np.bincount(values.ravel(), minlength=cells)
    expected = values.size / cells
    return np.sum((counts - expected) ** 2) / expected


def test_word_is_the_documented_hash():
    for first, second, counter in [(0, 0, 0), (1, 2, 3), (0xDEADBEEF, 0xFFFFFFFF, 77), (MASK, MASK, (1 << 31) - 1)]:
        lane = LaneKey(np.uint32(first), np.uint32(second))
        assert int(jax.jit(random_bits.bits, static_argnums=1)(lane, counter)) == word_by_definition(first, second, counter)
        assert int(jax.jit(random_bits.bits)(lane, np.int32(counter))) == word_by_definition(first, second, counter)


def test_children_are_words_above_the_draws():
    children = np.stack(folded(SEQUENCE, (0 * SEQUENCE + 5, 0 * SEQUENCE + 6)), 1)
    assert children[9].tolist() == [word_by_definition(5, 6, (1 << 31) + 18 + i) for i in range(2)]
    assert len(np.unique(children[:, 0])) == len(np.unique(children[:, 1])) == LANES


def test_lane_key_takes_any_key():
    keys = jax.random.key(3), jax.random.PRNGKey(3), jax.random.key(4), jax.random.key(3, impl="rbg")
    typed, old, other, rbg = map(jax.jit(random_bits.lane_key), keys)
    assert [int(a) for a in typed] == [int(a) for a in old] != [int(a) for a in other]
    assert all(half.shape == () and half.dtype == jnp.uint32 for half in (*typed, *rbg))


def test_every_bit_is_fair(words):
    ones = np.array([np.count_nonzero(words & np.uint32(1 << i)) for i in range(32)])
    assert np.max(np.abs(ones - words.size / 2)) < 5.5 * np.sqrt(words.size / 4)


def test_bytes_and_high_bits_are_uniform(words):
    for shift in (0, 8, 16, 24):
        assert_plausible(chi_square((words >> shift) & 255, 256), 255)
    assert_plausible(chi_square(words >> 18, 1 << 14), (1 << 14) - 1)


@pytest.mark.parametrize("axis", ["counter", "lane"])
@pytest.mark.parametrize("distance", [1, pytest.param(16, marks=pytest.mark.slow)])
def test_neighbours_are_independent(words, axis, distance):
    rows = words if axis == "counter" else words.T
    here, there = rows[:, :-distance], rows[:, distance:]
    for shift in (0, 13, 24):
        pairs = ((here >> shift) & 255) << 8 | ((there >> shift) & 255)
        assert_plausible(chi_square(pairs, 1 << 16), (1 << 16) - 1)
    # All 32 x 32 correlations of a bit here with a bit there.
    signs_here, signs_there = (
        (1 - 2 * np.unpackbits(some.ravel()[: 1 << 17].view(np.uint8)).view(np.int8)).reshape(-1, 32).astype(np.float32)
        for some in (here, there)
    )
    correlation = signs_here.T @ signs_there / np.sqrt(len(signs_here))
    assert np.max(np.abs(correlation)) < 5.5
    assert_plausible(np.sum(correlation**2), 1024)


def test_a_lane_has_no_repeats(words):
    assert all(len(np.unique(row)) == COUNTERS for row in words[:256])


@pytest.mark.parametrize("name", [name for name in TABLES if "count" not in name])
def test_lanes_repeat_as_often_as_random_words(name):
    words = np.sort(table_of(name), axis=None)  # much faster than `np.unique`
    repeats = np.count_nonzero(words[1:] == words[:-1])
    expected = words.size**2 / 2**33  # a birthday figure, 128
    assert abs(repeats - expected) < 5 * np.sqrt(expected)


@pytest.mark.parametrize("where", ["anywhere", "near zero"])
def test_each_input_bit_flips_each_output_bit_half_the_time(where):
    trials = 1 << 12
    source = np.random.default_rng(1)
    limits = (1 << 32, 1 << 32, 1 << 31) if where == "anywhere" else (1 << 8, 1 << 12, 1 << 6)
    inputs = [source.integers(0, limit, (trials, 1), np.uint32) for limit in limits]
    word = jax.jit(lambda first, second, counter: random_bits.bits(LaneKey(first, second), counter))
    before = np.asarray(word(*inputs))
    flipped = []
    for i in range(3):
        changed = [value ^ (np.uint32(1) << np.arange(32, dtype=np.uint32)) * np.uint32(i == j) for j, value in enumerate(inputs)]
        flipped.append(np.asarray(word(*changed)) ^ before)
    flipped = np.concatenate(flipped, 1)  # [trials, 96]
    rate = np.mean((flipped[..., None] >> np.arange(32, dtype=np.uint32)) & 1, axis=0)
    noise = 0.5 / np.sqrt(trials)
    # The mixer has known biases of about one percent in a few of the 3072 pairs; a pair that never flips would show as 0.5.
    assert np.max(np.abs(rate - 0.5)) < 0.015 + 4 * noise
    assert np.sqrt(np.mean((rate - 0.5) ** 2)) < 1.1 * noise


def test_uniform_is_open_centred_and_even(words):
    extremes = jax.jit(random_bits.uniform)(np.array([0, MASK, 1 << 31, (1 << 31) - 1], np.uint32))
    np.testing.assert_array_equal(extremes, np.float32([2**-24, 1 - 2**-24, 0.5 + 2**-24, 0.5 - 2**-24]))
    values = np.asarray(jax.jit(random_bits.uniform)(words), np.float64).ravel()
    assert values.min() > 0 and values.max() < 1
    assert abs(values.mean() - 0.5) < 5 * np.sqrt(1 / 12 / values.size)
    # What a draw far out in a tail depends on.
    for tail in (values < 1e-4, values > 1 - 1e-4):
        assert abs(tail.sum() - 1e-4 * values.size) < 5 * np.sqrt(1e-4 * values.size)


def tried_and_expected(n, words):
    """Words, some of them on either side of a border between two results, where a rounded product would go wrong."""
    edge = np.array([0, 1, 0xFFFF, 0x10000, MASK - 1, MASK], np.uint32)
    border = -(-(np.arange(1, min(n, 1 << 16), dtype=np.uint64) << np.uint64(32)) // np.uint64(n))
    tried = np.concatenate([edge, words.ravel()[:4096], border.astype(np.uint32), (border - 1).astype(np.uint32)])
    tried = np.resize(tried, 6 + 4096 + (1 << 17))  # of one shape for all n
    return tried, ((tried.astype(np.uint64) * np.uint64(n)) >> np.uint64(32)).astype(np.int32)


@pytest.mark.parametrize("n", [1, 2, 3, 6, 121, 255, 256, 1000, 65535, 65536])
def test_below_is_the_high_half_of_the_product(n):
    tried, expected = tried_and_expected(n, table_of("children 0, 1, 2"))
    result = jax.jit(random_bits.below)(tried, n)
    assert result.dtype == jnp.int32
    np.testing.assert_array_equal(result, expected)
    assert expected.max() == n - 1


@pytest.mark.parametrize("n", [1, 3, 0xFFFF, 0x10000, 6_190_800, 2**31 - 1])
def test_below_many_is_the_high_half_of_the_product(n):
    tried, expected = tried_and_expected(n, table_of("children 0, 1, 2"))
    below_many = jax.jit(random_bits.below_many)
    assert below_many(tried, n).dtype == jnp.int32
    np.testing.assert_array_equal(below_many(tried, n), expected)
    np.testing.assert_array_equal(below_many(tried, 0), 0)


def test_below_covers_uniformly(words):
    for n in (6, 121):
        assert_plausible(chi_square(np.asarray(jax.jit(random_bits.below)(words, n)), n), n - 1)
    np.testing.assert_array_equal(jax.jit(random_bits.below)(words, 0), 0)


def test_batch_and_scalar_agree():
    def draw(key, step):
        lane = random_bits.fold(random_bits.lane_key(key), step)
        return (
            random_bits.bits(lane, 0),
            random_bits.uniform(random_bits.bits(lane, 1)),
            random_bits.below(random_bits.bits(lane, 2), 121),
        )

    keys = jax.random.split(jax.random.key(1), 33)
    batch, single = jax.device_get(jax.jit(jax.vmap(draw, (0, None)))(keys, 5)), jax.jit(draw)
    for i in (0, 32):
        assert single(keys[i], 5) == tuple(many[i] for many in batch)
