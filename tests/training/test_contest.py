"""Any agents against each other: names, counts, files, errors."""

import json

import pytest
from rich.console import Console

import jaxgames
from training import agents, contest
from training.contest import ContestConfig

GAME = jaxgames.make("pommerman", "ffa")
FAST = "fdts:num_simulations=2,horizon=2,table_rows=64"


def test_plays_counts_and_writes(tmp_path):
    config = ContestConfig(agents=("simple", "random", FAST, "random"), games=6, batch=6, output=str(tmp_path))
    result = contest.run(config, Console(quiet=True))
    assert [one["name"] for one in result["agents"]] == ["simple", "random", FAST]
    assert [one["released"]["games"] for one in result["agents"]] == [6, 12, 6]
    wins = sum(one["released"]["wins"] for one in result["agents"])
    draws = result["agents"][0]["released"]["draws"]
    assert wins + draws == 6
    assert json.loads((tmp_path / "result.json").read_text())["agents"] == result["agents"]
    assert (tmp_path / "game.svg").read_text().startswith("<svg")


@pytest.mark.parametrize("spec, message", [
    ("nobody", "must be one of simple, random"),
    ("simple:x=1", "simple has no settings"),
    ("fdts:depth=3", "'depth=3' is none of bandit, guide"),
    ("fdts:horizon=far", "horizon='far' must be a number"),
    ("mcts:guide=x", "only fdts takes a guide"),
    ("fdts:num_simulations=0", "num_simulations=0: must be >= 1"),
])  # fmt: skip
def test_agents_that_do_not_exist(spec, message):
    with pytest.raises(ValueError, match=message):
        agents.make(spec, GAME)


def test_weights_that_are_none(tmp_path):
    with pytest.raises(OSError, match=r"nothing\.npz"):
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


def test_as_many_agents_as_players():
    with pytest.raises(ValueError, match="2 agents: pommerman ffa has 4 players"):
        contest.run(ContestConfig(agents=("simple", "simple")), Console(quiet=True))
