"""Plans of games that are over: everybody passes, and what a state is worth is its outcome."""

import dataclasses

import jax
import numpy as np
import pytest

import search
from search.turns import action_sequences, greedy
from tests.hoard import Hoard
from tests.tug import Tug, states_of

TUG, HOARD = Tug(), Hoard()
SIZES = {"num_simulations": 4, "horizon": 3}
STRINGS = action_sequences.Settings(num_simulations=4, horizon=3, population=4)
PLANNERS = {
    "FDTS + TS": search.fdts(TUG, table_rows=16, **SIZES),
    "MCS + UCB": search.mcs(TUG, search.ucb1(), **SIZES),
    "Rolling Horizon": action_sequences.rolling_horizon_strings(TUG, STRINGS),
    "OEP": action_sequences.oep_strings(TUG, STRINGS),
}


def planned(planner, states):
    count = len(states.terminated)
    asked = (
        jax.random.split(jax.random.key(0), count),
        planner.init(count),
        states,
        np.zeros(count, np.int32),
        np.ones(count, bool),
    )
    return jax.device_get(jax.jit(planner.plan)(None, *asked)[0])


@pytest.mark.parametrize("name", PLANNERS)
def test_all_at_once(name):
    states = dataclasses.replace(states_of(TUG, [TUG.length, -TUG.length, 0]), terminated=np.array([True, True, False]))
    planner, outcome = PLANNERS[name], np.asarray(jax.vmap(TUG.outcome)(states))[:2]
    plan, (lost, won) = planned(planner, states), planner.value_range
    assert (plan.actions[:2] == TUG.pass_action).all()
    np.testing.assert_array_equal(plan.root_value[:2], np.where(outcome > 0, won, lost))
    assert (outcome[0] == -outcome[1]).all() and abs(plan.root_value[2]).max() < 1


def test_turns_of_many_actions():
    states = jax.vmap(HOARD.init)(jax.random.split(jax.random.key(0), 3))
    states = dataclasses.replace(states, terminated=np.array([True, True, True]))
    plan, outcome = planned(greedy.greedy_action(HOARD), states), np.asarray(jax.vmap(HOARD.outcome)(states))
    assert (plan.actions == HOARD.pass_action).all()
    np.testing.assert_array_equal(plan.root_value, outcome)
