"""What a planner thinks of the actions of a state, gathered from several searches."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from search.appraisal import appraise
from search.planner import Plan, memoryless


def planner(**about):
    """Offers actions 7, 3, 7 and 9 to the second player; 9 is not legal, and 3 is never tried in the second search."""

    def plan(params, keys, memory, views, seats, active):
        lanes = keys.shape[0]
        arms = jnp.tile(jnp.array([[0, 0, 0, 0], [7, 3, 7, 9]]), (lanes, 1, 1))
        visits = jnp.tile(jnp.array([[1, 1, 1, 1], [1, 2, 3, 5]]), (lanes, 1, 1)).at[1, 1, 1].set(0)
        values = jnp.tile(jnp.array([[0.0] * 4, [-1.0, 0.5, 1.0, 1.0]]), (lanes, 1, 1))
        none = jnp.zeros((lanes, 2))
        return Plan(none, arms, arms != 9, values, visits, values, none, {}), memory

    return memoryless("made up", plan, sees_state=True)._replace(**about)


def test_values_are_weighed_by_visits():
    found = appraise(planner(), None, jax.random.key(0), {"state": np.zeros(3)}, 1, searches=2)
    assert found.actions.tolist() == [3, 7] and found.visits.tolist() == [2, 8]
    assert found.values.tolist() == [0.75, 0.75]  # 0.5 of -1..1; a quarter of the visits of 7 found -1, the others 1
    with pytest.raises(ValueError, match="planner='made up': sees only what a seat knows"):
        appraise(planner(sees_state=False), None, jax.random.key(0), (), 0)


def test_a_planner_is_compiled_once_for_many_states():
    traced, inner = [], planner().plan

    def plan(*asked):
        traced.append(asked)
        return inner(*asked)

    counting = planner(plan=plan)
    for number in range(3):
        appraise(counting, None, jax.random.key(number), {"state": np.full(3, number)}, 1)
    assert len(traced) == 1


@pytest.mark.parametrize("seat", [9, 2, -1])
def test_no_such_seat(seat):
    with pytest.raises(ValueError, match=rf"^seat={seat}: must be in 0\.\.1"):
        appraise(planner(), None, jax.random.key(0), {"state": np.zeros(3)}, seat)
