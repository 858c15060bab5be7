"""How visits become a policy, and a policy an action."""

import jax
import numpy as np
import pytest

from search.puct.action_selection import corrected_visits, draw_arm, without_lost
from tests.emitters import NEWER_EMITTERS

BATCH = 6


def test_corrections_by_q():
    visits, values = np.array([[10.0, 3.0, 5.0]], np.float32), np.array([[0.0, 0.5, 0.1]], np.float32)
    once = np.array([[10.0, 1.0, 5.0]], np.float32)  # a single visit says too little
    cases = [(visits, 0.4, 0.0), (visits, 0.6, 1.0), (visits, 0.4, 1.0), (once, 0.4, 0.0)]
    swapped, added, one_or_the_other, unchanged = jax.jit(
        lambda: [corrected_visits(counts, values, q_veto=veto, q_weight=weight) for counts, veto, weight in cases],
        compiler_options=NEWER_EMITTERS,
    )()
    assert swapped.tolist() == one_or_the_other.tolist() == [[3, 10, 5]]
    assert np.allclose(added, [[10, 3, 5 + 0.1 * 10]]) and unchanged.tolist() == once.tolist()


def test_no_arm_is_swapped_in_place_of_the_best():
    """Where the best of all has a single visit, the next one gets what is for the second most visited, no more."""
    visits, values = (np.array(rows, np.float32) for rows in ([[10, 1, 2], [10, 0, 2]], [[0.0, 0.9, 0.5], [0.0, 0.9, 0.5]]))
    swapped, added = jax.jit(lambda *given: [corrected_visits(*given, 0.4, weight) for weight in (0.0, 1.0)])(visits, values)
    assert swapped.tolist() == [[10, 1, 2], [2, 0, 10]]  # what was not tried is not the best
    assert np.allclose(added, [[10, 1, 2 + 0.5 * 10], [2, 0, 10]])


def test_where_all_that_was_visited_is_lost_the_arm_that_would_be_tried_next_counts():
    visits = np.array([[3, 4, 0, 0], [3, 4, 0, 0], [3, 4, 0, 0], [0, 4, 0, 0]], np.float32)
    values = np.array([[-0.5, 0.2, -1, -1]] * 4, np.float32)
    lost = np.array([[True, True, False, False], [True, False, False, False], [True, True, False, False], [False] * 4])
    untried = np.array([[0, 0, 0.1, 0.2], [0, 0, 0.1, 0.2], [0] * 4, [0.4, 0, 0.1, 0]], np.float32)
    found = jax.jit(without_lost)(visits, values, lost, untried)
    assert found[0].tolist() == [[0, 0, 0, 1], [0, 4, 0, 0], [3, 4, 0, 0], [0, 4, 0, 0]]
    np.testing.assert_allclose(found[1], [[-1, -1, -1, -1], [-1, 0.2, -1, -1], values[2], values[3]])
    weights = jax.jit(lambda *given: corrected_visits(*given, q_veto=0.4, q_weight=1.0))(*found)
    assert weights[0].tolist() == [0, 0, 0, 1], "nothing is taken from it where visits are corrected"


@pytest.mark.parametrize("temperature", [1e-6, 1e-39, 1e-60])
def test_low_temperatures_draw_the_most_likely_arm(temperature):
    policy = np.tile(np.array([0.0, 0.2, 0.5, 0.3], np.float32), (BATCH, 1))
    drawn = jax.jit(draw_arm, static_argnums=2)(jax.random.split(jax.random.key(0), BATCH), policy, temperature)
    assert (np.asarray(drawn) == 2).all()
