"""What stands in the folder of a run before it goes on; runs themselves are in test_job.py."""

import dataclasses
import json

import pytest

from tests.training.jobs.toy import ToyConfig
from training.jobs import folder


@pytest.mark.parametrize("content", ["", "{", "[]", "3", '{"settings": 3}'])
def test_a_result_that_is_none_is_removed(content, tmp_path):
    config = ToyConfig(output=str(tmp_path))
    (tmp_path / "result.json").write_text(content)
    folder.remove_outdated_result(config, tmp_path, is_over=True)
    assert not (tmp_path / "result.json").exists()


@pytest.mark.parametrize(
    "result",
    [
        {"job": "match", "settings": {"planner": "", "opponent": "", "games": 1}},
        {"settings": {"planner": "", "opponent": "", "games": 1}, "wins_by_seat": [1, 0]},
        {"job": "train-q", "settings": dataclasses.asdict(ToyConfig())},
        {"accuracy": 0.5},
    ],
)
@pytest.mark.parametrize("is_over", [False, True])
def test_a_result_of_another_job_stays(result, is_over, tmp_path):
    (tmp_path / "result.json").write_text(json.dumps(result))
    folder.remove_outdated_result(ToyConfig(output=str(tmp_path)), tmp_path, is_over=is_over)
    assert json.loads((tmp_path / "result.json").read_text()) == result


@pytest.mark.parametrize("head", [{}, {"job": "toy"}])
def test_a_result_of_the_same_job_is_removed_where_settings_differ(head, tmp_path):
    config = ToyConfig(output=str(tmp_path))
    for before, stays in ((config, True), (dataclasses.replace(config, games=7), False)):
        (tmp_path / "result.json").write_text(json.dumps(head | {"settings": dataclasses.asdict(before)}))
        folder.remove_outdated_result(config, tmp_path, is_over=True)
        assert (tmp_path / "result.json").exists() == stays
