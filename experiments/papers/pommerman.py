"""The planning results of Boney et al. on Pommerman: Tables II and III, Fig. 4, win rate over depth and simulations."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import replace
from functools import partial

import numpy as np

import jaxgames
from experiments.pages import markdown
from experiments.papers import costs
from experiments.papers.cells import Cell, play_cell
from experiments.papers.figures import known_states_figure, sweep_figure
from experiments.papers.measured import Measurement, Page, Plan
from experiments.papers.tables import OUTCOMES, interval, intervals, rates
from training.play import counting

PAPER = {row.player: row.shares for row in jaxgames.registration("pommerman").published}
TABLE = [Cell(planner, bandit) for planner in ("mcs", "mcts", "mcts_no_rollout", "fdts") for bandit in ("ucb", "ts")]
BEST = Cell("fdts", "ts")
HORIZONS, SIMULATIONS = (10, 15, 20), (50, 100, 200)


@dataclasses.dataclass(frozen=True)
class PommermanPlan(Plan):
    """How much to play.

    Attributes:
      best_games: games of FDTS + TS.
      games: games of every other cell.
      sweep_games: games per cell of the sweep over depth and simulations.
      simple_games: games of four SimpleAgents.
      cost_games: games whose tables are looked at when they end, per planner.
      batch: games at a time.
    """

    best_games: int = 400
    games: int = 200
    sweep_games: int = 100
    simple_games: int = 4000
    cost_games: int = 64
    batch: int = 256

    def played(self, games: int, cells: Iterable[Cell]) -> list[Measurement]:
        """Cells to play; labels are the cells as they are given. The best planner plays its own number of games everywhere."""
        sized = {cell: replace(cell, games=self.best_games if cell == BEST else games) for cell in cells}
        return [Measurement(cell.name, partial(play_cell, cell, self.batch), label) for label, cell in sized.items()]


def simple(plan: PommermanPlan) -> list[Measurement]:
    """Four SimpleAgents."""
    return plan.played(plan.simple_games, [Cell("simple")])


def planners(plan: PommermanPlan) -> list[Measurement]:
    """The cells of Tables II and III."""
    return plan.played(plan.games, TABLE)


def sweep(plan: PommermanPlan) -> list[Measurement]:
    """The cells of win rate over depth and simulations, with FDTS + TS."""
    return plan.played(plan.sweep_games, (replace(BEST, num_simulations=n, horizon=k) for k in HORIZONS for n in SIMULATIONS))


def memory(plan: PommermanPlan) -> list[Measurement]:
    """FDTS + TS with small tables: what forgetting does; and with the usual one."""
    return plan.played(plan.sweep_games, (replace(BEST, table_rows=rows) for rows in (2**10, 2**13, 2**16)))


def evolution(plan: PommermanPlan) -> list[Measurement]:
    """Planners that are not of the paper: evolving strings, at the same number of simulations and at four times as many."""
    cells = [Cell(name, num_simulations=n) for name in ("oep", "rolling_horizon") for n in (100, 400)]
    return plan.played(plan.sweep_games, cells)


def cost(plan: PommermanPlan) -> list[Measurement]:
    """What the planners of the tables cost."""
    return [
        Measurement(f"cost-{cell.player}", partial(costs.measure, cell, costs.CostPlan(games=plan.cost_games)), cell)
        for cell in TABLE
    ]


PARTS = {"simple": simple, "planners": planners, "sweep": sweep, "memory": memory, "evolution": evolution, "cost": cost}


PLANNER_NAMES = {
    "simple": "SimpleAgent in that seat",
    "mcs": "MCS",
    "mcts": "MCTS, random rollouts",
    "mcts_no_rollout": "MCTS, no rollouts",
    "fdts": "FDTS",
    "oep": "OEP",
    "rolling_horizon": "Rolling Horizon Evolution",
}
PAPER_GAMES = 400

# The official environment with four SimpleAgents, pooled: games, wins by seat and draws, mean length.
OFFICIAL_GAMES, OFFICIAL_ENDS, OFFICIAL_LENGTH = 2560, (545, 426, 568, 413, 608), 378.0
# The spread of the lengths is that of our own sample: the official one was not kept.


def texts(plan: PommermanPlan) -> dict[str, str]:
    """Makes the tables and numbers of the page."""
    return {
        "planners": _planner_table(plan.found([*simple(plan), *planners(plan)])),
        "sweep": _sweep_table(plan.found(sweep(plan))),
        "known": _known_table(plan.found(planners(plan))),
        "evolution": _evolution_table(plan.found(evolution(plan))),
        "memory": _memory_table(plan.found(memory(plan))),
        "cost": _cost_table(plan.found(planners(plan)), plan.found(cost(plan))),
        **_seats(plan.found(simple(plan))),
    }


def figures(plan: PommermanPlan) -> dict[str, str]:
    """Draws the figures of the page."""
    return {
        "pommerman_known": known_states_figure(list(plan.found(planners(plan)).items())),
        "pommerman_sweep": sweep_figure(list(plan.found(sweep(plan)).items())),
    }


PAGE = Page("pommerman", PommermanPlan, PARTS, ("jaxgames/pommerman", "search"), texts, figures)


def _name(cell: Cell) -> str:
    return PLANNER_NAMES[cell.planner] + (f" + {cell.bandit.upper()}" if cell.planner != "simple" else "")


def _planner_table(results: dict[Cell, dict]) -> str:
    rows = []
    for cell, result in results.items():
        count, strict = result["released"], result["strict"]
        paper = PAPER[cell.planner + (":bandit=ucb" if cell.planner != "simple" and cell.bandit == "ucb" else "")]
        theirs, games = " / ".join(map(str, paper)), str(strict["games"])
        compared = (differs_from_paper(count, paper), outside_paper(count, paper))
        rows.append([_name(cell), *intervals(count), theirs, rates(strict), games, *compared])
    head = ["player", "win", "draw", "loss", "paper", "strict counting", "games", "differs from the paper in", "outside"]
    return markdown(head, rows)


def outside_paper(count: dict, paper: tuple[float, ...]) -> str:
    """Names the results whose rate lies outside the paper's 95 % interval."""
    outside = []
    for what, theirs in zip(OUTCOMES, paper, strict=True):
        low, high = counting.wilson(round(theirs / 100 * PAPER_GAMES), PAPER_GAMES)
        if not low <= count[what] / count["games"] <= high:
            outside.append(what)
    return ", ".join(outside) or "–"


def differs_from_paper(count: dict, paper: tuple[float, ...]) -> str:
    """Names the results whose rate differs from the paper's, by a two-sided test at 1 %."""
    differing = []
    for what, theirs in zip(OUTCOMES, paper, strict=True):
        rate, share = count[what] / count["games"], theirs / 100
        pooled = (count[what] + share * PAPER_GAMES) / (count["games"] + PAPER_GAMES)
        error = np.sqrt(pooled * (1 - pooled) * (1 / count["games"] + 1 / PAPER_GAMES))
        if error and abs(rate - share) > 2.576 * error:
            differing.append(what)
    return ", ".join(differing) or "–"


def _sweep_table(results: dict[Cell, dict]) -> str:
    shown = {}
    for cell, result in results.items():
        count = result["released"]
        text = f"{interval(count['wins'], count['games'])}, loss {100 * count['losses'] / count['games']:.0f}"
        shown[cell.horizon, cell.num_simulations] = text
    rows = [[str(k), *(shown.get((k, n), "") for n in SIMULATIONS)] for k in HORIZONS]
    return markdown(["depth", *(f"{n} simulations" for n in SIMULATIONS)], rows)


def _known_table(results: dict[Cell, dict]) -> str:
    depths = (1, 2, 3, 5, 8, 12, 16, 19)
    rows = []
    for cell, result in results.items():
        if "known" in result["metrics"]:
            known, met = (np.array(result["metrics"][name]) for name in ("known", "met"))
            rows.append([_name(cell), *(f"{100 * known[d] / max(met[d], 1):.1f}" for d in depths if d < len(known))])
    return markdown(["share of known states, %, at depth", *map(str, depths)], rows)


def _cpu_per_move(result: dict) -> str:
    """CPU milliseconds per move of the whole match."""
    return f"{1e3 * result['cpu_seconds'] / max(result['moves'][0], 1):.2f}"


def _evolution_table(results: dict[Cell, dict]) -> str:
    rows = []
    for cell, result in results.items():
        count = result["released"]
        sizes = (str(cell.num_simulations), str(cell.horizon))
        rows.append([PLANNER_NAMES[cell.planner], *sizes, *intervals(count), str(count["games"]), _cpu_per_move(result)])
    head = ["planner", "simulations", "steps", "win", "draw", "loss", "games", "CPU ms per move, opponents included"]
    return markdown(head, rows)


def _memory_table(results: dict[Cell, dict]) -> str:
    counts = {cell.table_rows: result["released"] for cell, result in results.items()}
    rows = [[str(size), *intervals(count), str(count["games"])] for size, count in counts.items()]
    return markdown(["rows per game", "win", "draw", "loss", "games"], rows)


def _cost_table(results: dict[Cell, dict], found: dict[Cell, dict]) -> str:
    rows = []
    for cell, result in results.items():
        one = found.get(cell)
        alone, used = ("–", "–") if one is None else (f"{one['cpu_ms_per_plan']:.2f}", _rows_in_use(one))
        size, length = f"{result['memory_bytes_per_game'] / 1e6:.2f}", f"{np.mean(result['lengths']):.0f}"
        rows.append([_name(cell), alone, _cpu_per_move(result), size, used, length])
    head = ["planner", "CPU ms per move", "with opponents", "table, MB", "in use at the end", "mean length"]
    return markdown(head, rows)


def _rows_in_use(one: dict) -> str:
    mean, most = one["rows_at_end"]["mean"], one["rows_at_end"]["most"]
    return f"{mean:.0f} ({most}) rows, {mean * one['row_bytes'] / 1e6:.2f} MB" if most else "no table"


def _seats(results: dict[Cell, dict]) -> dict[str, str]:
    """Four SimpleAgents beside the official environment: a table, and a test of wins by seat and of lengths."""
    if not results:
        return dict.fromkeys(("seats", "seats-statistic", "seats-p", "seats-longer", "seats-error"), "")
    (result,) = results.values()
    games, lengths = result["released"]["games"], np.array(result["lengths"])
    ours = np.array([*result["wins_by_seat"], result["draws"]])
    statistic, p_value = counting.same_distribution(ours, np.array(OFFICIAL_ENDS))
    error = lengths.std() * np.sqrt(1 / games + 1 / OFFICIAL_GAMES)
    samples = (
        ("ours", ours, games, lengths.mean()),
        ("official environment", OFFICIAL_ENDS, OFFICIAL_GAMES, OFFICIAL_LENGTH),
    )
    rows = [[who, *(f"{100 * n / total:.1f}" for n in ends), f"{length:.0f}", str(total)] for who, ends, total, length in samples]
    return {
        "seats": markdown(["", "seat 0 wins", "seat 1", "seat 2", "seat 3", "draws", "mean length", "games"], rows),
        "seats-statistic": f"{statistic:.2f}",
        "seats-p": f"{p_value:.3f}",
        "seats-longer": f"{lengths.mean() - OFFICIAL_LENGTH:+.1f}",
        "seats-error": f"{error:.1f}",
    }
