"""The register of planners: what is handed to whom."""

import copy
import dataclasses
import functools
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.specs import values_of, with_settings
from search import presets, puct
from search.bandit import flat, makers
from search.bandit.guide import Guide
from search.bandit.settings import Settings
from search.by_prospects import ByProspects
from search.entries import WithGuide, WithStrings
from search.guessed import GuessedWorlds
from search.information_sets import Node
from search.modelled import Models, WithModels
from search.puct import determinized
from search.turns import action_sequences, evolution
from search.turns import mcts as turn_mcts
from tests.rivalry import Rivalry
from tests.search.openings import STRATEGO, three_openings
from tests.tug import PULL, Tug

OPEN, POMMERMAN, TUG = jaxgames.make("hex", "hex-3"), jaxgames.make("pommerman", "ffa"), Tug()
SIZES = {"num_simulations": 8, "horizon": 5, "leaf_parallelism": 2, "microbatch_size": 3}


@pytest.fixture
def made(monkeypatch):
    """What the searches by bandits were called with."""
    calls = []
    for module, name in ((makers, "decoupled_search"), (flat, "flat_search")):
        monkeypatch.setattr(module, name, lambda *arguments, name=name: calls.append((name, *arguments)))
    return calls


@pytest.mark.parametrize(
    ("name", "label", "keep_all", "rollout"),
    [
        ("fdts", "FDTS", True, True),
        ("mcts", "MCTS", False, True),
        ("mcts_no_rollout", "MCTS (no rollouts)", False, False),
        ("mcs", "MCS", True, True),
    ],
)
def test_searches_by_bandits(name, label, keep_all, rollout, made):
    sizes = SIZES | ({} if name == "mcs" else {"table_rows": 64})
    presets.by_name(TUG, name, bandit="ucb", **sizes)
    kind, _, bandit, settings, title, *_ = made.pop()
    assert kind == ("flat_search" if name == "mcs" else "decoupled_search")
    assert bandit.name == "UCB" and title == f"{label} + UCB"
    assert {field: getattr(settings, field) for field in sizes} == sizes
    assert (settings.keep_all, settings.rollout) == (keep_all, rollout)
    presets.by_name(TUG, name)
    assert made.pop()[2].name == "TS"


@dataclasses.dataclass(frozen=True)
class Hopeful(Rivalry):
    """Undecided positions are worth the same to all; what they promise is graded."""

    def heuristic(self, state):
        return jnp.where(state.terminated, self.outcome(state), 0.5)

    def prospects(self, state):
        ahead = 0.45 * state.token.astype(jnp.float32)
        return jnp.where(state.terminated, self.outcome(state), jnp.stack([ahead, -ahead]))


@pytest.mark.parametrize("name", ["fdts", "mcts", "mcts_no_rollout", "mcs"])
@pytest.mark.parametrize("values", ["prospects", "auto"])
def test_searches_by_bandits_value_by_what_positions_promise(name, values, made):
    game, states = Hopeful(), jax.vmap(Hopeful().state)(jnp.array([-1, 0, 1]))
    presets.by_name(game, name, values=values)
    _, dynamics, bandit, *_ = made.pop()
    assert dynamics.heuristic(states).tolist() == jax.vmap(game.prospects)(states).tolist()
    assert bandit.credit is bandit.soft_credit, "the means of values count, not their signs alone"
    presets.by_name(game, name)
    _, dynamics, bandit, *_ = made.pop()
    assert (dynamics.heuristic(states) == 0.5).all() and bandit.credit is not bandit.soft_credit, "as published"


SLOW_TO_COMPILE = [pytest.param(name, marks=pytest.mark.slow) for name in ("fdts", "mcts", "oep")]


@pytest.mark.parametrize("name", ["mcs", "rolling_horizon", *SLOW_TO_COMPILE])
def test_what_positions_promise_is_played_for(name):
    game, lanes = Hopeful(), np.zeros(16, np.int32)
    sizes = {"population": 8} if name in ("oep", "rolling_horizon") else {}
    planner = presets.by_name(game, name, values="prospects", num_simulations=96, horizon=1, **sizes)

    @jax.jit
    def chosen(keys):
        states, memory = jax.vmap(game.state)(jnp.asarray(lanes)), planner.init(16)
        return planner.plan(None, keys, memory, states, jnp.asarray(lanes), jnp.ones(16, bool))[0].actions

    actions = np.asarray(chosen(jax.random.split(jax.random.key(0), 16)))
    assert (actions == PULL).mean() > 0.9, "strings that evolve may have met no pull at all"


STRINGS = action_sequences.Settings(horizon=3)
IN_WORLDS = ("determinized_fdts", "determinized_mcts", "determinized_mcs", "determinized_oep", "ismcts")


def test_in_worlds_and_among_information_sets_prospects_are_the_default():
    entries = presets.planners_of(STRATEGO)
    assert {values_of(entries[name].settings)["values"] for name in IN_WORLDS} == {"auto"}
    assert values_of(presets.planners_of(POMMERMAN)["fdts"].settings)["values"] == "heuristic"
    valued = ByProspects(STRATEGO)
    assert valued.open_game == ByProspects(STRATEGO.open_game) and valued.name == "stratego"
    assert copy.copy(valued) == valued and pickle.loads(pickle.dumps(valued)) == valued
    assert hash(valued) == hash(ByProspects(STRATEGO))
    with pytest.raises(ValueError, match="game='hex': does not say what its positions promise"):
        ByProspects(OPEN)


USUAL = GuessedWorlds(STRATEGO, STRATEGO.usual_chances)
SEARCHES_IN_WORLDS = ("determinized_fdts", "determinized_mcs", "ismcts")


@pytest.mark.parametrize(("name", "game"), [
    *(pytest.param(name, STRATEGO, id=f"{name}-even") for name in SEARCHES_IN_WORLDS),
    pytest.param("ismcts", USUAL, id="ismcts-usual"),
    *(pytest.param(name, USUAL, id=f"{name}-usual", marks=pytest.mark.slow) for name in SEARCHES_IN_WORLDS[:2]),
])  # fmt: skip
def test_in_worlds_and_among_information_sets_prospects_are_backed_up(name, game, monkeypatch):
    """What the search is made of says so: the searches themselves are not made."""
    asked = []

    def stop(*arguments):
        asked.append(arguments)
        raise NotImplementedError

    for module, function in ((makers, "decoupled_search"), (flat, "flat_search")):
        monkeypatch.setattr(module, function, stop)
    states, promised, counted = three_openings()
    assert promised != counted
    for values, found in (("auto", promised), ("heuristic", counted)):
        with pytest.raises(NotImplementedError):
            presets.planners_of(STRATEGO)[name].build(game, presets.planners_of(STRATEGO)[name].configure({"values": values}))
        backed_up, rule, *_ = asked.pop()
        assert jax.jit(backed_up.heuristic)(Node(states, None) if name == "ismcts" else states).tolist() == found
        assert (rule.credit is rule.soft_credit) == (values == "auto")


def test_strings_evolve_in_the_game_by_its_values():
    build = presets._strings(lambda game, settings: (game, settings))
    for values, game in (("auto", ByProspects(STRATEGO)), ("prospects", ByProspects(STRATEGO)), ("heuristic", STRATEGO)):
        assert build(STRATEGO, WithStrings(STRINGS, values)) == (game, STRINGS)
    assert build(OPEN, WithStrings(STRINGS, "auto")) == (OPEN, STRINGS)


def test_a_network_guides_fdts(made):
    def evaluate(params, states, seats):
        raise AssertionError

    presets.by_name(TUG, "fdts", evaluate=evaluate, prior_weight=2.0, guide_values=True)
    guide = made[0][-1]
    assert isinstance(guide, Guide) and (guide.evaluate, guide.prior_weight, guide.values) == (evaluate, 2.0, True)
    assert made.pop()[4] == "guided FDTS + TS"
    with pytest.raises(ValueError, match="guide_values=1: takes the network's values, so values must be heuristic or auto"):
        presets.by_name(Hopeful(), "fdts", evaluate=evaluate, guide_values=True, values="prospects")
    presets.by_name(Hopeful(), "fdts", evaluate=evaluate, guide_values=True, values="auto")
    _, dynamics, bandit, *_ = made.pop()
    assert (dynamics.heuristic(jax.vmap(Hopeful().state)(jnp.zeros(2, jnp.int32))) == 0.5).all(), "auto leaves it to the network"
    assert bandit.credit is not bandit.soft_credit
    for silent in (0, 0.0):
        told = f"prior_weight={silent}: must be > 0 without guide_values, or the network does nothing"
        with pytest.raises(ValueError, match=f"^{told}$"):
            presets.by_name(TUG, "fdts", evaluate=evaluate, prior_weight=silent)
    with pytest.raises(ValueError, match=r"^prior_weight='4': must be a number$"):
        presets.by_name(TUG, "fdts", evaluate=evaluate, prior_weight="4")
    presets.by_name(TUG, "fdts", evaluate=evaluate, prior_weight=0, guide_values=True)
    assert made.pop()[-1].values
    presets.by_name(TUG, "fdts")
    assert made.pop()[-1] is None
    with pytest.raises(ValueError, match="planner='mcts': takes no network"):
        presets.by_name(TUG, "mcts", evaluate=evaluate)
    with pytest.raises(ValueError, match=r"^guide='a\.npz': weights are read by training\.play\.agents\.make_planner; "):
        presets.by_name(TUG, "fdts", guide="a.npz")


def test_searches_that_ask_for_values():
    def build(game, settings, *network):
        return presets._valued(lambda *arguments, outputs: (*arguments, outputs))(game, settings, *network)

    dark = jaxgames.make("hex", "adh-3")
    entry = presets.planners_of(dark)["pc_pimc"]
    settings = entry.configure({"num_worlds": 3, "num_simulations": 9, "temperature": 0.5, "mcts_solver": True})
    game, _, found, outputs = build(dark, settings)
    assert game is dark and outputs is None and (found.num_worlds, found.temperature, found.combine) == (3, 0.5, "policy")
    assert found.search.num_simulations == 9 and found.search.mcts_solver and found.search.temperature == 0
    assert build(dark, settings, len, max)[1::2] == (len, max)
    combined = {name: planner.settings.settings.combine for name, planner in presets.planners_of(dark).items() if "pimc" in name}
    assert combined == {"pc_pimc": "policy", "pimc": "value", "pimc_value": "value"}


@pytest.mark.parametrize("name", ["pc_pimc", "medoid", "pimc", "pimc_value"])
def test_states_are_valued_in_the_game_that_the_tree_plays(name, monkeypatch):
    dark, asked = jaxgames.make("hex", "adh-3"), []
    for function in ("random_rollouts", "with_prospects"):
        monkeypatch.setattr(presets, function, lambda game, *rest: asked.append(game) or len)
    for tree, played in (("open", dark.open_game), ("game", dark)):
        presets.by_name(dark, name, tree=tree, prospects=0.5)
        assert asked == [played, played] and dark != dark.open_game
        asked.clear()


def test_planners_in_drawn_worlds():
    dark = jaxgames.make("hex", "adh-3")
    planner = presets.by_name(dark, "determinized_fdts", bandit="ucb", num_simulations=4, num_worlds=3, combine="value")
    assert planner.name == "FDTS + UCB in 3 worlds" and not planner.sees_state
    hidden = jaxgames.make("hero_academy", "hidden")
    settings = presets.planners_of(hidden)["determinized_oep"].configure({"num_evaluations": 1000, "num_worlds": 2})
    assert (settings.worlds.num_worlds, settings.planner.num_evaluations) == (2, 1000)
    assert presets.by_name(hidden, "determinized_oep", num_evaluations=1000).name == "OEP in 12 worlds"
    assert "determinized_fdts" not in presets.planners_of(OPEN)


def test_settings_of_worlds_leave_those_of_the_planner_in_them_alone():
    entry = presets.planners_of(jaxgames.make("hex", "adh-3"))["determinized_fdts"]
    usual, given = entry.configure({}), {"microbatch_size": 4, "num_worlds": 3, "num_simulations": 8, "combine": "value"}
    found = entry.configure(given)
    assert found.worlds == dataclasses.replace(usual.worlds, microbatch_size=4, num_worlds=3, combine="value")
    assert found.planner.search == dataclasses.replace(usual.planner.search, num_simulations=8)
    assert {name: values_of(found)[name] for name in given} == given


def test_a_config_and_a_field_of_it_can_be_given_together():
    given = with_settings(WithModels(), {"models": Models(model="still"), "root": "true", "num_simulations": 5})
    assert given.models == Models(model="still", root="true") and given.search.num_simulations == 5


def test_games_of_turns_have_planners_of_their_own_under_the_same_names():
    turns = jaxgames.make("hero_academy", "tiny")
    for name in ("mcts", "oep", "rolling_horizon"):
        assert presets.planners_of(turns)[name] is not presets.planners_of(POMMERMAN)[name]
    assert presets.by_name(turns, "mcts").name == "MCTS" and presets.by_name(POMMERMAN, "mcts").name == "MCTS + TS"
    assert presets.by_name(turns, "mcts_bridge_burning").name == "bridge-burning MCTS"
    assert presets.by_name(turns, "mcts_non_exploring").name == "non-exploring MCTS"
    assert presets.by_name(turns, "mcts_bridge_burning", exploration=0.0).name == "non-exploring bridge-burning MCTS"
    assert presets.by_name(turns, "mcts").name == "MCTS"


def test_no_name_stands_for_two_planners_of_a_game():
    for game in (OPEN, POMMERMAN, jaxgames.make("hex", "adh-3"), jaxgames.make("hero_academy", "tiny")):
        assert len(presets.planners_of(game)) == sum(entry.suits(game) for entry in presets.PLANNERS)


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("alpha", {}, "planner='alpha': must be one of fdts, mcts"),
        ("puct", {}, "planner='puct': must be one of"),  # all move at once
        ("fdts", {"depth": 3}, "depth=3: fdts takes bandit, c, values, prior_weight"),
        ("fdts", {"keep_all": False}, "keep_all=False: fdts takes"),
        ("fdts", {"bandit": "exp3"}, "bandit='exp3': must be one of ts, ucb, uniform"),
        ("mcts", {"values": "hope"}, "values='hope': must be one of auto, heuristic, prospects"),
        ("oep", {"values": "hope"}, "values='hope': must be one of auto, heuristic, prospects"),
        ("oep", {"leaf_parallelism": 4}, "leaf_parallelism=4: oep takes values, num_simulations"),
    ],
)
def test_what_cannot_be(name, settings, message):
    with pytest.raises(ValueError, match=message):
        presets.by_name(POMMERMAN, name, **settings)
    told = "values='prospects': game='hex' does not say what its positions promise; take heuristic"
    for planner in ("fdts", "oep"):
        with pytest.raises(ValueError, match=told):
            presets.by_name(OPEN, planner, values="prospects")


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *((Settings, name) for name in ("rest_when_forced", "grouped", "keep_all", "rollout")),
        *((puct.Settings, name) for name in ("normalize_q", "count_self", "mcts_solver", "reuse")),
        (determinized.Settings, "split"),
        (Models, "talks"),
        (functools.partial(Guide, lambda params, states, seats: None), "values"),
        (WithGuide, "guide_values"),
        (turn_mcts.Settings, "burn_bridges"),
        (evolution.Settings, "niches"),
    ],
)
def test_flags_are_true_or_false(kind, name):
    """A text counts as True, whatever it says."""
    with pytest.raises(ValueError, match=f"^{name}='no': must be True or False$"):
        kind(**{name: "no"})


def test_flags_may_be_given_as_on_command_lines():
    game = jaxgames.make("hex", "hex-3")
    presets.by_name(game, "puct", reuse=1, mcts_solver=0)
    with pytest.raises(ValueError, match=r"^reuse=2: must be True or False$"):
        presets.by_name(game, "puct", reuse=2)
