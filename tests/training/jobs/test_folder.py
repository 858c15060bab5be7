"""What stands in the folder of a run before it goes on; runs themselves are in test_job.py."""

import pytest

from tests.training.jobs.toy import ToyConfig
from training.jobs import folder


@pytest.mark.parametrize("content", ["", "{", "[]", "3", '{"settings": 3}'])
def test_a_result_that_is_none_is_removed(content, tmp_path):
    config = ToyConfig(output=str(tmp_path))
    (tmp_path / "result.json").write_text(content)
    folder.remove_outdated_result(config, tmp_path, is_over=True)
    assert not (tmp_path / "result.json").exists()
