"""The main job: what it writes, and how it turns bad input down."""

import dataclasses
import json
from xml.etree import ElementTree

import jax
import numpy as np
import pytest

import jaxgames
from jaxgames.pommerman.bots import still_agent
from scripts._common import run_main
from scripts.plan import main
from training import evaluate, match
from training.match import MatchConfig

TINY = ["--num-simulations", "4", "--horizon", "4", "--games", "3", "--batch", "2", "--table-rows", "256", "--seed", "5"]

QUICK = ["--game", "hex", "--mode", "adh-3", "--planner", "random", "--games", "2", "--batch", "2"]


def leave(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        run_main(main, MatchConfig, arguments)
    return stop.value.code or 0


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """The output folder of a tiny match, which is made on the way."""
    output = tmp_path_factory.mktemp("match") / "new" / "folder"
    assert leave(*TINY, "--output", str(output)) == 0
    return output


def test_the_result(played):
    result = json.loads((played / "result.json").read_text())
    assert result["settings"]["num_simulations"] == 4 and result["settings"]["output"] == str(played)
    assert result["games"] == 3 == result["wins"] + result["draws"] + result["losses"]
    for rule in ("released", "strict"):
        counts = result[rule]
        assert counts["games"] == 3 == counts["wins"] + counts["draws"] + counts["losses"]
        for what, interval in (("wins", "win_interval"), ("draws", "draw_interval"), ("losses", "loss_interval")):
            low, high = counts[interval]
            assert 0 <= low <= counts[what] / 3 <= high <= 1
    assert {name: result["released"][name] for name in ("wins", "draws", "losses")} == {
        name: result[name] for name in ("wins", "draws", "losses")
    }
    assert result["strict"]["draws"] <= result["released"]["draws"]
    assert len(result["wins_by_seat"]) == 4 and sum(result["wins_by_seat"]) <= 3
    assert 0 < result["moves"] <= 3 * 800 and 0 < result["mean_length"] <= 800
    assert 0 < result["compile_seconds"] < result["seconds"]
    assert result["moves_per_second"] == pytest.approx(result["moves"] / (result["seconds"] - result["compile_seconds"]))
    assert {"device", "versions"} <= set(result)


def test_the_picture(played):
    root = ElementTree.parse(played / "game.svg").getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    text = " ".join("".join(element.itertext()) for element in root.iter())
    assert "FDTS + TS" in text and "simple" in text


def test_nothing_else_is_left(played):
    assert sorted(path.name for path in played.iterdir()) == ["game.svg", "result.json"]


def test_a_stopped_match_leaves_an_older_result_alone(played, monkeypatch):
    before = {path.name: path.read_bytes() for path in played.iterdir()}

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    for module, name in ((evaluate, "play"), (match, "draw_game")):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, interrupt)
            assert leave(*QUICK, "--output", str(played)) == 130
        assert {path.name: path.read_bytes() for path in played.iterdir()} == before


def test_without_an_output_nothing_is_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert leave(*QUICK, "--output", "") == 0
    assert "results in" not in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_a_picture_tells_teams_limit_and_winners():
    """Outcomes are given, so that a team's win, a collapse that kills the winner, and a short limit are told apart."""
    game = jaxgames.make("pommerman", "team", max_steps=4)
    agents = [still_agent(game)] * 4
    games = evaluate.play(game, agents, jax.random.key(0), 1, seating="fixed", record=1)
    index, svg = match.draw_game(game, jax.random.key(0), games, list("abcd"))
    assert index == 0 and games.lengths[0] == 4 and "draw: step limit, 4 left" in svg and "team A, alive" in svg
    won = dataclasses.replace(games, outcomes=np.array([[-1, 1, -1, 1]], np.int8))
    assert "team B wins: b and d" in match.draw_game(game, jax.random.key(0), won, list("abcd"))[1]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--game", "chess"], ["game='chess'", "pommerman"]),
        (["--mode", "duel"], ["mode='duel'", "ffa", "one_vs_one"]),
        (["--planner", "alpha"], ["planner='alpha'", "fdts, mcts, mcts_no_rollout, mcs, oep, rolling_horizon, simple"]),
        (["--bandit", "exp3"], ["bandit='exp3'", "ts, ucb, uniform"]),
        (["--simulations", "9"], ["--simulations", "--num-simulations"]),
        (["--num-simulations", "many"], ["--num-simulations", "many"]),
        (["--num-simulations", "0"], ["num_simulations=0: must be >= 1"]),
        (["--horizon", "0"], ["horizon=0: must be >= 1"]),
        (["--horizon", "1000"], ["horizon=1000: must be in 1.."]),
        (["--games", "0"], ["games=0: must be >= 1"]),
        (["--batch", "-3"], ["batch=-3: must be >= 1"]),
        (["--seed", "-1"], ["seed=-1: must be in 0.."]),
        (["--num-simulations", "10", "--wave", "4"], ["wave=4: must divide num_simulations=10"]),
        (["--table-rows", "100"], ["table_rows=100: must be a power of two"]),
        (["--batch", "1000000", "--games", "1000000"], ["batch=1000000: the match needs", "take a batch of at most"]),
        (["--table-rows", "1099511627776", "--batch", "1"], ["batch=1: ", "take fewer table_rows than 1099511627776"]),
        (["--planner", "simple", "--games", "1000000000000"], ["batch=100: ", "take fewer games than 1000000000000"]),
    ],
    ids=lambda value: " ".join(value) if value[0].startswith("--") else "",
)
def test_bad_input_is_one_line_and_leaves_nothing(arguments, named, tmp_path, capsys):
    output = tmp_path / "output"
    assert leave("--output", str(output), *arguments) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith("error: ") and printed.err.count("\n") == 1
    assert [part for part in named if part not in printed.err] == []
    assert printed.out == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["taken", "taken/below"])
def test_an_output_that_cannot_be_written(name, tmp_path, capsys):
    (tmp_path / "taken").write_text("mine")
    assert leave(*TINY, "--output", str(tmp_path / name)) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith("error: ") and printed.err.count("\n") == 1 and "taken" in printed.err
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]
    assert (tmp_path / "taken").read_text() == "mine"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "planner"), [("ffa_collapse", "mcts"), ("team", "mcts_no_rollout"), ("radio", "simple"), ("one_vs_one", "mcs")]
)
def test_modes_and_planners(mode, planner, tmp_path):
    assert leave(*TINY, "--mode", mode, "--planner", planner, "--output", str(tmp_path)) == 0
    assert json.loads((tmp_path / "result.json").read_text())["games"] == 3
    assert ElementTree.parse(tmp_path / "game.svg").getroot().tag.endswith("svg")
