"""The results of the planners of turns in Hero Academy (Justesen et al., Table II and Fig. 5)."""

from __future__ import annotations

import dataclasses
import itertools
from functools import partial

import jaxgames
from experiments.pages import NONE, markdown
from experiments.papers import hero_outcomes
from experiments.papers.figures import points_figure
from experiments.papers.hero_outcomes import TREES
from experiments.papers.measured import Measurement, Page, Plan, play_timed
from experiments.papers.tables import points, with_interval
from training.play import agents

SEED = 2016  # of everything
PLAYERS = {
    "random": "random",
    "greedy_action": "Greedy Action",
    "greedy_turn": "Greedy Turn",
    "mcts": "MCTS",
    "mcts_non_exploring": "non-exploring MCTS",
    "mcts_bridge_burning": "bridge-burning MCTS",
    "oep": "OEP",
}
WITHOUT_BUDGET = ("random", "greedy_action")
ACTION_POINTS = (1, 3, 5, 10, 15, 20, 25)
BUDGETS = (1000, 2000, 5000, 10_000, 20_000, 50_000)
OVER_BUDGETS = ("oep", "mcts_bridge_burning")
RIVAL_BUDGET = 5000  # of the OEP that others are measured against
HIDDEN = {  # against OEP, with hands hidden: titles by player
    **{name: PLAYERS[name] for name in ("greedy_action", "greedy_turn", "mcts_non_exploring", "mcts_bridge_burning")},
    "determinized_oep:num_evaluations=1000": "OEP in 12 drawn worlds, 1000 evaluations in each",
}
# Pairs that the released program has played with fixed budgets: both players, and its games as wins, draws and losses.
CHECKS: dict[tuple[str, str], tuple[int, int, int]] = {
    ("greedy_action", "random"): (20, 0, 0),
    ("best_rated", "greedy_action"): (8, 2, 30),
    ("oep:num_generations=10", "greedy_action"): (16, 0, 20),
    ("oep:num_generations=50", "greedy_action"): (9, 1, 8),
    ("oep:num_generations=200", "greedy_action"): (9, 0, 1),
    ("greedy_turn:num_evaluations=5000", "greedy_action"): (8, 0, 22),
    ("oep:num_generations=50", "greedy_turn:num_evaluations=5000"): (17, 1, 2),
    ("mcts:num_evaluations=2000", "greedy_action"): (0, 0, 20),
    ("mcts_non_exploring:num_evaluations=2000", "greedy_action"): (16, 0, 4),
    ("mcts_bridge_burning:num_evaluations=2000", "greedy_action"): (17, 1, 2),
    ("oep:num_generations=50", "mcts_non_exploring:num_evaluations=2000"): (5, 0, 5),
}
EXTRAS = {
    "niches": "oep:niches=1",
    "restarts": "oep:restart_after=20",
    "islands": "oep:islands=4,population=25",
    "replies": "oep_replies:",
    "rollouts": "oep:rollouts=1",
    "mutation 0.3": "oep:mutation=0.3",
    "rolling horizon": f"rolling_horizon:num_evaluations={RIVAL_BUDGET // 5}",  # it thinks before each of five actions
}


@dataclasses.dataclass(frozen=True)
class HeroPlan(Plan):
    """How much to play.

    Attributes:
      games: of each pair of Table II with OEP or two trees, and of most other comparisons.
      evaluations: per turn in them.
      small_games: of the other pairs, of the strength of large trees, and of what the released program has played too.
      small_evaluations: per turn in them.
      study_evaluations: per turn in the study of action points.
      batch: games at a time.
    """

    games: int = 100
    evaluations: int = 20_000
    small_games: int = 50
    small_evaluations: int = 2000
    study_evaluations: int = 2000
    batch: int = 100

    def match(self, name: str, first: str, second: str, games: int, label: object, mode: str = "standard") -> Measurement:
        """A pair to play, sides changed half-way."""
        measure = partial(_match, first, second, games, self.batch, mode)
        return Measurement(f"hero-{name}-games{games}", measure, label)


def with_budget(player: str, evaluations: int) -> str:
    """A player with a budget, as `agents.make` takes it."""
    if player in WITHOUT_BUDGET or "num_evaluations" in player:
        return player
    join = "" if player.endswith(":") else "," if ":" in player else ":"
    return f"{player}{join}num_evaluations={evaluations}"


RIVAL = with_budget("oep", RIVAL_BUDGET)


def table2(plan: HeroPlan) -> list[Measurement]:
    """The pairs of Table II by their names and evaluations per turn; those with OEP first, then those of two trees."""

    def pair(first: str, second: str) -> Measurement:
        full = second == "oep" or (first in TREES and second in TREES)
        size, games = (plan.evaluations, plan.games) if full else (plan.small_evaluations, plan.small_games)
        name = f"table2-{first}-{second}-n{size}"
        return plan.match(name, with_budget(first, size), with_budget(second, size), games, (first, second, size))

    pairs = [pair(first, second) for first, second in itertools.combinations(PLAYERS, 2)]
    return sorted(pairs, key=lambda one: (one.label[1] != "oep", -one.label[2]))


def checks(plan: HeroPlan) -> list[Measurement]:
    """What the released program has played with fixed budgets, by pair."""

    def name(pair: tuple[str, str]) -> str:
        return "-".join(player.replace(":num_evaluations=", "").replace(":num_generations=", "") for player in pair)

    return [plan.match(f"check-{name(pair)}", *pair, plan.small_games, pair) for pair in CHECKS]


def budgets(plan: HeroPlan) -> list[Measurement]:
    """Strength over budget, by player and budget; large trees play fewer games."""

    def one(player: str, size: int) -> Measurement:
        games = plan.small_games if player != "oep" and size >= plan.evaluations else plan.games
        return plan.match(f"budget-{player}-n{size}", with_budget(player, size), RIVAL, games, (player, size))

    return [one(player, size) for player in OVER_BUDGETS for size in BUDGETS]


def actions(plan: HeroPlan) -> list[Measurement]:
    """OEP against trees over actions per turn (Fig. 5), by tree and number."""
    size, oep = plan.study_evaluations, with_budget("oep", plan.study_evaluations)
    return [
        plan.match(f"actions-{n}-{tree}-n{size}", oep, with_budget(tree, size), plan.games, (tree, n), f"ap-{n}")
        for tree in reversed(TREES)
        for n in ACTION_POINTS
    ]


def extras(plan: HeroPlan) -> list[Measurement]:
    """What goes beyond the paper, by name."""
    return [
        plan.match(f"extra-{name.replace(' ', '_')}", with_budget(spec, RIVAL_BUDGET), RIVAL, 2 * plan.games, name)
        for name, spec in EXTRAS.items()
    ]


def hidden(plan: HeroPlan) -> list[Measurement]:
    """Matches with random draws and hidden hands, by player."""

    def one(player: str) -> Measurement:
        name, _, own_budget = player.partition(":")
        games = plan.small_games if own_budget else plan.games
        return plan.match(f"hidden-{name}", with_budget(player, RIVAL_BUDGET), RIVAL, games, player, "hidden")

    return [one(player) for player in HIDDEN]


def outcomes(plan: HeroPlan) -> list[Measurement]:
    """What is looked at in a turn."""
    return [Measurement(f"hero-outcomes-n{plan.evaluations}", partial(hero_outcomes.outcomes, plan.evaluations, SEED))]


PARTS = {
    "table2": table2,
    "checks": checks,
    "budgets": budgets,
    "extras": extras,
    "outcomes": outcomes,
    "hidden": hidden,
    "actions": actions,
}


def _match(first: str, second: str, games: int, batch: int, mode: str) -> dict:
    game = jaxgames.make("hero_academy", mode)
    pair = [agents.make(spec, game) for spec in (first, second)]
    played, times = play_timed(game, pair, SEED, games, batch_size=batch, seating="rotated")
    outcomes = played.outcomes[:, 0]
    return {
        "players": [first, second],
        "mode": mode,
        "games": games,
        "wins": int((outcomes > 0).sum()),
        "draws": int((outcomes == 0).sum()),
        **times,
    }


def texts(plan: HeroPlan) -> dict[str, str]:
    """Makes the tables and numbers of the page."""
    return {
        **_table2(plan),
        "checks": _check_table(plan),
        "budgets": _lines_table("evaluations per turn", BUDGETS, over(OVER_BUDGETS, plan.found(budgets(plan))), plan.games),
        "actions": _lines_table("actions per turn", ACTION_POINTS, over(TREES, plan.found(actions(plan))), plan.games),
        "outcomes": _outcome_table(plan),
        "extras": _extra_table(plan),
        "hidden": _hidden_table(plan),
    }


def figures(plan: HeroPlan) -> dict[str, str]:
    """Draws the figures of the page."""
    by_budget, by_actions = over(OVER_BUDGETS, plan.found(budgets(plan))), over(TREES, plan.found(actions(plan)))
    return {
        "hero_budgets": points_figure("evaluations per turn", by_budget, log=True),
        "hero_actions": points_figure("actions per turn", by_actions),
    }


PAGE = Page("hero_academy", HeroPlan, PARTS, ("jaxgames/hero_academy", "search"), texts, figures)


def over(players, found: dict[tuple[str, int], dict]) -> list[tuple[str, dict[int, dict]]]:
    """Gives results by title and number, from those by player and number."""
    lines = [(PLAYERS[name], {number: one for (who, number), one in found.items() if who == name}) for name in players]
    return [(title, line) for title, line in lines if line]


def _shown(found: dict) -> str:
    return with_interval(*points(found))


def _ended(found: dict) -> str:
    """Wins, draws and losses."""
    return f"{found['wins']}–{found['draws']}–{found['games'] - found['wins'] - found['draws']}"


def _lines_table(title: str, numbers: tuple[int, ...], lines: list[tuple[str, dict[int, dict]]], games: int) -> str:
    """Points over a number, a row per line; with a star where fewer games were played."""
    rows = []
    for name, line in lines:
        shown = {number: _shown(one) + "*" * (one["games"] != games) for number, one in line.items()}
        rows.append([name, *(shown.get(number, NONE) for number in numbers)])
    return markdown([title, *map(str, numbers)], rows)


def _table2(plan: HeroPlan) -> dict[str, str]:
    """Everybody against everybody, and which pairs have draws."""
    shares: dict[tuple[str, str], str] = {}
    drawn = []
    for (first, second, size), found in plan.found(table2(plan)).items():
        middle, low, high = points(found)
        mark = "" if size == plan.evaluations else "*"
        for pair, (share, least, most) in (
            ((first, second), (middle, low, high)),
            ((second, first), (100 - middle, 100 - high, 100 - low)),
        ):
            shares[pair] = f"{share:.0f}{mark} ({least:.0f}–{most:.0f})"
        if found["draws"]:
            drawn.append(f"{PLAYERS[first]} – {PLAYERS[second]} {_ended(found)}")
    known = [name for name in PLAYERS if any(name in pair for pair in shares)]
    rows = [[PLAYERS[row], *(shares.get((row, column), NONE) for column in known)] for row in known]
    return {"table2": markdown(["", *(PLAYERS[name] for name in known)], rows), "drawn": "; ".join(drawn)}


def _check_table(plan: HeroPlan) -> str:
    rows = []
    for pair, found in plan.found(checks(plan)).items():
        java = dict(zip(("wins", "draws"), CHECKS[pair], strict=False), games=sum(CHECKS[pair]))
        rows.append([*(f"`{player}`" for player in pair), _ended(java), _shown(java), _ended(found), _shown(found)])
    return markdown(["first", "second", "Java", "Java, points", "ours", "ours, points"], rows)


def _outcome_table(plan: HeroPlan) -> str:
    rows = []
    for found in plan.found(outcomes(plan)).values():
        for name, one in found["players"].items():
            outcome, depth = one["outcomes"], one.get("depth")
            shown = f"{depth['mean']:.1f} ({depth['most']:.0f})" if depth else NONE
            rows.append([PLAYERS[name], *(f"{outcome[what]:.0f}" for what in ("mean", "median", "most")), shown])
    return markdown(["planner", "outcomes, mean", "median", "most", "depth, mean (most)"], rows)


def _extra_table(plan: HeroPlan) -> str:
    found = plan.found(extras(plan))
    rows = [[name, f"`{one['players'][0]}`", _shown(one), str(one["games"])] for name, one in found.items()]
    return markdown(["variant", "player", "points, %", "games"], rows)


def _hidden_table(plan: HeroPlan) -> str:
    rows = [[HIDDEN[name], _shown(one), str(one["games"])] for name, one in plan.found(hidden(plan)).items()]
    return markdown(["player", "points, %", "games"], rows)
