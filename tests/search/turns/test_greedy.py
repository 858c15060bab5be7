"""Turns put together greedily, and plans kept from action to action, in a game whose turns can all be gone through."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxgames import random_bits
from search.turns import greedy
from search.turns.game import moves_of
from search.turns.planner import TurnPlan, TurnSearch, never, turn_planner
from tests.hoard import Hoard
from tests.hoard_turns import ADVANCE, GAME, LANES, MOVES, ONES, SEATS, all_worths, best_values, lanes, roots, turns_of


def test_greedy_action_takes_any_of_equal_actions():
    """Those too that are tried later than others."""
    game, count = Hoard(things=20), 2000

    @jax.jit
    def chosen(keys):
        states = jax.vmap(game.init)(keys)
        states = dataclasses.replace(states, worths=jnp.full_like(states.worths, 3))
        drawn, seats = jax.vmap(random_bits.lane_key)(keys), jnp.zeros(count, jnp.int32)
        return greedy.best_action(game, moves_of(game), drawn, states, seats, jnp.ones(count, bool))[0]

    counts = np.bincount(chosen(jax.random.split(jax.random.key(0), count)), minlength=20)
    assert len(counts) == 20 and stats.chisquare(counts).pvalue > 1e-3


class Misjudged(Hoard):
    """Who is to move takes what is worth least for what is worth most."""

    def known_state(self, state):
        return dataclasses.replace(state, worths=-state.worths)


@functools.cache
def misjudging():
    return jax.jit(greedy.greedy_action(Misjudged()).plan)


def test_greedy_action_goes_by_what_is_known():
    plan, _ = misjudging()(None, jax.random.split(jax.random.key(0), LANES), (), roots(), SEATS, ONES)
    expected = [min(worths) for worths in all_worths()]
    assert [worths[action] for worths, action in zip(all_worths(), plan.actions[:, 0].tolist(), strict=True)] == expected


def test_greedy_action_has_nothing_to_plan_at_an_end():
    """Nor where nobody asks: its values are numbers all the same."""
    states = roots()
    ended = dataclasses.replace(states, terminated=np.arange(LANES) % 2 == 0)
    active = np.arange(LANES) < LANES // 2
    plan, _ = jax.device_get(misjudging()(None, jax.random.split(jax.random.key(0), LANES), (), ended, SEATS, active))
    assert np.isfinite(plan.root_value).all() and np.isfinite(plan.qvalues).all()
    asked = np.asarray(active & ~ended.terminated)
    assert (plan.root_value[~asked] == 0).all() and (plan.root_value[asked, 0] != 0).all()


def test_greedy_turn_looks_at_every_outcome_once():
    turn = jax.jit(greedy.best_turn(GAME, MOVES, greedy.Settings(num_evaluations=1000)).run)(lanes(), roots(), SEATS)
    np.testing.assert_array_equal(turn.metrics["evaluations"], len(turns_of(range(8))))
    np.testing.assert_allclose(turn.value, best_values(), rtol=1e-5)


class Docked(Hoard):
    """Whoever is not to move, having ended a turn, is worth less."""

    def heuristic(self, state):
        return super().heuristic(state) - 0.5 * (np.arange(2) != state.player)


def test_turns_are_valued_before_they_end_also_where_they_end_early():
    game, nothing = Docked(ends_early=True), GAME.end_turn
    states = dataclasses.replace(roots(), worths=np.full_like(roots().worths, -20))  # best is to take nothing
    turn = jax.jit(greedy.best_turn(game, moves_of(game), greedy.Settings(num_evaluations=1000)).run)(lanes(), states, SEATS)
    np.testing.assert_array_equal(turn.actions[:, 0], nothing)
    np.testing.assert_array_equal(turn.value, 0)


def test_a_plan_is_kept_and_made_anew_where_the_game_took_another_way():
    planner = greedy.greedy_turn(GAME, greedy.Settings(num_evaluations=20))
    run_plan = jax.jit(planner.plan)

    def plan(*arguments):
        return jax.device_get(run_plan(*arguments))

    memory, states = jax.jit(planner.init, static_argnums=0)(LANES), roots()
    keys = jax.random.split(jax.random.key(1), LANES)
    first, memory = plan(None, keys, memory, states, SEATS, ONES)
    whole = np.asarray(first.metrics["turn"])
    np.testing.assert_array_equal(first.actions[:, 0], whole[:, 0])
    np.testing.assert_array_equal(first.actions[:, 1], GAME.pass_action)
    after = ADVANCE(states, first.actions[:, 0])
    second, memory = plan(None, jax.random.split(jax.random.key(2), LANES), memory, after, SEATS, ONES)
    np.testing.assert_array_equal(second.actions[:, 0], whole[:, 1])
    np.testing.assert_array_equal(second.metrics["position"], 1)
    # Lane 0 finds itself at the start of the turn again, lane 1 is not asked.
    mixed = jax.tree.map(
        lambda old, new: np.where((np.arange(LANES) == 0).reshape(-1, *[1] * (old.ndim - 1)), old, new), states, after
    )
    asked = np.arange(LANES) != 1
    third, kept = plan(None, jax.random.split(jax.random.key(3), LANES), memory, mixed, SEATS, asked)
    assert third.metrics["position"][0] == 0
    assert kept.next[1] == memory.next[1]
    cleared = planner.reset(memory, np.arange(LANES) == 2)
    assert (np.asarray(cleared.next) == np.where(np.arange(LANES) == 2, MOVES.turn_length, np.asarray(memory.next))).all()


@pytest.mark.parametrize("points, keeps_plan, ready", [
    pytest.param(3, True, True, marks=pytest.mark.slow), (3, False, False), pytest.param(1, False, True, marks=pytest.mark.slow),
])  # fmt: skip
def test_who_thinks_before_every_action_does_so_unless_only_the_end_is_left(points, keeps_plan, ready):
    """Where a turn may always be ended, ending it early is a choice; the search here takes a thing and ends the turn."""
    game = Hoard(points=points)
    moves = moves_of(game)._replace(offered=game.legal_set)

    def finish(count):
        turn = jnp.full((len(count), moves.turn_length), game.end_turn).at[:, 0].set(0)
        return TurnPlan(turn, jnp.zeros(len(count)), {})

    search = TurnSearch(lambda lanes, states, seats, active: seats, lambda number, seats: seats, finish, never, 1)
    planner = turn_planner(game, moves, "by hand", search, keeps_plan=keeps_plan)

    @jax.jit
    def first_action(keys):
        states = jax.vmap(game.init)(keys)
        plan, memory = planner.plan(None, keys, planner.init(2), states, jnp.zeros(2, jnp.int32), jnp.ones(2, bool))
        after = jax.vmap(lambda state: game.advance(state, jnp.int32(0), None))(states)
        return plan.actions, planner.ready(memory, after)

    actions, is_ready = jax.device_get(first_action(jax.random.split(jax.random.key(0), 2)))
    assert not actions[:, 0].any()
    assert is_ready.tolist() == [ready] * 2
