"""How what was found in each drawn world becomes one policy: against plain numpy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from search.puct import worlds
from search.puct.worlds import Worlds

LANES, WORLDS, CELLS = 4, 3, 9

combine = jax.jit(worlds.combine, static_argnums=0)


def test_the_mean_the_medoid_and_the_sum_of_results():
    random = np.random.default_rng(3)
    policies = random.dirichlet(np.ones(CELLS), (LANES, WORLDS)).astype(np.float32)
    results = np.where(random.random((LANES, WORLDS, CELLS)) < 0.3, -1, random.uniform(-1, 1, (LANES, WORLDS, CELLS)))
    mean = policies.mean(1)
    nearest = [
        min(lane, key=lambda world, m=middle: np.abs(world - m).sum()) for lane, middle in zip(policies, mean, strict=True)
    ]

    def combined(**settings):
        every = np.ones(policies.shape[::2], bool)
        return combine(Worlds(num_worlds=WORLDS, **settings), policies, results.astype(np.float32), every)

    np.testing.assert_allclose(combined(), mean, rtol=1e-5)
    np.testing.assert_allclose(combined(combine="medoid"), nearest, rtol=1e-5)
    np.testing.assert_array_equal(combined(combine="value"), np.eye(CELLS)[results.sum(1).argmax(-1)])
    soft = np.exp(results.mean(1) / 0.2)
    np.testing.assert_allclose(combined(combine="value", value_temperature=0.2), soft / soft.sum(-1, keepdims=True), rtol=1e-4)


@pytest.mark.parametrize("temperature", [1e-6, 1e-39, 1e-60])
def test_low_temperatures_choose_the_best(temperature):
    results = np.zeros((1, WORLDS, 4), np.float32) + np.array([0.5, -0.25, 0.75, 1.0], np.float32)
    worlds = Worlds(combine="value", num_worlds=WORLDS, value_temperature=temperature)
    found = combine(worlds, np.zeros_like(results), results, np.array([[True, True, True, False]]))
    np.testing.assert_array_equal(found, [[0, 0, 1, 0]])


@pytest.mark.parametrize("name", ["value_temperature", "temperature"])
@pytest.mark.parametrize("given", [np.inf, np.nan, -1.0])
def test_temperatures_that_are_no_numbers(name, given):
    limit = "finite and >= 0" if given != -1 else ">= 0"
    with pytest.raises(ValueError, match=f"^{name}={given}: must be {limit}$"):
        Worlds(combine="value", **{name: given})


@pytest.mark.parametrize(
    "way", [{"combine": "policy"}, {"combine": "medoid"}, {"combine": "value"}, {"combine": "value", "value_temperature": 0.1}]
)
def test_where_everything_loses_a_legal_arm_is_chosen(way):
    """Arms that are not legal have the lowest result too, and worlds that are over have no policy."""
    legal = np.array([[False, False, True, False, True], [False] * 4 + [True], [True] * 5, [False] * 5])
    policies, results = jnp.zeros((4, WORLDS, 5)), jnp.full((4, WORLDS, 5), -1.0)
    found = np.asarray(combine(Worlds(num_worlds=WORLDS, **way), policies, results, legal))
    assert not found[~legal].any()
    np.testing.assert_allclose(found.sum(-1), [1, 1, 1, 0], rtol=1e-6)
