import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from rich.console import Console
from tyro.conf import Positional

from jaxgames import runtime
from tests.processes import run_python
from training.jobs.command_line import run_main
from training.jobs.flags import message_of, parse, parse_all, parse_alone
from training.play.telling import now_and_then
from training.storage.files import output_folder

SCRIPTS = Path(__file__).resolve().parents[3] / "scripts"


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


@pytest.mark.parametrize(("parsed", "told"), [(parse_all, True), (parse_alone, False)])
def test_only_jobs_of_several_processes_speak_of_them(parsed, told, capsys):
    with pytest.raises(SystemExit):
        parsed(Settings, ["--help"])
    assert ("--coordinator" in capsys.readouterr().out) == told


def test_a_job_of_one_process_meets_nobody():
    assert parse_alone(Settings, ["--mode", "team"]) == Settings(mode="team")
    for word in ("--num-processes=2", "--num_processes", "--coordinator"):
        with pytest.raises(ValueError, match=f"^{word}: this job is done by one process; leave it out$"):
            parse_alone(Settings, [word, "2"])


def test_flags_fill_the_config():
    assert parse(Settings, ["--mode", "team", "--num-simulations", "7"]) == Settings(num_simulations=7, mode="team")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--gamee", "hex"], ["--gamee", "perhaps --game?"]),
        (["hex"], ["hex"]),
        (["--num-simulations", "many"], ["--num-simulations", "'many' is no whole number"]),
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


@dataclasses.dataclass(frozen=True)
class Outer:
    """Holds another config."""

    inner: Settings = Settings()
    """The other."""


def test_a_value_that_a_config_inside_another_refuses():
    with pytest.raises(ValueError, match=r"^inner: num_simulations=0: must be >= 1 \(see --help\)$"):
        parse(Outer, ["--inner.num-simulations", "0"])


def test_a_flag_of_another_config_is_told_by_its_last_part():
    for words in (["--who.num-simulations", "3"], ["--who.num_simulations=3"]):
        with pytest.raises(ValueError, match=r"^Unrecognized options: --who\..* \(perhaps --inner\.num-simulations\? see"):
            parse(Outer, words)
    with pytest.raises(ValueError, match=r"^Unrecognized options: --who\.mode, team \(perhaps --inner\.mode\? see --help\)$"):
        parse_alone(Outer, ["--who.mode", "team"])


@dataclasses.dataclass(frozen=True)
class Placed:
    """Has a word without a flag."""

    game: Positional[str] = ""
    """Name of the game."""


@pytest.mark.parametrize("words", [["--help"], ["hex", "--help"], ["hex", "-h"]])
def test_help_tells_of_a_word_that_is_given_too(words, capsys):
    with pytest.raises(SystemExit):
        parse(Placed, words)
    assert "Name of the game. (default: '')" in capsys.readouterr().out


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


@contextlib.contextmanager
def nobody_reads(monkeypatch, *names):
    """Lets streams of this process be pipes whose reader has gone."""
    with contextlib.ExitStack() as opened:
        for name in names:
            reader, writer = os.pipe()
            os.close(reader)
            monkeypatch.setattr(sys, name, opened.enter_context(open(writer, "w")))
        yield


@pytest.mark.parametrize("names", [["stdout"], ["stdout", "stderr"]])
def test_a_job_outlives_the_reader_of_its_output(names, monkeypatch, tmp_path, capsys):
    def work(_):
        Console().print("a line")
        Console(stderr=True).print("a word")
        print("another", flush=True)
        with now_and_then(Console(), lambda: "later", seconds=0.001):
            time.sleep(0.05)
        (tmp_path / "saved").touch()

    with nobody_reads(monkeypatch, *names):
        assert leave(work) == 0
    assert (tmp_path / "saved").exists()
    assert capsys.readouterr().err == ("" if "stderr" in names else "a word\n")


def test_an_output_that_cannot_be_written_is_named(monkeypatch, capsys):
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        for said in (lambda _: print("a line"), lambda _: Console().print("a line")):
            assert leave(said) == 2
            assert capsys.readouterr().err == "error: standard output: No space left on device\n"
        with pytest.raises(OSError, match="No space"):
            full.close()


@pytest.mark.parametrize(("call", "code", "told"), [("print(1)", 0, ""), ("runtime.prepare(cores=0)", 2, "error: cores=0: must")])
def test_an_output_that_is_closed_from_the_start(call, code, told):
    program = f"""
from jaxgames import runtime
from training.jobs.command_line import run_main
from tests.training.jobs.test_command_line import Settings

run_main(lambda _: {call}, Settings)
"""
    command = ["sh", "-c", 'exec "$0" "$@" >&-', sys.executable, "-c", program]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False, cwd=SCRIPTS.parent)
    assert done.returncode == code and done.stderr.startswith(told) and done.stderr.count("\n") == bool(told)


def test_an_interruption_is_one_word(capsys):
    def interrupt(_):
        raise KeyboardInterrupt

    assert leave(interrupt) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_sigterm_is_an_interruption_with_its_own_exit_code(tmp_path, capsys):
    """As SLURM sends it when the time is over: what is half done is cleared away."""
    cleared, before = [], signal.getsignal(signal.SIGTERM)

    def work(_):
        with output_folder(tmp_path / "new"):
            try:
                signal.raise_signal(signal.SIGTERM)
            finally:
                signal.raise_signal(signal.SIGTERM)  # more of them come too late
                cleared.append("half")

    assert leave(work) == 143 and cleared == ["half"] and not (tmp_path / "new").exists()
    assert capsys.readouterr().err == "interrupted\n"
    assert signal.getsignal(signal.SIGTERM) is before is signal.SIG_DFL


def test_an_interruption_is_not_lost_where_exceptions_are_ignored(capsys):
    """As in a callback of the garbage collector."""

    class Dying:
        def __del__(self):
            signal.raise_signal(signal.SIGINT)

    def interrupt(_):
        Dying()
        time.sleep(60)

    started = time.monotonic()
    assert leave(interrupt) == 130 and time.monotonic() - started < 30
    assert capsys.readouterr().err == "interrupted\n"


def test_an_interruption_does_not_wait_for_what_is_computed():
    """Nor does the process crash when the interpreter is gone and XLA still computes."""
    code = """
import os, signal
import jax, jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec
from jaxgames.runtime import data_mesh
from training.jobs.command_line import run_main
from tests.training.jobs.test_command_line import Settings

def main(_):
    spread = NamedSharding(data_mesh(), PartitionSpec("data"))  # several devices compute in threads of their own
    count = jax.jit(lambda x: jax.lax.while_loop(lambda x: x[0] < 3 * 10**8, lambda x: x + 1, x))
    count(jax.device_put(jnp.zeros(2, jnp.int32), spread))
    os.kill(os.getpid(), signal.SIGINT)

run_main(main, Settings)
"""
    done = run_python(["-c", code], {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"})
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


def test_an_interruption_while_modules_are_imported_is_one_word_too(tmp_path):
    (tmp_path / "slow_to_import.py").write_text("import os, signal; os.kill(os.getpid(), signal.SIGINT)")
    code = f"""
import sys
from training.jobs.command_line import run_module
sys.path.insert(0, {str(tmp_path)!r})
run_module("slow_to_import", "run", "Config")
"""
    done = run_python(["-c", code])
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


def test_an_interruption_when_all_is_done_comes_too_late():
    code = """
import atexit, os, signal
from training.jobs.command_line import run_main
from tests.training.jobs.test_command_line import Settings

atexit.register(os.kill, os.getpid(), signal.SIGINT)
run_main(lambda _: print("done"), Settings)
"""
    done = run_python(["-c", code])
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_a_python_without_the_packages_is_told_in_one_line():
    command = [sys.executable, "-S", str(SCRIPTS / "results.py"), "pommerman"]  # -S: without installed packages
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: No module named 'jax': use .venv/bin/python") and done.stderr.count("\n") == 1
