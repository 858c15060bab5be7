"""The main job: what it plays and writes, and how it turns bad input down."""

import contextlib
import dataclasses
import io
import json
import os
import re
from xml.etree import ElementTree

import jax
import numpy as np
import pytest
from PIL import Image
from rich.console import Console

import jaxgames
from jaxgames import raster, runtime
from training.jobs.command_line import run_main
from training.play import evaluate, match
from training.play.match import EvaluateConfig, MatchConfig
from training.storage.files import output_folder

DARK = ["--game", "hex", "--mode", "adh-3"]
QUICK = [*DARK, "--planner", "path", "--games", "3", "--batch", "2", "--seed", "5"]
HERO = ["--game", "hero_academy", "--mode", "tiny"]


def leave(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        run_main(match.run, MatchConfig, arguments)
    return stop.value.code or 0


@pytest.fixture(scope="module")
def match_played(tmp_path_factory):
    """The output folder of a tiny match, which is made on the way, and its games."""
    output, games = tmp_path_factory.mktemp("match") / "new[/a]" / "folder", []
    really_play = evaluate.play

    def play(*arguments, **options):
        games.append(really_play(*arguments, **options))
        return games[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluate, "play", play)
        assert leave(*QUICK, "--output", str(output)) == 0
    return output, *games


@pytest.fixture(scope="module")
def played(match_played):
    return match_played[0]


@pytest.fixture
def replayed(match_played, monkeypatch):
    """The same match has the same games, which need not be compiled again."""
    monkeypatch.setattr(evaluate, "play", lambda *_, **__: match_played[1])


def test_the_result(played):
    result = json.loads((played / "result.json").read_text())
    assert result["settings"]["planner"] == "path" and result["settings"]["output"] == str(played)
    assert [agent["name"] for agent in result["agents"]] == ["path", "random"]
    for agent in result["agents"]:
        for rule in ("released", "strict"):
            counts = agent[rule]
            assert counts["games"] == 3 == counts["wins"] + counts["draws"] + counts["losses"]
            for what, interval in (("wins", "win_interval"), ("draws", "draw_interval"), ("losses", "loss_interval")):
                low, high = counts[interval]
                assert 0 <= low <= counts[what] / 3 <= high <= 1
    assert result["agents"][0]["released"]["wins"] == result["agents"][1]["released"]["losses"]
    assert len(result["wins_by_seat"]) == 2 and sum(result["wins_by_seat"]) == 3
    assert 0 < result["moves"] <= 3 * 17 and 0 < result["mean_length"] <= 17
    assert 0 < result["compile_seconds"] < result["seconds"]
    assert result["moves_per_second"] == pytest.approx(result["moves"] / (result["seconds"] - result["compile_seconds"]))
    assert result["versions"]["jaxgames"] == jaxgames.__version__ and {"device", "picture_of_game"} <= set(result)


def test_it_says_what_it_is_doing(match_played, monkeypatch, capsys):
    def play(*_, report, **__):
        for games in (0, 0, 2):
            report(evaluate.Progress(games, games, 0, 0, 8, 16))
        return match_played[1]

    monkeypatch.setattr(evaluate, "play", play)
    assert leave(*QUICK, "--output", "") == 0
    printed = capsys.readouterr().out
    told = ("compiling: ", "compiled after 0 s; playing ", "the first games are over after 0 s: win 2  draw 0  loss 0")
    assert [printed.count(words) for words in told] == [1, 1, 1]


def test_an_interrupt_tells_how_the_games_went_that_were_over(monkeypatch, capsys):
    def play(*_, report, **__):
        report(evaluate.Progress(0, 0, 0, 0, 0, 0))
        report(evaluate.Progress(5, 3, 1, 1, 40, 9))
        raise KeyboardInterrupt

    monkeypatch.setattr(evaluate, "play", play)
    assert leave("--game", "hex", "--mode", "hex-3", "--planner", "mcs", "--games", "9", "--output", "") == 130
    assert "interrupted; of the 5 games that were over: win 3  draw 1  loss 1\n" in capsys.readouterr().out


def test_without_a_terminal_there_are_lines_while_it_compiles_and_plays(match_played, monkeypatch):
    """The line is asked for before everything is compiled, before a game is over, and after."""
    console, lines = Console(file=io.StringIO(), force_terminal=False, width=40), []

    @contextlib.contextmanager
    def now_and_then(where, text):
        assert where is console
        lines.append(text)
        yield

    def play(*_, report, **__):
        said = [lines[0]()]
        for games, moves in ((0, 0), (2, 8)):
            report(evaluate.Progress(games, games, 0, 0, moves, 16))
            said.append(lines[0]())
        lines[:] = said
        return match_played[1]

    monkeypatch.setattr(match, "now_and_then", now_and_then)
    monkeypatch.setattr(evaluate, "play", play)
    match.run(MatchConfig(game="hex", mode="adh-3", planner="path", games=1, output=""), console)
    lines = [re.sub(r"\d:\d\d:\d\d", "T", line) for line in lines]
    assert lines[0] == "compiling for T"
    assert lines[1] == "playing for T: no game is over yet, all are in step 16 of at most 17, 0.0 moves/s"
    assert lines[2].startswith("playing for T: 2 of 1 game over, win 2  draw 0  loss 0, ")
    assert "; playing 1 game at a time" in console.file.getvalue()


def test_the_picture(played):
    root = ElementTree.parse(played / "game.svg").getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    text = " ".join("".join(element.itertext()) for element in root.iter())
    assert "path" in text and "random" in text


def test_nothing_else_is_left(played):
    assert sorted(path.name for path in played.iterdir()) == ["game.json", "game.svg", "result.json"]


@pytest.mark.usefixtures("replayed")
def test_a_stopped_match_leaves_an_older_result_alone_and_no_new_folder(played, monkeypatch, tmp_path):
    before = {path.name: path.read_bytes() for path in played.iterdir()}

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(evaluate, "play", interrupt)
    for folder in (played, tmp_path / "new"):
        assert leave(*QUICK, "--output", str(folder)) == 130
        assert {path.name: path.read_bytes() for path in played.iterdir()} == before and list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("replayed")
def test_without_an_output_nothing_is_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert leave(*QUICK, "--output", "") == 0
    printed = capsys.readouterr().out
    assert "path against 1 x random, hex adh-3" in printed and "results in" not in printed
    assert list(tmp_path.iterdir()) == []


def test_the_picture_is_of_the_first_game_that_the_first_player_won(match_played):
    games = match_played[1]
    lost = dataclasses.replace(games, outcomes=np.array([[-1, 1], [-1, 1], [-1, 1]], np.int8))
    second = dataclasses.replace(games, outcomes=np.array([[-1, 1], [1, -1], [1, -1]], np.int8))
    assert match.kept_game(lost) == 0 and match.kept_game(second) == 1
    svg = match.draw_game(jaxgames.make("hex", "adh-3"), jax.random.key(5), second, 1, ["first", "second"])["game.svg"]
    assert svg.startswith("<svg") and "first" in svg and "second" in svg


@pytest.mark.usefixtures("replayed")
def test_a_gif_is_written_too(tmp_path, capsys):
    folder = tmp_path / "new"
    assert leave(*QUICK, "--gif", "--output", str(folder)) == 0
    *_, line = capsys.readouterr().out.splitlines()
    told = rf"game \d .*: {folder}/game\.svg, and as a GIF: {folder}/game\.gif"
    assert re.fullmatch(told, line), "one line, however long"
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["game.gif", "game.json", "game.svg", "result.json"]
    with Image.open(tmp_path / "new" / "game.gif") as film:
        assert film.format == "GIF" and film.n_frames > 1


@pytest.mark.usefixtures("replayed")
def test_the_result_is_there_before_anything_is_drawn(tmp_path, monkeypatch, capsys):
    """Also where pictures of an earlier match were."""

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    folder = tmp_path / "new"
    assert leave(*QUICK, "--output", str(folder)) == 0
    monkeypatch.setattr(match, "draw_game", interrupted)
    assert leave(*QUICK, "--seed", "6", "--output", str(folder)) == 130
    assert sorted(path.name for path in folder.iterdir()) == ["game.json", "result.json"]
    assert json.loads((folder / "result.json").read_text())["settings"]["seed"] == 6
    assert json.loads((folder / "game.json").read_text())["seed"] == 6
    assert f"results in {folder}/result.json\ndrawing game " in capsys.readouterr().out


@pytest.mark.usefixtures("replayed")
def test_pictures_of_an_earlier_match_do_not_stay_beside_those_of_this_one(tmp_path, monkeypatch):
    folder = tmp_path / "new"
    folder.mkdir()
    (folder / "game.gif").write_text("mine")
    assert leave(*QUICK, "--output", str(folder)) == 0
    assert (folder / "game.gif").read_text() == "mine", "no match has made it"
    assert leave(*QUICK, "--output", str(folder)) == 0
    assert sorted(path.name for path in folder.iterdir()) == ["game.json", "game.svg", "result.json"]
    monkeypatch.setattr(match, "can_be_drawn", lambda game: False)
    assert leave(*QUICK, "--output", str(folder)) == 0
    assert sorted(path.name for path in folder.iterdir()) == ["game.json", "result.json"]


@pytest.mark.parametrize(
    ("file", "found", "owner"),
    [
        ("result.json", {"job": "train-q", "settings": {}}, "train-q"),
        ("result.json", {"settings": {"agents": [], "games": 4, "output": ""}}, "tournament"),
        ("settings.json", {"follower": {}, "oracle": {}, "seed": 3}, "train-follower"),
        ("result.json", {"mine": 1}, "another program"),
    ],
)
def test_a_folder_in_which_another_job_has_written_is_refused(file, found, owner, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(evaluate, "play", lambda *_, **__: pytest.fail("played"))
    (tmp_path / file).write_text(json.dumps(found))
    assert leave(*QUICK, "--output", str(tmp_path)) == 2
    told = f"holds the {file} of {owner}; give another folder, or move away what lies there"
    assert capsys.readouterr() == ("", f"error: output='{tmp_path}': {told}\n")
    assert [path.name for path in tmp_path.iterdir()] == [file] and json.loads((tmp_path / file).read_text()) == found


@pytest.mark.usefixtures("replayed")
def test_a_result_of_an_earlier_match_gives_way(played, tmp_path):
    """Also one of an earlier version, which did not tell whose it is, and had other settings."""
    found = json.loads((played / "result.json").read_text())
    assert found["job"] == "match"
    (tmp_path / "result.json").write_text(json.dumps(found | {"job": "", "settings": found["settings"] | {"simulations": 9}}))
    assert leave(*QUICK, "--output", str(tmp_path)) == 0
    assert json.loads((tmp_path / "result.json").read_text())["job"] == "match"


def test_what_a_gif_needs_is_told_before_anything_is_played(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(raster, "_LIBRARIES", ("no_such_library",))
    assert leave(*QUICK, "--gif", "--output", str(tmp_path / "new")) == 2
    assert capsys.readouterr().err == "error: gif=True: no_such_library is not installed: pip install '.[viz]' in a checkout\n"
    assert leave(*QUICK, "--gif", "--output", "") == 2
    assert "gif=True: must have an output folder" in capsys.readouterr().err and list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("replayed")
def test_a_game_without_pictures_leaves_all_else(tmp_path, monkeypatch):
    monkeypatch.setattr(match, "can_be_drawn", lambda game: False)
    assert leave(*QUICK, "--output", str(tmp_path / "new")) == 0
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["game.json", "result.json"]


def test_usual_agents_play_where_there_are_as_many_players(monkeypatch):
    monkeypatch.setattr(match, "run", lambda config, console: config.players(jaxgames.make(config.game, config.mode)))
    usual = jaxgames.registration("pommerman").defaults
    assert match.run_agents(EvaluateConfig()) == usual.agents
    assert match.run_agents(EvaluateConfig(mode="one_vs_one")) == (usual.planner, usual.opponent)
    assert match.run_agents(EvaluateConfig(opponent="simple")) == (usual.planner, *["simple"] * 3)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--game", "chess"], ["game='chess'", "pommerman"]),
        (["--mode", "duel"], ["mode='duel'", "ffa", "one_vs_one"]),
        (["--planner", "alpha"], ["agent='alpha'", "simple, simple_unbiased, random, careful, fdts, mcts"]),
        ([*DARK, "--opponent", "alpha"], ["agent='alpha'", "random, path, fdts"]),
        (["--agents", "simple", "simple"], ["2 agents: pommerman ffa has 4 players"]),
        (["--agents", "simple", "--planner", "fdts"], ["agents=simple: takes the place of planner and opponent"]),
        (["--simulations", "9"], ["--simulations"]),
        (["--games", "many"], ["--games", "many"]),
        (["--games", "0"], ["games=0: must be >= 1"]),
        (["--batch", "-3"], ["batch=-3: must be >= 1"]),
        (["--seed", "-1"], ["seed=-1: must be in 0.."]),
        (["--watch", "--port", "99999999"], ["port=99999999: must be in 0..65535"]),
        (
            [*DARK, "--planner", "fdts", "--batch", "1000000", "--games", "1000000"],
            ["batch=1000000: the match needs", "take at most batch="],
        ),
        (["--planner", "fdts:table_rows=1099511627776", "--batch", "1"], ["table_rows=1099511627776: must be < 2147483648"]),
        ([*DARK, "--planner", "path", "--games", "1000000000000"], ["games=1000000000000: ", "free; take less"]),
        (
            [*DARK, "--planner", "path", "--opponent", "fdts:table_rows=16777216"],
            ["games=100: ", "a smaller search than fdts:table_rows=16777216"],
        ),
    ],
    ids=lambda value: " ".join(value) if value[0].startswith("--") else "",
)
def test_bad_input_is_one_line_and_leaves_nothing(arguments, named, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(runtime, "free_memory", lambda: 2**33)
    monkeypatch.setattr(evaluate, "play", lambda *_, **__: pytest.fail("played"))
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
    assert leave(*QUICK, "--output", str(tmp_path / name)) == 2
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
    assert leave(*DARK, "--planner", "fdts:table_rows=32768", "--games", "64", "--output", "") == 2
    error = capsys.readouterr().err
    assert error.startswith("error: games=64: the match needs 0.2 GB and 0.1 GB are free; take at most batch=")
    assert error.endswith(" or a smaller search than fdts:table_rows=32768\n")


# --- whole games -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_match_of_hero_academy(tmp_path):
    flags = [*HERO, "--planner", "best_rated", "--opponent", "random", "--games", "2", "--output", str(tmp_path)]
    assert leave(*flags) == 0
    text = " ".join("".join(element.itertext()) for element in ElementTree.parse(tmp_path / "game.svg").getroot().iter())
    assert "best_rated" in text and "random" in text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "planner"),
    [("ffa", "mcs"), ("ffa_collapse", "mcts"), ("team", "mcts_no_rollout"), ("radio", "fdts"), ("one_vs_one", "mcts")],
)
def test_modes_and_planners(mode, planner, tmp_path):
    sizes = ["--games", "3", "--batch", "2", "--output", str(tmp_path)]
    assert leave("--mode", mode, "--planner", f"{planner}:num_simulations=4,horizon=4", *sizes) == 0
    assert json.loads((tmp_path / "result.json").read_text())["agents"][0]["strict"]["games"] == 3
    assert ElementTree.parse(tmp_path / "game.svg").getroot().tag.endswith("svg")
