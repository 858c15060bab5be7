"""The planning results of Boney et al. on the arena battle: bandits (Tables IV, V) and planners over horizons (VI, VII)."""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections.abc import Iterable
from functools import partial

import jax

import jaxgames
from experiments.pages import NONE, markdown
from experiments.papers.measured import Measurement, Page, Plan
from experiments.papers.tables import points, with_interval
from training.play import agents, evaluate

SEED = 2020
PLANNERS = {"fdts": "FDTS", "mcts": "MCTS", "mcs": "MCS"}
BANDITS = {"ts": "Thompson sampling", "ucb": "UCB1", "uniform": "random"}
WEIGHTS = (0.5, 1.0, 4.0)  # of exploration in UCB1, beside the published 2
BOTS = ("random", "guard")
SIMULATIONS_PER_ARM = 4


@dataclasses.dataclass(frozen=True)
class Sizes:
    """What is played, and how far players look.

    Attributes:
      name: for files.
      mode: the variant.
      horizons: steps of a simulation in the tables over horizons.
      horizon: of all else.
      table_bytes: of a tree.
      savings: settings of planners that save time on a CPU.
    """

    name: str
    mode: str
    horizons: tuple[int, ...]
    horizon: int
    table_bytes: int
    savings: str = ""


SHORT = Sizes(
    "short",
    "beginner:positions=2,double_from_tick=0,regular_ticks=450,overtime_ticks=150",
    (5, 10, 20),
    10,
    1_000_000,
    "rest_when_forced=1,microbatch_size=16",
)
PAPER = Sizes("paper", "beginner", (10, 25, 50), 50, 64_000_000)


@dataclasses.dataclass(frozen=True)
class Player:
    """A planner with a bandit; the weight of exploration c, None for the published one."""

    planner: str = "fdts"
    bandit: str = "ts"
    c: float | None = None
    horizon: int = 0

    @property
    def name(self) -> str:
        """For files."""
        return f"{self.planner}-{self.bandit}" + (f"-c{self.c}" if self.c is not None else "") + f"-k{self.horizon}"

    def spec(self, sizes: Sizes) -> str:
        """As command lines call it."""
        most = SIMULATIONS_PER_ARM * jaxgames.make("clash", sizes.mode).num_arms
        parts = [f"bandit={self.bandit}"] + ([f"c={self.c}"] if self.c is not None else [])
        parts += [f"horizon={self.horizon}", f"simulations_per_arm={SIMULATIONS_PER_ARM}", f"num_simulations={most}"]
        if self.planner != "mcs":
            parts.append(f"table_bytes={sizes.table_bytes}")
        return f"{self.planner}:{','.join(filter(None, [*parts, sizes.savings]))}"


@dataclasses.dataclass(frozen=True)
class ClashPlan(Plan):
    """How much to play.

    Attributes:
      games: of each pair.
      batch: games at a time.
      paper: with the paper's sizes, for an accelerator.
    """

    games: int = 32
    batch: int = 32
    paper: bool = False

    @property
    def sizes(self) -> Sizes:
        return PAPER if self.paper else SHORT

    def met(self, first: Player, second: Player | str, label: object) -> Measurement:
        """A pair to play; sides are changed from game to game."""
        other = second if isinstance(second, str) else second.name
        name = f"clash-{self.sizes.name}-{first.name}-{other}-games{self.games}"
        spec = second if isinstance(second, str) else second.spec(self.sizes)
        return Measurement(name, partial(match, first.spec(self.sizes), spec, self.sizes.mode, self.games, self.batch), label)


def bots(plan: ClashPlan) -> list[Measurement]:
    """FDTS with Thompson sampling against bots."""
    player = Player(horizon=plan.sizes.horizon)
    return [plan.met(player, name, name) for name in BOTS]


def table4(plan: ClashPlan) -> list[Measurement]:
    """Bandits against each other in FDTS."""
    pairs = itertools.combinations(BANDITS, 2)
    horizon = plan.sizes.horizon
    return [plan.met(Player(bandit=a, horizon=horizon), Player(bandit=b, horizon=horizon), (a, b)) for a, b in pairs]


def table5(plan: ClashPlan) -> list[Measurement]:
    """FDTS with other weights of exploration, and over horizons, against FDTS with Thompson sampling and the usual one."""
    usual = Player(horizon=plan.sizes.horizon)
    weights = [dataclasses.replace(usual, bandit="ucb", c=c) for c in WEIGHTS]
    horizons = [dataclasses.replace(usual, horizon=k) for k in plan.sizes.horizons if k != usual.horizon]
    return [plan.met(player, usual, player) for player in [*weights, *horizons]]


def planners(plan: ClashPlan) -> list[Measurement]:
    """FDTS, MCTS and MCS against each other over horizons, with Thompson sampling."""
    pairs = (("fdts", "mcs"), ("fdts", "mcts"), ("mcs", "mcts"))
    usual = plan.sizes.horizon
    horizons = sorted(plan.sizes.horizons, key=lambda k: k != usual)
    return [plan.met(Player(a, horizon=k), Player(b, horizon=k), (a, b, k)) for k in horizons for a, b in pairs]


PARTS = {"bots": bots, "table4": table4, "planners": planners, "table5": table5}


def match(first: str, second: str, mode: str, games: int, batch: int) -> dict:
    """Plays a pair; gives how battles ended for the first."""
    game = jaxgames.make("clash", mode)
    pair = [agents.make(spec, game) for spec in (first, second)]
    started, cpu = time.perf_counter(), time.process_time()
    played = evaluate.play(game, pair, jax.random.key(SEED), games, batch_size=batch, seating="rotated")
    ends = played.outcomes[:, 0]
    return {
        "players": [first, second],
        "mode": mode,
        "games": games,
        "wins": int((ends > 0).sum()),
        "draws": int((ends == 0).sum()),
        "losses": int((ends < 0).sum()),
        "mean_length": round(float(played.lengths.mean()), 1),
        "seconds": round(time.perf_counter() - started, 1),
        "cpu_seconds": round(time.process_time() - cpu, 1),
    }


def texts(plan: ClashPlan) -> dict[str, str]:
    """Makes the tables of the page."""
    return {
        "bots": _rows(["FDTS + TS against"], ((name, one) for name, one in plan.found(bots(plan)).items())),
        "table4": _rows(
            ["FDTS with", "against"],
            ((BANDITS[a], BANDITS[b], one) for (a, b), one in plan.found(table4(plan)).items()),
        ),
        "table5": _rows(
            ["FDTS with", "steps"],
            ((_bandit(player), str(player.horizon), one) for player, one in plan.found(table5(plan)).items()),
        ),
        "planners": _planner_table(plan),
    }


PAGE = Page("clash", ClashPlan, PARTS, ("jaxgames/clash", "search"), texts, lambda plan: {})


def _bandit(player: Player) -> str:
    return BANDITS[player.bandit] + (f", c = {player.c}" if player.c is not None else "")


def _rows(head: list[str], lines: Iterable[tuple]) -> str:
    """Names, and how the battles of the first ended."""
    rows = [
        [*names, with_interval(*points(one)), _ended(one), f"{one['mean_length'] / 2:.0f}", f"{one['cpu_seconds']:.0f}"]
        for *names, one in lines
    ]
    return markdown([*head, "points, %", "won – drawn – lost", "mean length, s", "CPU s"], rows)


def _ended(one: dict) -> str:
    return f"{one['wins']} – {one['draws']} – {one['losses']}"


def _planner_table(plan: ClashPlan) -> str:
    found = plan.found(planners(plan))
    pairs = dict.fromkeys((a, b) for a, b, _ in found)
    rows = []
    for a, b in pairs:
        line = [found.get((a, b, k)) for k in plan.sizes.horizons]
        shown = [f"{with_interval(*points(one))}; {_ended(one)}" if one else NONE for one in line]
        rows.append([f"{PLANNERS[a]} – {PLANNERS[b]}", *shown])
    return markdown(["points of the first, %", *(f"{k} steps" for k in plan.sizes.horizons)], rows)
