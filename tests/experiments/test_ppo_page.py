"""The page of the PPO example says what its files say."""

import json
import shutil
import xml.etree.ElementTree as ET

from experiments import ppo_page


def test_the_page_is_filled_from_its_files(tmp_path):
    page = tmp_path / "ppo.md"
    shutil.copy(ppo_page.RESULTS / "ppo.md", page)
    ppo_page.main(page=page)
    assert page.read_text() == (ppo_page.RESULTS / "ppo.md").read_text()
    assert json.loads(ppo_page.MATCHES.read_text())["commit"]
    assert ET.fromstring((tmp_path / "ppo.svg").read_text()).tag.endswith("svg")
    curve = ppo_page.rows()
    assert (curve["won"] + curve["lost"] <= 1 + 1e-6).all() and (curve["steps"][1:] > curve["steps"][:-1]).all()
