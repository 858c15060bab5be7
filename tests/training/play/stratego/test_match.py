"""Matches: starts, colours, counting, files; and the command line."""

import dataclasses
import functools
import json
import os
import shlex
import signal
import sys
import threading
import time
from xml.etree import ElementTree

import jax
import numpy as np
import pytest
from rich.console import Console

import jaxgames
from jaxgames.stratego import notation
from tests.processes import ROOT
from tests.training.play.stratego.partner import SETUP
from tests.training.play.stratego.started_partners import all_gone, command, processes
from training.jobs import stratego_bot
from training.jobs.command_line import run_main
from training.jobs.stratego_bot import StrategoBotConfig, run
from training.play import agents
from training.play.stratego import match, partners, protocol, records, referee, starts
from training.play.stratego.games import BLUE, NOBODY, RED, Ending, Played, Rules
from training.storage.files import output_folder

START = "MBCAAAAAAAKAAAAAAAAAAAAAADAAAAAAEADAAALAAA__AA__AAAA__AA__AAPAAAWNAOXAQPAAAYAAAAAAAAAAAAAAAAAAAAAAAA r 0"


def quoted(behaviour, *arguments):
    return "program:" + shlex.join(command(behaviour, *arguments))


@functools.cache
def barrage():
    return referee.variant("barrage")


def match_of(*specs, rules=Rules(seconds=5.0, turns=8), start=None, count=2):  # noqa: B008
    entrants = [partners.entrant(spec, lambda: pytest.fail("no program")) for spec in specs]
    return match.Match(entrants, barrage(), "barrage", rules, start, count)


def test_both_play_both_colours_from_the_same_starts(tmp_path):
    (tmp_path / "games").mkdir()
    earlier = [tmp_path / "games" / name for name in ("0003.svg", "0007.json", "0007.log", "notes.json")]
    for path in earlier:
        path.write_text("of an earlier match")
    begin = starts.dealt(barrage(), 3)
    played = match_of(quoted("play_well", "1"), quoted("play_well", "2"), start=begin, count=4)
    result = match.run(played, {"seed": 3}, tmp_path, Console(quiet=True))
    assert all_gone() and [path.exists() for path in earlier] == [False, False, False, True]
    found = [records.read(tmp_path / "games" / f"{number:04}.json") for number in range(1, 5)]
    texts = [notation.write(barrage().config, begin(number)) for number in range(2)]
    assert [one["start"] for one in found] == [texts[0], texts[0], texts[1], texts[1]] and texts[0] != texts[1]
    first, second = (entrant.name for entrant in played.entrants)
    assert [(one["red"], one["blue"]) for one in found] == 2 * [(first, second), (second, first)]
    assert json.loads((tmp_path / "result.json").read_text()) == json.loads(json.dumps(result))
    assert result["results"] == [one["result"] for one in found] and result["settings"] == {"seed": 3}
    assert result["job"] == StrategoBotConfig.JOB == "stratego-bot"
    assert [player["games"] for player in result["players"]] == [4, 4]
    game, states, actions = records.replay(found[0])
    assert game.config.pieces == barrage().config.pieces and len(actions) == len(found[0]["moves"].split())
    log = (tmp_path / "games" / "0001.log").read_text().splitlines()
    assert log[-1] == found[0]["result"] and log[1:5] == referee.board_of(game.config, begin(0)).view(RED)[:4]
    last = jax.tree.map(lambda leaf: leaf[-1], states)
    left = referee.GameReferee(game.config, last)
    values = [protocol.value(left.ranks(player)) for player in (RED, BLUE)]
    assert values == [int(worth) for worth in found[0]["result"].split()[-2:]]
    broken = {**found[0], "moves": "a5a6 " + found[0]["moves"]}
    with pytest.raises(ValueError, match=r"^move 1: "):
        records.replay(broken)


@pytest.mark.slow
def test_own_set_ups_of_the_full_game(tmp_path):
    game = referee.variant("stratego")
    rules = Rules(seconds=5.0, turns=3, counts=referee.counts_of(game.config))
    entrants = [
        partners.entrant(quoted(behaviour), lambda: pytest.fail("no program")) for behaviour in ("play_well", "forget_a_piece")
    ]
    finished = list(match.play(match.Match(entrants, game, "stratego", rules, None, 2)))
    assert [one.played.ending.word for one in finished] == ["BAD_SETUP", "BAD_SETUP"]
    assert [one.outcome(0) for one in finished] == [1, 1] and finished[0].start is None
    record = records.record(finished[0].played, game.config, "stratego", None)
    assert (record["start"], record["moves"], record["winner"]) == ("", "", "RED")
    with pytest.raises(ValueError, match="ended before there was a board"):
        records.replay(record)
    state = referee.of_setups(game.config, (SETUP, SETUP[::-1]))
    board = referee.board_of(game.config, state)
    assert board.view(RED)[:4] == SETUP and board.view(BLUE)[6:] == SETUP[::-1]


def test_a_piece_on_a_lake_loses_one_game_and_the_match_goes_on(tmp_path):
    mode = ("--mode", "barrage:lakes=30+42+43", "--setups", "own")
    bots = (quoted("set_up_eight", "1"), quoted("set_up_eight", "2"))
    assert leave("--players", *bots, *mode, "--games", "2", "--seconds", "5", "--output", str(tmp_path)) == 0
    found = [records.read(tmp_path / "games" / f"{number:04}.json") for number in (1, 2)]
    assert [(one["ended"], one["winner"]) for one in found] == 2 * [("BAD_SETUP", "BLUE")]
    assert {one["reason"] for one in found} == {"set-up with the piece 1 at 0 3: must be empty, as a lake is there"}


@pytest.mark.slow
def test_our_player_as_a_program(tmp_path):
    """It begins with what it has in time, and is compiled soon."""
    script = str(ROOT / "scripts" / "stratego_bot.py")
    ours = "program:" + shlex.join([sys.executable, script, "--player", "random", "--seconds", "30", "--seed", "3"])
    played = match_of(ours, quoted("play_well"), rules=Rules(seconds=30.0, turns=30), start=lambda _: first())
    finished = list(match.play(played))
    assert {one.played.ending.word for one in finished} <= {"DRAW_DEFAULT", "VICTORY"} and all_gone()


def finished(number, red, winner, word="VICTORY", colour=RED):
    played = Played(("a", "b"), ((), ()), (), (), Ending(word, colour, winner, "x"), 10, (1, 2), (0.5, 0.25), (3, 1))
    return match.Finished(number, red, played, None)


def test_counting():
    entrants = [dataclasses.make_dataclass("Named", ["name"])(name) for name in ("one", "two")]
    played = match.Match(entrants, barrage(), "barrage", Rules(), None, 4)
    games = [finished(0, 0, RED), finished(1, 1, RED), finished(2, 0, NOBODY, "DRAW"), finished(3, 1, BLUE, "ILLEGAL")]
    one, two = match.summary(played, games)["players"]
    assert (one["wins"], one["draws"], one["losses"], one["lost_by"]) == (2, 1, 1, {"VICTORY": 1})
    assert (two["wins"], two["draws"], two["losses"], two["lost_by"]) == (1, 1, 2, {"VICTORY": 1, "ILLEGAL": 1})
    assert (one["red"]["wins"], one["red"]["draws"], one["blue"]["wins"]) == (1, 1, 1)
    assert (one["slowest"], two["slowest"]) == (0.5, 0.5)
    assert (one["drawn_moves"], two["drawn_moves"]) == (3 + 1 + 3 + 1, 1 + 3 + 1 + 3)
    assert one["win_interval"] == [0.15, 0.85]  # Wilson, 2 of 4


def test_programs_are_ended_when_a_match_is_interrupted():
    played = match_of(quoted("hang_in_game"), quoted("play_well"), rules=Rules(seconds=60, turns=100), start=lambda _: first())

    def stop():
        while sorted(processes()) != ["hang_in_game", "play_well"]:
            time.sleep(0.01)
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGTERM)

    waiting = threading.Thread(target=stop)
    waiting.start()
    with pytest.raises(KeyboardInterrupt):
        match.run(played, {}, None, Console(quiet=True))
    waiting.join()
    assert all_gone()


BAD_RECORDS = [
    ("[" * 100_000, "is no record of a game of Stratego"),
    ("[1, 2", "is no record of a game of Stratego"),
    ('{"game": "hex"}', "is no record of a game of Stratego"),
    ('{"game": "stratego", "mode": "barrage"}', "red is missing or of another type"),
    (json.dumps({"game": "stratego", "mode": "chess", "red": "a", "blue": "b", "start": START, "moves": ""}), "mode='chess'"),
    (json.dumps({"game": "stratego", "mode": "barrage", "red": "a", "blue": "b", "start": START[1:], "moves": ""}), "99 letters"),
    (
        json.dumps({"game": "stratego", "mode": "barrage", "red": "a", "blue": "b", "start": START, "moves": "a1"}),
        "move 1: move='a1'",
    ),
]


@pytest.mark.parametrize(("text", "message"), BAD_RECORDS, ids=[message for _, message in BAD_RECORDS])
def test_a_record_that_is_none_is_one_line(tmp_path, text, message, capsys):
    path = tmp_path / "game.json"
    path.write_text(text)
    assert leave("--draw", str(path)) == 2
    printed = capsys.readouterr().err
    assert printed.startswith(f"error: draw='{path}'") and message in printed and printed.count("\n") == 1
    assert not path.with_suffix(".svg").exists()


def test_a_record_without_a_move_is_drawn_as_a_picture(tmp_path):
    path = tmp_path / "game.json"
    path.write_text(json.dumps({"game": "stratego", "mode": "barrage", "red": "a", "blue": "b", "start": START, "moves": ""}))
    assert leave("--draw", str(path)) == 0
    drawn = path.with_suffix(".svg").read_text()
    assert drawn.startswith("<svg") and "a is to move" in drawn and "<animate" not in drawn


@functools.cache
def first():
    return notation.read(barrage().config, START)


BAD_STARTS = [
    ("", "must have a position per line, and has none"),
    (START[1:], "line 1: fen: 99 letters, must be 100"),
    (START.replace("M", "Z", 1), "line 1: 0 pieces of kind flag of red: must be 1"),
    (START.replace("A", "Z", 1), "line 1: fen: letter 'Z' on d1"),
    (f"\n{START.replace('E', 'A')}", "line 2: 0 pieces of kind miner of red: must be 1"),
    (START.replace("EADAAAL", "DADAAAL"), "line 1: 3 pieces of kind scout of red: must be 2"),
    (START.replace("LAAA__", "AAAL__"), "line 1: red's piece on b5: must be in its home rows"),
    (START.replace("M", "m", 1), "must be hidden, an upper-case letter, and not have moved"),
    (START.replace(" r ", " b "), "line 1: must begin with red's first move"),
]


@pytest.mark.parametrize(("text", "message"), BAD_STARTS, ids=[message[:30] for _, message in BAD_STARTS])
def test_starts_that_are_none_are_told(tmp_path, text, message):
    path = tmp_path / "starts.txt"
    path.write_text(text)
    with pytest.raises(ValueError, match=message) as error:
        starts.from_file(barrage(), str(path))
    assert "\n" not in str(error.value)


def test_starts_of_a_file_come_in_turn(tmp_path):
    path = tmp_path / "starts.txt"
    path.write_text(f"{START}\n\n{START.replace('MB', 'BM')}\n")
    begin = starts.from_file(barrage(), str(path))
    found = [notation.write(barrage().config, begin(number), exact=False)[:2] for number in range(3)]
    assert found == ["MB", "BM", "MB"]
    (tmp_path / "bytes").write_bytes(b"\xff")
    with pytest.raises(ValueError, match="must be text, a position per line"):
        starts.from_file(barrage(), str(tmp_path / "bytes"))


def test_the_strongest_is_the_planner_that_the_game_names():
    spec = stratego_bot._spec("strongest")
    assert agents.make(spec, barrage()).name == spec == jaxgames.registration("stratego").defaults.planner
    assert stratego_bot._spec("program:./strongest") == "program:./strongest"


def leave(*arguments):
    with pytest.raises(SystemExit) as stop:
        run_main(run, StrategoBotConfig, arguments)
    return stop.value.code or 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "none given: must be one of --player AGENT, --players FIRST SECOND, --draw FILE"),
        (["--player", "random", "--draw", "x"], "--player and --draw given: must be one of"),
        (["--players", "random"], "players=random: must be two"),
        (["--player", "hunt", "--starts", "x", "--games", "7"], "games, starts: of no use with --player; leave out"),
        (["--draw", "x", "--seed", "1", "--mode", "stratego"], "mode, seed: of no use with --draw; leave out"),
        (["--players", "random", "nobody"], "agent='nobody': must be one of random"),
        (["--players", "random", "program:./nothing"], "program='./nothing': there is no such program"),
        (["--players", "random", "random", "--games", "0"], "games=0: must be >= 1"),
        (["--players", "random", "random", "--turns", "20000"], "turns=20000: must be < 15001"),
        (["--players", "random", "random", "--seconds", "0"], "seconds=0.0: must be > 0"),
        (["--players", "random", "random", "--mode", "mini"], "mode='mini': has 6 x 6 cells"),
        (["--players", "random", "random", "--mode", "chess"], "mode='chess': must be one of barrage"),
        (
            ["--players", "random", "random", "--mode", "barrage:true_sight=1"],
            "true_sight=1 shows all pieces, and the",
        ),
        (
            ["--players", "random", "random", "--mode", f"barrage:start={START}"],
            "start of its own; leave it out, and give positions by",
        ),
        (["--player", "random", "--mode", f"barrage:start={START}"], "has a start of its own"),
        (["--players", "random", "random", "--starts", "x", "--setups", "own"], "starts='x': players do not set up"),
        (["--players", "random", "random", "--starts", "./nothing.txt"], "nothing.txt: No such file or directory"),
        (["--players", "random", "random", "--mode", "barrage-blocked", "--setups", "own"], "setups='own': lakes are drawn"),
        (["--player", "fdts"], "agent='fdts': sees what is hidden"),
        (["--draw", "./nothing.json"], "nothing.json: No such file or directory"),
        (["--draw", "pyproject.toml"], "draw='pyproject.toml': record='pyproject.toml': is no record"),
    ],
)
def test_bad_input_is_one_line(arguments, told, capfd):
    assert leave(*arguments, *(["--output", ""] if "--players" in arguments else [])) == 2
    printed = capfd.readouterr()
    assert printed.err.startswith("error: ") and told in printed.err and printed.err.count("\n") == 1


def test_a_folder_in_use_is_one_line(tmp_path, capsys):
    with output_folder(tmp_path):
        assert leave("--players", "random", "random", "--output", str(tmp_path)) == 2
    assert "in use by process" in capsys.readouterr().err


def test_a_folder_in_which_another_job_has_written_is_one_line(tmp_path, capsys):
    (tmp_path / "result.json").write_text('{"job": "match"}')
    assert leave("--players", "random", "random", "--output", str(tmp_path)) == 2
    told = "holds the result.json of match; give another folder, or move away what lies there"
    assert capsys.readouterr().err == f"error: output='{tmp_path}': {told}\n"
    assert (tmp_path / "result.json").read_text() == '{"job": "match"}'


@pytest.mark.slow  # to compile
def test_the_command_plays_our_own_agent_against_a_program(tmp_path):
    arguments = ["--players", "random", quoted("play_well"), "--games", "2", "--turns", "6", "--output", str(tmp_path / "out")]
    assert leave(*arguments, "--seconds", "30") == 0
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert [player["name"] for player in result["players"]] == ["random", result["players"][1]["name"]]
    assert all("DRAW_DEFAULT" in line or "VICTORY" in line for line in result["results"])
    assert all_gone()
    found = records.read(tmp_path / "out" / "games" / "0001.json")
    states = records.replay(found)[1]
    np.testing.assert_array_equal(states.ply, np.arange(len(found["moves"].split()) + 1))
    assert leave("--draw", str(tmp_path / "out" / "games" / "0001.json")) == 0
    picture = ElementTree.parse(tmp_path / "out" / "games" / "0001.svg").getroot()
    assert picture.tag.endswith("svg") and "random" in "".join(picture.itertext())
