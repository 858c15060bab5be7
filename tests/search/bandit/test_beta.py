"""The sampler against scipy, without sampling error: quantiles through the inverse of the polynomial, and draws whose words are
a low-discrepancy (Sobol) sequence, so that tolerances are the errors of the approximation and not of the test."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

from jaxgames import random_bits
from search.bandit import beta

NORMALS = np.linspace(-5.76, 5.76, 2001)
TAILS = np.array([1e-5, 1e-4, 1e-3, 1e-2])
LARGE = [(200, 100), (1000, 3), (3, 1000), (1000, 1), (1, 1000), (5000, 5000), (60000, 100), (65535, 65535)]
SMALL = [(wins, losses) for wins in range(13) for losses in range(13)]

sample = jax.jit(beta.sample_beta)


def fit_gamma_polynomial(degrees, power=1 / 8, max_iterations=40):
    """Fits the polynomials that `beta.GAMMA_POLYNOMIAL` stores: row k, of degree degrees[k] in u, multiplies v^k.

    A least squares fit, reweighted (Lawson) towards the smallest maximum of the relative error of the tail probability, with
    5e-4 allowed at the median and exp(3/4) times more per standard deviation. The limit of large shapes, 1 + power * u, is fixed.

    Returns:
      a list of float64 arrays, lowest power first.
    """
    counts = np.unique(np.round(np.concatenate([np.arange(1, 12), np.geomspace(12, 65535, 14)])))
    shape, z = (x.ravel() for x in np.meshgrid(1 + counts / 2, np.linspace(-5.8, 5.8, 117), indexing="ij"))
    quantile = np.where(z < 0, special.gammaincinv(shape, stats.norm.cdf(z)), special.gammainccinv(shape, stats.norm.sf(z)))
    target = (quantile / shape) ** power
    slope = power * target / quantile * np.exp(stats.norm.logpdf(z) - stats.gamma.logpdf(quantile, shape))
    hazard = np.exp(stats.norm.logpdf(z) - stats.norm.logsf(np.abs(z)))
    weight = hazard / slope / (5e-4 * np.exp(0.75 * np.abs(z)))
    u, v = z / np.sqrt(shape), 1 / shape
    powers = [(k, i) for k, degree in enumerate(degrees) for i in range(degree + 1)][2:]
    columns = np.stack([v**k * u**i for k, i in powers], 1) * weight[:, None]
    wanted = (target - 1 - power * u) * weight
    scale = np.max(np.abs(columns), axis=0)
    emphasis, best_error, best = np.ones_like(z), np.inf, None
    for _ in range(max_iterations):
        root = np.sqrt(emphasis)
        coefficients = np.linalg.lstsq(columns / scale * root[:, None], wanted * root, rcond=None)[0] / scale
        error = np.abs(columns @ coefficients - wanted)
        if error.max() < best_error:
            best_error, best = error.max(), coefficients
        emphasis *= error + 1e-12
        emphasis /= emphasis.mean()
    return np.split(np.concatenate([[1, power], best]), np.cumsum(np.add(degrees, 1))[:-1])


@functools.cache
def log_gammas(count):
    """Logarithms of the float32 gamma variates at NORMALS, float64 [2001]."""
    shape = jnp.full(NORMALS.shape, 1 + count / 2, jnp.float32)
    return np.log(np.asarray(jax.jit(beta.gamma_from_normal)(shape, jnp.asarray(NORMALS, jnp.float32)), np.float64))


def beta_probabilities(wins, losses, x):
    """P(theta < x) and P(theta > x) by quadrature over the first normal variate, for wins, losses >= 1."""
    z = np.linspace(-5.7, 5.7, 401)
    weights = stats.norm.pdf(z) / stats.norm.pdf(z).sum()
    log_a = np.interp(z, NORMALS, log_gammas(wins))
    border = np.interp(log_a[:, None] - special.logit(x)[None], log_gammas(losses), NORMALS, left=-9, right=9)
    return weights @ special.ndtr(-border), weights @ special.ndtr(border)


@functools.cache
def even_words(log2_count):
    points = stats.qmc.Sobol(2, rng=np.random.default_rng(0), bits=32).random_base2(log2_count)
    return tuple(jnp.asarray(np.minimum(points.T * 2.0**32, 2.0**32 - 1).astype(np.uint32)))


def even_draws(wins, losses, log2_count=18):
    """Sorted draws float64 [n] whose empirical distribution is the sampler's own, up to about 1e-4 for 2^18 of them."""
    counts = (jnp.asarray(n, jnp.int32) for n in (wins, losses))
    return np.sort(np.asarray(sample(*even_words(log2_count), *counts), np.float64))


def exact(wins, losses):
    return stats.beta(1 + wins / 2, 1 + losses / 2)


# ---- the parts


def test_stored_polynomial_is_the_fit():
    degrees = [len(row) - 1 for row in beta.GAMMA_POLYNOMIAL]
    fitted = fit_gamma_polynomial(degrees)
    assert all(row.dtype == np.float32 for row in beta.GAMMA_POLYNOMIAL)
    shape = 1 + np.array([1, 2, 3, 5, 10, 30, 100, 1000, 65535])[:, None] / 2
    u, v = NORMALS / np.sqrt(shape), 1 / shape
    value = lambda rows: sum(v**k * np.polynomial.polynomial.polyval(u, row) for k, row in enumerate(rows))  # noqa: E731
    # In standard deviations of the normal variate, by the slope for large shapes; another LAPACK may fit a bit differently.
    assert np.max(np.abs(value(fitted) - value(beta.GAMMA_POLYNOMIAL)) / (np.sqrt(v) / 8)) < 2e-4


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 50, 100, 201, 1000, 10000, 65535])
def test_gamma_quantiles(count):
    shape, logs = 1 + count / 2, log_gammas(count)
    rising = np.diff(logs)
    # Up to rounding, which at the largest shapes is not far below the distance of neighbours in this grid.
    assert np.all(rising > -1e-5 * np.sqrt(1 / shape) - 2e-6)
    p = np.linspace(0.001, 0.999, 999)
    distance = np.abs(stats.norm.cdf(np.interp(np.log(special.gammaincinv(shape, p)), logs, NORMALS)) - p)
    assert distance.max() < 1e-4
    tails = np.append(1e-6, TAILS)
    lower = stats.norm.cdf(np.interp(np.log(special.gammaincinv(shape, tails)), logs, NORMALS))
    upper = stats.norm.sf(np.interp(np.log(special.gammainccinv(shape, tails)), logs, NORMALS))
    np.testing.assert_allclose(lower, tails, rtol=0.008)
    np.testing.assert_allclose(upper, tails, rtol=0.008)


def test_normal_pair_is_two_independent_normals():
    word1, word2 = even_words(16)
    exponential = -np.log((np.asarray(word1, np.float64) + 0.5) / 2**32)
    pair = [np.asarray(z, np.float64) for z in jax.jit(beta.normal_pair)(jnp.asarray(exponential, jnp.float32), word2)]
    np.testing.assert_allclose(pair[0] ** 2 + pair[1] ** 2, 2 * exponential, rtol=2e-6, atol=1e-6)
    for z in (pair[0], pair[1], (pair[0] + pair[1]) / np.sqrt(2)):
        assert stats.kstest(z, "norm").statistic < 5e-4
    for first, second in [(0, 0), (1, 1), (2, 0), (0, 2), (2, 2), (1, 3)]:
        moment = np.mean(pair[0] ** first * pair[1] ** second)
        product = np.prod([0 if k % 2 else special.factorial2(k - 1) if k else 1 for k in (first, second)])
        assert abs(moment - product) < 3e-3


# ---- the distribution


def largest_distance(counts):
    p = np.linspace(0.004, 0.996, 249)
    theta = even_draws(*counts)
    return np.max(np.abs(np.searchsorted(theta, exact(*counts).ppf(p)) / len(theta) - p))


@pytest.mark.slow
def test_distribution_function_for_all_small_counts():
    assert max(largest_distance(counts) for counts in SMALL) < 3e-4


@pytest.mark.parametrize("counts", [(0, 1000), (1000, 0), *LARGE])
def test_distribution_function_for_large_counts(counts):
    assert largest_distance(counts) < 3e-4


@pytest.mark.parametrize("counts", [(0, 65535), (65535, 0)])
def test_distribution_function_where_float32_is_coarse(counts):
    # All of it lies within a few 3e-5 of 0 or 1, where 1 - power has steps of 6e-8.
    assert largest_distance(counts) < 1e-3


def test_distribution_function_and_tails_by_quadrature():
    p = np.linspace(0.01, 0.99, 99)
    for counts in [c for c in SMALL if min(c) > 0 and (sum(c) < 8 or sum(c) % 4 == 0)] + LARGE:
        posterior = exact(*counts)
        assert np.max(np.abs(beta_probabilities(*counts, posterior.ppf(p))[0] - p)) < 1.5e-4
        np.testing.assert_allclose(beta_probabilities(*counts, posterior.ppf(TAILS))[0], TAILS, rtol=0.006)
        np.testing.assert_allclose(beta_probabilities(*counts, posterior.isf(TAILS))[1], TAILS, rtol=0.006)


@jax.jit
def _lane(number):
    return random_bits.fold(random_bits.LaneKey(jnp.uint32(1), jnp.uint32(2)), number)


@jax.jit
def _draws(lane, first, wins, losses):
    counter = first + jnp.arange(0, 1 << 20, 1) * 2
    return beta.sample_beta(random_bits.bits(lane, counter), random_bits.bits(lane, counter + 1), wins, losses)


@pytest.mark.parametrize(
    "counts", [(0, 0), (3, 12), *(pytest.param(counts, marks=pytest.mark.slow) for counts in ((7, 0), (0, 7), (1, 1), (300, 5)))]
)
def test_tails_of_draws_from_the_generator(counts):
    """End to end with random words: 4 million draws, five standard deviations of the count beyond each quantile."""
    n = 1 << 22
    lane = _lane(np.int32(100 * counts[0] + counts[1]))
    theta = np.concatenate(
        [np.asarray(_draws(lane, np.int32(first), *map(np.int32, counts))) for first in range(0, 2 * n, 1 << 21)]
    )
    assert theta.min() >= 0 and theta.max() <= 1
    below = [np.count_nonzero(theta < exact(*counts).ppf(tail)) for tail in TAILS]
    above = [np.count_nonzero(theta > exact(*counts).isf(tail)) for tail in TAILS]
    for found in (below, above):
        assert np.all(np.abs(found - n * TAILS) < 5 * np.sqrt(n * TAILS) + 0.004 * n * TAILS)


@pytest.mark.parametrize(
    "one, other",
    [
        ((0, 0), (0, 0)),
        ((0, 0), (1, 1)),
        ((1, 0), (0, 1)),
        ((2, 0), (0, 1)),
        ((3, 1), (2, 2)),
        ((0, 6), (1, 0)),
        ((10, 9), (0, 0)),
        ((12, 1), (30, 3)),
        ((200, 100), (190, 110)),
        ((200, 100), (1, 0)),
        ((1000, 3), (1000, 6)),
        ((5000, 5000), (4, 4)),
    ],
)
def test_which_of_two_arms_is_ahead(one, other):
    p = (np.arange(20000) + 0.5) / 20000
    expected = np.mean(exact(*other).cdf(exact(*one).ppf(p)))
    theirs, mine = even_draws(*other), even_draws(*one)
    ahead = (np.searchsorted(theirs, mine, "left") + np.searchsorted(theirs, mine, "right")).mean() / 2 / len(theirs)
    assert abs(ahead - expected) < 1e-4


# ---- use


def test_extreme_words_stay_in_range():
    edge = np.array([0, 1, 255, 256, 1 << 31, (1 << 31) - 1, 0xFFFFFFFF, 0x7FFFFF00, 0xFFFFFE00], np.uint32)
    counts = np.array([0, 1, 2, 3, 100, 65535])
    theta = np.asarray(sample(*(jnp.asarray(x) for x in np.ix_(edge, edge, counts, counts))))
    assert theta.shape == (9, 9, 6, 6) and theta.dtype == np.float32
    assert np.all(np.isfinite(theta)) and theta.min() >= 0 and theta.max() <= 1
    shape = 1 + counts[:, None] / 2
    gammas = np.asarray(jax.jit(beta.gamma_from_normal)(shape[1:].astype(np.float32), NORMALS.astype(np.float32)))
    assert gammas.min() > 0


def test_no_wins_or_no_losses_is_a_power_of_the_first_word():
    word = jnp.asarray(np.random.default_rng(0).integers(0, 1 << 32, 1000, np.uint32))
    u = np.asarray(random_bits.uniform(word), np.float64)
    for count in (0, 1, 9, 400):
        power = u ** (1 / (1 + count / 2))
        none, some = jnp.int32(0), jnp.int32(count)
        np.testing.assert_allclose(sample(word, word, none, some), 1 - power, atol=2e-7)
        if count:
            np.testing.assert_allclose(sample(word, word, some, none), power, atol=2e-7)


@pytest.mark.parametrize("dtype", [np.uint16, pytest.param(np.int32, marks=pytest.mark.slow)])
def test_batch_size_and_count_type_do_not_matter(dtype):
    source = np.random.default_rng(5)
    words = source.integers(0, 1 << 32, (2, 1000), np.uint32)
    counts = source.integers(0, 2, (2, 1000)) * source.integers(0, 60, (2, 1000))
    whole = np.asarray(sample(*words, *counts.astype(np.int32)))
    for size in (1, 37):
        part = sample(*words[:, :size], *counts[:, :size].astype(dtype))
        np.testing.assert_array_equal(part, whole[:size])
    mapped = jax.jit(jax.vmap(jax.vmap(beta.sample_beta)))(*(x.reshape(8, 125) for x in (*words, *counts.astype(dtype))))
    np.testing.assert_array_equal(np.asarray(mapped).ravel(), whole)
    one = sample(*words[:, 0], *counts[:, 0].astype(dtype))
    assert one.shape == () and one == whole[0]


def test_posterior_mean():
    wins, losses = np.array([0, 0, 1, 7, 65535, 65535]), np.array([0, 1, 0, 7, 65535, 0])
    expected = (1 + wins / 2) / (2 + (wins + losses) / 2)
    for dtype in (np.uint16, np.int32):
        mean = jax.jit(beta.posterior_mean)(wins.astype(dtype), losses.astype(dtype))
        assert mean.dtype == jnp.float32
        np.testing.assert_array_equal(mean, expected.astype(np.float32))
    # Arms with equal means tie exactly: here 3/4 in many ways.
    many = np.arange(0, 20000)
    assert np.all(np.asarray(beta.posterior_mean(jnp.asarray(3 * many + 1), jnp.asarray(many - 1))[1:]) == 0.75)
