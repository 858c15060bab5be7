"""The first of the highest scores, as `argmax` has it, whatever way finds it."""

import jax.numpy as jnp
import numpy as np
import pytest

from search.reductions import first_highest


@pytest.mark.parametrize("count", [1, 2, 8, 9, 257])
def test_the_first_of_equals(count):
    scores = np.random.default_rng(count).integers(0, 4, (64, 3, count)).astype(np.float32)  # many are equal
    scores[0] = -np.inf
    scores[1, :, count // 2 :] = -np.inf
    number, highest = first_highest(jnp.asarray(scores))
    assert number.dtype == jnp.int32
    np.testing.assert_array_equal(number, scores.argmax(-1))
    np.testing.assert_array_equal(highest, scores.max(-1))
