"""The page of the PPO example says what its files say."""

import json
import shutil
import xml.etree.ElementTree as ET

import pytest

from experiments import ppo_page
from experiments.pages import NONE


def test_the_page_is_filled_from_its_files(tmp_path):
    page = tmp_path / "ppo.md"
    shutil.copy(ppo_page.RESULTS / "ppo.md", page)
    ppo_page.run(ppo_page.PpoPageConfig(page=page))
    assert page.read_text() == (ppo_page.RESULTS / "ppo.md").read_text()
    assert json.loads(ppo_page.MATCHES.read_text())["commit"]
    assert ET.fromstring((tmp_path / "ppo.svg").read_text()).tag.endswith("svg")
    curve = ppo_page.rows()
    assert (curve["won"] + curve["lost"] <= 1 + 1e-6).all() and (curve["steps"][1:] > curve["steps"][:-1]).all()


@pytest.mark.parametrize("minutes", [-1.0, float("nan"), float("inf")])
def test_minutes_are_checked(minutes):
    limit = "finite and >= 0" if minutes != -1 else ">= 0"
    with pytest.raises(ValueError, match=f"minutes={minutes}: must be {limit}"):
        ppo_page.PpoPageConfig(minutes=minutes)


def test_a_run_that_never_gets_above_a_simple_agent_is_a_page_too(monkeypatch):
    line = ppo_page.rows()[:1]
    line["won"] = 0.0
    monkeypatch.setattr(ppo_page, "rows", lambda: line)
    assert ppo_page.texts()["above"] == NONE
