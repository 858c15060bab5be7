"""The page of Hero Academy's results, from what has been played."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from experiments.papers.cells import origins, stored
from experiments.papers.hero_academy import (
    ACTION_POINTS,
    BUDGETS,
    CHECKS,
    EXTRAS,
    HIDDEN,
    PARTS,
    PLAYERS,
    RIVAL_BUDGET,
    TREES,
    Plan,
    actions_name,
    budget_name,
    cell_name,
    check_name,
    extra_name,
    hidden_name,
    outcomes_name,
    table_cells,
)
from experiments.papers.tables import markdown, points
from training.jobs.figures import COLOURS, as_svg, axes_in_a_row
from training.play.counting import points_interval
from training.storage.files import write_atomically

# Points in per cent of the row against the column, as far as the paper's text names them (Table II, six seconds per turn).
PAPER = {
    ("oep", "greedy_action"): 90.0,
    ("oep", "greedy_turn"): 80.5,
    ("greedy_turn", "greedy_action"): 64.0,
    ("mcts_non_exploring", "oep"): 58.0,
}

# What an evaluation is, and how many of them the released program makes in a CPU second: least and most.
_COSTS = {
    "greedy_turn": ("a state behind the turn, all different", 110_000, 130_000),
    "mcts": ("a simulation", 30_000, 80_000),
    "mcts_non_exploring": ("a simulation", 18_000, 45_000),
    "mcts_bridge_burning": ("a simulation", 49_000, 69_000),
    "oep": ("a new turn that is made and valued", 7_500, 48_500),
}
_SECONDS_PER_TURN = 6  # of the paper

_HEAD = """# Planning turns in Hero Academy

Made by `python scripts/results.py hero_academy`; open hands, draws from a known order, sides changed half-way; draws count half.
Trees try up to 96 actions of a state, the best rated first (of 24 387 recorded states 32 offer more). What was not played yet is
left out or shown as "–". Intervals: 95 %, by the score method for points, which draws make narrower."""


_ABOUT_TABLE2 = (
    "As there, OEP and the two searches of trees that do not explore widely are far above vanilla MCTS, which hardly ever looks "
    "beyond its own turn, and above the greedy players. With equal evaluations bridge-burning MCTS is the strongest. Greedy Turn "
    "lies behind Greedy Action, as in the released program with few evaluations: it goes through turns in a fixed order."
)
_ABOUT_EXTRAS = (
    "Rollouts and evolving replies pay several evaluations for every value, which costs them generations: so this says little "
    "about what they would be with many more."
)


def write_page(plan: Plan) -> None:
    """Writes docs/results/hero_academy.md and its figures from what has been played."""
    parts = [_HEAD, _cost_table(plan), _table2(plan), _check_table(plan), _budget_section(plan), _action_section(plan)]
    parts += [_outcome_table(plan), _extra_table(plan), _hidden_table(plan), _origin_table(plan)]
    write_atomically(plan.folder / "hero_academy.md", "\n\n".join(part for part in parts if part) + "\n")


def _cost_table(plan: Plan) -> str:
    rows = []
    for name, (what, least, most) in _COSTS.items():
        shares = [f"{plan.evaluations / rate:.2f}" for rate in (most, least)]
        turn = [f"{_SECONDS_PER_TURN * rate:,}".replace(",", " ") for rate in (least, most)]
        rows.append([PLAYERS[name], what, f"{turn[0]} to {turn[1]}", f"{shares[0]} to {shares[1]}"])
    text = (
        "A budget is a number of evaluations per turn, which no machine changes. The released Java program was measured on one "
        f"core; the paper gives it {_SECONDS_PER_TURN} seconds per turn. Greedy Action has no budget: it looks at every action "
        "once, about 43 for each of five."
    )
    head = ["planner", "an evaluation", f"Java in {_SECONDS_PER_TURN} CPU seconds"]
    return f"## Budgets\n\n{text}\n\n" + markdown([*head, f"CPU seconds of Java for {plan.evaluations}"], rows)


def _points(found: dict) -> tuple[float, float, float]:
    """Points of the first player in per cent, and the bounds of their interval."""
    low, high = points_interval(found["wins"], found["draws"], found["games"])
    share = (found["wins"] + found["draws"] / 2) / found["games"]
    return 100 * share, 100 * low, 100 * high


def _shown(found: dict) -> str:
    return points(found["wins"], found["draws"], found["games"])


def _ended(found: dict) -> str:
    """Wins, draws and losses."""
    return f"{found['wins']}–{found['draws']}–{found['games'] - found['wins'] - found['draws']}"


def _table2(plan: Plan) -> str:
    shares: dict[tuple[str, str], str] = {}
    for first, second, size, games in table_cells(plan):
        if found := stored(cell_name(first, second, size, games), plan.data):
            middle, low, high = _points(found)
            mark = "" if size == plan.evaluations else "*"
            shares[first, second] = f"{middle:.0f}{mark} ({low:.0f}–{high:.0f})"
            shares[second, first] = f"{100 - middle:.0f}{mark} ({100 - high:.0f}–{100 - low:.0f})"
    if not shares:
        return ""
    known = [name for name in PLAYERS if any(name in pair for pair in shares)]
    rows = [[PLAYERS[row], *(shares.get((row, column), "–") for column in known)] for row in known]
    paper = "; ".join(f"{PLAYERS[a]} – {PLAYERS[b]} {share:g}" for (a, b), share in PAPER.items())
    text = (
        f"Points of the row against the column in per cent: {plan.games} games at {plan.evaluations} evaluations per turn; with "
        f"a star {plan.small_games} games at {plan.small_evaluations}. The paper, six seconds per turn, in which its "
        f"OEP made about 3700 generations (here 20 000 evaluations are 400): {paper}."
    )
    table = markdown(["", *(PLAYERS[n] for n in known)], rows)
    text += f" {_ABOUT_TABLE2}"
    return f"## Everybody against everybody (Table II)\n\n{text}\n\n{table}\n\n{_drawn(plan)}"


def _drawn(plan: Plan) -> str:
    """Says which pairs of Table II have draws."""
    drawn = [
        f"{PLAYERS[first]} – {PLAYERS[second]} {_ended(found)}"
        for first, second, size, games in table_cells(plan)
        if (found := stored(cell_name(first, second, size, games), plan.data)) and found["draws"]
    ]
    return f"Wins, draws and losses where games were drawn: {'; '.join(drawn)}." if drawn else "No game was drawn."


def _check_table(plan: Plan) -> str:
    rows = []
    for first, second, theirs in CHECKS:
        if found := stored(check_name(plan, first, second), plan.data):
            java = dict(zip(("wins", "draws"), theirs, strict=False), games=sum(theirs))
            rows.append([f"`{first}`", f"`{second}`", _ended(java), _shown(java), _ended(found), _shown(found)])
    if not rows:
        return ""
    text = (
        "Wins, draws and losses of the first player, and its points in per cent, in games of the released program with fixed "
        "budgets and in ours. A generation of OEP is 50 new turns, the first one 100."
    )
    table = markdown(["first", "second", "Java", "Java, points", "ours", "ours, points"], rows)
    return f"## Beside the released program\n\n{text}\n\n{table}"


def _curve_figure(label: str, lines: Sequence[tuple[str, Sequence[tuple[float, dict]]]], *, log: bool = False) -> str:
    """Draws points in per cent over a number, one line with intervals per name."""
    figure, (axes,) = axes_in_a_row(1, label, ("points, %",))
    for index, (name, found) in enumerate(lines):
        x = [number for number, _ in found]
        middle, low, high = np.array([_points(one) for _, one in found]).T
        axes.errorbar(x, middle, [middle - low, high - middle], marker="o", capsize=3, color=COLOURS[index], label=name)
    axes.axhline(50, color="#999999", linewidth=0.8)
    axes.set_ylim(0, 100)
    if log:
        axes.set_xscale("log")
    axes.legend(frameon=False)
    return as_svg(figure)


def _budget_section(plan: Plan) -> str:
    players = ("oep", "mcts_bridge_burning")
    lines = [
        (PLAYERS[player], [(size, one) for size in BUDGETS if (one := stored(budget_name(plan, player, size), plan.data))])
        for player in players
    ]
    lines = [(name, found) for name, found in lines if found]
    if not lines:
        return ""
    write_atomically(plan.folder / "hero_budgets.svg", _curve_figure("evaluations per turn", lines, log=True))
    rows = []
    for name, found in lines:
        by_size = dict(found)
        marks = {size: "" if one["games"] == plan.games else "*" for size, one in found}
        rows.append([name, *(_shown(by_size[size]) + marks[size] if size in by_size else "–" for size in BUDGETS)])
    text = f"Points against OEP with {RIVAL_BUDGET} evaluations, {plan.games} games each, with a star {plan.small_games}."
    table = markdown(["evaluations per turn", *map(str, BUDGETS)], rows)
    return f"## Strength over budget\n\n{text}\n\n{table}\n\n![points over budget](hero_budgets.svg)"


def _action_section(plan: Plan) -> str:
    lines = [
        (PLAYERS[tree], [(n, one) for n in ACTION_POINTS if (one := stored(actions_name(plan, tree, n), plan.data))])
        for tree in TREES
    ]
    lines = [(name, found) for name, found in lines if found]
    if not lines:
        return ""
    write_atomically(plan.folder / "hero_actions.svg", _curve_figure("actions per turn", lines))
    rows = [[name, *(_shown(dict(found)[n]) if n in dict(found) else "–" for n in ACTION_POINTS)] for name, found in lines]
    text = (
        f"Points of OEP against the three searches of trees, {plan.study_evaluations} evaluations per turn, {plan.games} games "
        f"each. That is a small budget: the Java program would need {plan.study_evaluations / 48_500:.2f} to "
        f"{plan.study_evaluations / 7_500:.2f} of the paper's two seconds for it. With more evaluations trees gain: at five "
        f"actions compare with {plan.evaluations} in Table II."
    )
    table = markdown(["actions per turn", *map(str, ACTION_POINTS)], rows)
    verdicts = "\n".join(f"- Against {name}, OEP is {_verdict(found, ' at ')}. {_crossing(found)}" for name, found in lines)
    return f"## Actions per turn (Fig. 5)\n\n{text}\n\n{table}\n\n{verdicts}\n\n![points over actions per turn](hero_actions.svg)"


def _verdict(line: Sequence[tuple[Any, dict]], join: str = ": ") -> str:
    """Says where the first player is ahead, behind, or neither beyond the intervals."""
    groups: dict[str, list[str]] = {"ahead": [], "behind": [], "neither beyond doubt": []}
    for where, found in line:
        _, low, high = _points(found)
        name = "ahead" if low > 50 else "behind" if high < 50 else "neither beyond doubt"
        groups[name].append(str(where))
    return "; ".join(f"{name}{join}{', '.join(places)}" for name, places in groups.items() if places)


def _crossing(line: Sequence[tuple[int, dict]]) -> str:
    """Says between which numbers of actions the first player's points pass a half, upwards."""
    shares = [(where, _points(found)[0]) for where, found in line]
    passed = [(a, b) for (a, low), (b, high) in itertools.pairwise(shares) if low < 50 <= high]
    if not passed:
        return "The curves do not cross: it is " + ("behind" if shares[-1][1] < 50 else "ahead") + " throughout."
    return "The curves cross " + " and ".join(f"between {a} and {b} actions" for a, b in passed) + "."


def _outcome_table(plan: Plan) -> str:
    found = stored(outcomes_name(plan), plan.data)
    if not found:
        return ""
    rows = []
    for name, one in found["players"].items():
        outcome, depth = one["outcomes"], one.get("depth")
        shown = "–" if depth is None else f"{depth['mean']:.1f} ({depth['most']:.0f})"
        rows.append([PLAYERS[name], f"{outcome['mean']:.0f}", f"{outcome['median']:.0f}", f"{outcome['most']:.0f}", shown])
    text = (
        f"{found['positions']} positions at the start of turns, {found['evaluations']} evaluations each: different states behind "
        "the own turn that were looked at (paper, six seconds: Greedy Turn 579 912, OEP 9344, MCTS 201), and the longest path "
        "in actions."
    )
    head = ["planner", "outcomes, mean", "median", "most", "depth, mean (most)"]
    return f"## What is looked at (section VII-A)\n\n{text}\n\n" + markdown(head, rows)


def _extra_table(plan: Plan) -> str:
    found = {name: stored(extra_name(plan, name), plan.data) for name in EXTRAS}
    rows = [[name, f"`{one['players'][0]}`", _shown(one), str(one["games"])] for name, one in found.items() if one]
    if not rows:
        return ""
    text = (
        f"Points against plain OEP, both with {RIVAL_BUDGET} evaluations per turn; of rolling horizon, which thinks anew before "
        f"each of five actions, {RIVAL_BUDGET // 5} per action. {_ABOUT_EXTRAS}"
    )
    table = markdown(["variant", "player", "points, %", "games"], rows)
    verdict = _verdict([(name, one) for name, one in found.items() if one])
    return f"## Beyond the paper\n\n{text}\n\n{table}\n\nCompared with plain OEP they are {verdict}."


def _hidden_table(plan: Plan) -> str:
    found = {PLAYERS[name]: stored(hidden_name(plan, name), plan.data) for name in HIDDEN}
    rows = [[title, _shown(one), str(one["games"])] for title, one in found.items() if one]
    if not rows:
        return ""
    text = (
        "Cards are drawn at random and hands hidden: planners think in a copy of the state in which the other's hand lies in its "
        "deck. In trees cards are drawn when a node is made, and then the same in every simulation. Points against OEP, "
        f"{RIVAL_BUDGET} evaluations each."
    )
    return f"## Random draws and hidden hands\n\n{text}\n\n" + markdown(["player", "points, %", "games"], rows)


def _origin_table(plan: Plan) -> str:
    found = (stored(name, plan.data) for part in PARTS.values() for name, _ in part(plan))
    return origins(cell for cell in found if cell is not None)
