"""Flat Monte Carlo search against the plain reference."""

import dataclasses

import jax
import numpy as np
import pytest

from search import mcs, presets
from tests.search.reference import assert_like_reference, compiled, make
from tests.tug import PULL, Tug, states_of

GAME = Tug(slips=True)
SIZE = {"num_simulations": 16, "horizon": 6}


def keys_of(seed, count=4):
    return jax.random.split(jax.random.key(seed), count)


@pytest.mark.parametrize("bandit", ["ts", *(pytest.param(bandit, marks=pytest.mark.slow) for bandit in ("ucb", "uniform"))])
def test_like_reference(bandit):
    assert_like_reference(GAME, "mcs", bandit, states_of(GAME, [0, 1, 0, -1]), moves=3, **SIZE)


@pytest.mark.slow
def test_waves_like_reference():
    assert_like_reference(GAME, "mcs", "ts", states_of(GAME, [0, 1, 0, -1]), moves=3, leaf_parallelism=4, **SIZE)


def test_nothing_is_remembered():
    planner, states, keys = make(GAME, "mcs", **SIZE), states_of(GAME, [0, 1, 0, -1]), keys_of(0)
    active = np.array([True, True, False, True])
    plan, memory = compiled(planner)(keys, planner.init(4), states, active)
    np.testing.assert_array_equal(plan.visit_counts[active].sum(-1), 16)
    np.testing.assert_array_equal(plan.metrics["met"][active, 0], 16)
    again, _ = compiled(planner)(keys, memory, states, active)
    jax.tree.map(np.testing.assert_array_equal, plan, again)


def test_a_lane_does_not_depend_on_the_others():
    """Nor does it where a neighbour's game is over, or nobody asks for its plan."""
    planner, states, keys = make(GAME, "mcs", **SIZE), states_of(GAME, [0, 1, 0, -1]), keys_of(0)
    plan, _ = compiled(planner)(keys, planner.init(4), states, np.ones(4, bool))
    order = np.array([2, 0, 3, 1])
    ended = dataclasses.replace(states, terminated=np.arange(4) == 1)
    turned, active = jax.tree.map(lambda leaf: np.asarray(leaf)[order], ended), np.array([True, True, False, True])
    again, _ = compiled(planner)(keys[order], planner.init(4), turned, active)
    for place in (0, 1):  # the other two are over, or do not ask
        one, other = (jax.tree.map(lambda leaf, lane=lane: leaf[lane], p) for p, lane in ((plan, order[place]), (again, place)))
        jax.tree.map(np.testing.assert_array_equal, one, other)


class InGroups(Tug):
    """The first two arms of a player are one group, the third is one of its own."""

    arm_groups = (0, 0, 1)


def test_groups_of_arms_are_chosen_first():
    planner = make(InGroups(), "mcs", "uniform", num_simulations=400, horizon=1, grouped=True)
    plan, _ = compiled(planner)(keys_of(0), planner.init(4), states_of(GAME, [0, 1, 0, -1]), np.ones(4, bool))
    free = plan.legal.all(-1)
    shares = plan.visit_counts[free] / 400
    np.testing.assert_allclose(shares, np.tile([0.25, 0.25, 0.5], (len(shares), 1)), atol=0.08)
    assert free.sum() == 4 and (plan.visit_counts[~plan.legal] == 0).all()
    with pytest.raises(ValueError, match="grouped=True: tug has no groups of arms"):
        presets.by_name(GAME, "mcs", grouped=True)


def test_nothing_to_plan():
    planner, states = make(GAME, "mcs", **SIZE), states_of(GAME, [0, 1, 0, -1])
    ended = dataclasses.replace(states, token=np.array([2, -2, 0, 2], np.int32), terminated=np.ones(4, bool))
    for views, active in ((states, np.zeros(4, bool)), (ended, np.ones(4, bool))):
        plan, _ = compiled(planner)(keys_of(1), planner.init(4), views, active)
        jax.tree.map(lambda leaf: np.testing.assert_array_equal(np.isfinite(leaf), True), plan)
        assert ((plan.actions >= 0) & (plan.actions < 3)).all()
        assert plan.visit_counts.sum() == 0


@pytest.mark.slow
@pytest.mark.parametrize("bandit", ["ts", "ucb"])
def test_finds_the_dominant_action(bandit):
    planner = make(GAME, "mcs", bandit, num_simulations=1600, horizon=8)
    plan, _ = compiled(planner)(keys_of(0, 16), planner.init(16), states_of(GAME, [0, 1] * 8), np.ones(16, bool))
    np.testing.assert_array_equal(plan.actions, PULL)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_simulations": 0}, "num_simulations=0: must be >= 1"),
        ({"horizon": 0}, "horizon=0: must be"),
        ({"leaf_parallelism": 3}, "leaf_parallelism=3: must divide num_simulations=100"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        presets.by_name(GAME, "mcs", **settings)


@pytest.mark.parametrize("size", ["table_rows", "table_bytes"])
def test_it_takes_no_size_of_a_table(size):
    with pytest.raises(ValueError, match=f"^{size}=4096: must be left out, a flat search has no table$"):
        mcs(GAME, **{size: 4096})


def test_name():
    assert mcs(GAME).name == "MCS + TS"
