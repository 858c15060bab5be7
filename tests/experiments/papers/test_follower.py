"""The page of imitation: what is trained in which part, and whose weights guide an oracle."""

from pathlib import Path

import pytest

from experiments.papers import follower
from experiments.papers.follower import GROUPS, GUIDED, FollowerPlan


def test_each_run_belongs_to_one_part_and_those_that_are_guided_wait_for_their_guide(tmp_path):
    plan = FollowerPlan(tmp_path)
    first, later = ([one.label[0].name for one in part(plan)] for part in (follower.runs, follower.guided))
    assert not set(first) & set(later) and {*first, *later} == {group.name for group in GROUPS}
    assert later == ["guided"] and first.index("ours") < first.index("modelled")


def test_a_guide_must_have_learnt_to_the_end(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        ValueError, match=r"^run output/results/follower/ours0: is not over, so nobody can play with what it learns"
    ):
        follower._check_guide(GUIDED)
    folder = Path("output/results/follower/ours0")
    folder.mkdir(parents=True)
    (folder / "result.json").write_text("{}")
    follower._check_guide(GUIDED)
    follower._check_guide("fdts")
