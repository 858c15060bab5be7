"""Programs as partners: what is said of them when they fail, and that they are gone."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.processes import ROOT
from tests.training.play.stratego.started_partners import all_gone, command, processes, program
from training.play.stratego.programs import Failure, Program, command_of


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "program='': must be a command"),
        ("./nothing here", r"program='./nothing': there is no such program"),
        ("no-such-program-anywhere", "program='no-such-program-anywhere': there is no such program"),
        (f"{ROOT}/README.md", "README.md': may not be run"),
        ("'open", 'program="\'open": no closing quotation'),
    ],
)
def test_a_program_that_cannot_be_started_is_one_line(text, message):
    with pytest.raises(ValueError, match=message) as error:
        command_of(text)
    assert "\n" not in str(error.value)


def test_a_file_that_is_no_program(tmp_path):
    path = tmp_path / "bot"
    path.write_bytes(b"\x00\x01 no program")
    path.chmod(0o755)
    with pytest.raises(ValueError, match=r"bot': cannot be started: Exec format error"):
        Program(command_of(str(path)), "bot")


def test_a_program_that_does_not_read_is_not_waited_for():
    deaf = program("hang")
    try:
        with pytest.raises(Failure, match=r"^did not read what it was sent within 0.2 s$"):
            deaf.send("x" * 2**20, 0.2)
    finally:
        deaf.close()
    assert all_gone()


def test_a_program_that_has_left_says_why():
    gone = program("die")
    with pytest.raises(Failure, match=r"^ended with exit code 3$"):
        gone.read_line(5)
    with pytest.raises(Failure, match=r"^ended with exit code 3$"):
        gone.send("x", 1)
    gone.close("QUIT")


def test_what_a_program_says_before_it_hangs_is_told():
    says = "import sys, time\nprint('loading', file=sys.stderr, flush=True)\nprint('half', end='', flush=True)\ntime.sleep(60)"
    one = Program([sys.executable, "-I", "-S", "-c", says], "slow", grace=0.1)
    try:
        with pytest.raises(Failure, match=r"^no line within 1 s \(it sent 'half'\): 'loading'$"):
            one.read_line(1)
    finally:
        one.close()


def test_a_stopped_program_does_not_work_and_goes_on():
    one = Program(
        [sys.executable, "-I", "-S", "-c", "import sys\nfor line in sys.stdin: print(line, end='', flush=True)"], "echo"
    )
    try:
        one.send("first", 5)
        assert one.read_line(5) == "first"
        one.pause()
        one.send("second\nthird", 5)
        with pytest.raises(Failure, match=r"^no line within 0.2 s$"):
            one.read_line(0.2)
        one.resume()
        assert [one.read_line(5), one.read_line(5)] == ["second", "third"]
        one.pause()
    finally:
        begun = time.monotonic()
        one.close("QUIT")
    assert time.monotonic() - begun < 1  # it was let go on, saw the end of its input and left


def test_programs_do_not_outlive_a_manager_that_is_killed(tmp_path):
    """Not even one that is stopped at that moment and would listen to nothing."""
    told = tmp_path / "number"
    code = f"""
import sys, time
from pathlib import Path
from training.play.stratego.programs import Program
one = Program({command("ignore_signals")!r}, "waits")
one.send("RED x 10 10", 20)
one.read_line(20)
one.pause()
Path({str(told)!r}).write_text(str(one._group))
time.sleep(600)
"""
    manager = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT)
    try:
        while not told.exists() or not told.read_text():
            time.sleep(0.02)
        number = int(told.read_text())
        assert Path(f"/proc/{number}").exists()
    finally:
        manager.send_signal(signal.SIGKILL)
        manager.wait()
    deadline = time.monotonic() + 10
    while _runs(number) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _runs(number)


def _runs(number):
    try:
        return (Path(f"/proc/{number}") / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_children_in_sessions_of_their_own_are_killed():
    one = program("leave_child")
    deadline = time.monotonic() + 10
    while "sleep" not in processes() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert sorted(processes()) == ["leave_child", "sleep"]
    one.close()
    assert all_gone()
