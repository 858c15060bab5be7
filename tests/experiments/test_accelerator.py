"""The command for accelerators: time is kept, what fails is a row, an early end loses nothing, differences are found."""

import shutil
import time
from types import SimpleNamespace

import jax
import pytest

from experiments.accelerator import command, record, worker
from experiments.accelerator.command import AcceleratorConfig
from experiments.accelerator.pieces import CHECKS, LEARNERS, SPEEDS, Piece
from experiments.accelerator.supervise import Doer, share_out
from tests.experiments.accelerator_calls import TOY, numbers, ran, toys
from tests.processes import output_of


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
