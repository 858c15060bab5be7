"""Planners that plan from what is believed, and that nothing else is shown to them."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from search import presets
from search.believed import believed
from search.modelled import ROOTS, Models, modelled, modelled_puct
from search.planner import Plan, memoryless
from search.puct import Settings
from search.puct.rollout import heuristic_values
from tests.emitters import NEWER_EMITTERS
from tests.rivalry import Rivalry
from tests.signals import Signals
from tests.tug import states_of

FFA = jaxgames.make("pommerman", "ffa")


@pytest.mark.slow
def test_a_planner_is_given_what_its_player_believes():
    """The planner puts what it is shown into its plan: the number of steps and of bombs that are believed in."""

    def plan(params, keys, memory, views, seats, active):
        told = views.step_count.astype(jnp.int32) + 1000 * jax.vmap(lambda state: state.wood.count())(views)
        rows = jnp.zeros((len(seats), 1, 1))
        found = Plan(told[:, None], rows.astype(int), rows > -1, rows, rows.astype(int), rows, rows[:, :, 0], {})
        return found, memory

    fair = believed(FFA, memoryless("teller", plan, own_first=True))
    assert not fair.sees_state and fair.name == "teller, fair"
    states = jax.vmap(FFA.init)(jax.random.split(jax.random.key(0), 3))
    seats, keys = jnp.array([0, 2, 3]), jax.random.split(jax.random.key(1), 3)
    observe = jax.jit(jax.vmap(FFA.observe))
    run, step = jax.jit(fair.plan), jax.jit(jax.vmap(FFA.step))
    memory, woods = fair.init(3), np.asarray(jax.vmap(lambda state: state.wood.count())(states))
    for number in range(3):
        active = jnp.array([True, True, number != 1])
        told, memory = run(None, keys, memory, observe(states, seats), seats, active)
        expected = np.where(np.asarray(active), number + 1000 * woods, np.asarray(told.actions[:, 0]))
        assert told.actions[:, 0].tolist() == expected.tolist()
        states = step(states, jnp.zeros((3, 4), jnp.int32))
    memory = fair.reset(memory, jnp.array([True, False, False]))
    assert memory.begins.tolist() == [True, False, False]


def test_who_cannot_believe_says_so():
    with pytest.raises(
        ValueError, match=r"^root='believed': game='signals' does not say what its players believe; take root=true, an oracle$"
    ):
        modelled_puct(Signals(), heuristic_values(Signals()), Models(model="still"))
    assert "sp_mcts" not in presets.planners_of(jaxgames.make("hex", "hex-5"))


def teller():
    """A planner that plays the mark of the state that it is shown, and 0 where it is not asked."""

    def plan(params, keys, memory, views, seats, active):
        rows, marks = jnp.zeros((len(seats), 1, 1)), jnp.where(active, views.mark, 0)
        return Plan(marks[:, None], rows.astype(int), rows > -1, rows, rows.astype(int), rows, rows[:, :, 0], {}), memory

    return memoryless("teller", plan, own_first=True)


def test_the_worst_is_believed_where_it_is_asked_for():
    game, seats, ones = Rivalry(marks=64), np.zeros(2, np.int32), np.ones(2, bool)
    keys = jax.random.split(jax.random.key(0), 2)
    views = jax.jit(jax.vmap(game.init))(keys)
    for worst, told in ((False, [0, 1, 9]), (True, [63, 63, 63])):
        planner = believed(game, teller(), worst_case=worst)
        memory, run = planner.init(2), jax.jit(planner.plan)
        for mark in told:
            found, memory = run(None, keys, memory, views, seats, ones)
            assert found.actions.tolist() == [[mark]] * 2
    assert presets.by_name(FFA, "sp_mcts", root="worst", num_simulations=2).name.endswith(", fair")


def test_who_is_not_asked_goes_on_from_what_it_believed_and_did_last():
    game, planner = Rivalry(marks=64), believed(Rivalry(marks=64), teller())
    keys, seats = jax.random.split(jax.random.key(0), 2), np.zeros(2, np.int32)
    views, memory, run = jax.jit(jax.vmap(game.init))(keys), planner.init(2), jax.jit(planner.plan)
    told = []
    for asked in ([True, True], [True, True], [True, False], [True, True]):
        found, memory = run(None, keys, memory, views, seats, np.array(asked))
        told.append(found.actions[:, 0].tolist())
    assert told == [[0, 0], [1, 1], [9, 0], [9, 9]]
    found, _ = run(None, keys, planner.reset(memory, np.array([True, False])), views, seats, np.ones(2, bool))
    assert found.actions[:, 0].tolist() == [0, 9]  # a new episode begins with nothing believed


@functools.partial(jax.jit, static_argnums=0)
def _observed(game, states, seats):
    return jax.vmap(game.observe)(states, seats)


def plans_of_two_worlds(planner, game):
    """Gives the plans of two moves in states, and in others that differ in what is hidden alone."""
    keys, seats, ones = jax.random.split(jax.random.key(0), 4), np.arange(4, dtype=np.int32) % 2, np.ones(4, bool)
    run, plans = jax.jit(planner.plan, compiler_options=NEWER_EMITTERS), []
    for first_mark in (3, 40):
        memory, found = planner.init(4), []
        for move in range(2):
            states = states_of(game, np.array([0, 1, -1, 2]) - move)
            states = dataclasses.replace(states, mark=first_mark + move + np.arange(4, dtype=np.int32))
            views = states if planner.sees_state else _observed(game, states, seats)
            plan, memory = run(None, keys, memory, views, seats, ones)
            found.append(jax.device_get(plan))
        plans.append(found)
    return plans


def same(first, second):
    return all(np.array_equal(one, other) for one, other in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True))


@pytest.mark.parametrize("root", ROOTS)
def test_what_is_hidden_is_shown_to_oracles_alone(root):
    game = Rivalry(marks=64)
    planner = modelled(game, lambda dynamics: teller(), Models(model="still", root=root))
    assert same(*plans_of_two_worlds(planner, game)) == (root != "true") == (not planner.uses_hidden)


@pytest.mark.slow
@pytest.mark.parametrize("root", ["believed", "visible", "true"])
def test_what_is_hidden_changes_no_plan_but_an_oracles(root):
    """The network goes by the mark, in whatever state the search asks it about."""

    def opinion(params, states, seats):
        return jnp.sin(states.mark[:, None] * jnp.array([1.0, 2.0, 3.0])), jnp.cos(states.mark * 0.9 + seats)

    game = Rivalry(length=4, marks=64)
    planner = modelled_puct(game, opinion, Models(model="still", root=root), Settings(40, leaf_parallelism=4, replies=2))
    assert same(*plans_of_two_worlds(planner, game)) == (root != "true")
