"""The register of planners: what is handed to whom."""

import dataclasses

import pytest

import jaxgames
from jaxgames.specs import values_of, with_settings
from search import presets
from search.bandit.guide import Guide
from search.modelled import Models, WithModels
from tests.tug import Tug

OPEN, POMMERMAN, TUG = jaxgames.make("hex", "hex-3"), jaxgames.make("pommerman", "ffa"), Tug()
SIZES = {"num_simulations": 8, "horizon": 5, "leaf_parallelism": 2, "microbatch_size": 3}


@pytest.fixture
def made(monkeypatch):
    """What the searches by bandits were called with."""
    calls = []
    for name in ("decoupled_search", "flat_search"):
        monkeypatch.setattr(presets, name, lambda *arguments, name=name: calls.append((name, *arguments)))
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


def test_a_network_guides_fdts(made):
    def evaluate(params, states, seats):
        raise AssertionError

    presets.by_name(TUG, "fdts", evaluate=evaluate, prior_weight=2.0, guide_values=True)
    guide = made[0][-1]
    assert isinstance(guide, Guide) and (guide.evaluate, guide.prior_weight, guide.values) == (evaluate, 2.0, True)
    assert made.pop()[4] == "guided FDTS + TS"
    presets.by_name(TUG, "fdts")
    assert made.pop()[-1] is None
    with pytest.raises(ValueError, match="planner='mcts': takes no network"):
        presets.by_name(TUG, "mcts", evaluate=evaluate)


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
        ("fdts", {"depth": 3}, "depth=3: fdts takes bandit, c, prior_weight"),
        ("fdts", {"keep_all": False}, "keep_all=False: fdts takes"),
        ("fdts", {"bandit": "exp3"}, "bandit='exp3': must be one of ts, ucb, uniform"),
        ("oep", {"leaf_parallelism": 4}, "leaf_parallelism=4: oep takes num_simulations"),
    ],
)
def test_what_cannot_be(name, settings, message):
    with pytest.raises(ValueError, match=message):
        presets.by_name(POMMERMAN, name, **settings)
