"""The results of Boney et al. on Clash: bandits (Tables IV, V), planners over horizons (VI, VII), players (XI), strategies."""

from __future__ import annotations

import dataclasses
import itertools

from experiments.pages import NONE, markdown
from experiments.papers import clash_players, clash_strategies
from experiments.papers.clash_matches import ClashPlan, Player, ends_table
from experiments.papers.measured import Measurement, Page
from experiments.papers.tables import ends, points, with_interval

PLANNERS = {"fdts": "FDTS", "mcts": "MCTS, random rollouts", "mcts_no_rollout": "MCTS, no rollouts", "mcs": "MCS"}
BANDITS = {"ts": "Thompson sampling", "ucb": "UCB1", "uniform": "random"}
WEIGHTS = (0.5, 1.0, 4.0)  # of exploration in UCB1, beside the published 2
BOTS = ("random", "guard")


def bots(plan: ClashPlan) -> list[Measurement]:
    """FDTS with Thompson sampling against bots."""
    player = _thompson(plan)
    return [plan.met(player, name, name, plan.table_games) for name in BOTS]


def table4(plan: ClashPlan) -> list[Measurement]:
    """Bandits against each other in FDTS."""
    made = {name: Player(bandit=name, horizon=plan.sizes.horizon) for name in BANDITS}
    pairs = itertools.combinations(BANDITS, 2)
    return [plan.met(made[a], made[b], (a, b), plan.table_games) for a, b in pairs]


def table5(plan: ClashPlan) -> list[Measurement]:
    """FDTS with other weights of exploration, and over horizons, against FDTS with Thompson sampling and the usual one."""
    usual, waves = Player(horizon=plan.sizes.horizon), _thompson(plan)
    weights = [
        plan.met(one, usual, one, plan.table_games) for one in (Player(bandit="ucb", c=c, horizon=usual.horizon) for c in WEIGHTS)
    ]
    others = [dataclasses.replace(waves, horizon=k) for k in plan.sizes.horizons if k != usual.horizon]
    return weights + [plan.met(one, waves, one, plan.table_games) for one in others]


def planners(plan: ClashPlan) -> list[Measurement]:
    """FDTS, MCTS and MCS over horizons, with Thompson sampling; MCTS without rollouts at the usual one alone."""
    pairs = (("fdts", "mcs"), ("fdts", "mcts"), ("mcs", "mcts"))
    more = (("fdts", "mcts_no_rollout"), ("mcs", "mcts_no_rollout"))
    usual = plan.sizes.horizon
    horizons = sorted(plan.sizes.horizons, key=lambda k: k != usual)

    def player(name: str, k: int) -> Player:
        return dataclasses.replace(_thompson(plan), planner=name, horizon=k)

    chosen = [(a, b, k) for k in horizons for a, b in (pairs + more if k == usual else pairs)]
    return [plan.met(player(a, k), player(b, k), (a, b, k), plan.table_games) for a, b, k in chosen]


def _thompson(plan: ClashPlan) -> Player:
    """FDTS with Thompson sampling and the usual horizon, several simulations at once."""
    return Player(horizon=plan.sizes.horizon, at_once=plan.sizes.at_once)


PARTS = {
    "bots": bots,
    "table4": table4,
    "planners": planners,
    "table5": table5,
    "players": clash_players.players,
    "table11": clash_players.round_robin,
    "strategies": clash_strategies.counts,
}


def texts(plan: ClashPlan) -> dict[str, str]:
    """Makes the tables of the page."""
    return {
        "bots": ends_table(["FDTS + TS against"], ((name, one) for name, one in plan.found(bots(plan)).items())),
        "table4": ends_table(
            ["FDTS with", "against"],
            ((BANDITS[a], BANDITS[b], one) for (a, b), one in plan.found(table4(plan)).items()),
        ),
        "table5": ends_table(
            ["FDTS with", "steps"],
            ((_bandit(player), str(player.horizon), one) for player, one in plan.found(table5(plan)).items()),
        ),
        "planners": _planner_table(plan),
        **clash_players.texts(plan),
        **clash_strategies.texts(plan),
    }


PAGE = Page("clash", ClashPlan, PARTS, ("jaxgames/clash", "search", "training"), texts, lambda plan: {})


def _bandit(player: Player) -> str:
    return BANDITS[player.bandit] + (f", c = {player.c}" if player.c is not None else "")


def _planner_table(plan: ClashPlan) -> str:
    found = plan.found(planners(plan))
    pairs = dict.fromkeys((a, b) for a, b, _ in found)
    rows = []
    for a, b in pairs:
        line = [found.get((a, b, k)) for k in plan.sizes.horizons]
        shown = [f"{with_interval(*points(one))}; {ends(one)}" if one else NONE for one in line]
        rows.append([f"{PLANNERS[a]} – {PLANNERS[b]}", *shown])
    return markdown(["points of the first, %", *(f"{k} steps" for k in plan.sizes.horizons)], rows)
