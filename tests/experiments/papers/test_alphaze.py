"""The page of AlphaZe**: what it shows, what is missing, and choices that are really compared."""

import pytest

from experiments.papers import alphaze_choices
from experiments.papers.alphaze import AlphazePlan
from experiments.papers.alphaze_page import PAGE
from tests.experiments.papers.made_up import page_of
from training.storage.provenance import CHECKOUT

CURVE = [{"samples": 10, "epoch": 1, "score_against_random": 0.6}, {"samples": 20, "epoch": 2, "score_against_random": 0.9}]
RESULT = {
    # of a run
    "settings": {"learn": {"num_worlds": 4, "num_simulations": 24}, "who": {"network": "tiny"}},
    "searches": 2048,
    "seconds": 120.0,
    "searches_per_second": 1234.0,
    "curve": CURVE,
    # of games that were played
    "title": "PIMC",
    "wins": 150,
    "games": 200,
    "cpu_seconds_per_game": 0.125,
    "first": 0.95,
    "second": 0.81,
    "names": ["random", "epoch 0"],
    "best": 0.75,
    "elo": [0.0, 321.0],
    "elo_standard_error": [0.0, 50.0],
}
ROWS = {
    "exact": [{"epoch": 0, "drawn": 0.4, "greedy": 0.8}, {"epoch": 12, "drawn": 0.123, "greedy": 0.5}],
    "response": [{"epoch": 12, "first": 0.99, "second": 0.93, "response": 0.875, "response_to_drawn": 0.75}],
    "epochs": [{"epoch": 1, "wins": 50, "games": 200}],
    "choices-pimc": [{"nodes": 32, "tried": 2.125, "first": 0.8, "differ": 0.125, "values": [-0.25, 0.5]}],
}


def result(one):
    return RESULT | {"rows": next((rows for name, rows in ROWS.items() if one.name.endswith(name)), [])}


def test_a_run_of_one_iteration_has_no_speed(tmp_path):
    page = page_of(PAGE, tmp_path, lambda one: result(one) | {"searches_per_second": None}, figures=False)
    assert "| 2.0 | – |" in page and "nan" not in page


def test_the_page(tmp_path):
    page = page_of(PAGE, tmp_path, result, figures=False)
    for row in (
        "| 12 | 0.123 | 0.500 |",
        "| 99.0 | 93.0 | 96.0 (92–98) | 87.5 (8",
        "| PIMC | 25.0 (20–31) |",
        "| best reply | 95.0 | 81.0 | 88.0 | – |",
        "| 20 | TSL + PIMC | 75.0 (69–80) | 200 |",
        "| 3 | 75.0 (69–80) | 200 |",
        "| 8 x 8 | 20 | 0.125 |",
        "| epoch 0 | +321 ± 98 |",
        "| the networks, search PIMC | 32 | 75.0 (75–75) | 75.0, 75.0, 75.0 | 600 |",
        "| each with its own network | 8 | 75.0 (75–75) | 75.0, 75.0, 75.0 | 600 |",
        "| PIMC, the value after each action | 400 | PIMC | 75.0 (69–80) | 200 |",
        "| 20 | 75.0 (69–80) | 75.0 (69–80) |",
        "| PIMC | 32 | 2.1 | 80 | 12 | -0.250 | +0.500 | +0.750 |",
        "| 200 | PIMC | 75.0 (69–80) | 75.0 (69–80) | 75.0 (69–80) |",
        "| TSL + PC-PIMC | 60.0 | 90.0 | 90–90 | 3 | 2.0 | 1234 |",
        "more than <!-- text most -->88.0<!-- /text --> %",
        "Network `tiny`, 4 worlds x 24 simulations, 2048 searches in 200 games, 2.0 minutes.",
    ):
        assert row in page


def test_what_was_not_measured_is_shown_as_missing(tmp_path):
    page = page_of(PAGE, tmp_path, result, parts=("2x2",))
    assert "| 12 | 0.123 |" in page and "<!-- table responses -->\n–\n" in page and "<!-- text most -->–<" in page
    assert not (tmp_path / "alphaze_learning.svg").exists()


@pytest.mark.slow
def test_choices_are_compared_in_the_same_positions(tmp_path, monkeypatch):
    monkeypatch.setattr(alphaze_choices, "NUMBERS_OF_NODES", {"pimc": (4,)})
    monkeypatch.setattr(alphaze_choices, "_JUDGE", {"num_simulations": 32})
    monkeypatch.setattr(AlphazePlan, "kept_network", lambda plan, name: CHECKOUT / "docs/results/weights" / f"{name}.npz")
    found = alphaze_choices.choices(AlphazePlan(tmp_path, games=8))[1].measure()
    (row,) = found["rows"]
    assert 8 < found["positions"] <= 24, "three of each game, but for those that are over"
    assert 1 <= row["tried"] <= 4 and 0.25 <= row["first"] <= 1 and 0 <= row["differ"] < 1
    assert all(-1 <= value <= found["best"] + 1e-6 for value in row["values"])
    assert (row["differ"] == 0) <= (row["values"][0] == row["values"][1])
