"""The hash against its definition, then statistics over the patterns in which games use it; all inputs are fixed."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxgames import random_bits
from jaxgames.random_bits import LaneKey

LANES, COUNTERS = 1 << 14, 1 << 6
MASK = (1 << 32) - 1


def word_by_definition(first, second, counter):
    word = (counter * 0x9E3779B9 + first) & MASK
    word = ((word ^ (word >> 16)) * 0x85EBCA6B) & MASK
    word = (word + second) & MASK
    word = ((word ^ (word >> 16)) * 0x21F0AAAD) & MASK
    word = ((word ^ (word >> 15)) * 0x735A2D97) & MASK
    return word ^ (word >> 15)


def table(lane):
    """Words [LANES, COUNTERS] of lane keys with uint32 [LANES] halves."""
    column = LaneKey(*(jnp.asarray(half, jnp.uint32)[:, None] for half in lane))
    return np.asarray(jax.jit(random_bits.bits)(column, jnp.arange(COUNTERS)[None]))


def folded(numbers):
    return jax.jit(random_bits.fold)(LaneKey(jnp.uint32(0), jnp.uint32(0)), jnp.asarray(numbers))


SEQUENCE = np.arange(LANES, dtype=np.uint32)
TABLES = {
    "first half counts": lambda: table((SEQUENCE, 0 * SEQUENCE)),
    "second half counts": lambda: table((0 * SEQUENCE, SEQUENCE)),
    "children 0, 1, 2": lambda: table(folded(SEQUENCE)),
    "children of high bits": lambda: table(folded(SEQUENCE << 16)),
    "children of neighbours": lambda: table(
        jax.jit(random_bits.fold)(LaneKey(jnp.uint32(3), jnp.asarray(SEQUENCE >> 4)), jnp.asarray(SEQUENCE & 15))
    ),
    "lane keys of split keys": lambda: table(jax.jit(jax.vmap(random_bits.lane_key))(jax.random.split(jax.random.key(0), LANES))),
}


@pytest.fixture(scope="module", params=TABLES)
def words(request):
    return TABLES[request.param]()


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
        lane = LaneKey(jnp.uint32(first), jnp.uint32(second))
        assert int(random_bits.bits(lane, counter)) == word_by_definition(first, second, counter)
        assert int(random_bits.bits(lane, jnp.int32(counter))) == word_by_definition(first, second, counter)


def test_children_are_words_above_the_draws():
    child = random_bits.fold(LaneKey(jnp.uint32(5), jnp.uint32(6)), 9)
    assert [int(half) for half in child] == [word_by_definition(5, 6, (1 << 31) + 18 + i) for i in range(2)]
    children = np.stack(folded(np.arange(1 << 16)), 1)
    assert len(np.unique(children[:, 0])) == len(np.unique(children[:, 1])) == 1 << 16


def test_lane_key_takes_any_key():
    typed, old = random_bits.lane_key(jax.random.key(3)), random_bits.lane_key(jax.random.PRNGKey(3))
    other, rbg = random_bits.lane_key(jax.random.key(4)), random_bits.lane_key(jax.random.key(3, impl="rbg"))
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
@pytest.mark.parametrize("distance", [1, 16])
def test_neighbours_are_independent(words, axis, distance):
    rows = words if axis == "counter" else words.T
    here, there = rows[:, :-distance], rows[:, distance:]
    for shift in (0, 13, 24):
        pairs = ((here >> shift) & 255) << 8 | ((there >> shift) & 255)
        assert_plausible(chi_square(pairs.astype(np.int64), 1 << 16), (1 << 16) - 1)
    # All 32 x 32 correlations of a bit here with a bit there.
    bits_here = (here.ravel()[: 1 << 17, None] >> np.arange(32)) & 1
    bits_there = (there.ravel()[: 1 << 17, None] >> np.arange(32)) & 1
    sign = lambda bit: 1 - 2 * bit.astype(np.float32)  # noqa: E731
    correlation = sign(bits_here).T @ sign(bits_there) / np.sqrt(len(bits_here))
    assert np.max(np.abs(correlation)) < 5.5
    assert_plausible(np.sum(correlation**2), 1024)


def test_a_lane_has_no_repeats(words):
    assert all(len(np.unique(row)) == COUNTERS for row in words[:256])


@pytest.mark.parametrize("name", [name for name in TABLES if "count" not in name])
def test_lanes_repeat_as_often_as_random_words(name):
    words = np.sort(TABLES[name](), axis=None)  # much faster than `np.unique`
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
    extremes = np.asarray(random_bits.uniform(jnp.array([0, MASK, 1 << 31, (1 << 31) - 1], jnp.uint32)))
    np.testing.assert_array_equal(extremes, np.float32([2**-24, 1 - 2**-24, 0.5 + 2**-24, 0.5 - 2**-24]))
    values = np.asarray(jax.jit(random_bits.uniform)(words), np.float64).ravel()
    assert values.min() > 0 and values.max() < 1
    assert abs(values.mean() - 0.5) < 5 * np.sqrt(1 / 12 / values.size)
    # What a draw far out in a tail depends on.
    for tail in (values < 1e-4, values > 1 - 1e-4):
        assert abs(tail.sum() - 1e-4 * values.size) < 5 * np.sqrt(1e-4 * values.size)


@pytest.mark.parametrize("n", [1, 2, 3, 6, 121, 255, 256, 1000, 65535, 65536])
def test_below_is_the_high_half_of_the_product(n, words):
    edge = np.array([0, 1, 0xFFFF, 0x10000, MASK - 1, MASK], np.uint32)
    # The words around each border between two results, where a rounded product would go wrong.
    border = -(-(np.arange(1, n, dtype=np.uint64) << np.uint64(32)) // np.uint64(n))
    tried = np.concatenate([edge, border.astype(np.uint32), (border - 1).astype(np.uint32), words.ravel()[:4096]])
    expected = (tried.astype(np.uint64) * np.uint64(n)) >> np.uint64(32)
    result = jax.jit(random_bits.below)(tried, n)
    assert result.dtype == jnp.int32
    np.testing.assert_array_equal(np.asarray(result), expected.astype(np.int32))
    assert expected.max() == n - 1


@pytest.mark.parametrize("n", [1, 3, 0xFFFF, 0x10000, 6_190_800, 2**31 - 1])
def test_below_many_is_the_high_half_of_the_product(n, words):
    edge = np.array([0, 1, 0xFFFF, 0x10000, MASK - 1, MASK], np.uint32)
    tried = np.concatenate([edge, words.ravel()[:4096]])
    expected = (tried.astype(np.uint64) * np.uint64(n)) >> np.uint64(32)
    result = jax.jit(random_bits.below_many)(tried, n)
    assert result.dtype == jnp.int32
    np.testing.assert_array_equal(np.asarray(result), expected.astype(np.int32))
    np.testing.assert_array_equal(random_bits.below_many(tried, 0), 0)


def test_below_covers_uniformly(words):
    for n in (6, 121):
        assert_plausible(chi_square(np.asarray(random_bits.below(words, n)), n), n - 1)
    np.testing.assert_array_equal(random_bits.below(words[:2], 0), 0)


def test_batch_and_scalar_agree():
    def draw(key, step):
        lane = random_bits.fold(random_bits.lane_key(key), step)
        return (
            random_bits.bits(lane, 0),
            random_bits.uniform(random_bits.bits(lane, 1)),
            random_bits.below(random_bits.bits(lane, 2), 121),
        )

    keys = jax.random.split(jax.random.key(1), 33)
    batch = jax.jit(jax.vmap(draw, (0, None)))(keys, 5)
    for i in (0, 32):
        for one, many in zip(jax.jit(draw)(keys[i], 5), batch, strict=True):
            assert one == many[i]
