"""Several walks at once: against a slow search in the same waves."""

import functools

import numpy as np
import pytest

from search.puct import tree as puct_tree
from tests.jaxgames.hex.playing import at
from tests.search import puct_reference
from tests.search.puct.guided_hex import BATCH, STEP, ZERO, open_node, own, positions, search, words_of

WAVES = {"num_simulations": 43, "leaf_parallelism": 8, "prior_temperature": 5.0}


@pytest.mark.parametrize("first_play_urgency", [pytest.param(-1.0, marks=pytest.mark.slow), None])
def test_walks_at_once_equal_those_of_a_slow_search(first_play_urgency):
    """43 simulations are five waves of eight, and one of three. Priors are flattened."""
    states = positions(4)
    plan, memory = search(states, first_play_urgency=first_play_urgency, **WAVES)
    lost = []
    for lane in range(BATCH):
        visits, values, missed = puct_reference.search_in_waves(
            functools.partial(open_node, prior_temperature=WAVES["prior_temperature"]),
            lambda s, arm: STEP(s, np.int32(arm)),
            at(states, lane),
            WAVES["num_simulations"],
            WAVES["leaf_parallelism"],
            first_play_urgency=first_play_urgency,
        )
        assert own(plan.visit_counts, states)[lane].tolist() == visits.tolist()
        assert np.allclose(own(plan.qvalues, states)[lane][visits > 0], values[visits > 0], atol=1e-4)
        assert visits.sum() == 43 - missed and plan.metrics["lost"][lane] == missed
        lost.append(missed)
    assert max(lost) > 0, "a walk that meets a node on its way is lost"
    counted = np.asarray(memory.numbers)[:, puct_tree.VISITS, 0]
    assert counted.max() <= 44, "nothing stays on its way"


@pytest.mark.slow  # to compile
def test_of_equal_priors_the_arms_of_lower_numbers_come_first():
    """Nobody wins so early, so all arms are visited in turn."""
    states = positions(0)
    plan, _ = search(states, params=ZERO, first_play_urgency=None, **WAVES)
    assert own(plan.visit_counts, states).tolist() == [[5] * 7 + [4] * 2] * BATCH


@pytest.mark.slow
def test_walks_at_once_prove_wins_too():
    states = positions(4)
    certain = []
    for count in (1, 4):
        _, memory = search(states, mcts_solver=True, num_simulations=400, leaf_parallelism=count)
        certain.append(words_of(memory)[:, puct_tree.ROOT, puct_tree.PROVEN, 0])
    assert (certain[0] == 1).any() and np.array_equal(*certain)
