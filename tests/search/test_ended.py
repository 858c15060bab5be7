"""Plans of games that are over: everybody passes, and what a state is worth is its outcome."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import search
from search import policy_targets, puct
from search.puct import determinized
from search.turns import action_sequences, greedy
from tests.hoard import Hoard
from tests.tic_tac_toe import TicTacToe, encoder
from tests.tug import Tug, states_of

TUG, HOARD, GAME = Tug(), Hoard(), TicTacToe()
ENCODER = encoder.encoder(GAME)
STEP = jax.jit(jax.vmap(lambda state, actions: GAME.apply(state, actions)))
SIZES = {"num_simulations": 4, "horizon": 3}
STRINGS = action_sequences.Settings(num_simulations=4, horizon=3, population=4)
PLANNERS = {
    "FDTS + TS": search.fdts(TUG, table_rows=16, **SIZES),
    "MCS + UCB": search.mcs(TUG, search.ucb1(), **SIZES),
    "Rolling Horizon": action_sequences.rolling_horizon_strings(TUG, STRINGS),
    "OEP": action_sequences.oep_strings(TUG, STRINGS),
}


def even(params, states, seats):
    return jnp.zeros((len(seats), 1)), jnp.zeros(len(seats))


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


SLOW = ("FDTS + TS", "OEP")  # to compile


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in PLANNERS])
def test_all_at_once(name):
    states = dataclasses.replace(states_of(TUG, [TUG.length, -TUG.length, 0]), terminated=np.array([True, True, False]))
    planner, outcome = PLANNERS[name], np.asarray(jax.jit(jax.vmap(TUG.outcome))(states))[:2]
    plan, (lost, won) = planned(planner, states), planner.value_range
    assert (plan.actions[:2] == TUG.pass_action).all()
    np.testing.assert_array_equal(plan.root_value[:2], np.where(outcome > 0, won, lost))
    assert (outcome[0] == -outcome[1]).all() and abs(plan.root_value[2]).max() < 1


def test_a_draw_is_half_with_thompson_sampling():
    states = dataclasses.replace(states_of(TUG, [0, 0, 0]), terminated=np.ones(3, bool))
    assert (planned(search.mcs(TUG, **SIZES), states).root_value == 0.5).all()


def told(plan, game, outcome):
    assert (plan.actions == game.pass_action).all() and not plan.legal.any() and (plan.action_weights == 0).all()
    np.testing.assert_array_equal(plan.root_value, outcome)


@pytest.mark.parametrize("maker", [greedy.greedy_action, pytest.param(greedy.greedy_turn, marks=pytest.mark.slow)])
def test_turns_of_many_actions(maker):
    states = jax.jit(jax.vmap(HOARD.init))(jax.random.split(jax.random.key(0), 2))
    owner = np.array([[0] * HOARD.things, [1] * HOARD.things], np.int32)
    states = dataclasses.replace(states, owner=owner, terminated=np.ones(2, bool))
    outcome = np.asarray(jax.jit(jax.vmap(HOARD.outcome))(states))
    assert outcome.tolist() == [[1, -1], [-1, 1]]
    told(planned(maker(HOARD), states), HOARD, outcome)


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({}, marks=pytest.mark.slow),  # as in the next, without a tree from before
        {"reuse": True},
        pytest.param({"reuse": True, "max_candidates": 3}, marks=pytest.mark.slow),
        pytest.param({"microbatch_size": 1}, marks=pytest.mark.slow),
    ],
)
def test_trees_also_where_they_are_kept(settings):
    """The plan before the last move leaves a tree, which must not speak for the state after it."""
    planner = puct.puct(GAME, even, puct.Settings(num_simulations=6, **settings))
    before, after = lines_of_play()
    keys, ones = jax.random.split(jax.random.key(0), 2), np.ones(2, bool)
    plan = jax.jit(planner.plan)
    _, memory = plan(None, keys, planner.init(2), before, np.zeros(2, np.int32), ones)
    found, _ = plan(None, keys, memory, after, np.zeros(2, np.int32), ones)
    told(jax.device_get(found), GAME, np.array([[1, -1]] * 2, np.float32))
    assert float(jax.jit(lambda found: policy_targets(ENCODER, found, jnp.zeros(2, jnp.int32)).sum())(found)) == 0


def test_looking_one_action_ahead():
    states = jax.tree.map(lambda *leaves: np.concatenate(leaves), *lines_of_play())
    plan = planned(determinized.look_ahead(GAME, even), states)
    going, over = (jax.tree.map(functools.partial(np.take, indices=lanes, axis=0), plan) for lanes in ([0, 1], [2, 3]))
    told(over, GAME, np.array([[1, -1]] * 2, np.float32))
    assert going.actions.tolist() == [[6, GAME.pass_action]] * 2 and (going.root_value[:, 0] == 1).all(), "it wins at once"


def lines_of_play():
    """Two equal games before and after the first player's last move: the left column against the middle one."""
    states = [jax.jit(jax.vmap(GAME.init))(jax.random.split(jax.random.key(0), 2))]
    for number, cell in enumerate((0, 1, 3, 4, 6)):
        actions = np.full((2, 2), GAME.pass_action, np.int32)
        actions[:, number % 2] = cell
        states.append(STEP(states[-1], actions))
    assert np.asarray(states[-1].terminated).all()
    return states[-2:]
