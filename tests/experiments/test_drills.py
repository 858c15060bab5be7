"""Fault drills: they pass on a sound run, and tell what is lost of one that is not."""

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from experiments.drills import command, faults, lives, side_by_side, together
from experiments.drills.command import DrillsConfig
from experiments.drills.lives import Ended
from experiments.drills.side_by_side import Drill
from tests.processes import run_python
from training.storage.files import write_atomically


def test_what_is_lost_is_told(tmp_path):
    """A folder whose newest checkpoints are gone goes on after an earlier one, or not at all."""
    assert faults._one_line(Ended(2, "error: no room\n"), 2, "no room") == []
    assert faults._one_line(Ended(-9, "Traceback (most recent call last)"), 2, "no room") == [
        "ended with code -9, expected 2: Traceback (most recent call last)",
        "there is a traceback",
        "does not say 'no room': Traceback (most recent call last)",
    ]
    assert Ended(0, "going on after iteration 12\n...").went_on_after == 12 and Ended(0, "").went_on_after == 0
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "best.npz").write_text(name)
    assert lives.differences(tmp_path / "one", tmp_path / "other") == ["best.npz differs", "no result.json"]


def test_a_drill_that_cannot_be_made_has_failed(tmp_path):
    def broken(folder, straight, draw):
        raise OSError("no room\nat all")

    assert command._drilled(broken, tmp_path, tmp_path, random.Random(0)) == ["could not be made: OSError: no room at all"]


def test_a_drill_begins_in_an_empty_place(tmp_path):
    """Whatever one of its number has left, and nothing of others."""
    for name in ("drill-0007", "drill-0007-fewer", "drill-0008"):
        (tmp_path / name).mkdir()
    (tmp_path / "drill-0007.log").touch()
    command._clear(tmp_path / "drill-0007")
    assert [path.name for path in tmp_path.iterdir()] == ["drill-0008"]


def test_where_there_is_no_time_for_a_drill_none_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(command, "_straight", lambda folder: folder)
    monkeypatch.setattr(command.runtime, "prepare", lambda **_: None)
    config = DrillsConfig(drills=1, minutes=1e-9, output=str(tmp_path))
    monkeypatch.setattr(faults, "_no_mounting", lambda: "")
    about = {"device": "Toy", "platform": "cpu", "versions": {"jax": "0.10"}, "commit": "abc"}
    monkeypatch.setattr(command.provenance, "describe_cpu", lambda: about)
    assert command.run(config) == {"drills": {}, "failed": [], **about} == json.loads((tmp_path / "drills.json").read_text())


def test_what_cannot_be_made_here_is_told_with_the_reason(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "_straight", lambda folder: folder)
    monkeypatch.setattr(command.runtime, "prepare", lambda **_: None)
    monkeypatch.setattr(faults, "_no_mounting", lambda: "needs a disk of its own, which only root may mount")
    command.run(DrillsConfig(minutes=1e-9, output=str(tmp_path)))
    assert capsys.readouterr().out.splitlines() == [
        "left out: a full disk: needs a disk of its own, which only root may mount",
        "left out: a read-only folder: needs a disk of its own, which only root may mount",
    ]
    assert set(json.loads((tmp_path / "drills.json").read_text())["left_out"]) == {"a full disk", "a read-only folder"}
    with pytest.raises(ValueError, match="fault='a full disk': needs a disk of its own, which only root may mount"):
        DrillsConfig(fault="a full disk")
    with pytest.raises(ValueError, match=r"fault='flood': must be one of killed, .*, a full disk"):
        DrillsConfig(fault="flood")


def drills_in(folder, names):
    return iter([Drill(number, name, folder / f"drill-{number:04d}") for number, name in enumerate(names)])


def test_drills_are_made_side_by_side_and_each_is_told(tmp_path):
    def one(drill):
        (tmp_path / f"{drill.fault} is here").touch()
        deadline = time.monotonic() + 20
        while not (tmp_path / "two is here").exists() and time.monotonic() < deadline:  # which begins while the first waits
            time.sleep(0.01)
        if drill.fault == "dies":
            os._exit(7)
        print("some words")
        return [] if time.monotonic() < deadline else ["alone\ntoo long"]

    found = {drill.fault: wrong for drill, wrong in side_by_side.make(drills_in(tmp_path, ["one", "two", "dies"]), one, 2)}
    assert found == {"one": [], "two": [], "dies": ["could not be made: its process ended with code 7: not a word"]}


def test_one_at_a_time_is_one_after_the_other(tmp_path):
    def one(drill):
        (tmp_path / "somebody").mkdir()
        time.sleep(0.05)
        (tmp_path / "somebody").rmdir()
        return [drill.fault]

    made = side_by_side.make(drills_in(tmp_path, "abc"), one, 1)
    assert [wrong for _, wrong in made] == [["a"], ["b"], ["c"]]


def test_drills_that_are_called_off_tidy_up_and_end_with_all_they_have_started(tmp_path):
    def one(drill):
        if drill.fault == "short":
            return []
        child = subprocess.Popen(["sleep", "60"])
        write_atomically(tmp_path / f"{drill.number}", f"{os.getpid()} {child.pid}")
        try:
            time.sleep(60)
        finally:
            (tmp_path / f"{drill.number} tidy").touch()
        return []

    made = side_by_side.make(drills_in(tmp_path, ["long", "short"]), one, 2)
    assert next(made)[0].fault == "short"
    assert comes((tmp_path / "0").exists)
    made.close()
    assert (tmp_path / "0 tidy").exists()
    drill, child = map(int, (tmp_path / "0").read_text().split())
    assert not Path(f"/proc/{drill}").exists()
    assert comes(lambda: not is_alive(child))


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody is told of the end of its parent")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_drills_tidy_up_and_end_when_who_makes_them_is_gone(tmp_path, number):
    """With the lives that they have begun, and although a shell has the command ignore interrupts."""

    def one(drill):
        life = lives.apart(lambda: time.sleep(60) or 0, tmp_path / "life.txt")
        write_atomically(tmp_path / "0", f"{os.getpid()} {life.process}")
        try:
            life.end()
        finally:
            (tmp_path / "0 tidy").touch()
        return []

    def make():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        return len(list(side_by_side.make(drills_in(tmp_path, ["long"]), one, 1)))

    maker = lives.apart(make, tmp_path / "maker.txt")
    assert comes((tmp_path / "0").exists)
    maker.send(number)
    assert maker.end(20).code == -number
    for process in map(int, (tmp_path / "0").read_text().split()):
        assert comes(lambda process=process: not is_alive(process))
    assert (tmp_path / "0 tidy").exists()


def test_a_command_that_is_asked_to_end_calls_its_drills_off(tmp_path, monkeypatch):
    over = []

    def make(drills, one, at_once):
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            yield next(drills), []
        finally:
            over.append(True)

    monkeypatch.setattr(command, "_straight", lambda folder: folder)
    monkeypatch.setattr(command.runtime, "prepare", lambda **_: None)
    monkeypatch.setattr(command.side_by_side, "make", make)
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt):
        command.run(DrillsConfig(fault="killed", output=str(tmp_path)))
    assert over and signal.getsignal(signal.SIGTERM) == before


def comes(condition):
    """Waits until something is so; says whether it is."""
    deadline = time.monotonic() + 20
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


def is_alive(process):
    """Whether it runs, and is not only waiting for somebody to look after it."""
    status = Path(f"/proc/{process}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


def test_who_stays_must_name_who_is_gone():
    told = "error: process 1 of 2 has died or hangs (no sign of life for 10 s): process 0 of 2 ends too\n"
    assert together._tells_of(Ended(-6, told), 1) == [] == together._tells_of(Ended(0, ""), 1)
    assert together._tells_of(Ended(-6, "error: process 1 of 2 ends, because another one did\n"), 0) == [
        "process 1 said in 1 lines: error: process 1 of 2 ends, because another one did"
    ]
    assert together._tells_of(Ended(-9, "Traceback"), 1) == [
        "process 0 was still there a minute after process 1",
        "process 0 said in 0 lines: Traceback",
        "there is a traceback",
    ]


def test_who_comes_back_must_blame_itself():
    sound, other = "error: process 1 of 2 gave no sign of life for 10 s", "error: process 0 of 2, the coordinator, has died"
    assert together._blames_itself(Ended(-6, sound), Ended(-6, ""), 1) == []
    assert together._blames_itself(Ended(0, ""), Ended(0, ""), 1) == []
    assert together._blames_itself(Ended(-6, other), Ended(-6, ""), 1) == [
        f"process 1, which is back, did not say that it gave no sign of life: {other}"
    ]


def test_who_is_asked_to_end_when_all_is_learnt_may_just_end(tmp_path):
    assert together._ends_when_asked(tmp_path) == (0,)
    (tmp_path / "epoch-004.npz").touch()
    assert together._ends_when_asked(tmp_path) == (0, -signal.SIGTERM, -signal.SIGABRT)


def test_a_port_that_somebody_has_is_not_drawn():
    with socket.socket() as taken:
        taken.bind(("", 0))
        port = taken.getsockname()[1]
        drawn = iter([port, 0])  # 0: any free one
        assert together._address(SimpleNamespace(choice=lambda ports: next(drawn))) == "localhost:0"


def test_damage_is_done(tmp_path):
    content, ways, draw = bytes(range(256)), set(), random.Random(0)
    for _ in range(60):
        path = tmp_path / "file"
        path.write_bytes(content)
        ways.add(faults._damage(path, draw))
        assert not path.exists() or path.read_bytes() != content
    assert ways == {"flipped", "cut", "emptied", "removed", "overwritten", "grown"}


def test_a_run_with_a_damaged_checkpoint_has_yet_to_come_to_its_end(tmp_path, monkeypatch):
    """Else a checkpoint that is restored in silence, whatever is in it, would not show in what is compared."""
    straight, last = tmp_path / "straight", "epoch-004.npz"
    for number in (14, 15, 16):
        step = straight / "checkpoints" / str(number)
        step.mkdir(parents=True)
        (step / "record").write_text(f"sound {number}")
    for name in ("best.npz", "epoch-003.npz", last, "result.json", "log.jsonl"):
        (straight / name).write_text(name)
    handed_on = []
    monkeypatch.setattr(faults, "_damage", lambda path, draw: path.write_text("damaged"))
    monkeypatch.setattr(faults, "_resumed", lambda folder, straight, least: handed_on.append(least) or [])
    assert faults.damaged(tmp_path / "run", straight, random.Random(0)) == [] and handed_on == [14]
    records = {path.parent.name: path.read_text() for path in (tmp_path / "run").rglob("record")}
    assert records == {"14": "sound 14", "15": "damaged"}
    assert {path.name for path in (tmp_path / "run").iterdir()} == {"checkpoints", "epoch-003.npz", "log.jsonl"}
    assert len(lives.steps_of(straight)) == 3 and (straight / last).exists()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"drills": 0}, "drills=0: must be"),
        ({"minutes": 0}, "minutes=0: must be"),
        ({"at_once": -1}, "at_once=-1: must be"),
        ({"fault": "flood"}, "fault='flood': must be one of killed, "),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        DrillsConfig(**settings)


@pytest.mark.slow
def test_each_fault_once(tmp_path):
    for number, fault in enumerate(faults.faults()):
        assert fault in command.SHARES
        done = run_python(
            ["scripts/drills.py", "--drills", "1", "--fault", fault, "--seed", str(number), "--output", str(tmp_path / "drills")]
        )
        assert done.returncode == 0 and f"1/1 {fault}: nothing is lost" in done.stdout, done.stdout + done.stderr
        shutil.rmtree(tmp_path / "drills")
