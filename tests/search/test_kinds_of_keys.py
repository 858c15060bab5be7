"""Planners do the same whatever kind of keys JAX makes by default."""

import functools

import jax
import numpy as np
import pytest

from tests.search.reference import make
from tests.tug import Tug, states_of

GAME = Tug(slips=True, max_steps=4)
TOKENS = (0, 1, -1)


def plan(planner, keys):
    """One plan, compiled anew."""
    lanes = len(TOKENS)
    ask = jax.jit(functools.partial(planner.plan))
    return ask(None, keys, planner.init(lanes), states_of(GAME, TOKENS), np.zeros(lanes, np.int32), np.ones(lanes, bool))[0]


@pytest.mark.parametrize(
    ("kind", "sizes"), [("mcs", {"num_simulations": 4}), pytest.param("fdts", {"table_rows": 16}, marks=pytest.mark.slow)]
)
def test_another_default(kind, sizes):
    planner = make(GAME, kind, **{"num_simulations": 16, "horizon": 4} | sizes)
    keys = jax.random.split(jax.random.key(0, impl="threefry2x32"), len(TOKENS))
    expected = plan(planner, keys)
    with jax.default_prng_impl("rbg"):
        jax.tree.map(np.testing.assert_array_equal, plan(planner, jax.random.key_data(keys)), expected)
