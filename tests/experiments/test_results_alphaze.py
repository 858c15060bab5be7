"""The page of AlphaZe**: what is measured once, what is shown, and what is missing."""

import json

import pytest

from experiments.papers import alphaze, alphaze_page
from experiments.papers.alphaze import PARTS, Plan

CURVE = [{"samples": 10, "epoch": 1, "score_against_random": 0.6}, {"samples": 20, "epoch": 2, "score_against_random": 0.9}]
TRAINED = {
    "settings": {"learn": {"num_worlds": 4, "num_simulations": 24}, "who": {"network": "tiny"}},
    "searches": 2048,
    "games": 99,
    "seconds": 120.0,
    "searches_per_second": 1234.0,
    "curve": CURVE,
}
PLAYED = {"wins": 150, "games": 200, "samples": 6, "mode": "adh-5", "cpu_seconds_per_game": 0.125, "seconds_per_game": 0.25}
FOUND = {
    "_train": TRAINED,
    "_exact": {"rows": [{"epoch": 0, "drawn": 0.4, "greedy": 0.8}, {"epoch": 12, "drawn": 0.123, "greedy": 0.5}]},
    "_responses": {
        "games": 1000,
        "rows": [{"epoch": 12, "first": 0.99, "second": 0.93, "response": 0.875, "response_to_drawn": 0.75}],
    },
    "_over_epochs": {"title": "PIMC", "rows": [{"epoch": 1, "wins": 50, "games": 200}]},
    "_rival": PLAYED,
    "_by_samples": PLAYED,
    "_time": PLAYED,
    "_ladder": {"names": ["random", "epoch 0"], "elo": [0.0, 321.0], "elo_standard_error": [0.0, 50.0]},
}


@pytest.fixture
def plan(tmp_path, monkeypatch):
    """A plan of which nothing is really trained, played or drawn; `calls` tells what would have been."""
    calls = []
    monkeypatch.setattr(alphaze_page, "alphaze_figure", lambda curves: f"<svg>{len(curves)}</svg>")
    monkeypatch.setattr(alphaze, "best_against_random", lambda size: (0.95, 0.81))
    for name, result in FOUND.items():
        monkeypatch.setattr(alphaze, name, lambda *arguments, name=name, result=result: (calls.append(name), dict(result))[1])
    return Plan(tmp_path), calls


def make(plan, *parts):
    alphaze.make(plan, alphaze_page.write_page, parts, report=lambda line: None)
    return (plan.folder / "alphaze.md").read_text()


def test_everything_is_measured_once_and_shown(plan):
    plan, calls = plan
    page = make(plan)
    titles = [line for line in page.splitlines() if line.startswith("## ")]
    assert [title.split()[1] for title in titles] == ["2", "3", "5", "5", "5", "8", "Time", "11"]
    for row in (
        "| 12 | 0.123 | 0.500 |",
        "| 99.0 | 93.0 | 96.0 (95–97) | 87.5 (8",
        "| PIMC | 25.0 (20–31) |",
        "| best reply | 95.0 | 81.0 | 88.0 | – |",
        "| 75.0 (69–80) | 200 |",
        "| epoch 0 | +321 ± 98 |",
    ):
        assert row in page
    assert "| TSL + PC-PIMC | 60.0 | 90.0 | 90–90 | 3 | 2.0 | 1234 |" in page
    before = len(calls)
    assert make(plan) == page and len(calls) == before
    assert {"origin", "sources", "commit"} & set(json.loads((plan.data / "hex-3x3.json").read_text()))


def test_what_was_not_measured_is_left_out(plan):
    plan, calls = plan
    page = make(plan, "2x2")
    assert calls == ["_train", "_exact"] and "## 2 x 2" in page and "## 3 x 3" not in page


def test_a_stopped_run_ends_the_job(plan, monkeypatch):
    plan, _ = plan
    monkeypatch.setattr(alphaze, "_train", lambda *arguments: None)
    alphaze.make(plan, alphaze_page.write_page, ("3x3",), report=lambda line: None)
    assert not plan.data.exists() or not list(plan.data.iterdir())


def test_names_of_measurements_differ(plan):
    names = [name for part in PARTS.values() for name, _ in part(plan[0])]
    assert len(names) == len(set(names)) > 40


def test_an_unknown_part(plan):
    with pytest.raises(ValueError, match=r"part='7x7': must be one of 2x2, 3x3, 5x5, 8x8, time, 11x11"):
        make(plan[0], "7x7")
