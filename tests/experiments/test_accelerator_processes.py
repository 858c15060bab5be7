"""The processes that work for the command for accelerators: who begins, who is left out or replaced, and how all end."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from experiments.accelerator import command, supervise
from experiments.accelerator.command import AcceleratorConfig
from experiments.accelerator.pieces import CHECKS, SPEEDS, Piece
from experiments.accelerator.supervise import Doer, share_out
from tests.experiments.accelerator_calls import TOY, numbers, ran, starts, toys


def test_several_processes_share_the_pieces(tmp_path):
    names = f"waits3 {numbers(12)}"
    code, rows, page = ran(tmp_path, toys(checks=names, speeds="dies last", core="last", learners="one"), workers=3, minutes=0.5)
    assert code == 1 and sorted(row["name"] for row in rows) == sorted([*names.split(), "dies", "last", "last", "one"])
    assert len({row["process"] for row in rows if row["part"] == CHECKS}) == 3
    assert "13 of 13 checks agree" in page and "| `last` | 8 | 1.23 k steps | 2.0 | 0.1 s |" in page


@pytest.mark.parametrize(("words", "processes"), [((), 3), (("cpu",), 1), (("tpu",), 1)])
def test_where_nothing_is_said_a_gpu_has_a_process_per_two_cores(words, processes, tmp_path, monkeypatch):
    """And others have one: on a TPU there is no room for more, and on CPUs they would measure each other."""
    monkeypatch.setattr(command.runtime, "usable_cores", lambda: 6)
    _, rows, _ = ran(tmp_path, toys(checks=f"waits{processes} {numbers(12)}"), 0, words, minutes=0.5)
    assert len(rows) == 13 and len({row["process"] for row in rows}) == processes == starts(tmp_path)


def test_more_processes_than_a_device_has_room_for_are_refused_in_a_line(tmp_path, capsys):
    ran(tmp_path, toys(checks="one two"), 3, ("tpu",), minutes=0.5)
    assert "workers=3: one works, as only a gpu has room for several, and here it is platform tpu\n" in capsys.readouterr().out
    assert starts(tmp_path) == 1


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("others_die",), "the process has died (5) before it was ready"),
        (("others_fall",), "a process has found Toy CPU (1 of platform cpu), and not Toy 3000 (1 of platform gpu)"),
    ],
)
def test_who_cannot_start_beside_the_first_or_finds_another_device_costs_no_piece(words, why, tmp_path, capsys):
    code, rows, _ = ran(tmp_path, toys(checks=f"waits5 {numbers(20)}", speeds="fails one"), 3, words, minutes=0.5)
    told = capsys.readouterr().out
    assert code == 1 and [row["failed"] for row in rows if row["failed"]] == ["ValueError: too many legs"]
    assert len(rows) == 23 and len({row["process"] for row in rows if row["part"] == CHECKS}) == 1
    assert told.startswith("on Toy 3000") and told.count(f"others go on without a process: {why}; ") == 1
    assert starts(tmp_path) == 5, "the others twice"


@pytest.mark.parametrize(("words", "found"), [(("lost",), 0), (("lost_again",), 2)])
def test_where_no_process_can_start_all_ends_with_a_line(words, found, tmp_path, capsys):
    parts, started = toys(checks="one dies three four", speeds="five", learners="six"), time.monotonic()
    code, rows, page = ran(tmp_path, parts, 1, words, minutes=0.5)
    told = capsys.readouterr()
    log = tmp_path / "worker.log"
    line = f"no process is left to work: the process has died (5) before it was ready; {log} may tell more\n"
    assert code == 1 and told.err == line and time.monotonic() - started < 15
    assert len(rows) == found and f"{6 - found} pieces were not reached" in told.out and "* speeds: five" in page
    assert log.read_text().count("no device for me") == 2
    code, rows, _ = ran(tmp_path, parts, minutes=0.5, resume=True)
    assert code == 1 and [row["name"] for row in rows] == ["one", "dies", "three", "four", "five", "six"]


def test_a_process_that_does_not_begin_is_told(tmp_path, capsys):
    sleeper = (sys.executable, "-c", "import time; time.sleep(60)")
    code = command.run(AcceleratorConfig(output=str(tmp_path), workers=2, minutes=0.03), sleeper, toys(checks="one two"))
    told = capsys.readouterr()
    assert code == 1 and "2 pieces were not reached" in told.out
    assert told.err.startswith("no process is left to work: no process was ready in time; ")


def test_what_is_no_program_is_told(tmp_path, capsys):
    missing = (str(tmp_path / "nothing"),)
    code = command.run(AcceleratorConfig(output=str(tmp_path), workers=1, minutes=0.5), missing, toys(checks="one"))
    assert code == 1 and "no process is left to work: a process cannot be started ([Errno 2]" in capsys.readouterr().err


def test_who_is_not_ready_leaves_the_pieces_to_others():
    """And is not waited for once there are none."""
    done = []

    def waits(wanted):
        while wanted():
            time.sleep(0.01)
        return False

    doers = [Doer(waits, lambda *_: done.append("never")), Doer(lambda wanted: True, lambda piece, _: done.append(piece.name))]
    started = time.monotonic()
    share_out({"a": [Piece("a", name) for name in "bcd"]}, {"a": 1.0}, 30.0, doers, lambda: None)
    assert done == ["b", "c", "d"] and time.monotonic() - started < 10


def test_who_is_never_ready_takes_no_share_of_the_time():
    gone, given = threading.Event(), []

    def refuses(wanted):
        gone.set()
        return False

    def follows(wanted):
        gone.wait(10)
        time.sleep(0.2)  # until it has gone
        return wanted()

    doers = [Doer(refuses, lambda *_: None), Doer(follows, lambda piece, seconds: given.append(seconds))]
    share_out({"a": [Piece("a", name) for name in "bc"]}, {"a": 1.0}, 30.0, doers, lambda: None, clock=lambda: 0.0)
    assert given == [22.5, 30.0]  # of the first three quarters, so that the second has its turn


def test_a_process_that_has_died_is_worth_another_try(tmp_path):
    """When a call is resumed; what has failed in itself is not."""
    ran(tmp_path, toys(checks="dies fails one"), minutes=0.5)
    text = (tmp_path / "rows.jsonl").read_text()
    (tmp_path / "rows.jsonl").write_text(text.replace('"name": "dies"', '"name": "two"'))
    code, rows, _ = ran(tmp_path, toys(checks="two fails one"), minutes=0.5, resume=True)
    assert code == 1 and [(row["name"], bool(row["failed"])) for row in rows] == [("fails", True), ("one", False), ("two", False)]


def test_who_edits_a_file_meanwhile_does_not_end_the_call(tmp_path):
    code, rows, page = ran(tmp_path, toys(checks="large large two"), 2, ("edited",), minutes=0.5)
    assert code == 0 and len(rows) == 3 and starts(tmp_path) > 1 and "commit abc;" in page
    with pytest.raises(ValueError, match=r"holds rows of commit abc, and here it is abc\+changes: give another folder"):
        ran(tmp_path, toys(checks="three"), 1, ("edited",), minutes=0.5, resume=True)


def test_one_device_and_several_are_different_pieces(tmp_path):
    """A call that is resumed with more of them measures again, and what there was stays."""
    speeds = [{**toys(), SPEEDS: [Piece(SPEEDS, "one", devices=devices)]} for devices in (1, 4)]
    ran(tmp_path, speeds[0], minutes=0.5)
    for parts in (*speeds, speeds[1]):
        _, rows, page = ran(tmp_path, parts, minutes=0.5, resume=True)
    assert [row["devices"] for row in rows] == [1, 4]
    assert "| `one` | 8 | 1.23 k steps |" in page and "| `one` | 8 on 4 devices | 1.23 k steps |" in page
    (tmp_path / "about.json").write_text((tmp_path / "about.json").read_text().replace('"devices": 1', '"devices": 8'))
    with pytest.raises(ValueError, match="holds rows of devices 8, and here it is 1: give another folder"):
        ran(tmp_path, toys(checks="one"), minutes=0.5, resume=True)


def test_who_has_taken_much_memory_is_replaced(tmp_path):
    code, rows, _ = ran(tmp_path, toys(checks="one large two three"), minutes=0.5)
    first, large, two, three = (row["process"] for row in rows)
    assert code == 0 and first == large and two == three and large != two


def test_what_a_late_process_has_started_ends_with_it(tmp_path):
    _, rows, _ = ran(tmp_path, toys(checks="parent"), minutes=0.06)
    assert rows[0]["failed"].startswith("not done after")
    commands = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert not any(b"61.25" in line for line in commands)


def test_who_is_dismissed_while_it_starts_ends_without_a_word(tmp_path, monkeypatch):
    started, popen = threading.Event(), supervise.subprocess.Popen

    def slow(*arguments, **settings):
        started.set()
        time.sleep(0.3)
        return popen(*arguments, **settings)

    monkeypatch.setattr(supervise.subprocess, "Popen", slow)
    one, told = supervise.Worker([str(tmp_path / "lock"), "0"], tmp_path / "log", TOY), []
    thread = threading.Thread(target=lambda: told.append(one.ready(lambda: True)))
    thread.start()
    assert started.wait(10)
    one.dismiss()
    thread.join(10)
    assert not thread.is_alive() and told == [False] and list(one.do(Piece(CHECKS, "one"), 1.0)) == []


def test_when_one_raises_the_others_are_stopped_at_once():
    stopped = threading.Event()

    def works(piece, seconds):
        assert stopped.wait(20)

    def raises(piece, seconds):
        raise OSError("no space")

    doers, started = [Doer(lambda wanted: True, do) for do in (works, raises)], time.monotonic()
    with pytest.raises(OSError, match="no space"):
        share_out({"a": [Piece("a", name) for name in "bcd"]}, {"a": 1.0}, 30.0, doers, stopped.set)
    assert stopped.is_set() and time.monotonic() - started < 10


@pytest.mark.parametrize("workers", [1, 3])
def test_an_interrupt_loses_nothing(workers, tmp_path, capsys):
    def interrupt():
        path = tmp_path / "rows.jsonl"
        while not (path.exists() and path.read_text()):
            time.sleep(0.005)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    started = time.monotonic()
    code, rows, page = ran(tmp_path, toys(checks="one late late later late"), workers)
    thread.join()
    assert time.monotonic() - started < 20
    assert code == 0 and rows[0]["name"] == "one" and {row["name"] for row in rows} <= {"one", "later"}
    assert "* checks: late, late" in page
    told = capsys.readouterr()
    assert f"{5 - len(rows)} pieces were not reached" in told.out and "interrupted" in told.err
