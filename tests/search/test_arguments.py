"""What a planner says of arguments that do not fit: one line, while it is traced."""

import functools
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
import search
from jaxgames import shapes
from search import arguments, presets, puct
from search.all_seats import for_all_seats
from search.believed import believed
from search.dynamics import arm_logits
from search.information_sets import among_information_sets
from search.modelled import Models, modelled, modelled_puct
from search.opponents import single_player, switching
from search.planner import Plan
from search.puct import determinized
from search.turns import action_sequences, coevolution, evolution, greedy, mcts
from search.turns.planner import TurnSearch
from tests.hoard import Hoard
from tests.random_tree import RandomTree
from tests.rivalry import Rivalry
from tests.tug import steady_player

LANES = 2
SEATS, ACTIVE = np.zeros(LANES, np.int32), np.ones(LANES, bool)
HEX, DARK = jaxgames.make("hex", "hex-3"), jaxgames.make("hex", "adh-3")
TINY, POMMERMAN, RIVALRY = jaxgames.make("hero_academy", "tiny"), jaxgames.make("pommerman"), Rivalry(marks=64)
NAME = r"FDTS \+ TS"


def even(params, states, seats):
    return jnp.zeros((len(seats), HEX.num_actions)), jnp.zeros(len(seats))


@functools.cache
def two_keys():
    return jax.random.split(jax.random.key(0), LANES)


@functools.cache
def states_of(game):
    """The shapes of states [2]."""
    return shapes.batched(arguments.state_of(game), LANES)


def memory_of(planner, count=LANES):
    return jax.eval_shape(lambda: planner.init(count))


def ask(planner, *, game=HEX, run=jax.eval_shape, **given):
    usual = {"keys": two_keys, "memory": lambda: memory_of(planner), "views": lambda: states_of(game)}
    whole = {name: given[name] if name in given else make() for name, make in usual.items()}
    return run(planner.plan, given.get("params"), *whole.values(), given.get("seats", SEATS), given.get("active", ACTIVE))


def drawn_worlds():
    settings = determinized.Settings(num_worlds=2, search=puct.Settings(num_simulations=2))
    return determinized.pimc_tree(DARK, even, settings)


def every_seat():
    planner = modelled(HEX, lambda dynamics: search.mcs(dynamics, num_simulations=2), Models(model="still", root="true"))
    return for_all_seats(HEX, planner)


def refuses(message, call):
    """JAX adds lines of its own to what is raised while it traces."""
    with pytest.raises(ValueError, match=rf"^{message}(\n|$)"):
        call()


@pytest.fixture(scope="module")
def planner():
    return search.fdts(HEX, num_simulations=2, horizon=2)


def test_what_fits_is_planned_for(planner):
    numbers = jax.random.key_data(two_keys())
    for other, game, keys in ((planner, HEX, two_keys()), (drawn_worlds(), DARK, numbers), (every_seat(), HEX, numbers)):
        view = arguments.state_of(game) if other.sees_state else shapes.information_of(game)
        plan, _ = ask(other, keys=keys, views=shapes.batched(view, LANES))  # keys as numbers are keys
        assert plan.actions.shape == (LANES, 2)


@pytest.mark.parametrize(
    ("argument", "wrong", "message"),
    [
        ("keys", lambda: two_keys()[0], r"keys of shape \[\] and type key<fry>: must be random keys \[B\], one per lane"),
        ("keys", np.zeros(2, np.uint32), r"keys of shape \[2\] and type uint32: must be random keys \[B\], one per lane"),
        (
            "seats",
            np.zeros(LANES, np.float32),
            r"seats of shape \[2\] and type float32: must be whole numbers \[2\], one per lane as keys are",
        ),
        ("seats", np.int32(0), r"seats of shape \[\] and type int32: must be whole numbers \[2\], one per lane as keys are"),
        ("keys", None, r"keys=None: must be random keys \[B\], one per lane"),
        ("seats", None, r"seats=None: must be whole numbers \[2\], one per lane as keys are"),
        ("seats", [0, 1], r"seats=\[0, 1\]: must be whole numbers \[2\], one per lane as keys are"),
        ("active", True, r"active=True: must be flags \[2\], one per lane as keys are"),
        ("active", SEATS, r"active of shape \[2\] and type int32: must be flags \[2\], one per lane as keys are"),
        ("active", np.ones(3, bool), r"active of shape \[3\] and type bool: must be flags \[2\], one per lane as keys are"),
        ("memory", (), rf"memory\.keys missing: must be \[\d+, \d+\]; memory must be that of init\(2\) of '{NAME}'"),
    ],
)
def test_what_does_not_fit_is_named(planner, argument, wrong, message):
    wrong = wrong() if callable(wrong) else wrong
    refuses(message, lambda: ask(planner, **{argument: wrong}, run=lambda plan, *given: plan(*given)))


def test_memory_of_another_batch(planner):
    message = r"memory\.keys of shape \[\d+, \d+\]: must be \[\d+, \d+\]; memory must be that of init\(2\) of .*"
    refuses(message, lambda: ask(planner, memory=memory_of(planner, 3)))
    for wrong in (0, -1, 1.5, "2"):
        with pytest.raises(ValueError, match=rf"^batch_size={wrong!r}: must be a whole number, 1 or more$"):
            planner.init(wrong)


def test_views_of_something_else(planner):
    shown = rf"views must be 2 of what '{NAME}' is shown: states of its game"
    for views, message in (
        (arguments.state_of(HEX), rf"of shape \[\]: must be \[2\]; {shown}"),
        (states_of(jaxgames.make("hex", "hex-7")), rf"of shape \[2\]: must not be there; {shown}"),
        (shapes.batched(shapes.observation_of(HEX), LANES), rf"(missing: must be \[2\]|of shape \[2, 3, 3\]: .*); {shown}"),
    ):
        refuses(rf"views[.\w\[\]]+ {message}", lambda views=views: ask(planner, views=views))


def test_states_are_no_views_of_a_planner_that_does_not_see_them():
    fair = presets.by_name(POMMERMAN, "modelled_fdts", model="still")
    told = r"is shown: jax\.vmap\(game\.observe\)\(states, seats\); where worlds are drawn, what game\.update_information makes"
    for planner, game in ((fair, POMMERMAN), (presets.by_name(DARK, "ismcts"), DARK)):
        with pytest.raises(ValueError, match=rf"^views.* must be 2 of what '{re.escape(planner.name)}' {told} of these"):
            ask(planner, views=states_of(game), game=game)


@pytest.mark.parametrize(
    ("make", "game"),
    [
        (lambda: search.mcs(HEX, num_simulations=2), HEX),
        (lambda: puct.puct(HEX, even, puct.Settings(num_simulations=2)), HEX),
        (lambda: action_sequences.rolling_horizon_strings(HEX), HEX),
        (lambda: action_sequences.oep_strings(HEX), HEX),
        (lambda: determinized.look_ahead(HEX, even), HEX),
        (lambda: determinized.true_sight(DARK, even, puct.Settings(num_simulations=2)), DARK),
        (lambda: determinized.determinized(DARK, search.mcs(HEX)), DARK),
        (lambda: presets.by_name(DARK, "ismcts"), DARK),
        (lambda: presets.by_name(DARK, "pc_pimc", num_simulations=12, rollout_steps=1, ahead_worlds=2), DARK),
        (lambda: greedy.greedy_action(Hoard()), Hoard()),
        (lambda: greedy.greedy_turn(Hoard(), greedy.Settings(num_evaluations=2)), Hoard()),
        (lambda: presets.by_name(RIVALRY, "modelled_fdts", model="still"), RIVALRY),
        (lambda: presets.by_name(RIVALRY, "modelled_fdts", model="still", root="visible"), RIVALRY),
        (lambda: presets.by_name(RIVALRY, "modelled_mcts", model="still", root="true"), RIVALRY),
        (lambda: presets.by_name(RIVALRY, "sp_mcts", model="still", root="true", num_simulations=8), RIVALRY),
        (every_seat, HEX),
    ],
)
def test_every_planner_checks(make, game):
    planner = make()
    with pytest.raises(ValueError, match=r"^keys of shape \[\] and type key<fry>: must be random keys"):
        ask(planner, keys=two_keys()[0], game=game)
    with pytest.raises(ValueError, match=rf"^views.* must be 2 of what '{re.escape(planner.name)}' is shown"):
        ask(planner, views=states_of(RandomTree()), game=game)


def test_arguments_of_another_kind_are_named():
    whole = search.fdts(HEX)
    for make, message in (
        (lambda: search.fdts(None), "game=None: must be a game, as jaxgames.make gives it"),
        (lambda: greedy.greedy_action("hex"), "game='hex': must be a game, as jaxgames.make gives it"),
        (lambda: search.fdts(HEX, 3), r"bandit=3: must be search.thompson\(\), search.ucb1\(\) or search.uniform\(\)"),
        (lambda: puct.puct(HEX, even, 32), "settings=32: must be a search.puct.settings.Settings"),
        (lambda: puct.puct(HEX, None), r"evaluate=None: must be a function, from \(params, states, seats\) to logits and values"),
        (lambda: determinized.pimc_tree(DARK, even, 3), "settings=3: must be a search.puct.determinized.Settings"),
        (lambda: determinized.determinized(DARK, whole, 3), "worlds=3: must be a search.puct.worlds.Worlds"),
        (lambda: determinized.determinized(DARK, even), "planner=<function .*: must be a search.planner.Planner"),
        (
            lambda: determinized.determinized(jaxgames.make("pommerman"), whole),
            "game='pommerman': does not say what its players know, so no worlds can be drawn",
        ),
        (
            lambda: determinized.true_sight(POMMERMAN, even),
            "game='pommerman': does not say what its players know, so no worlds can be drawn",
        ),
        (lambda: determinized.pimc_value(DARK, even, 3), "settings=3: must be a search.puct.worlds.Worlds"),
        (lambda: determinized.look_ahead(None, even), "game=None: must be a game"),
        (lambda: determinized.look_ahead(HEX, None), "evaluate=None: must be a function"),
        (lambda: among_information_sets(POMMERMAN, search.fdts), "game='pommerman': does not say what its players know"),
        (lambda: believed(HEX, whole), "game='hex': does not say what its players believe"),
        (lambda: believed(POMMERMAN, 3), "planner=3: must be a search.planner.Planner"),
        (lambda: single_player(None, whole), "game=None: must be a game"),
        (lambda: single_player(HEX, whole), "opponent=a Planner: must be a jaxgames.agent.Agent"),
        (lambda: modelled_puct(POMMERMAN, even, 3), "models=3: must be a search.modelled.Models"),
        (lambda: search.fdts(HEX, guide=even), "guide=<function .*: must be a search.bandit.guide.Guide"),
        (lambda: action_sequences.oep_strings(None), "game=None: must be a game"),
        (lambda: greedy.greedy_turn(TINY, 3), "settings=3: must be a search.turns.greedy.Settings"),
        (lambda: mcts.turn_mcts(TINY, 3), "settings=3: must be a search.turns.mcts.Settings"),
        (lambda: evolution.oep(TINY, 3), "settings=3: must be a search.turns.evolution.Settings"),
        (lambda: coevolution.coevolution(TINY, 3), "settings=3: must be a search.turns.coevolution.Settings"),
        (lambda: action_sequences.oep_strings(HEX, 3), "settings=3: must be a search.turns.action_sequences.Settings"),
    ):
        with pytest.raises(ValueError, match=f"^{message}"):
            make()
    with pytest.raises(TypeError, match=r"^sims=3: no such setting; must be one of num_simulations, .*horizon, leaf_parallelism"):
        search.mcts(HEX, sims=3)


@pytest.mark.parametrize("params", [{"own": np.zeros(1)}, {"opponents": np.zeros(1)}, {"w": np.zeros(1)}, np.zeros(3)])
def test_parameters_of_a_search_against_models_are_by_who_uses_them(params):
    model = steady_player(HEX.pass_action)._replace(sees_state=True)
    alone = search.mcs(single_player(HEX, model), num_simulations=1, horizon=1)
    refuses(r"params=.*: must be \{'own': \.\.\., 'opponents': \.\.\.\} or None", lambda: ask(alone, params=params))


@pytest.mark.parametrize("after", ["3", 1.5, True, None])
def test_a_model_is_followed_by_another_after_a_whole_number_of_steps(after):
    with pytest.raises(ValueError, match=rf"^after={after!r}: must be a whole number$"):
        switching(steady_player(0), steady_player(1), after)


def test_too_few_logits_are_told():
    def narrow(params, states, seats):
        return jnp.zeros((len(seats), 5)), jnp.zeros(len(seats))

    game, few = RandomTree(), puct.Settings(num_simulations=2)
    message = "evaluate gave 5 logits: must be at least 6, one per action number; or give outputs="
    refuses(message, lambda: ask(puct.puct(game, narrow, few), game=game))
    ask(puct.puct(game, narrow, few, outputs=lambda actions, seat: actions % 5), game=game)


@pytest.mark.parametrize("outputs", [None, lambda actions, seat: actions])
def test_one_logit_is_that_of_all_arms(outputs):
    logits, arms = np.array([[2.0], [-1.0]], np.float32), np.array([[0, 4, 2], [1, 3, 0]])
    found = jax.jit(lambda logits, arms: arm_logits(logits, arms, jnp.asarray(SEATS), outputs))(logits, arms)
    np.testing.assert_array_equal(found, logits.repeat(3, 1))


@pytest.mark.slow
@pytest.mark.parametrize("outputs", [None, lambda actions, seat: actions])
def test_one_logit_is_an_even_prior(outputs):
    game = RandomTree()

    def judge(count, params, states, seats):
        return jnp.zeros((len(seats), count)), jnp.zeros(len(seats))

    @functools.partial(jax.jit, static_argnums=0)
    def plan(count, keys):
        planner = puct.puct(game, functools.partial(judge, count), puct.Settings(num_simulations=12), outputs=outputs)
        return planner.plan(None, keys, planner.init(LANES), jax.vmap(game.init)(keys), SEATS, ACTIVE)[0]

    plans = [jax.device_get(plan(count, two_keys())) for count in (1, game.num_arms)]
    assert plans[0].visit_counts.sum() == LANES * 12
    jax.tree.map(np.testing.assert_array_equal, *plans)


def test_answers_of_other_shapes_are_told_wherever_they_are_asked_for():
    def flat(params, states, seats):
        return jnp.zeros((len(seats), 9)), jnp.zeros((len(seats), 1))

    message = r"evaluate gave arrays of shape \[2, 9\], \[2, 1\]: must be logits \[2, A\] and values \[2\]"
    for planner in (determinized.look_ahead(HEX, flat), puct.puct(HEX, flat, puct.Settings(num_simulations=2))):
        refuses(message, lambda planner=planner: ask(planner))

    def silent(params, states, seats):
        return jnp.zeros((len(seats), 1)), jnp.zeros(len(seats))

    planner = modelled_puct(HEX, silent, Models(model="network", root="true"))
    refuses(
        "model='network': evaluate gave one logit for all actions, so it prefers none",
        lambda: ask(planner),
    )


def test_a_search_of_turns_is_traced_once_for_its_memory(monkeypatch):
    traced = []
    monkeypatch.setattr(TurnSearch, "run", lambda self, *given, run=TurnSearch.run: traced.append(1) or run(self, *given))
    planner = greedy.greedy_turn(Hoard(), greedy.Settings(num_evaluations=2))
    planner.init(LANES), planner.init(LANES)
    assert len(traced) == 1


@pytest.mark.parametrize(
    ("lanes", "told"),
    [
        (np.array([1, 0]), "lanes of shape [2] and type int64: must be flags [B], one per lane"),
        (True, "lanes=True: must be flags [B], one per lane"),
        (np.True_, "lanes of shape [] and type bool: must be flags [B], one per lane"),
        (np.ones(3, bool), "memory.keys of shape "),
    ],
)
def test_only_flags_of_all_lanes_are_reset(lanes, told):
    planner = search.fdts(HEX, num_simulations=2, horizon=2, table_rows=8)
    with pytest.raises(ValueError, match=f"^{re.escape(told)}"):
        planner.reset(memory_of(planner), lanes)
    assert planner.reset(planner.init(LANES), ACTIVE).started.tolist() == [1, 1]


def test_seats_that_are_known_are_none_below_zero():
    planner = search.fdts(HEX, num_simulations=2, horizon=2, table_rows=8)
    with pytest.raises(ValueError, match=r"^seats\[1\]=-1: must be 0 or more; `to_play` gives -1"):
        planner.plan(None, two_keys(), memory_of(planner), states_of(HEX), np.array([0, -1]), ACTIVE)


@pytest.mark.parametrize("make", [
    lambda: search.fdts(HEX, num_simulations=2, horizon=2, table_rows=8),
    lambda: search.mcs(HEX, num_simulations=2, horizon=2),
    lambda: search.mcs(single_player(HEX, steady_player(0)._replace(sees_state=True)), num_simulations=2, horizon=2),
    lambda: determinized.look_ahead(HEX, lambda params, states, seats: None),
])  # fmt: skip
def test_seats_that_are_known_are_of_the_game(make):
    """Also where plans are of one player, the seat that is asked for."""
    planner = make()
    with pytest.raises(ValueError, match=r"^seats\[0\]=2: must be in 0\.\.1$"):
        planner.plan(None, two_keys(), memory_of(planner), states_of(HEX), np.array([2, 0]), ACTIVE)


def test_plans_have_the_types_that_are_documented():
    """Also where JAX has numbers of 64 bits, in which functions of it may come back."""
    with jax.enable_x64(True):
        ones = jnp.ones((2, 1, 3))
        plan = Plan(ones[..., 0].astype(int), ones.astype(int), ones > 0, ones, ones.astype(int), ones, ones[..., 0], {})
        assert plan.qvalues.dtype == jnp.float64
        found = arguments.sound("a planner", plan, 2)
    types = {name: getattr(found, name).dtype.name for name in vars(found) if name != "metrics"}
    assert {types.pop(name) for name in ("actions", "arms", "visit_counts")} == {"int32"}
    assert {types.pop(name) for name in ("qvalues", "action_weights", "root_value")} == {"float32"}
    assert types == {"legal": "bool"}
