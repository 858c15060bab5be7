"""The main job: what it writes, and how it turns bad input down."""

import dataclasses
import json
import os
from xml.etree import ElementTree

import jax
import numpy as np
import pytest

import jaxgames
from jaxgames import runtime
from jaxgames.agent import memoryless
from jaxgames.pommerman.bots import still_agent
from scripts._common import run_main
from scripts.plan import main
from training.play import evaluate, match, memory
from training.play.match import MatchConfig
from training.storage.files import output_folder

TINY = ["--planner", "mcs", "--num-simulations", "4", "--horizon", "4", "--games", "3", "--batch", "2", "--seed", "5"]

HERO = ["--game", "hero_academy", "--mode", "tiny"]
QUICK = ["--game", "hex", "--mode", "adh-3", "--planner", "random", "--games", "2", "--batch", "2"]


def leave(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        run_main(main, MatchConfig, arguments)
    return stop.value.code or 0


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """The output folder of a tiny match, which is made on the way."""
    output = tmp_path_factory.mktemp("match") / "new[/a]" / "folder"
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
    assert "MCS + TS" in text and "simple" in text


def test_nothing_else_is_left(played):
    assert sorted(path.name for path in played.iterdir()) == ["game.svg", "result.json"]


def test_a_stopped_match_leaves_an_older_result_alone_and_no_new_folder(played, monkeypatch, tmp_path):
    before = {path.name: path.read_bytes() for path in played.iterdir()}

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    for module, name in ((evaluate, "play"), (match, "draw_game")):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, interrupt)
            assert leave(*QUICK, "--output", str(played)) == 130
            assert leave(*QUICK, "--output", str(tmp_path / "new")) == 130
        assert {path.name: path.read_bytes() for path in played.iterdir()} == before and list(tmp_path.iterdir()) == []


def test_without_an_output_nothing_is_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert leave(*QUICK, "--output", "") == 0
    assert "results in" not in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
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
        (["--num-simulations", "10", "--leaf-parallelism", "4"], ["leaf_parallelism=4: must divide num_simulations=10"]),
        (["--table-rows", "100"], ["table_rows=100: must be a power of two"]),
        (["--batch", "1000000", "--games", "1000000"], ["batch=1000000: the match needs", "take a batch of at most"]),
        (["--table-rows", "1099511627776", "--batch", "1"], ["table_rows=1099511627776: must be below 2**31"]),
        (["--planner", "simple", "--games", "1000000000000"], ["batch=100: ", "take fewer games than 1000000000000"]),
        (
            ["--planner", "simple", "--opponent", "fdts:table_rows=16777216"],
            ["batch=100: ", "a smaller search than fdts:table_rows=16777216"],
        ),
        ([*HERO, "--planner", "mcts", "--num-evaluations", "3000000000"], ["num_evaluations=3000000000: must be < 16777216"]),
        ([*HERO, "--planner", "greedy_turn", "--num-evaluations", "3000000000"], ["num_evaluations=3000000000: must be < 2147"]),
        (
            [*HERO, "--planner", "oep", "--num-evaluations", "9" * 20],
            ["num_evaluations=99999999999999999999: must be < 2147483648"],
        ),
        ([*QUICK, "--planner", "true_sight", "--num-simulations", "3000000000"], ["num_simulations=3000000000: must be < 2147"]),
        (["--num-simulations", "3000000000"], ["num_simulations=3000000000: must be < 2147483648"]),
        (
            [*HERO, "--num-simulations", "9"],
            ["num_simulations=9: no planner of hero_academy takes it; they take num_evaluations"],
        ),
        ([*HERO, "--bandit", "ucb"], ["bandit='ucb': no planner of hero_academy takes it"]),
        ([*HERO, "--weights", "run"], ["weights='run': no planner of hero_academy takes it"]),
        ([*HERO, "--planner", "oep:depth=2"], ["agent='oep:depth=2': 'depth=2' is none of"]),
        ([*HERO, "--planner", "genius:niches=1"], ["planner='genius:niches=1': must be one of random"]),
        (
            [*HERO, "--planner", "oep:niches=1", "--num-evaluations", "9"],
            ["num_evaluations=9: neither oep:niches=1 nor greedy_action takes it"],
        ),
        ([*QUICK[2:], "--planner", "pimc:num_worlds=2", "--game", "hex", "--weights", "run"], ["weights='run': planner='pimc:"]),
        (
            [*QUICK, "--leaf-parallelism", "2"],
            ["leaf_parallelism=2: no planner of hex takes it; they take num_simulations, num_worlds, weights"],
        ),
        ([*QUICK, "--horizon", "9"], ["horizon=9: no planner of hex takes it"]),
        (["--num-worlds", "3"], ["num_worlds=3: no planner of pommerman takes it; they take bandit, num_simulations, horizon"]),
        (
            ["--planner", "oep", "--leaf-parallelism", "2"],
            ["leaf_parallelism=2: neither oep nor simple takes it; it is for fdts, mcts, mcts_no_rollout, mcs"],
        ),
        ([*QUICK, "--num-worlds", "3"], ["num_worlds=3: random does not take it; it is for pc_pimc, medoid, pimc, pimc_value"]),
        (
            [*HERO, "--planner", "greedy_action", "--opponent", "random", "--num-evaluations", "9"],
            ["num_evaluations=9: neither greedy_action nor random takes it; it is for greedy_turn, mcts"],
        ),
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


def test_an_output_in_use(tmp_path, capsys):
    with output_folder(tmp_path):
        assert leave(*QUICK, "--output", str(tmp_path)) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: output='{tmp_path}': in use by process {os.getpid()} on ") and error.count("\n") == 1


def test_trees_that_do_not_fit_into_memory_are_refused_before_anything_is_compiled(monkeypatch, capsys):
    monkeypatch.setattr(runtime, "free_memory", lambda: 10**8)
    monkeypatch.setattr(evaluate, "play", lambda *_, **__: pytest.fail("played"))
    assert leave(*HERO, "--planner", "greedy_turn", "--num-evaluations", "300000", "--games", "64", "--output", "") == 2
    error = capsys.readouterr().err
    assert error.startswith("error: games=64: the match needs 0.1 GB and 0.1 GB are free; take a batch of at most ")
    assert error.endswith(" or a smaller search than greedy_turn:num_evaluations=300000\n")


def test_a_match_of_hero_academy(tmp_path, capsys):
    flags = [*HERO, "--planner", "best_rated", "--opponent", "random", "--games", "2", "--output", str(tmp_path)]
    assert leave(*flags) == 0
    assert "best_rated against 1 x random, hero_academy tiny" in capsys.readouterr().out
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["games"] == 2 == result["wins"] + result["draws"] + result["losses"]
    text = " ".join("".join(element.itertext()) for element in ElementTree.parse(tmp_path / "game.svg").getroot().iter())
    assert "best_rated" in text and "random" in text


# --- players -----------------------------------------------------------------------------------------------------------


def players_of(monkeypatch, **settings):
    """The players of a match, and the texts that they were made from."""
    config, made = MatchConfig(**settings), []
    monkeypatch.setattr(match.agents, "make", lambda spec, game: made.append(spec) or memoryless(spec, None))
    monkeypatch.setattr(memory, "check", lambda *_, **__: None)
    return match.make_players(config, jaxgames.make(config.game, config.mode)), made


@pytest.mark.parametrize(
    ("settings", "made"),
    [
        ({"planner": "mcts", "opponent": "oep"}, ["mcts:num_evaluations=700", "oep:num_evaluations=700"]),
        ({"planner": "mcts", "opponent": "oep:mutation=0.3"}, ["mcts:num_evaluations=700", "oep:mutation=0.3"]),
        ({"planner": "random", "opponent": "greedy_turn"}, ["random", "greedy_turn:num_evaluations=700"]),
        ({"planner": "oep:niches=1", "opponent": "mcts"}, ["oep:niches=1", "mcts:num_evaluations=700"]),
        ({"planner": "oep"}, ["oep:num_evaluations=700", "greedy_action"]),
    ],
)
def test_an_opponent_without_settings_has_the_budget_of_the_planner(settings, made, monkeypatch):
    assert players_of(monkeypatch, game="hero_academy", mode="tiny", num_evaluations=700, **settings)[1] == made


@pytest.mark.parametrize("opponent", ["pc_pimc", "pc_pimc:num_simulations=100,num_worlds=12"])
def test_only_an_opponent_that_is_the_same_in_all_is_the_player_itself(opponent, monkeypatch):
    (first, other), made = players_of(monkeypatch, game="hex", planner="pc_pimc", opponent=opponent)
    assert first is other and first.name == "pc_pimc" and len(made) == 1
    (first, other), made = players_of(monkeypatch, game="hex", planner="pc_pimc", opponent=opponent, weights="run")
    assert made == ["pc_pimc:weights=run,num_simulations=100,num_worlds=12", "pc_pimc:num_simulations=100,num_worlds=12"]
    assert first is not other and len({first.name, other.name}) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "planner"), [("ffa_collapse", "mcts"), ("team", "mcts_no_rollout"), ("radio", "fdts"), ("one_vs_one", "mcts")]
)
def test_modes_and_planners(mode, planner, tmp_path):
    assert leave(*TINY, "--mode", mode, "--planner", planner, "--output", str(tmp_path)) == 0
    assert json.loads((tmp_path / "result.json").read_text())["games"] == 3
    assert ElementTree.parse(tmp_path / "game.svg").getroot().tag.endswith("svg")
