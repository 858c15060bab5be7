"""The page of Hero Academy: what it shows, and which budgets pairs have."""

from experiments.papers.hero_academy import PAGE, HeroPlan, table2, with_budget
from tests.experiments.papers.made_up import page_of

SPREAD = {"mean": 12.0, "median": 10.0, "most": 99.0}
RESULT = {
    "players": {"mcts": {"outcomes": SPREAD, "depth": SPREAD}, "oep": {"outcomes": SPREAD}},
    "games": 100,
    "wins": 70,
    "draws": 10,
}


def result(one):
    return RESULT if "outcomes" in one.name else RESULT | {"players": ["a", "b"]}


def test_the_page(tmp_path):
    page = page_of(PAGE, tmp_path, result)
    assert "| niches | `a` | 75.0 (66–82) | 100 |" in page  # draws count half
    assert "| MCTS | 12 | 10 | 99 | 12.0 (99) |" in page and "| OEP | 12 | 10 | 99 | – |" in page
    assert "| OEP |" + " 25 (18–34) |" * 6 + " – |" in page and "| 75* (66–82) |" in page
    assert "| `best_rated` | `greedy_action` | 8–2–30 | 22.5 (12–37) | 70–10–20 | 75.0 (66–82) |" in page
    assert "| Greedy Action | 75.0 (66–82) | 100 |" in page and "OEP 70–10–20" in page
    assert "| non-exploring MCTS |" + " 75.0 (66–82) |" * 7 in page
    for figure in ("hero_budgets.svg", "hero_actions.svg"):
        drawn = (tmp_path / figure).read_text()
        assert figure in page and "mathdefault" not in drawn and ("<!-- 20,000 -->" in drawn) == (figure == "hero_budgets.svg")


def test_pairs_have_the_budgets_of_the_text(tmp_path):
    pairs = table2(HeroPlan(tmp_path))
    assert len(pairs) == 21
    assert sum("-n20000-games100" in one.name for one in pairs) == 6 + 3
    assert all(one.label[1] == "oep" for one in pairs[:6])
    assert with_budget("random", 5) == "random"
    assert with_budget("oep", 5) == "oep:num_evaluations=5"
    assert with_budget("oep:niches=1", 5) == "oep:niches=1,num_evaluations=5"
    assert with_budget("oep_replies:", 5) == "oep_replies:num_evaluations=5"
