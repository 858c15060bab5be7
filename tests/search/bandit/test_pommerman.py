"""The planners on Pommerman: mid-game positions of recorded games, against the plain reference."""

import jax
import numpy as np
import pytest

import jaxgames
from jaxgames.pommerman import interop
from search import presets
from tests.processes import ROOT
from tests.search.reference import assert_like_reference, compiled, make

GAME = jaxgames.make("pommerman")
SIZE = {"num_simulations": 12, "horizon": 8}


@pytest.fixture(scope="module")
def positions():
    """Three positions with bombs and at least three living agents, and one in which an agent is dead."""
    with np.load(ROOT / "tests" / "data" / "pommerman" / "ffa_simple.npz") as recording:
        arrays = {name: recording[name] for name in interop.STATE_FIELDS}
    alive = arrays["s_agents"][:, :, 2].sum(1)
    busy = np.flatnonzero((arrays["s_nbombs"] >= 2) & (alive == 4))
    chosen = [busy[0], busy[len(busy) // 2], busy[-1], np.flatnonzero((alive < 4) & (alive > 1))[0]]
    return interop.from_arrays(GAME.config, {name: array[chosen] for name, array in arrays.items()})


LEGAL = jax.jit(jax.vmap(GAME.legal_actions))


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "bandit"), [("fdts", "ts"), ("mcts", "ucb")])
def test_like_reference(kind, bandit, positions):
    assert_like_reference(GAME, kind, bandit, positions, moves=2, **SIZE)


@pytest.mark.slow
def test_no_illegal_action_and_nothing_for_the_dead(positions):
    planner = make(GAME, "fdts", **SIZE)
    plan, _ = compiled(planner)(jax.random.split(jax.random.key(0), 4), planner.init(4), positions, np.ones(4, bool))
    legal = np.asarray(LEGAL(positions))
    assert np.take_along_axis(legal, np.asarray(plan.actions)[:, :, None], axis=2).all()
    assert (np.asarray(plan.visit_counts)[~legal] == 0).all() and (np.asarray(plan.action_weights)[~legal] == 0).all()
    dead = ~np.asarray(positions.alive)
    assert dead.any()
    np.testing.assert_array_equal(plan.visit_counts[dead][:, 1:], 0)
    # The value of being dead is -1 whatever happens: 12 losses.
    np.testing.assert_allclose(plan.root_value[dead], 1 / 14, rtol=1e-6)
    assert planner.memory_bytes == 2**12 * 4 * (24 + 3)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["oep", "rolling_horizon"])
def test_evolving_strings_are_legal_and_nothing_for_the_dead(name, positions):
    planner = presets.by_name(GAME, name, num_simulations=12, population=4, horizon=6)
    keys = jax.random.split(jax.random.key(0), 4)
    plan, memory = compiled(planner)(keys, planner.init(4), positions, np.ones(4, bool))
    legal = np.asarray(LEGAL(positions))
    assert np.take_along_axis(legal, np.asarray(plan.actions)[:, :, None], axis=2).all()
    dead = ~np.asarray(positions.alive)
    assert (np.asarray(plan.actions)[dead] == GAME.pass_action).all()
    assert np.isfinite(plan.root_value).all() and np.ptp(np.asarray(plan.root_value)[~dead]) > 0
    states = jax.jit(jax.vmap(GAME.step))(positions, plan.actions, keys)
    again, _ = compiled(planner)(keys, memory, states, np.ones(4, bool))  # of what it remembers
    legal = np.asarray(LEGAL(states))
    assert np.take_along_axis(legal, np.asarray(again.actions)[:, :, None], axis=2).all()
