"""The page of Hero Academy: what is played once, what is shown, and what is missing."""

import pytest

from experiments.papers import hero_academy, hero_page
from experiments.papers.hero_academy import PARTS, Plan, table_cells, with_budget

PLAYED = {"players": ["a", "b"], "mode": "standard", "games": 100, "wins": 70, "draws": 10, "seconds": 1.0, "cpu_seconds": 1.0}
SPREAD = {"mean": 12.0, "median": 10.0, "most": 99.0}
LOOKED = {"evaluations": 20_000, "positions": 32, "players": {"mcts": {"outcomes": SPREAD, "depth": SPREAD, "nodes": SPREAD}}}


@pytest.fixture
def plan(tmp_path, monkeypatch):
    """A plan of which nothing is really played or drawn; `calls` tells what would have been."""
    calls = []
    monkeypatch.setattr(hero_page, "_curve_figure", lambda label, lines, log=False: f"<svg>{label} {len(lines)}</svg>")
    monkeypatch.setattr(hero_academy, "_match", lambda *arguments: (calls.append(arguments), dict(PLAYED))[1])
    monkeypatch.setattr(hero_academy, "outcomes", lambda plan: (calls.append(plan), dict(LOOKED))[1])
    return Plan(tmp_path), calls


def make(plan, *parts):
    hero_academy.make(plan, hero_page.write_page, parts, report=lambda line: None)
    return (plan.folder / "hero_academy.md").read_text()


def test_everything_is_played_once_and_shown(plan):
    plan, calls = plan
    page = make(plan)
    assert page.count("\n## ") == len(PARTS) + 2  # and budgets, and where the numbers come from
    assert "75.0 (66–82)" in page  # draws count half
    assert "| MCTS | 12 | 10 | 99 | 12.0 (99) |" in page
    assert "| OEP |" + " 25 (18–34) |" * 6 + " – |" in page
    assert "75*" in page
    for figure in ("hero_budgets.svg", "hero_actions.svg"):
        assert figure in page and (plan.folder / figure).exists()
    before = len(calls)
    assert make(plan) == page and len(calls) == before


def test_what_was_not_played_is_left_out(plan):
    plan, _ = plan
    page = make(plan, "hidden")
    assert page.count("\n## ") == 3 and "Random draws" in page
    with pytest.raises(ValueError, match="part='all': must be one of table2"):
        make(plan, "all")


def test_pairs_have_the_budgets_of_the_text(plan):
    cells = table_cells(plan[0])
    assert len(cells) == 21
    assert sum(size == 20_000 and games == 100 for *_, size, games in cells) == 6 + 3
    assert all(second == "oep" for _, second, *_ in cells[:6])
    assert with_budget("random", 5) == "random"
    assert with_budget("oep", 5) == "oep:num_evaluations=5"
    assert with_budget("oep:niches=1", 5) == "oep:niches=1,num_evaluations=5"
    assert with_budget("oep_replies:", 5) == "oep_replies:num_evaluations=5"
