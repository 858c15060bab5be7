"""What searches by bandits do in other ways on accelerators: loops of known length, no branches. The plans are the same."""

import functools

import jax
import numpy as np
import pytest

from jaxgames.platforms import for_all_platforms
from search.bandit import choices
from tests.search.reference import make
from tests.tug import Tug, states_of

FEW_STEPS = Tug(slips=True, max_steps=4)  # some simulations end before their horizon
TOKENS = (0, 1, 0, -1)
MOVES = 2


def played(planner, states):
    """Plans several times in the same states, remembering what was learnt."""
    plan_in = jax.jit(functools.partial(planner.plan))  # compiled anew for each way
    memory, plans = planner.init(len(TOKENS)), []
    seats, active = np.zeros(len(TOKENS), np.int32), np.array([True, True, False, True])
    for move in range(MOVES):
        plan, memory = plan_in(None, jax.random.split(jax.random.key(move), len(TOKENS)), memory, states, seats, active)
        plans.append(plan)
    return jax.tree.map(np.asarray, (plans, memory))


@pytest.mark.parametrize(
    ("kind", "sizes"),
    [
        ("fdts", {"table_rows": 4, "leaf_parallelism": 4}),
        *(  # walks are those of fdts, over fewer levels
            pytest.param(name, {"table_rows": 16}, marks=pytest.mark.slow) for name in ("mcts", "mcts_no_rollout")
        ),
        pytest.param("mcs", {}, marks=pytest.mark.slow),
    ],
)
def test_the_same_plans(monkeypatch, kind, sizes):
    planner = make(FEW_STEPS, kind, num_simulations=16, horizon=6, **sizes)
    states = states_of(FEW_STEPS, TOKENS)
    ours = played(planner, states)
    monkeypatch.setattr(choices, "by_platform", lambda *arguments, cpu, default: default(*arguments))
    with for_all_platforms():
        theirs = played(planner, states)
    jax.tree.map(np.testing.assert_array_equal, theirs, ours)
    assert ours[0][0].visit_counts[0].sum() > 0
