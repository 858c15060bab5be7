"""A run that goes on has the settings with which it was begun, but for those that are given again."""

import dataclasses
import importlib
import json
import shutil
from pathlib import Path

import pytest

from tests.training.jobs.toy import ToyConfig, ToyLearnConfig
from training.jobs.catalogue import JOBS
from training.jobs.flags import parse
from training.jobs.folder import check_settings, write_settings
from training.jobs.job import JobConfig
from training.storage.named_files import FileName


def configs():
    found = {name: getattr(importlib.import_module(job.module), job.config) for name, job in JOBS.items()}
    return {name: config for name, config in found.items() if issubclass(config, JobConfig)}


def test_settings_that_are_left_out_are_those_of_the_run(tmp_path):
    begun = ToyConfig(seed=3, learn=ToyLearnConfig(decay=0.5, rows=16), total=12, output=str(tmp_path))
    write_settings(begun, tmp_path)
    going_on = dataclasses.replace(begun, resume=True)
    assert parse(ToyConfig, ["--output", str(tmp_path), "--resume"]) == going_on
    assert parse(ToyConfig, ["--resume", f"--output={tmp_path}", "--total", "20", "--learn.rows", "8"]) == dataclasses.replace(
        going_on, total=20, learn=ToyLearnConfig(decay=0.5, rows=8)
    )
    assert parse(ToyConfig, ["--output", str(tmp_path)]).total == ToyConfig.total, "a run that begins has the usual ones"
    assert parse(ToyConfig, ["--output", str(tmp_path / "none"), "--resume"]).total == ToyConfig.total


def test_what_settings_tell_of_files_is_no_setting(tmp_path):
    (tmp_path / "mine.npz").write_bytes(b"weights")
    begun = ToyConfig(opponent=f"network:{tmp_path / 'mine.npz'}", output=str(tmp_path))
    write_settings(begun, tmp_path)
    assert "files" in json.loads((tmp_path / "settings.json").read_text())
    assert parse(ToyConfig, ["--output", str(tmp_path), "--resume"]) == dataclasses.replace(begun, resume=True)


@dataclasses.dataclass(frozen=True)
class Shown(ToyConfig):
    """Learns from data sets."""

    data_sets: tuple[FileName, ...] = ("sets",)


@pytest.mark.parametrize(
    ("there", "told"),
    [
        ((0, 2), None),
        ((0, 2, 3), None),
        ((2,), ("sets/data_0.zr has gone", "put it back")),
        ((0,), ("sets/data_2.zr has gone", "put it back")),
        ((0, 1, 2), ("sets/data_1.zr has come before sets/data_2.zr", "take sets/data_1.zr away")),
    ],
)
def test_data_sets_that_were_read_are_there_and_only_later_ones_are_new(there, told, tmp_path, monkeypatch):
    """Samples go by their number over all sets."""
    monkeypatch.chdir(tmp_path)

    def put(*numbers):
        for number in numbers:
            (tmp_path / "sets" / f"data_{number}.zr").mkdir(parents=True)
            (tmp_path / "sets" / f"data_{number}.zr" / "0.0").write_bytes(bytes(number))

    put(0, 2)
    config = Shown(output="run")
    (tmp_path / "run").mkdir()
    write_settings(config, tmp_path / "run")
    shutil.rmtree("sets")
    put(*there)
    if not told:
        check_settings(config, Path("run/settings.json"))
        return
    with pytest.raises(ValueError) as error:  # noqa: PT011
        check_settings(config, Path("run/settings.json"))
    rest = f"{told[0]} since the run in run read it; {told[1]}, or choose another output"
    assert str(error.value) == f"data_sets=['sets']: {rest}"


def test_a_run_is_found_where_it_is_written_by_default(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "output").mkdir()
    write_settings(ToyConfig(seed=5), tmp_path / "output")
    assert parse(ToyConfig, ["--resume"]) == ToyConfig(seed=5, resume=True)


def test_a_run_that_was_moved_goes_on_where_it_lies(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "output").mkdir()
    write_settings(ToyConfig(seed=5, output="elsewhere"), tmp_path / "output")
    assert parse(ToyConfig, ["--resume"]) == ToyConfig(seed=5, output="output", resume=True)


@pytest.mark.parametrize("name", sorted(configs()))
def test_settings_of_every_job_come_back(name, tmp_path):
    config = configs()[name](seed=7, output=str(tmp_path))
    write_settings(config, tmp_path)
    assert parse(type(config), ["--output", str(tmp_path), "--resume"]) == dataclasses.replace(config, resume=True)


def test_what_the_file_lacks_is_as_usual(tmp_path):
    (tmp_path / "settings.json").write_text(json.dumps({"seed": 4, "learn": {"rows": 16}}))
    found = parse(ToyConfig, ["--output", str(tmp_path), "--resume"])
    assert found == ToyConfig(seed=4, learn=ToyLearnConfig(rows=16), output=str(tmp_path), resume=True)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", r"torn, or no settings; remove it to go on with the settings given$"),
        ("[1]", r"torn, or no settings; remove it to go on with the settings given$"),
        ("[" * 100_000, r"torn, or no settings; remove it to go on with the settings given$"),
        ('{"learn": 3}', r"of another job, .* \(3 where settings by name belong\); choose another output$"),
        ('{"seed": "many"}', r"of another job, .* \(seed='many': .*\); choose another output$"),
        ('{"learn": {"rows": 3, "rate": 1}}', r"of another job, .* \(it has learn\.rate\); choose another output$"),
        ('{"job": "train-q", "seed": 1}', r"of another job, .* \(it is of train-q\); choose another output$"),
        ('{"FREE": [], "seed": 1}', r"of another job, .* \(it has FREE\); choose another output$"),
        ('{"epochs": 3, "seed": 1}', r"of another job, .* \(it has epochs\); choose another output$"),
    ],
)
def test_settings_that_are_none_are_told_in_one_line(text, told, tmp_path):
    (tmp_path / "settings.json").write_text(text)
    with pytest.raises(ValueError, match=rf"^.*settings\.json: {told}") as error:
        parse(ToyConfig, ["--output", str(tmp_path), "--resume"])
    assert "\n" not in str(error.value)
