"""What a planner costs (Boney et al., III-E): CPU time of its plans alone, and rows of its table in use when games end."""

from __future__ import annotations

import dataclasses

import jax
import numpy as np

from experiments.benchmark.case import LEAST_REPEATS, Request
from experiments.benchmark.harness import time_program
from experiments.benchmark.pommerman import MID_GAME, ffa, play_and_plan
from experiments.benchmark.pommerman_starts import POOL_SIZE, Pool
from experiments.papers.cells import Cell
from jaxgames import runtime
from jaxgames.pommerman import bots
from search.bandit import table
from search.planner import as_agent
from training.play import evaluate


@dataclasses.dataclass(frozen=True)
class CostPlan:
    """How a cost is measured.

    Attributes:
      games: games to the end, all at once, of which the rows in use are counted.
      batch: games at a time while plans are timed.
      warm_up: steps of all games before that.
      calls: plans per repeat.
      repeats: of which the median counts.
      seed: of everything.
    """

    games: int = 64
    batch: int = 128
    warm_up: int = MID_GAME
    calls: int = 2
    repeats: int = LEAST_REPEATS
    seed: int = 2021


def measure(cell: Cell, plan: CostPlan) -> dict:
    """Measures what the planner of a cell costs, on one device.

    Args:
      cell: which planner.
      plan: how.

    Returns:
      `cpu_ms_per_plan` (the plans alone, in mid-game, without compilation), `table_bytes`, `row_bytes`, `rows_at_end` (in use
      when a game ends, mean and most; 0 without a table), and the settings.
    """
    game = ffa()
    planner = cell.make(game)
    mesh = runtime.data_mesh(1)
    pool = Pool(game.config, POOL_SIZE)
    program = play_and_plan(game, planner, plan.batch, warm_up=plan.warm_up, calls=plan.calls, pool=pool)
    request = Request(f"cost-{cell.player}", repeats=plan.repeats, seed=plan.seed)
    figures = time_program(program, request, mesh, plan.batch)

    rows = np.zeros(plan.games)
    simple = bots.simple_agent(game)
    players = [as_agent(planner), *[simple] * (game.num_players - 1)]
    games = evaluate.play(game, players, jax.random.key(plan.seed), plan.games, batch_size=plan.games, mesh=mesh)
    if isinstance(games.memories[0], table.Table):  # one lane per game: what the tables hold is of the end of that game
        rows = np.asarray(games.memories[0].stored) - np.asarray(games.memories[0].evicted)
    return {
        "planner": planner.name,
        "settings": {**cell.options, **dataclasses.asdict(plan)},
        "cpu_ms_per_plan": 1e3 / figures["per_cpu_second"],
        "table_bytes": planner.memory_bytes,
        "row_bytes": planner.memory_bytes / cell.table_rows if isinstance(games.memories[0], table.Table) else 0.0,
        "rows_at_end": {"mean": float(rows.mean()), "most": int(rows.max())},
        "details": figures["details"],
    }
