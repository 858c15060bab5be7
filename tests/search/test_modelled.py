"""Searches against models by their names, and planners that plan from what is believed."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from search import presets
from search.believed import believed
from search.modelled import Models, dynamics_for, model_of, modelled_puct, valued_by_own_seat
from search.opponents import two_player
from search.planner import Plan, memoryless
from search.puct.rollout import heuristic_values, promised_values
from tests.signals import Signals
from tests.tug import Tug, steady_player

FFA = jaxgames.make("pommerman", "ffa")


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


def test_names_and_settings():
    assert {"sp_mcts", "tp_mcts", "modelled_fdts", "modelled_mcts"} <= set(presets.planners_of(FFA))
    assert presets.by_name(FFA, "tp_mcts", num_simulations=5).name == "TP-MCTS against simple, fair"
    oracle = presets.by_name(FFA, "modelled_fdts", root="true", model="still", num_simulations=5)
    assert oracle.sees_state and oracle.uses_hidden
    assert not presets.by_name(FFA, "sp_mcts", root="visible", num_simulations=5).uses_hidden
    assert "sp_mcts" not in presets.planners_of(jaxgames.make("hero_academy"))


@pytest.mark.parametrize(("options", "message"), [
    ({"model": "nobody"}, r"^model='nobody': must be one of simple, "),
    ({"model": "network"}, r"^model='network': needs weights$"),
    ({"root": "dreamt"}, r"^root='dreamt': must be one of believed, worst, visible, true$"),
    ({"switch_after": 3}, r"^switch_after=3: needs model=network, not ''$"),
    ({"num_simulations": 0}, r"^num_simulations=0: must be >= 1$"),
])  # fmt: skip
def test_bad_input(options, message):
    with pytest.raises(ValueError, match=message):
        presets.by_name(FFA, "modelled_fdts", **options)


def test_who_cannot_believe_says_so():
    with pytest.raises(
        ValueError, match=r"^root='believed': game='signals' does not say what its players believe; take root=true$"
    ):
        modelled_puct(Signals(), heuristic_values(Signals()), Models(model="still"))
    assert "sp_mcts" not in presets.planners_of(jaxgames.make("hex", "hex-5"))


def test_the_time_limit_ends_no_simulation_of_puct():
    """It does those of bandits, as in Boney et al.; a board that collapses keeps its clock."""
    short = jaxgames.make("pommerman", "ffa", max_steps=3)
    state = jax.tree.map(lambda leaf: leaf[None], jax.jit(short.init)(jax.random.key(0)))
    ended = []
    for shared in (True, False):
        dynamics = dynamics_for(short, Models(model="still"), None, None, shared_answers=shared, in_turn=shared)
        nodes = dynamics.root(None, jax.random.split(jax.random.key(0), 1), state, jnp.zeros(1, jnp.int32))
        step = jax.jit(dynamics.step)
        for _ in range(3):
            nodes = step({"own": None, "opponents": None}, jax.random.split(jax.random.key(0), 1), nodes, jnp.zeros((1, 1), int))
        ended.append(bool(nodes.state.terminated[0]))
    assert ended == [False, True]
    assert jaxgames.make("pommerman", "ffa_collapse").endless.max_steps == 800


def test_the_worst_is_believed_where_it_is_asked_for():
    def plan(params, keys, memory, views, seats, active):
        told, rows = views.bombers[1].ammo.astype(jnp.int32), jnp.zeros((len(seats), 1, 1))
        return Plan(told[:, None], rows.astype(int), rows > -1, rows, rows.astype(int), rows, rows[:, :, 0], {}), memory

    seats, keys = jnp.zeros(1, jnp.int32), jax.random.split(jax.random.key(0), 1)
    views = jax.vmap(FFA.observe)(jax.vmap(FFA.init)(keys), seats)
    for worst, ammo in ((False, 1), (True, 5)):
        planner = believed(FFA, memoryless("teller", plan, own_first=True), worst_case=worst)
        told, _ = jax.jit(planner.plan)(None, keys, planner.init(1), views, seats, jnp.ones(1, bool))
        assert told.actions.tolist() == [[ammo]]


def test_values_by_hand():
    with pytest.raises(ValueError, match=r"^values='hope': must be one of heuristic, prospects$"):
        presets.by_name(FFA, "sp_mcts", values="hope")
    with pytest.raises(ValueError, match=r"^game='tug': does not say what its positions promise; take its heuristic$"):
        promised_values(Tug())
    states, seats = jax.vmap(FFA.init)(jax.random.split(jax.random.key(0), 3)), jnp.array([0, 1, 3])
    logits, values = jax.jit(promised_values(FFA))(None, states, seats)
    assert logits.shape == (3, 6) and (logits == 0).all()
    np.testing.assert_allclose(values, np.asarray(jax.vmap(FFA.prospects)(states))[np.arange(3), seats])


def test_values_of_the_rival_are_the_opposite_of_the_own_seats():
    game = Tug(length=4)
    dynamics = two_player(game, steady_player(0), lambda state, seat: 1 - seat, shared_answers=True)
    turned, evaluate = valued_by_own_seat(dynamics, heuristic_values(game))
    states, seats = jax.vmap(game.state)(jnp.array([1, 1, -1])), jnp.array([0, 1, 0])
    nodes = turned.root(None, jax.random.split(jax.random.key(0), 3), states, seats)
    own, rival = (turned.evaluate(evaluate, {"own": None}, nodes, jnp.full(3, player))[1] for player in (0, 1))
    assert own.tolist() == [0.25, -0.25, -0.25] and rival.tolist() == [-0.25, 0.25, 0.25]


def test_a_still_model_passes():
    still = model_of(FFA, "still")
    actions, _ = still.act(None, None, (), None, jnp.arange(3), jnp.ones(3, bool))
    assert actions.tolist() == [0, 0, 0]
