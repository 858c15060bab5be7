import dataclasses
import json
from typing import Literal

import numpy as np
import pytest

from jaxgames import runtime
from training.jobs.command_line import message_of, parse, run_main


@dataclasses.dataclass(frozen=True)
class Settings:
    """Plays games."""

    game: str = "pommerman"
    """Name of the game."""
    num_simulations: int = 100
    """Simulations per move."""
    mode: Literal["ffa", "team"] = "ffa"
    """Who plays with whom."""

    def __post_init__(self) -> None:
        """Checks the values."""
        if self.num_simulations < 1:
            raise ValueError(f"num_simulations={self.num_simulations}: must be >= 1")


def leave(main, *arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        run_main(main, Settings, arguments)
    return stop.value.code or 0


def test_flags_fill_the_config():
    assert parse(Settings, ["--mode", "team", "--num-simulations", "7"]) == Settings(num_simulations=7, mode="team")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--gamee", "hex"], ["--gamee", "perhaps --game?"]),
        (["hex"], ["hex"]),
        (["--num-simulations", "many"], ["--num-simulations", "'many'"]),
        (["--num-simulations"], ["--num-simulations"]),
        (["--num-simulations", "0"], ["num_simulations=0: must be >= 1"]),
        (["--mode", "duel"], ["'duel'", "--mode", "'ffa', 'team'"]),
    ],
)
def test_bad_flags_are_one_line(arguments, named, capsys):
    assert leave(lambda _: pytest.fail("main was called"), *arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("error: ")
    assert printed.err.count("\n") == 1
    assert [part for part in named if part not in printed.err] == []


def test_message_of_a_box_with_and_without_unicode():
    unicode = """
╭─ Unrecognized options ──────────────────╮
│ Unrecognized options: --gamee, hex      │
│ ─────────────────────────────────────── │
│ Perhaps you meant:                      │
│     --game STR                          │
│ ─────────────────────────────────────── │
│ For full helptext, run plan.py --help   │
╰─────────────────────────────────────────╯
"""
    ascii_only = """
 Unrecognized options
 ---------------------------------------
  Unrecognized options: --gamee, hex
  --------------------------------------
  Perhaps you meant:
      --game STR
  --------------------------------------
  For full helptext, run plan.py --help
"""
    expected = "Unrecognized options: --gamee, hex (perhaps --game? see --help)"
    assert message_of(unicode) == message_of(ascii_only) == expected
    coloured = unicode.replace("Unrecognized", "\x1b[1m\x1b[31mUnrecognized\x1b[0m")
    assert message_of(coloured) == expected


def test_help_shows_the_docstrings(capsys):
    assert leave(lambda _: pytest.fail("main was called"), "--help") == 0
    assert "Simulations per move. (default: 100)" in capsys.readouterr().out


@pytest.mark.parametrize(("returned", "code"), [(None, 0), (0, 0), (1, 1)])
def test_exit_code_is_what_main_returns(returned, code):
    assert leave(lambda _: returned) == code


def test_what_this_project_rejects_is_one_line(capsys):
    assert leave(lambda _: runtime.prepare(cores=0)) == 2
    assert capsys.readouterr().err == "error: cores=0: must be >= 1\n"


def test_a_missing_file_is_one_line(tmp_path, capsys):
    assert leave(lambda _: (tmp_path / "missing.npz").read_bytes()) == 2
    assert capsys.readouterr().err == f"error: {tmp_path / 'missing.npz'}: No such file or directory\n"


@pytest.mark.parametrize(
    ("bug", "message"),
    [(lambda _: int("x"), "invalid literal"), (lambda _: np.zeros(3).reshape(2), "reshape"), (lambda _: json.loads(""), "value")],
)
def test_a_bug_keeps_its_traceback(bug, message):
    with pytest.raises(ValueError, match=message):
        run_main(bug, Settings, [])


def test_an_interruption_is_one_word(capsys):
    def interrupt(_):
        raise KeyboardInterrupt

    assert leave(interrupt) == 130
    assert capsys.readouterr().err == "interrupted\n"
