"""Who plays a match by itself, how its games are counted, and what is shown of them."""

import io

import numpy as np
import pytest
from rich.console import Console

import jaxgames
from training.play import evaluate, match
from training.play.match import MatchConfig

# --- who plays ---------------------------------------------------------------------------------------------------------


def players_of(**settings) -> tuple[str, ...]:
    config = MatchConfig(**settings)
    return config.players(jaxgames.make(config.game, config.mode))


def test_games_have_usual_players():
    assert players_of() == ("fdts", "simple", "simple", "simple") and MatchConfig().mode == "ffa"
    assert players_of(game="hex", opponent="path") == ("pc_pimc:num_simulations=100", "path")
    assert players_of(game="hex", mode="hex-3", planner="puct") == ("puct", "random")
    assert players_of(game="hero_academy", agents=("oep", "random")) == ("oep", "random")


@pytest.mark.parametrize(("given", "played"), [({}, ("oep", "greedy_action")), ({"planner": "random"}, ())])
def test_where_nobody_is_named_the_usual_agents_are_evaluated(given, played, monkeypatch):
    monkeypatch.setattr(match, "run", lambda config, console: config.agents)
    assert match.run_agents(match.EvaluateConfig(game="hero_academy", **given)) == played


def test_agents_are_counted_in_the_order_given_and_equal_ones_together():
    outcomes = np.array([[1, -1, -1, -1], [0, 0, 0, 0], [-1, -1, -1, 1]], np.int8)
    games = evaluate.Games(outcomes, outcomes >= 0, None, None, None, None)
    found = match.summarize(("b", "a", "c", "a"), games)
    assert [(one["name"], one["agents"]) for one in found] == [("b", 1), ("a", 2), ("c", 1)]
    for rule in ("released", "strict"):
        counts = [[one[rule][what] for what in ("games", "wins", "draws", "losses")] for one in found]
        assert counts == [[3, 1, 1, 1], [3, 0.5, 1, 1.5], [3, 0, 1, 2]]


def test_who_is_in_a_team_wins_once():
    outcomes = np.array([[1, -1, 1, -1], [-1, 1, -1, 1], [1, -1, 1, -1]], np.int8)
    games = evaluate.Games(outcomes, outcomes >= 0, None, None, None, None)
    found = match.summarize(("a", "b", "a", "b"), games, (0, 1, 0, 1))
    assert [[one["released"][what] for what in ("games", "wins", "losses")] for one in found] == [[3, 2, 1], [3, 1, 2]]
    (alone,) = match.summarize(("a", "a", "a", "a"), games, (0, 1, 0, 1))
    assert alone["released"]["games"] == 3 and alone["released"]["wins"] == 1.5


def test_a_planner_and_its_opponents_are_teams_where_there_are_teams():
    config = MatchConfig(mode="team", planner="mcs", opponent="random")
    assert config.players(jaxgames.make("pommerman", "team")) == ("mcs", "random", "mcs", "random")
    assert MatchConfig(planner="mcs").players(jaxgames.make("pommerman")) == ("mcs", "simple", "simple", "simple")


# --- what is shown -----------------------------------------------------------------------------------------------------

COUNT = {"games": 400, "wins": 300, "draws": 0, "losses": 100} | dict.fromkeys(
    ("win_interval", "draw_interval", "loss_interval"), (0, 1)
)


def shown(*agents: dict, names=None, **settings) -> str:
    config = MatchConfig(**settings)
    result = {"mean_length": 3.0, "agents": list(agents)}
    names = names or {agent["name"]: agent["name"] for agent in agents}
    table, notes = match._table(config, jaxgames.make(config.game, config.mode), result, names)
    console = Console(file=io.StringIO(), width=150)
    console.print(table, *notes)
    return console.file.getvalue()


def test_countings_that_agree_are_one_row_and_names_are_shown_as_they_are():
    agent = {"name": "a", "released": COUNT, "strict": COUNT}
    printed = shown(agent, agent, names={"a": "[/a] (sees all)"}, game="hex")
    assert printed.count("75.0 (") == 2 == printed.count("[/a] (sees all)") and "strict" not in printed
    assert shown(agent, agent, {**agent, "strict": COUNT | {"wins": 4}}, game="hex").count("strict") == 3


@pytest.mark.parametrize(
    ("settings", "row"),
    [
        ({}, "51.3"),
        ({"planner": "fdts:bandit=ts,leaf_parallelism=4,num_simulations=100"}, "51.3"),
        ({"planner": "fdts:bandit=ucb"}, "42.3"),
        ({"planner": "mcts_no_rollout"}, "17.8"),
        ({"agents": ("follower", "simple", "simple", "simple")}, "23.3"),
        ({"planner": "simple"}, "19.2"),
        ({"planner": "fdts:num_simulations=50"}, ""),
        ({"planner": "fdts:guide=FILE"}, ""),
        ({"planner": "follower:FILE"}, ""),
        ({"planner": "oep"}, ""),
        ({"opponent": "random"}, ""),
        ({"mode": "team"}, ""),
        ({"game": "hex"}, ""),
    ],
)
def test_the_row_of_the_paper_is_shown_where_it_is_the_same_player(settings, row):
    printed = shown({"name": "a", "released": COUNT, "strict": COUNT}, **settings)
    assert ("the paper" in printed) == bool(row) and row in printed
    assert ("reproduces the code" in printed) == (row == "51.3")
