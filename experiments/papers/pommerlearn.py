"""The results of PommerLearn (Weil et al., Tables 2 and 3): networks for searches against modelled opponents, and their play."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import jax
import numpy as np

import jaxgames
from experiments.amounts import Amounts
from experiments.pages import NONE, markdown
from experiments.papers.measured import Measurement, Page, Plan, Runs
from experiments.papers.tables import interval
from search.modelled import POMMERLEARN, Models
from training.jobs import train_expert
from training.jobs.train_expert import TrainConfig
from training.learn.expert_iteration import ExpertConfig
from training.models.policy_value import PolicyValueConfig
from training.play import agents, counting, evaluate
from training.storage.logs import read_log

SEED = 2022  # of all games that are counted; networks learn, and are chosen, by others
WHO = PolicyValueConfig("pommerman", "ffa", "pommerlearn_centred", "pyramid")
PIECE = 100  # games of the first file of a cell; the rest have another, so that more can be played later
UNBIASED, SIMPLE = "simple_unbiased", "simple"
SIMULATIONS = (0, 50, 100, 250, 500, 1000)
SEARCHES = {"sp_mcts": "SP", "tp_mcts": "TP"}

_SHOWN = ExpertConfig(
    source="demonstrations", player=UNBIASED, samples=1_000_000, kept=1, epochs=5, batch_size=128, lanes=256, steps=16
)
_SEARCHED = ExpertConfig(
    player=UNBIASED,
    search=replace(POMMERLEARN, num_simulations=50, dirichlet_fraction=0.25, dirichlet_alpha=0.2, microbatch_size=None),
    models=Models(model=UNBIASED, root="visible"),
    samples=10_000,
    batch_size=128,
    learning_rate=3e-4,
    lanes=128,
    steps=4,
    updates=20,
)
SL = Runs("pommerlearn-sl", "SL", TrainConfig(who=WHO, learn=_SHOWN, rounds=1, rate_games=400))
SRL = Runs("pommerlearn-srl", "SL, then RL", TrainConfig(who=WHO, learn=_SEARCHED, rounds=15, rate_games=64))
RL = Runs("pommerlearn-rl", "RL from zero", TrainConfig(who=WHO, learn=_SEARCHED, rounds=15, rate_games=64))
WITHOUT = "none"
NETWORKS = {SL.name: SL, SRL.name: SRL, RL.name: RL}
TITLES = {name: run.title for name, run in NETWORKS.items()} | {WITHOUT: "no network"}

# Wins and ties of the paper, in per cent, against three SimpleUnbiasedAgents: search, network, simulations.
TABLE2: Mapping[tuple[str, str, int], tuple[float, float]] = {
    (search, SL.name, simulations): row
    for search, rows in {
        "sp_mcts": ((38.6, 10.5), (61.4, 15.3), (68.0, 13.2), (76.8, 9.5), (79.1, 7.2), (78.8, 6.4)),
        "tp_mcts": ((37.7, 10.3), (49.4, 19.7), (61.5, 17.8), (79.6, 11.8), (87.8, 7.5), (90.1, 6.7)),
    }.items()
    for simulations, row in zip(SIMULATIONS, rows, strict=True)
}
REINFORCED: Mapping[str, float] = {SRL.name: 94.2, RL.name: 81.5}
"""Wins of SP-MCTS with 1000 simulations after reinforcement, of which no ties are published."""
DRAWN: Mapping[tuple[str, int], tuple[float, float]] = {
    (search, simulations): row
    for search, rows in {
        "sp_mcts": ((10.0, 5.9), (39.3, 17.4), (43.8, 16.8), (49.0, 13.6), (55.5, 11.4), (57.5, 10.4)),
        "tp_mcts": ((9.5, 5.2), (13.1, 7.9), (16.2, 9.0), (16.7, 9.4), (20.9, 8.7), (24.6, 8.2)),
    }.items()
    for simulations, row in zip(SIMULATIONS, rows, strict=True)
}
"""Of the paper's networks with drawn parameters, which are no better than none."""
TABLE3: Mapping[tuple[str, str], tuple[float, float]] = {
    ("sp_mcts", SL.name): (78.2, 12.2),
    ("tp_mcts", SL.name): (66.0, 32.0),
    ("sp_mcts", SRL.name): (65.2, 30.2),
    ("sp_mcts", RL.name): (74.4, 22.0),
}
"""Against three SimpleAgents in the official environment, 1000 simulations, 100 games of each of five networks."""


@dataclasses.dataclass(frozen=True)
class Cell:
    """What to play, with fair views.

    Attributes:
      search: sp_mcts or tp_mcts.
      network: a run, or none.
      simulations: per move; 0: the network alone.
      opponent: who plays the three others; in the search these are always SimpleUnbiasedAgents.
      games: how many.
      first: the number of the first one.
    """

    search: str
    network: str
    simulations: int
    opponent: str = UNBIASED
    games: int = PIECE
    first: int = 0

    @property
    def name(self) -> str:
        """The file's name."""
        player = f"{self.search}-{self.network.removeprefix('pommerlearn-')}-n{self.simulations}"
        return f"pommerlearn-{self.opponent}-{player}-games{self.games}" + (f"-from{self.first}" if self.first else "")

    def pieces(self, games: int) -> list[Cell]:
        """Splits so many games into those of each file."""
        begun = min(games, PIECE)
        rest = [replace(self, games=games - begun, first=begun)] if games > begun else []
        return [replace(self, games=begun), *rest]


@dataclasses.dataclass(frozen=True)
class PommerlearnPlan(Plan):
    """What to train and play.

    Attributes:
      work: where runs are kept while they train.
      games: of each cell.
      batch: games at a time.
    """

    work: Path = Path("output/results/pommerlearn")
    games: int = 400
    batch: int = 64

    def output(self, run: Runs) -> Path:
        """The folder of a run."""
        return self.work / run.name


def train_shown(plan: PommerlearnPlan) -> list[Measurement]:
    """Learning from demonstrations."""
    return [_run(plan, SL)]


def train_searched(plan: PommerlearnPlan) -> list[Measurement]:
    """Learning from searches, from the network that has learnt from demonstrations."""
    return [_run(plan, SRL)]


def train_from_zero(plan: PommerlearnPlan) -> list[Measurement]:
    """Learning from searches with a drawn network to begin with."""
    return [_run(plan, RL)]


def table2(plan: PommerlearnPlan) -> list[Measurement]:
    """Against three SimpleUnbiasedAgents, what demonstrations taught first. Without simulations both searches are the same."""
    taught, drawn = (
        [Cell(search, network, simulations) for simulations in SIMULATIONS[1:] for search in SEARCHES]
        for network in (SL.name, WITHOUT)
    )
    return _cells(plan, [Cell("sp_mcts", SL.name, 0), *taught, *drawn])


def reinforced(plan: PommerlearnPlan) -> list[Measurement]:
    """The same of the network that has learnt from searches after demonstrations."""
    return _cells(plan, [Cell("sp_mcts", SRL.name, simulations) for simulations in SIMULATIONS])


def from_zero(plan: PommerlearnPlan) -> list[Measurement]:
    """The same of the network that began with nothing."""
    return _cells(plan, [Cell("sp_mcts", RL.name, simulations) for simulations in SIMULATIONS])


def table3(plan: PommerlearnPlan) -> list[Measurement]:
    """Against three SimpleAgents."""
    players = (("sp_mcts", SL.name), ("sp_mcts", SRL.name), ("tp_mcts", SL.name))
    return _cells(plan, [Cell(*player, simulations, SIMPLE) for simulations in (50, 250) for player in players])


PARTS = {
    "sl": train_shown,
    "srl": train_searched,
    "table2": table2,
    "reinforced": reinforced,
    "table3": table3,
    "rl": train_from_zero,
    "from_zero": from_zero,
}


def _cells(plan: PommerlearnPlan, cells: list[Cell]) -> list[Measurement]:
    pieces = sorted((piece for cell in cells for piece in cell.pieces(plan.games)), key=lambda piece: piece.first)
    return [Measurement(piece.name, partial(play_cell, plan, piece), piece) for piece in pieces]


def _run(plan: PommerlearnPlan, run: Runs) -> Measurement:
    return Measurement(run.name, partial(_train, plan, run), run)


def config_of(plan: PommerlearnPlan, run: Runs) -> TrainConfig:
    """The settings of a run; that from SL begins with the weights of SL."""
    start = str(weights_of(plan, SL)) if run == SRL else ""
    config: TrainConfig = replace(run.config, start=start, output=str(plan.output(run)), resume=True)
    return config


def weights_of(plan: PommerlearnPlan, run: Runs) -> Path:
    """The network of a run by which it is judged: that of the last round, or of reinforcement, the one chosen."""
    folder = plan.output(run)
    if run == SL:
        return folder / "best.npz"
    return folder / f"round-{chosen_round(rounds_of(read_log(folder / 'log.jsonl'))):03d}.npz"


def rounds_of(log: list[dict]) -> list[dict]:
    """Puts the log of a run together by rounds.

    Returns:
      For each round its games, the wins and draws of the search in them (of the network that the round began with), and what was
      found when it was over.
    """
    rounds: list[dict] = []
    for record in log:
        number = record["round"] - ("wins_alone" in record)
        if number == len(rounds):
            rounds.append({"games": 0, "wins": 0, "draws": 0})
        one = rounds[number]
        if "games" in record:
            one["wins"] += round(record["wins"] * record["games"])
            one["draws"] += round(record["draws"] * record["games"])
            one["games"] += record["games"]
            shares = np.array(record["action_shares"])
            one["shares"] = (one["shares"] + shares) if "shares" in one else shares
            one["calls"] = one.get("calls", 0) + 1
        one |= {name: record[name] for name in ("agreement", "value_error", "cross_entropy", "wins_alone") if name in record}
    for one in rounds:
        shares, calls = one.pop("shares", np.zeros(0)), one.pop("calls", 1)
        one["action_shares"] = (shares / calls).tolist()
    return rounds


def chosen_round(rounds: list[dict]) -> int:
    """The round that began with the best network: which won most, counted with the rounds before and after it."""
    shares = []
    for number in range(len(rounds)):
        near = rounds[max(number - 1, 0) : number + 2]
        shares.append(sum(one["wins"] for one in near) / max(sum(one["games"] for one in near), 1))
    return int(np.argmax(shares))


def _train(plan: PommerlearnPlan, run: Runs) -> dict | None:
    """Trains, or goes on with, a run. Returns its rounds; None if asked to stop."""
    config = config_of(plan, run)
    folder = plan.output(run)
    if not (folder / "result.json").exists() and train_expert.run(config) is None:
        return None
    result = json.loads((folder / "result.json").read_text())
    result["settings"] = {name: value for name, value in result["settings"].items() if name not in ("output", "resume", "start")}
    rounds = rounds_of(read_log(folder / "log.jsonl"))
    return result | {"rounds": rounds, "chosen": 1 if run == SL else chosen_round(rounds)}


def play_cell(plan: PommerlearnPlan, cell: Cell) -> dict:
    """Plays the games of a cell."""
    game = jaxgames.make("pommerman", "ffa")
    weights = WITHOUT if cell.network == WITHOUT else str(weights_of(plan, NETWORKS[cell.network]))
    search = f"{cell.search}:weights={weights},num_simulations={cell.simulations},model={UNBIASED}"
    search += ",values=heuristic" if cell.network == WITHOUT else ""
    player = agents.make(search if cell.simulations else f"network:weights={weights}", game)
    other = agents.make(cell.opponent, game)
    started, cpu = time.perf_counter(), time.process_time()
    players, key = [player, other, other, other], jax.random.key(SEED)
    games = evaluate.play(game, players, key, cell.games, batch_size=plan.batch, first=cell.first)
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu
    return {
        "cell": dataclasses.asdict(cell),
        "released": counting.count(games).as_dict(),
        "strict": counting.count(games, strict=True).as_dict(),
        "lengths": games.lengths.tolist(),
        "moves": games.moves.tolist(),
        "seconds": round(seconds, 1),
        "cpu_seconds": round(cpu_seconds, 1),
        "devices": jax.device_count(),
    }


def texts(plan: PommerlearnPlan) -> dict[str, str]:
    """Makes the tables and numbers of the page."""
    runs = plan.found([*train_shown(plan), *train_searched(plan), *train_from_zero(plan)])
    played = whole(plan.found([*table2(plan), *reinforced(plan), *from_zero(plan), *table3(plan)]))
    return {
        "learning": _learning_table(runs),
        "rounds": _rounds_table(runs),
        "table2": _table(played, UNBIASED),
        "table3": _table(played, SIMPLE),
    }


@dataclasses.dataclass(frozen=True)
class Played(Amounts):
    """How the games of a cell ended.

    Attributes:
      games, wins: how many.
      draws: that the player lived to see.
      steps: of all games.
      moves: of the player.
      cpu_seconds: of everything.
    """

    games: int
    wins: int
    draws: int
    steps: int
    moves: int
    cpu_seconds: float


def whole(found: Mapping[Cell, dict]) -> dict[Cell, Played]:
    """Adds up the pieces of each cell, in the order of their first pieces."""
    totals: dict[Cell, Played] = {}
    for piece, result in found.items():
        count, strict = result["released"], result["strict"]
        amounts = (sum(result["lengths"]), result["moves"][0], result["cpu_seconds"])
        played = Played(count["games"], count["wins"], strict["draws"], *amounts)
        cell = replace(piece, games=PIECE, first=0)
        totals[cell] = totals[cell] + played if cell in totals else played
    return totals


def _learning_table(runs: Mapping[Runs, dict]) -> str:
    rows = []
    for run, result in runs.items():
        last = result["rounds"][-1]
        found = (f"{100 * last['agreement']:.1f}", f"{last['value_error']:.3f}", f"{100 * last['wins_alone']:.1f}")
        samples, minutes = f"{result['samples']:,}".replace(",", " "), f"{result['seconds'] / 60:.0f}"
        rows.append([run.title, str(len(result["rounds"])), samples, *found, str(result["chosen"]), minutes])
    head = [
        "network",
        "rounds",
        "samples",
        "agreement, %",
        "value error",
        "wins of the network alone, %",
        "round taken",
        "minutes",
    ]
    return markdown(head, rows)


def _rounds_table(runs: Mapping[Runs, dict]) -> str:
    rows = []
    for run, result in runs.items():
        for number, one in enumerate(result["rounds"] if run != SL else []):
            share = (f"{100 * one[what] / max(one['games'], 1):.1f}" for what in ("wins", "draws"))
            moves = (f"{100 * one['action_shares'][place]:.0f}" for place in (0, 5))
            rows.append([run.title, str(number), str(one["games"]), *share, *moves, f"{100 * one['wins_alone']:.0f}"])
    head = ["run", "networks of round", "games", "wins, %", "draws, %", "stop, %", "bomb, %", "the next network alone, wins, %"]
    return markdown(head, rows)


def published(cell: Cell) -> str:
    """What the paper prints for a cell: wins and ties in per cent."""
    row = TABLE3.get((cell.search, cell.network)) if cell.opponent == SIMPLE else None
    if cell.opponent == UNBIASED:
        key = (cell.search, cell.simulations)
        row = DRAWN.get(key) if cell.network == WITHOUT else TABLE2.get((cell.search, cell.network, cell.simulations))
        if cell.network in REINFORCED and key == ("sp_mcts", 1000):
            return f"{REINFORCED[cell.network]:.1f} / {NONE}"
    return f"{row[0]:.1f} / {row[1]:.1f}" if row else NONE


def _table(results: Mapping[Cell, Played], opponent: str) -> str:
    rows = []
    for cell, played in results.items():
        if cell.opponent != opponent:
            continue
        rates = (interval(played.wins, played.games), interval(played.draws, played.games))
        search = SEARCHES[cell.search] if cell.simulations else "network alone"
        cost = (f"{played.steps / played.games:.0f}", f"{1e3 * played.cpu_seconds / max(played.moves, 1):.1f}")
        rows.append([TITLES[cell.network], search, str(cell.simulations), *rates, published(cell), str(played.games), *cost])
    head = ["network", "search", "simulations", "wins, %", "draws alive, %", "paper: wins / ties", "games", "steps"]
    return markdown([*head, "CPU ms per move, everything included"], rows)


PAGE = Page("pommerlearn", PommerlearnPlan, PARTS, ("jaxgames/pommerman", "search", "training"), texts, lambda plan: {})
