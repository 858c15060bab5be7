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


@pytest.mark.parametrize(("mode", "options", "message"), [
    ("ffa", {"model": "network"}, r"^model='network': needs weights$"),
    ("team", {"partner": "network"}, r"^partner='network': needs weights$"),
    ("team", {"root": "visible"}, r"^root='visible': view_radius=4: .*; take believed or true$"),
])  # fmt: skip
def test_bad_input_of_searches_with_networks(mode, options, message):
    with pytest.raises(ValueError, match=message):
        presets.by_name(jaxgames.make("pommerman", mode), "sp_mcts", **options)


def test_who_cannot_believe_says_so():
    with pytest.raises(
        ValueError, match=r"^root='believed': game='signals' does not say what its players believe; take root=true$"
    ):
        modelled_puct(Signals(), heuristic_values(Signals()), Models(model="still"))
    assert "sp_mcts" not in presets.planners_of(jaxgames.make("hex", "hex-5"))


class Rivalry(Tug):
    """A tug of war that tells searches against models what they ask, promises half a win to who is ahead, and keeps beliefs."""

    def possible_arms(self, state):
        arms, legal = self.search_arms(state)
        return arms, jnp.ones_like(legal)

    def closest_enemy(self, state, seat):
        return 1 - seat

    def are_enemies(self, seat, other):
        return seat != other

    value_when_out = 0.0

    @property
    def endless(self):
        return Rivalry(length=self.length, max_steps=1000)

    def prospects(self, state):
        return 2 * self.heuristic(state)

    def init_belief(self, observation, *, worst_case=False):
        return observation * 0 + (5 if worst_case else 1)

    def update_belief(self, before, observation, own_action, *, worst_case=False):
        return before + (10 if worst_case else 2)

    def believed_state(self, belief):
        return belief


def test_the_time_limit_ends_no_simulation_of_puct():
    """It does those of bandits, as in Boney et al.. The arms are those of the search, too."""
    game, keys, params = Rivalry(length=4, max_steps=3), jax.random.split(jax.random.key(0), 1), {"own": None, "opponents": None}
    state, seats = jax.vmap(game.state)(jnp.array([3])), jnp.ones(1, jnp.int32)
    for shared in (True, False):
        dynamics = dynamics_for(game, Models(model="still"), None, None, shared_answers=shared, in_turn=shared)
        nodes = dynamics.root(None, keys, state, seats)
        assert dynamics.arms(nodes)[1].all() == shared, "who is cornered may only pull"
        step = jax.jit(dynamics.step)
        for _ in range(3):
            nodes = step(params, keys, nodes, jnp.zeros((1, 1), jnp.int32))
        assert bool(dynamics.terminated(nodes)[0]) != shared
    assert jaxgames.make("pommerman", "ffa").endless.max_steps == 32000
    assert jaxgames.make("pommerman", "ffa_collapse").endless.max_steps == 800, "whose board goes by the clock"


def test_the_worst_is_believed_where_it_is_asked_for():
    def plan(params, keys, memory, views, seats, active):
        rows = jnp.zeros((len(seats), 1, 1))
        return Plan(views[:, None], rows.astype(int), rows > -1, rows, rows.astype(int), rows, rows[:, :, 0], {}), memory

    seats, keys, ones = jnp.zeros(2, jnp.int32), jax.random.split(jax.random.key(0), 2), jnp.ones(2, bool)
    for worst, told in ((False, [1, 3]), (True, [5, 15])):
        planner = believed(Rivalry(), memoryless("teller", plan, own_first=True), worst_case=worst)
        memory = planner.init(2)
        for belief in told:
            found, memory = planner.plan(None, keys, memory, jnp.zeros(2, jnp.int32), seats, ones)
            assert found.actions.tolist() == [[belief]] * 2
    assert presets.by_name(FFA, "sp_mcts", root="worst", num_simulations=2).name.endswith(", fair")


def test_values_by_hand():
    with pytest.raises(ValueError, match=r"^values='hope': must be one of auto, heuristic, prospects$"):
        presets.by_name(FFA, "sp_mcts", values="hope")
    with pytest.raises(ValueError, match=r"^game='tug': does not say what its positions promise; take its heuristic$"):
        promised_values(Tug())
    states, seats = jax.vmap(Tug(length=4).state)(jnp.array([1, 1, -1])), jnp.array([0, 1, 0])
    for values, expected in ((heuristic_values, 0.25), (promised_values, 0.5)):
        logits, found = values(Rivalry(length=4))(None, states, seats)
        assert logits.shape == (3, 3) and not logits.any()
        assert found.tolist() == [expected, -expected, -expected]


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
