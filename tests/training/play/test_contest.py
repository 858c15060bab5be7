"""Any agents against each other: names, counts, files, errors."""

import io
import json

import pytest
from rich.console import Console

import jaxgames
from jaxgames import runtime
from jaxgames.agent import memoryless
from training.play import agents, contest
from training.play.contest import ContestConfig
from training.storage.files import output_folder

GAME = jaxgames.make("pommerman", "ffa")
FAST = "mcs:num_simulations=2,horizon=2"


def test_plays_counts_and_writes(tmp_path):
    config = ContestConfig(agents=("simple", "random", FAST, "random"), games=6, batch=6, output=str(tmp_path / "t[/a]"))
    console = Console(file=io.StringIO(), width=200)
    with output_folder(config.output), pytest.raises(OSError, match="in use by process"):
        contest.run(config, console)
    result = contest.run(config, console)
    assert f"results in {config.output}" in console.file.getvalue()
    assert [one["name"] for one in result["agents"]] == ["simple", "random", FAST]
    assert [one["released"]["games"] for one in result["agents"]] == [6, 12, 6]
    wins = sum(one["released"]["wins"] for one in result["agents"])
    draws = result["agents"][0]["released"]["draws"]
    assert wins + draws == 6
    assert json.loads((tmp_path / "t[/a]" / "result.json").read_text())["agents"] == result["agents"]
    assert (tmp_path / "t[/a]" / "game.svg").read_text().startswith("<svg")


@pytest.mark.parametrize("spec, message", [
    ("nobody", "must be one of simple, random"),
    ("simple:x=1", "simple has no settings"),
    ("fdts:depth=3", "'depth=3' is none of bandit, guide"),
    ("fdts:horizon=far", "horizon='far' must be a whole number"),
    ("fdts:prior_weight=2", "prior_weight needs a guide"),
    ("mcts:guide=x", "only fdts takes a guide"),
    ("fdts:num_simulations=0", "num_simulations=0: must be >= 1"),
])  # fmt: skip
def test_agents_that_do_not_exist(spec, message):
    with pytest.raises(ValueError, match=message):
        agents.make(spec, GAME)


def test_weights_that_are_none(tmp_path):
    told = r"^weights .*/nothing\.npz: cannot be read \(No such file or directory\): give a file of trained weights, or"
    with pytest.raises(OSError, match=told):
        agents.make(f"follower:{tmp_path / 'nothing.npz'}", GAME)
    (tmp_path / "torn.npz").write_bytes(b"PK")
    with pytest.raises(ValueError, match=r"torn\.npz"):
        agents.make(f"follower:{tmp_path / 'torn.npz'}", GAME)


def test_the_follower_of_the_package_plays_pommerman_alone():
    follower = agents.make("follower", GAME)
    assert follower.name == "follower" and not follower.sees_state
    with pytest.raises(ValueError, match="must be one of random, path, network"):
        agents.make("follower", jaxgames.make("hex"))
    with pytest.raises(ValueError, match="give --mode ffa"):
        agents.make("follower", jaxgames.make("pommerman", "team"))


def test_games_have_defaults_of_their_own():
    assert ContestConfig().mode == "ffa" and ContestConfig(game="hex").mode == "adh-5"
    assert len(ContestConfig().agents) == 4 and len(ContestConfig(game="hero_academy").agents) == 2


def test_countings_that_agree_are_one_row_and_who_sees_all_is_marked():
    count = {"games": 4, "wins": 3, "draws": 0, "losses": 1} | dict.fromkeys(
        ("win_interval", "draw_interval", "loss_interval"), (0, 1)
    )
    result = {"mean_length": 3.0, "agents": [{"name": "a", "released": count, "strict": count}] * 2}
    shown = {"a": agents.shown(memoryless("a", None, sees_state=True), GAME)}
    console = Console(file=io.StringIO(), width=150)
    console.print(contest._table(result, shown))
    printed = console.file.getvalue()
    assert printed.count("75.0 (") == 2 == printed.count("a (sees all)") and "strict" not in printed
    result["agents"].append({"name": "a", "released": count, "strict": count | {"wins": 4}})
    console.print(contest._table(result, shown))
    assert console.file.getvalue().count("strict") == 3


def test_only_what_is_hidden_can_be_seen_by_an_oracle():
    oracle = memoryless("fdts:horizon=2", None, sees_state=True)
    for mode, mark in (("hex-3", ""), ("adh-3", " (sees all)")):
        assert agents.shown(oracle, jaxgames.make("hex", mode)) == oracle.name + mark
    assert agents.shown(agents.make("simple", GAME), GAME) == "simple"  # looks at what its seat sees alone
    assert agents.shown(agents.make("follower", GAME), GAME) == "follower"
    hidden = jaxgames.make("hero_academy", "hidden")
    for spec in ("random", "greedy_action", "oep:num_evaluations=1000", "mcts:num_simulations=9"):
        assert agents.shown(agents.make(spec, hidden), hidden) == spec  # they go by what the player to move knows
    assert agents.shown(oracle, hidden) == "fdts:horizon=2 (sees all)"


def test_searches_that_do_not_fit_into_memory(monkeypatch):
    monkeypatch.setattr(runtime, "free_memory", lambda: 10**8)
    config = ContestConfig(agents=("simple", "random", "fdts", "simple"))
    with pytest.raises(ValueError, match=r"^batch=128: the match needs .* or a smaller search than fdts$"):
        contest.run(config, Console(quiet=True))


def test_as_many_agents_as_players():
    with pytest.raises(ValueError, match="2 agents: pommerman ffa has 4 players"):
        contest.run(ContestConfig(agents=("simple", "simple")), Console(quiet=True))
