"""The page of Barrage: its rows, that no two of them share a file, and a match that is really played."""

from experiments.papers.stratego import PAGE, Match, StrategoPlan, play
from tests.experiments.papers.made_up import page_of


def test_the_page(tmp_path):
    result = {"games": 64, "wins": 40, "draws": 8, "losses": 16, "cpu_seconds": 16.0, "moves": [1000, 1000], "mean_length": 31.6}
    page = page_of(PAGE, tmp_path, lambda one: result)
    assert "| `network` | `random` | Barrage | 68.8 (57–78) | 40 – 8 – 16 | 32 | 16.0 |" in page
    assert "| `pc_pimc:num_worlds=3,num_simulations=100,guess=bundled` | `hunt` | ten blocked fields | " in page
    assert "num_worlds=20,num_simulations=15" in page, "20 worlds share 300 nodes"


def test_every_match_has_a_file_of_its_own(tmp_path):
    measurements = PAGE.measurements(StrategoPlan(tmp_path))
    by_name = {one.name: one.label for one in measurements}
    assert len(by_name) == len({one.label for one in measurements})
    assert all("/" not in name and ":" not in name for name in by_name)


def test_a_match_is_told_from_the_first_player_s_side():
    one = play(Match("hunt", "random", "mini:max_plies=60"), games=32, batch=32)
    other = play(Match("random", "hunt", "mini:max_plies=60"), games=32, batch=32)
    assert one["wins"] + one["draws"] + one["losses"] == 32
    assert one["wins"] > one["losses"] and other["wins"] < other["losses"]
    assert one["moves"][0] > 0 and one["cpu_seconds"] >= 0
