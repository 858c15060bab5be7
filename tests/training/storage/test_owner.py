"""Whose a folder is: every job knows its own results and settings, those of earlier versions too, and those of all others."""

import importlib
import json

import pytest

from training.jobs.catalogue import JOBS
from training.storage.owner import RESULT, SETTINGS, check_owner, other_owner
from training.storage.provenance import as_read

GIVEN = {"stratego-bot": {"players": ("random", "random")}}


def configs():
    found = {name: getattr(importlib.import_module(job.module), job.config) for name, job in JOBS.items()}
    return {name: config(**GIVEN.get(name, {})) for name, config in found.items() if hasattr(config, "JOB")}


CONFIGS = configs()


def files_of(config, *, told):
    """A result and settings as a job writes them, or as earlier versions did, which did not tell the job."""
    head = {"job": config.JOB} if told else {}
    return {RESULT: head | {"settings": as_read(config), "seconds": 1.0}, SETTINGS: head | as_read(config)}


def test_jobs_are_called_as_on_the_command_line():
    assert {name: config.JOB for name, config in CONFIGS.items()} == {
        name: "match" if name == "evaluate" else name for name in CONFIGS
    }
    assert {"match", "tournament", "stratego-bot", "write-data-sets"} < set(CONFIGS)
    assert {name for name in JOBS if name.startswith("train-")} < set(CONFIGS)


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("name", sorted(CONFIGS))
def test_a_job_knows_its_own_files_and_those_of_others(name, told, tmp_path):
    for file, found in files_of(CONFIGS[name], told=told).items():
        path = tmp_path / file
        path.write_text(json.dumps(found))
        owners = {other: other_owner(config, path) for other, config in CONFIGS.items()}
        mine = CONFIGS[name].JOB
        assert owners == {other: "" if mine == config.JOB else mine for other, config in CONFIGS.items()}
        path.unlink()


def test_where_nothing_could_be_lost_anybody_may_write(tmp_path):
    for config in CONFIGS.values():
        check_owner(config, tmp_path / "none")
        for text in ("", "{", "[]", "3", "{}", '{"settings": 3}'):
            (tmp_path / RESULT).write_text(text)
            check_owner(config, tmp_path)


def test_what_no_job_has_written_stays(tmp_path):
    config = CONFIGS["train-q"]
    for found in ({"accuracy": 1}, {"settings": {"colour": "red"}}):
        (tmp_path / RESULT).write_text(json.dumps(found))
        with pytest.raises(ValueError, match=f"^output='{tmp_path}': holds the {RESULT} of another program; give another folder"):
            check_owner(config, tmp_path)


def test_settings_by_which_no_job_is_known_are_of_who_has_them_all(tmp_path):
    """As of an earlier version that lacked those that tell."""
    (tmp_path / SETTINGS).write_text(json.dumps({"seed": 3, "learn": {}}))
    assert other_owner(CONFIGS["train-q"], tmp_path / SETTINGS) == ""
    assert other_owner(CONFIGS["match"], tmp_path / SETTINGS) == "another program"
