"""Searches against models by their names, and planners that plan from what is believed."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from search import presets
from search.believed import believed
from search.modelled import Models, model_of, modelled_puct
from search.planner import Plan, memoryless
from search.puct.rollout import heuristic_values
from tests.signals import Signals

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
    ({"partner": "nobody"}, r"^partner='nobody': must be one of simple, "),
    ({"partner": "simple"}, r"^partner='simple': there are no teams in pommerman$"),
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


def test_a_still_model_passes():
    still = model_of(FFA, "still")
    actions, _ = still.act(None, None, (), None, jnp.arange(3), jnp.ones(3, bool))
    assert actions.tolist() == [0, 0, 0]
