"""Fault drills: they pass on a sound run, and tell what is lost of one that is not."""

import json
import random
import shutil

import pytest

from experiments.drills import command, faults, lives
from experiments.drills.command import DrillsConfig
from experiments.drills.lives import Ended
from tests.processes import run_python


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
    assert command.run(config) == {"drills": {}, "failed": []} == json.loads((tmp_path / "drills.json").read_text())


def test_damage_is_done(tmp_path):
    content, ways, draw = bytes(range(256)), set(), random.Random(0)
    for _ in range(60):
        path = tmp_path / "file"
        path.write_bytes(content)
        ways.add(faults._damage(path, draw))
        assert not path.exists() or path.read_bytes() != content
    assert ways == {"flipped", "cut", "emptied", "removed", "overwritten", "grown"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"drills": 0}, "drills=0: must be"),
        ({"minutes": 0}, "minutes=0: must be"),
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
