"""What a search makes of a network's answers: finite numbers, and noise."""

import math

import jax
import numpy as np
import pytest

from search.puct.answers import priors_of, sound_values, with_noise

NAN, INF = math.nan, math.inf
LEGAL = np.array([True, True, True, False])
PRIOR = np.array([0.5, 0.3, 0.2, 0.0], np.float32)


def test_values_are_finite():
    assert jax.jit(sound_values)(np.array([0.5, NAN, INF, -INF], np.float32)).tolist() == [0.5, 0, 1, -1]


@pytest.mark.parametrize("temperature", [1.0, 1e-38, 1e-60])
def test_priors_are_a_policy_over_legal_arms_whatever_the_logits_are(temperature):
    rows = [
        ([NAN, NAN, NAN, 0], [1, 1, 1]),
        ([-INF, -INF, -INF, 9], [1, 1, 1]),
        ([NAN, 2, 2, NAN], [0, 1, 1]),
        ([-INF, NAN, -300, INF], [0, 0, 1]),
        ([INF, 3e38, 1, 0], [1, 1, 0] if temperature < 1 else [1, 0, 0]),
        ([0.1, 0.3, 0.2, 5], [0, 1, 0] if temperature < 1 else np.exp([0.1, 0.3, 0.2])),
    ]
    logits, expected = (np.array(part, np.float32) for part in zip(*rows, strict=True))
    found = np.asarray(jax.jit(lambda logits: priors_of(logits, LEGAL, temperature))(logits))
    np.testing.assert_allclose(found[:, :3], expected / expected.sum(-1, keepdims=True), rtol=1e-5, atol=1e-20)
    assert (found[:, :3] > 0).all() and not found[:, 3].any(), "0 says illegal"


FRACTION, LANES = 0.25, 4000
NOISY = jax.jit(lambda keys, alpha: with_noise(keys, np.tile(PRIOR, (LANES, 1)), FRACTION, alpha))


@pytest.mark.parametrize("alpha", [1.0, 0.3, 0.01, 0.001, 1e-60])
def test_noise_is_a_dirichlet_distribution_over_legal_arms(alpha):
    """By its mean, the mean of its squares, and how often the greatest share is more than 0.9, as numpy draws it."""
    found = np.asarray(NOISY(jax.random.split(jax.random.key(3), LANES), alpha))
    np.testing.assert_allclose(found.sum(-1), 1, rtol=1e-5)
    assert not found[:, 3].any()
    noise = (found - (1 - FRACTION) * PRIOR)[:, :3] / FRACTION
    np.testing.assert_allclose(noise.mean(0), 1 / 3, atol=0.03)
    np.testing.assert_allclose(np.square(noise).mean(0), (alpha + 1) / (3 * (3 * alpha + 1)), atol=0.03)
    if alpha >= 0.3:
        drawn = np.random.default_rng(0).dirichlet(np.full(3, alpha), LANES)
        np.testing.assert_allclose(*((part.max(-1) > 0.9).mean() for part in (noise, drawn)), atol=0.04)
    else:
        assert (noise.max(-1) > 0.9).mean() > 0.95
