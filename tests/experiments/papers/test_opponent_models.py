"""The page of searches against models: its rows, and that no two of them share a file."""

from experiments.papers.opponent_models import PAGE, OpponentModelsPlan
from tests.experiments.papers.made_up import page_of

COUNT = {"games": 100, "wins": 80, "draws": 15, "losses": 5}


def result(one):
    return {"released": COUNT, "strict": COUNT | {"draws": 10, "losses": 10}, "cpu_seconds": 60.0, "moves": [20000, 1, 1, 1]}


def test_the_page(tmp_path):
    page = page_of(PAGE, tmp_path, result)
    row = "SimpleAgents | 80.0 (71–87) | 15.0 (9–23) | 5.0 (2–11) | 80.0 / 10.0 / 10.0 | 100 | 3.0 |"
    assert "| `sp_mcts:weights=none,root=true,num_simulations=256,values=prospects` | " + row in page
    assert page.count(row) == 39 and "model=network,switch_after=3,then=simple" in page


def test_every_contest_has_a_file_of_its_own(tmp_path):
    measurements = PAGE.measurements(OpponentModelsPlan(tmp_path))
    by_name = {one.name: one.label for one in measurements}
    assert len(by_name) == len({one.label for one in measurements})
    assert all("/" not in name and ":" not in name for name in by_name)
