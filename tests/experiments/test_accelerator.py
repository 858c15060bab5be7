"""The command for accelerators: time is kept, what fails is a row, an early end loses nothing, differences are found."""

import json
import os
import shutil
import signal
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import jax
import pytest

from experiments.accelerator import command, record, supervise, worker
from experiments.accelerator.command import AcceleratorConfig
from experiments.accelerator.pieces import CHECKS, CORE, LEARNERS, SPEEDS, Piece
from experiments.accelerator.supervise import Doer, share_out
from tests.processes import output_of

TOY = (sys.executable, str(Path(__file__).with_name("toy_worker.py")))


def ran(folder, parts, workers=1, words=(), **settings):
    """Runs toy pieces; returns the exit code, the rows and the page."""
    code = command.run(AcceleratorConfig(output=str(folder), workers=workers, **settings), (*TOY, *words), parts)
    rows = [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()]
    return code, rows, (folder / "page.md").read_text()


def numbers(count):
    return " ".join(f"number{number}" for number in range(count))


def starts(folder):
    """How many processes were started."""
    return len((folder / "measuring.lock.starts").read_text())


def toys(**names):
    return {part: [Piece(part, name) for name in names.get(part, "").split()] for part in (CHECKS, SPEEDS, CORE, LEARNERS)}


def test_what_fails_and_dies_is_a_row_and_the_rest_goes_on(tmp_path):
    code, rows, page = ran(tmp_path, toys(checks="one fails two", speeds="dies three", learners="four"), minutes=0.5)
    assert code == 1 and [row["name"] for row in rows] == ["one", "fails", "two", "dies", "three", "four"]
    assert [row["failed"] for row in rows if row["failed"]] == [
        "ValueError: too many legs",
        "the process has died (7); worker.log has its words",
    ]
    assert "a last word" in (tmp_path / "worker.log").read_text()
    assert "# Toy 3000 (1 of platform gpu)" in page and "too many legs" in page and "2 of 2 checks agree" in page
    assert "1.23 k steps" in page and "2, 1" in page and page.endswith("## What was not reached\n\n–\n")


def test_time_is_kept_and_what_was_not_reached_is_listed_and_done_later(tmp_path):
    parts, started = toys(checks="one", speeds="late two", learners="three"), time.monotonic()
    code, rows, page = ran(tmp_path, parts, minutes=0.1)
    assert time.monotonic() - started < 7 and code == 0
    late = next(row for row in rows if row["name"] == "late")
    assert late["failed"].startswith("not done after ") and "1 took too long" in page and rows[-1]["name"] == "three"
    code, rows, page = ran(tmp_path, toys(checks="one other"), minutes=0.1, resume=True)
    assert code == 1 and [row["name"] for row in rows] == ["one", *(row["name"] for row in rows[1:-1]), "other"]
    assert "late" not in [row["name"] for row in rows] and "1 of 2 checks agree" in page
    code, _, page = ran(tmp_path, toys(checks="one other"), minutes=0.1, resume=True)
    assert "# Toy 3000" in page, "of whom the rows are, though nothing is left to do"
    (tmp_path / "about.json").write_text((tmp_path / "about.json").read_text().replace("3000", "2000"))
    with pytest.raises(ValueError, match="holds rows of device Toy 2000, and here it is Toy 3000: give another folder"):
        ran(tmp_path, toys(checks="one new"), minutes=0.1, resume=True)


def test_a_second_call_keeps_what_the_first_has_found(tmp_path, capsys):
    ran(tmp_path, toys(checks="one two"), minutes=0.1)
    first = {name: (tmp_path / name).read_text() for name in ("rows.jsonl", "about.json", "page.md", "worker.log")}
    _, rows, page = ran(tmp_path, toys(checks="three"), minutes=0.1)
    apart = tmp_path / "earlier-1"
    assert [row["name"] for row in rows] == ["three"] and "1 of 1 checks agree" in page
    assert {path.name: path.read_text() for path in apart.iterdir()} == first
    assert f"what was found earlier is kept in {apart}; to go on with that: --resume --output {apart}" in capsys.readouterr().out
    _, rows, _ = ran(apart, toys(checks="one two four"), minutes=0.1, resume=True)
    assert [row["name"] for row in rows] == ["one", "two", "four"]
    ran(tmp_path, toys(checks="five"), minutes=0.1)
    assert "three" in (tmp_path / "earlier-2" / "rows.jsonl").read_text()
    (tmp_path / "rows.jsonl").write_text("")
    ran(tmp_path, toys(checks="six"), minutes=0.1)
    assert not (tmp_path / "earlier-3").exists(), "nothing had been found"


@pytest.mark.parametrize("good", range(3))
def test_what_is_set_aside_is_never_torn(good, tmp_path, monkeypatch):
    """Whichever copy fails."""
    contents = {name: f"{{}} of {name}" for name in ("rows.jsonl", "about.json", "page.md", "worker.log")}
    for name, text in contents.items():
        (tmp_path / name).write_text(text)
    copied = []

    def copy(source, target, copy=shutil.copy2):
        if len(copied) == good:
            raise OSError("no room")
        copied.append(copy(source, target))

    with monkeypatch.context() as patched:
        patched.setattr(command.shutil, "copy2", copy)
        with pytest.raises(OSError, match="no room"):
            command.set_aside(tmp_path)
    assert {path.name: path.read_text() for path in tmp_path.iterdir() if path.is_file()} == contents
    assert not list(tmp_path.glob("earlier-*"))
    assert command.set_aside(tmp_path) == tmp_path / "earlier-1"
    assert {path.name: path.read_text() for path in (tmp_path / "earlier-1").iterdir()} == contents
    assert [path.name for path in tmp_path.iterdir()] == ["earlier-1"] and command.set_aside(tmp_path) is None


def test_on_what_all_is_done_is_told_once_at_the_start(tmp_path, capsys):
    ran(tmp_path, toys(checks=numbers(6)), workers=2, minutes=0.1)
    told = capsys.readouterr()
    assert told.out.startswith("on Toy 3000 (1 of platform gpu): jax 1.2.3\n") and told.out.count("Toy 3000") == 1
    assert "warning" not in told.err


def test_a_cpu_in_place_of_an_accelerator_is_told(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("JAX_PLATFORMS", raising=False)
    command.greet({"device": "Toy CPU", "devices": 2, "platform": "cpu", "versions": {"jax": "1.2.3"}}, tmp_path / "worker.log")
    assert capsys.readouterr().err.startswith("warning: JAX has found no accelerator: all is done by the CPU")
    assert command._lacking(tmp_path / "worker.log", tmp_path).endswith("compared with itself")
    (tmp_path / "nvidia0").touch()
    assert f"although {tmp_path}/nvidia0 is there" in command._lacking(tmp_path / "worker.log", tmp_path)
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    assert command._lacking(tmp_path / "worker.log", tmp_path).endswith("; JAX_PLATFORMS=cpu is set")


def test_minutes_count_from_the_start_of_the_process(tmp_path, monkeypatch):
    given = []
    monkeypatch.setattr(command, "time", SimpleNamespace(monotonic=lambda: 100.0))
    monkeypatch.setattr(command, "share_out", lambda parts, shares, seconds, *rest: given.append(seconds))
    config = AcceleratorConfig(output=str(tmp_path), workers=1, minutes=1)
    command.run(config, TOY, toys(checks="one"))
    command.run(config, TOY, toys(checks="one"), since=44.0)
    assert given == [59.0, 3.0]  # a second is for the end
    monkeypatch.setattr(command, "run", lambda config, since: given.append(since) or 0)
    assert command.main(AcceleratorConfig()) == 0 and given[-1] == command.clock.STARTED


def test_the_minutes_begin_before_the_long_imports():
    code = """
import runpy, sys

class Finder:
    def find_spec(self, name, *_):
        if name.partition(".")[0] not in {"experiments", *sys.stdlib_module_names}:
            print(name, "experiments.accelerator.clock" in sys.modules)
            sys.exit()

sys.meta_path.insert(0, Finder())
runpy.run_path("scripts/accelerator.py", run_name="__main__")
"""
    assert output_of(code) == "training True"


@pytest.mark.parametrize(
    ("file", "text", "what"),
    [
        ("rows.jsonl", '{"part": "checks"', "list of rows"),
        ("rows.jsonl", '{"part": "checks", "name": "one"}', "list of rows"),
        ("about.json", "{", "description of a device"),
    ],
)
def test_a_file_of_something_else_is_told_in_one_line(file, text, what, tmp_path):
    (tmp_path / "rows.jsonl").touch()
    (tmp_path / file).write_text(text)
    with pytest.raises(ValueError, match=rf"{file}: torn, or no {what}; remove it, or give another folder$"):
        command.Findings(tmp_path, toys(checks="one"), 0.1, resume=True)


@pytest.mark.parametrize("text", ["[{", "{}", "[3]", '[{"part": "checks", "name": "one"}]'])
def test_a_kept_file_of_something_else_is_told_in_one_line(text, tmp_path):
    (tmp_path / "accelerator-toy.json").write_text(text)
    told = r"accelerator-toy\.json: torn, or no list of rows; remove it, or give another f(ile|older)$"
    with pytest.raises(ValueError, match=told):
        record.make_tables(tmp_path, tmp_path / "page.md")
    with pytest.raises(ValueError, match=told):
        record.record({"device": "Toy"}, [], tmp_path, tmp_path / "page.md")
    assert (tmp_path / "accelerator-toy.json").read_text() == text


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


def test_time_that_is_left_goes_to_later_parts():
    now, given = 0.0, {}

    def do(piece, seconds):
        nonlocal now
        given[piece.name] = seconds
        now += {"short": 1.0, "endless": seconds}.get(piece.name, 0.5)

    parts = {"a": [Piece("a", "short")], "b": [Piece("b", "endless"), Piece("b", "last")], "c": []}
    share_out(parts, {"a": 0.5, "b": 0.25, "c": 0.25}, 30.0, [Doer(lambda wanted: True, do)], lambda: None, clock=lambda: now)
    assert given == {"short": 20.0, "endless": 21.75, "last": 7.25}


def test_a_failing_piece_is_told_in_one_line(monkeypatch):
    def work(piece, seconds, devices):
        yield {"same": True}
        raise RuntimeError("RESOURCE_EXHAUSTED: out of memory\n  while allocating\n\t3 bytes")

    monkeypatch.setattr(worker, "work", work)
    first, last = worker.done(Piece(CHECKS, "one"), 1.0, 1)
    assert first == {"row": {"same": True}}
    assert last["failed"] == "RuntimeError: RESOURCE_EXHAUSTED: out of memory while allocating 3 bytes"


@pytest.mark.parametrize(
    ("text", "wrapped", "spent"),
    [
        ("INTERNAL: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access", False, True),
        ("INTERNAL: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access", True, True),
        ("RESOURCE_EXHAUSTED: out of memory", False, False),
    ],
)
def test_a_process_whose_device_has_failed_is_spent(text, wrapped, spent, monkeypatch):
    def work(piece, seconds, place):
        yield from ()
        error = jax.errors.JaxRuntimeError(text)
        if wrapped:
            raise ValueError("the device failed in iteration 3") from error
        raise error

    monkeypatch.setattr(worker, "work", work)
    (last,) = worker.done(Piece(LEARNERS, "one"), 1.0, worker.Place("lock", 0))
    assert last["failed"] and last.get("spent", False) == spent


def test_a_case_is_measured_on_the_devices_of_its_piece(monkeypatch):
    seen = []
    mesh = worker.runtime.data_mesh(1)
    monkeypatch.setattr(worker.runtime, "data_mesh", lambda devices: seen.append(devices) or mesh)
    monkeypatch.setattr(worker.harness, "measure", lambda *_: {"devices": 1})
    row = worker.measure(Piece(SPEEDS, "hex/compile", devices=4), 1.0, worker.Place("lock", 0))
    assert seen == [4] and row["devices"] == 4
    monkeypatch.setattr(worker.learners, "train", lambda name, seconds: [{"iterations": 1}])
    (row,) = worker.work(Piece(LEARNERS, "q"), 1.0, worker.Place("lock", 0))
    assert row["devices"] == jax.device_count()
