"""MCTS, with and without random play after the new state, against the plain reference."""

import jax
import numpy as np
import pytest

from search import mcts
from tests.search.reference import assert_like_reference, compiled, make
from tests.tug import PULL, Tug, states_of

CYCLES = Tug(slips=True)  # three states that come back all the time, and chance
MANY = Tug(marks=10**6, slips=True, max_steps=40, length=3)  # hardly a state comes back
SIZE = {"num_simulations": 16, "horizon": 6}
KINDS = ("mcts", "mcts_no_rollout")


def keys_of(seed, count=4):
    return jax.random.split(jax.random.key(seed), count)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bandit", ["ts", "ucb"])
def test_like_reference(kind, bandit):
    assert_like_reference(CYCLES, kind, bandit, states_of(CYCLES, [0, 1, 0, -1]), moves=4, **SIZE)


@pytest.mark.parametrize("kind", KINDS)
def test_like_reference_where_no_state_comes_back(kind):
    assert_like_reference(MANY, kind, "ts", states_of(MANY, [0, 2, -1, 0]), moves=2, **SIZE)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_waves_like_reference(kind):
    assert_like_reference(CYCLES, kind, "ts", states_of(CYCLES, [0, 1, 0, -1]), moves=3, leaf_parallelism=4, **SIZE)


@pytest.mark.parametrize("kind", KINDS)
def test_one_new_state_per_simulation(kind):
    planner = make(MANY, kind, **SIZE)
    plan, _ = compiled(planner)(keys_of(0), planner.init(4), states_of(MANY, [0, 0, 1, -1]), np.ones(4, bool))
    np.testing.assert_array_equal(plan.visit_counts.sum(-1), 16)
    stored = np.asarray(plan.metrics["stored"])
    assert ((stored > 5) & (stored <= 17)).all()  # the root, and one each but for simulations that end before they find one
    met, known = np.asarray(plan.metrics["met"]), np.asarray(plan.metrics["known"])
    assert (known <= met).all()
    if kind == "mcts":  # plays on to the horizon: only ended games are shorter
        assert (met[:, 1:].sum(1) > 2 * stored).all()
    else:  # stops where it finds something new
        np.testing.assert_array_equal((met - known).sum(1), stored)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_finds_the_dominant_action(kind):
    planner = make(CYCLES, kind, num_simulations=400, horizon=8)
    plan, _ = compiled(planner)(keys_of(0, 16), planner.init(16), states_of(CYCLES, [0, 1] * 8), np.ones(16, bool))
    np.testing.assert_array_equal(plan.actions, PULL)


def test_names():
    assert mcts(CYCLES).name == "MCTS + TS"
    assert mcts(CYCLES, rollout=False).name == "MCTS (no rollouts) + TS"
