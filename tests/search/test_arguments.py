"""What a planner says of arguments that do not fit: one line, while it is traced."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
import search
from jaxgames import shapes
from search import arguments, puct
from search.all_seats import for_all_seats
from search.believed import believed
from search.information_sets import among_information_sets
from search.modelled import Models, modelled, modelled_puct
from search.opponents import single_player
from search.puct import determinized
from search.turns import action_sequences, coevolution, evolution, greedy, mcts
from search.turns.planner import TurnSearch

LANES = 2
KEYS = jax.random.split(jax.random.key(0), LANES)
SEATS, ACTIVE = jnp.zeros(LANES, jnp.int32), jnp.ones(LANES, bool)
HEX, DARK = jaxgames.make("hex", "hex-3"), jaxgames.make("hex", "adh-3")
TINY, CLASH, POMMERMAN = jaxgames.make("hero_academy", "tiny"), jaxgames.make("clash"), jaxgames.make("pommerman")
NAME = r"FDTS \+ TS"


def even(params, states, seats):
    return jnp.zeros((len(seats), HEX.num_actions)), jnp.zeros(len(seats))


def states_of(game):
    return jax.vmap(game.init)(KEYS)


def ask(planner, keys=KEYS, memory=None, views=None, seats=SEATS, active=ACTIVE, *, game=HEX, run=jax.eval_shape):
    memory = planner.init(LANES) if memory is None else memory
    return run(planner.plan, None, keys, memory, states_of(game) if views is None else views, seats, active)


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
    plan, _ = ask(planner)
    assert plan.actions.shape == (LANES, 2)
    ask(planner, seats=np.zeros(LANES, np.int32), active=np.ones(LANES, bool))
    for other, game in ((planner, HEX), (drawn_worlds(), DARK), (every_seat(), HEX)):
        view = arguments.state_of(game) if other.sees_state else shapes.information_of(game)
        ask(other, keys=jax.random.key_data(KEYS), views=shapes.batched(view, LANES))  # keys as numbers are keys


@pytest.mark.parametrize(
    ("argument", "wrong", "message"),
    [
        ("keys", KEYS[0], r"keys of shape \[\] and type key<fry>: must be random keys \[B\], one per lane"),
        ("keys", jax.random.PRNGKey(0), r"keys of shape \[2\] and type uint32: must be random keys \[B\], one per lane"),
        ("seats", jnp.zeros(LANES), r"seats of shape \[2\] and type float32: must be whole numbers \[2\], one per lane"),
        ("seats", np.int32(0), r"seats of shape \[\] and type int32: must be whole numbers \[2\], one per lane"),
        ("keys", None, r"keys=None: must be random keys \[B\], one per lane"),
        ("seats", None, r"seats=None: must be whole numbers \[2\], one per lane"),
        ("seats", [0, 1], r"seats=\[0, 1\]: must be whole numbers \[2\], one per lane"),
        ("active", True, r"active=True: must be flags \[2\], one per lane"),
        ("active", SEATS, r"active of shape \[2\] and type int32: must be flags \[2\], one per lane"),
        ("active", jnp.ones(3, bool), r"active of shape \[3\] and type bool: must be flags \[2\], one per lane"),
        ("memory", (), rf"memory\.keys missing: must be \[\d+, \d+\]; memory must be that of init\(2\) of '{NAME}'"),
    ],
)
def test_what_does_not_fit_is_named(planner, argument, wrong, message):
    refuses(message, lambda: ask(planner, **{argument: wrong}, run=lambda plan, *given: plan(*given)))


def test_memory_of_another_batch(planner):
    message = r"memory\.keys of shape \[\d+, \d+\]: must be \[\d+, \d+\]; memory must be that of init\(2\) of .*"
    refuses(message, lambda: ask(planner, memory=planner.init(3)))
    for wrong in (0, -1, 1.5, "2"):
        with pytest.raises(ValueError, match=rf"^batch_size={wrong!r}: must be a whole number, 1 or more$"):
            planner.init(wrong)


def test_views_of_something_else(planner):
    shown = rf"views must be 2 of what '{NAME}' is shown"
    for views, message in (
        (HEX.init(KEYS[0]), rf"of shape \[\]: must be \[2\]; {shown}"),
        (states_of(jaxgames.make("hex", "hex-7")), rf"of shape \[2\]: must not be there; {shown}"),
        (jax.vmap(HEX.observe)(states_of(HEX), SEATS), rf"(missing: must be \[2\]|of shape \[2, 3, 3\]: .*); {shown}"),
    ):
        refuses(rf"views[.\w\[\]]+ {message}", lambda views=views: ask(planner, views=views))


@pytest.mark.parametrize(
    ("planner", "game"),
    [
        (search.mcs(HEX, num_simulations=2), HEX),
        (puct.puct(HEX, even, puct.Settings(num_simulations=2)), HEX),
        (action_sequences.rolling_horizon_strings(HEX), HEX),
        (action_sequences.oep_strings(HEX), HEX),
        (determinized.look_ahead(HEX, even), HEX),
        (determinized.true_sight(DARK, even, puct.Settings(num_simulations=2)), DARK),
        (determinized.determinized(DARK, search.mcs(HEX)), DARK),
        (search.presets.by_name(DARK, "ismcts"), DARK),
        (greedy.greedy_action(TINY), TINY),
        (greedy.greedy_turn(TINY, greedy.Settings(num_evaluations=2)), TINY),
        (search.presets.by_name(POMMERMAN, "modelled_fdts"), POMMERMAN),
        (search.presets.by_name(POMMERMAN, "modelled_fdts", root="visible"), POMMERMAN),
        (search.presets.by_name(POMMERMAN, "modelled_mcts", root="true"), POMMERMAN),
        (search.presets.by_name(POMMERMAN, "sp_mcts", root="true", num_simulations=8), POMMERMAN),
        (every_seat(), HEX),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_every_planner_checks(planner, game):
    with pytest.raises(ValueError, match=r"^keys of shape \[\] and type key<fry>: must be random keys"):
        ask(planner, keys=KEYS[0], game=game)
    with pytest.raises(ValueError, match=rf"^views.* must be 2 of what '{re.escape(planner.name)}' is shown"):
        ask(planner, views=states_of(CLASH), game=game)


def test_arguments_of_another_kind_are_named():
    whole = search.fdts(HEX)
    for make, message in (
        (lambda: search.fdts(None), "game=None: must be a game, as jaxgames.make gives it"),
        (lambda: greedy.greedy_action("hex"), "game='hex': must be a game, as jaxgames.make gives it"),
        (lambda: search.fdts(HEX, 3), "bandit=3: must be a search.bandit.bandits.Bandit"),
        (lambda: puct.puct(HEX, even, 32), "settings=32: must be a search.puct.search.Settings"),
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
        (lambda: single_player(HEX, whole), r"opponent=Planner\(.*must be a jaxgames.agent.Agent"),
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


def test_too_few_logits_are_told():
    def narrow(params, states, seats):
        return jnp.zeros((len(seats), 8)), jnp.zeros(len(seats))

    planner = puct.puct(HEX, narrow, puct.Settings(num_simulations=2))
    refuses("evaluate gave 8 logits: must be at least 9, of actions by number, or outputs= be given", lambda: ask(planner))
    ask(puct.puct(HEX, narrow, puct.Settings(num_simulations=2), outputs=lambda actions, seat: actions % 8))


@pytest.mark.parametrize("outputs", [None, lambda actions, seat: actions])
def test_one_logit_is_that_of_all_arms(outputs):
    def one(params, states, seats):
        return jnp.zeros((len(seats), 1)), jnp.zeros(len(seats))

    searches = [
        jax.jit(puct.puct(HEX, evaluate, puct.Settings(num_simulations=12), outputs=outputs).plan) for evaluate in (one, even)
    ]
    memory = puct.puct(HEX, even, puct.Settings(num_simulations=12)).init(LANES)
    plans = [jax.device_get(plan(None, KEYS, memory, states_of(HEX), SEATS, ACTIVE)[0]) for plan in searches]
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
    planner = greedy.greedy_turn(TINY, greedy.Settings(num_evaluations=2))
    planner.init(LANES), planner.init(LANES)
    assert len(traced) == 1
