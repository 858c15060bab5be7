"""The first of the highest scores, as `argmax` has it, whatever way finds it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from search.reductions import first_highest, picked


@pytest.mark.parametrize("count", [1, 2, 8, 9, 16, 96, 122, 257])
def test_the_first_of_equals(count):
    scores = np.random.default_rng(count).integers(0, 4, (64, 3, count)).astype(np.float32)  # many are equal
    scores[0] = -np.inf
    scores[1, :, count // 2 :] = -np.inf
    number, highest = jax.jit(first_highest)(scores)
    assert number.dtype == jnp.int32
    np.testing.assert_array_equal(number, scores.argmax(-1))
    np.testing.assert_array_equal(highest, scores.max(-1))


@pytest.mark.parametrize("count", [6, 40, 257])
def test_scores_that_are_worked_out_on_the_way(count):
    """The best is compared with scores that may be worked out a second time: these must be the same bits."""
    words = np.random.default_rng(count).random((512, count), np.float32)

    @jax.jit
    def both(words):
        scores = jnp.exp(3 * words) * 1.7 + jnp.sqrt(words) / (words + 0.3)
        scores = jnp.where(np.arange(count) == count - 1, -jnp.inf, scores)
        return first_highest(scores), scores

    (number, highest), scores = jax.device_get(both(words))
    np.testing.assert_array_equal(number, scores.argmax(-1))
    np.testing.assert_array_equal(highest, scores.max(-1))


@pytest.mark.parametrize("kind", [np.float32, np.int8, np.uint32, bool])
def test_entries_are_picked_per_lane(kind):
    rows = (np.random.default_rng(0).random((5, 3, 2)) * 99.5).astype(kind)
    rows[0, 0, 0] = kind(2**32 - 1) if kind is np.uint32 else kind(0.5)
    places = np.array([[0, 2], [1, 1], [2, 0], [-1, 3], [0, 1]])
    found = picked(jnp.asarray(rows), jnp.asarray(places))
    should = np.stack([rows[lane][np.clip(place, 0, 2)] for lane, place in enumerate(places)])
    should[3] = 0  # out of range
    assert found.dtype == kind
    np.testing.assert_array_equal(found, should)
