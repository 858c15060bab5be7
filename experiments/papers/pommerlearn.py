"""The results of PommerLearn (Weil et al., Tables 2 and 3): networks for searches against modelled opponents, and their play."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import jax
import numpy as np

from experiments.pages import NONE, markdown
from experiments.papers.figures import over_rounds_figure, wins_figure
from experiments.papers.measured import Measurement, Page, Plan, Runs, trained, weights_of_finished
from experiments.papers.pommerlearn_cells import (
    AS_GIVEN,
    DRAWN,
    FLATTENED,
    NOISE,
    PUBLISHED,
    SEARCHES,
    SIMPLE,
    SIMULATIONS,
    STARTS,
    TITLES,
    UNBIASED,
    WITHOUT,
    Cell,
    Played,
    play,
    priors_table,
    table,
    whole,
    win_lines,
)
from search.modelled import POMMERLEARN, Models
from training.jobs import train_expert
from training.jobs.train_expert import TrainConfig
from training.learn.expert_iteration import ExpertConfig
from training.models import policy_value
from training.models.policy_value import PolicyValueConfig
from training.storage.files import write_atomically
from training.storage.logs import read_log
from training.storage.weights import save_weights

WHO = PolicyValueConfig("pommerman", "ffa", "pommerlearn_centred", "pyramid")
_SOME = (50, 250)  # simulations of what is not played with all numbers of them
_SHOWN = ExpertConfig(
    source="demonstrations", player=UNBIASED, samples=1_000_000, kept=1, epochs=5, batch_size=128, lanes=256, steps=16
)
_SEARCHED = ExpertConfig(
    player=UNBIASED,
    search=replace(POMMERLEARN, num_simulations=50, microbatch_size=None),
    models=Models(model=UNBIASED, root="visible"),
    samples=10_000,
    batch_size=128,
    learning_rate=3e-4,
    lanes=128,
    steps=4,
    updates=20,
)
SL = Runs("pommerlearn-sl", TITLES["sl"], TrainConfig(who=WHO, learn=_SHOWN, rounds=1, rate_games=400))
_SEARCHED_LONGER = replace(_SEARCHED, search=replace(_SEARCHED.search, num_simulations=100), samples=40_000, steps=8, updates=100)
SRL = Runs("pommerlearn-srl", TITLES["srl"], TrainConfig(who=WHO, learn=_SEARCHED_LONGER, rounds=24, rate_games=128))
RL = Runs("pommerlearn-rl", TITLES["rl"], TrainConfig(who=WHO, learn=_SEARCHED, rounds=15, rate_games=64))
SL_AGAIN = replace(SL, name="pommerlearn-sl-again", title=TITLES["sl_again"])
SRL_AGAIN = replace(SRL, name="pommerlearn-srl-again", title=TITLES["srl_again"], config=replace(SRL.config, rounds=12))
RL_AGAIN = Runs("pommerlearn-rl-again", TITLES["rl_again"], replace(RL.config, learn=_SEARCHED_LONGER, rounds=24))
RUNS = {"sl": SL, "srl": SRL, "rl": RL, "sl_again": SL_AGAIN, "srl_again": SRL_AGAIN, "rl_again": RL_AGAIN}
_SHOWN_RUNS = (SL, SL_AGAIN)  # of one round, whose network is taken
_BEST = tuple(  # of 1000 games: the best four before cells with 1000 simulations had 400 games, and the best four since
    Cell(search, network, simulations, priors=NOISE)
    for search, network, simulations in (
        ("tp_mcts", "srl_again", 500),
        ("sp_mcts", "srl_again", 250),
        ("sp_mcts", "srl_again", 500),
        ("tp_mcts", "sl_again", 250),
        ("tp_mcts", "sl_again", 500),
        ("tp_mcts", "sl_again", 1000),
        ("tp_mcts", "srl_again", 1000),
    )
)
_BEGINS_WITH = {SRL: SL, SRL_AGAIN: SL_AGAIN}


@dataclasses.dataclass(frozen=True)
class PommerlearnPlan(Plan):
    """What to train and play.

    Attributes:
      work: where runs are kept while they train.
      games: of each cell.
      best_games: of those that win most, of networks that are kept.
      compared_games: of each cell that is there to be compared with one of these, or with the paper, which plays as many.
      batch: games at a time.
    """

    work: Path = Path("output/results/pommerlearn")
    games: int = 400
    best_games: int = 1000
    compared_games: int = 100
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
    return _cells(plan, [Cell("sp_mcts", "sl", 0), *_searched("sl", NOISE), *_searched(WITHOUT, AS_GIVEN)])


def drawn(plan: PommerlearnPlan) -> list[Measurement]:
    """The same of a network that has learnt nothing."""
    return _cells(plan, [Cell("sp_mcts", DRAWN, 0), *_searched(DRAWN, NOISE)])


def reinforced(plan: PommerlearnPlan) -> list[Measurement]:
    """The same of the network that has learnt from searches after demonstrations."""
    return _cells(plan, [Cell("sp_mcts", "srl", 0), *_searched("srl", NOISE, searches=("sp_mcts",))])


def from_zero(plan: PommerlearnPlan) -> list[Measurement]:
    """The same of the network that began with nothing."""
    return _cells(plan, [Cell("sp_mcts", "rl", 0), *_searched("rl", NOISE, searches=("sp_mcts",))])


def table3(plan: PommerlearnPlan) -> list[Measurement]:
    """Against three SimpleAgents."""
    players = (("sp_mcts", "sl"), ("sp_mcts", "srl"), ("tp_mcts", "sl"))
    return _cells(plan, [Cell(*player, simulations, SIMPLE, priors=NOISE) for simulations in _SOME for player in players])


def table3_published(plan: PommerlearnPlan) -> list[Measurement]:
    """Against three SimpleAgents with the paper's numbers of simulations and games."""
    players = (("sp_mcts", "sl_again"), ("tp_mcts", "sl_again"), ("sp_mcts", "srl_again"), ("sp_mcts", "rl_again"))
    cells = [Cell(*player, PUBLISHED, SIMPLE, priors=NOISE) for player in players]
    return _cells(replace(plan, games=plan.compared_games), cells)


def again(plan: PommerlearnPlan) -> list[Measurement]:
    """Demonstrations, and searches after them, once more, with all numbers of simulations."""
    shown = [Cell("sp_mcts", "sl_again", 0), *_searched("sl_again", NOISE)]
    searched = [Cell("sp_mcts", "srl_again", 0), *_searched("srl_again", NOISE)]
    simple = [Cell("sp_mcts", "srl_again", simulations, SIMPLE, priors=NOISE) for simulations in _SOME]
    return [_run(plan, SL_AGAIN), _run(plan, SRL_AGAIN), *_cells(plan, [*shown, *searched, *simple])]


def from_zero_again(plan: PommerlearnPlan) -> list[Measurement]:
    """Learning with a drawn network to begin with once more, from four times as many samples of longer searches, and its play."""
    unbiased = [Cell("sp_mcts", "rl_again", 0), *_searched("rl_again", NOISE)]
    simple = [Cell("sp_mcts", "rl_again", simulations, SIMPLE, priors=NOISE) for simulations in _SOME]
    return [_run(plan, RL_AGAIN), *_cells(plan, [*unbiased, *simple])]


def priors(plan: PommerlearnPlan) -> list[Measurement]:
    """Some of all these with priors as the network gives them, or flattened."""
    given = [*_searched("sl", AS_GIVEN), *_searched(DRAWN, AS_GIVEN, _SOME), *_searched("rl", AS_GIVEN, searches=("sp_mcts",))]
    simple = [Cell(search, "sl", simulations, SIMPLE) for simulations in _SOME for search in SEARCHES]
    others = [cell for way in (FLATTENED, STARTS) for cell in _searched("sl", way, _SOME)]
    return _cells(replace(plan, games=plan.compared_games), [*given, *simple, *others])


PARTS = {
    "sl": train_shown,
    "srl": train_searched,
    "table2": table2,
    "drawn": drawn,
    "reinforced": reinforced,
    "table3": table3,
    "rl": train_from_zero,
    "from_zero": from_zero,
    "priors": priors,
    "again": again,
    "from_zero_again": from_zero_again,
    "table3_published": table3_published,
}


def _searched(
    network: str, kind: str, counts: Sequence[int] = SIMULATIONS[1:], searches: Iterable[str] = tuple(SEARCHES)
) -> list[Cell]:
    return [Cell(search, network, simulations, priors=kind) for simulations in counts for search in searches]


def _cells(plan: PommerlearnPlan, cells: list[Cell]) -> list[Measurement]:
    games = {cell: plan.best_games if cell in _BEST else plan.games for cell in cells}
    pieces = sorted((piece for cell in cells for piece in cell.pieces(games[cell])), key=lambda piece: piece.first)
    return [Measurement(piece.name, partial(play_cell, plan, piece), piece) for piece in pieces]


def play_cell(plan: PommerlearnPlan, cell: Cell) -> dict:
    """Plays the games of a cell with its network."""
    if cell.network == WITHOUT:
        weights = WITHOUT
    elif cell.network == DRAWN:
        weights = str(drawn_weights(plan))
    else:
        weights = str(weights_of(plan, RUNS[cell.network]))
    return play(cell, weights, plan.batch)


def drawn_weights(plan: PommerlearnPlan) -> Path:
    """Writes the network that has learnt nothing, where it is not yet. Returns its file."""
    path, who = plan.work / "drawn.npz", policy_value.make(WHO)
    if not path.exists():
        save_weights(path, jax.device_get(who.init(jax.random.key(0))), who.meta)
    return path


def _run(plan: PommerlearnPlan, run: Runs) -> Measurement:
    return Measurement(run.name, partial(_train, plan, run), run)


def config_of(plan: PommerlearnPlan, run: Runs) -> TrainConfig:
    """The settings of a run; those from SL begin with its weights."""
    start = str(weights_of(plan, _BEGINS_WITH[run])) if run in _BEGINS_WITH else ""
    config: TrainConfig = replace(run.config, start=start, output=str(plan.output(run)), resume=True)
    return config


def weights_of(plan: PommerlearnPlan, run: Runs) -> Path:
    """The network of a run by which it is judged: the one kept beside the results, or else that of the run on this machine.

    Raises:
      ValueError: none is kept, and the run is not over.
    """
    kept = plan.kept_network(run.name)
    return kept if kept.exists() else _judged(plan, run)


def _judged(plan: PommerlearnPlan, run: Runs) -> Path:
    """The network of the last round, or of reinforcement, the one chosen.

    Raises:
      ValueError: the run is not over.
    """
    folder = plan.output(run)
    best = weights_of_finished(folder)
    if run in _SHOWN_RUNS:
        return best
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
            for name in ("wins", "draws"):  # null where no game has ended
                one[name] += round((record[name] or 0) * record["games"])
            one["games"] += record["games"]
        if record.get("action_shares") is not None:
            shares = np.array(record["action_shares"])
            one["shares"] = (one["shares"] + shares) if "shares" in one else shares
            one["calls"] = one.get("calls", 0) + 1
        one |= {
            name: record[name]
            for name in ("agreement", "value_error", "cross_entropy", "wins_alone")
            if record.get(name) is not None
        }
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
    """Trains, or goes on with, a run, and keeps its network. Returns its rounds; None if asked to stop."""
    result = trained(train_expert.run, config_of(plan, run))
    if result is None:
        return None
    rounds = rounds_of(read_log(plan.output(run) / "log.jsonl"))
    write_atomically(plan.kept_network(run.name), _judged(plan, run).read_bytes())
    return result | {"rounds": rounds, "chosen": 1 if run in _SHOWN_RUNS else chosen_round(rounds)}


def _there(plan: PommerlearnPlan) -> tuple[dict[Runs, dict], dict[Cell, Played]]:
    """Gives what has been trained, and how the games of each cell ended, as far as they have been played."""
    measured = [one for part in PARTS.values() for one in part(plan)]
    runs = plan.found(one for one in measured if isinstance(one.label, Runs))
    played = whole(plan.found(one for one in measured if isinstance(one.label, Cell)))
    return runs, played


def texts(plan: PommerlearnPlan) -> dict[str, str]:
    """Makes the tables and numbers of the page."""
    runs, played = _there(plan)
    return {
        "learning": _learning_table(runs),
        "rounds": _rounds_table(runs),
        "table2": table(played, UNBIASED),
        "table3": table(played, SIMPLE),
        "priors": priors_table(played),
    }


def _learning_table(runs: Mapping[Runs, dict]) -> str:
    rows = []
    for run, result in runs.items():
        found = [NONE] * 3
        if result["chosen"]:  # what the round found that made the network; that of the start was made by none
            taken = result["rounds"][result["chosen"] - 1]
            found = [f"{100 * taken['agreement']:.1f}", f"{taken['value_error']:.3f}", f"{100 * taken['wins_alone']:.1f}"]
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
        for number, one in enumerate(result["rounds"] if run not in _SHOWN_RUNS else []):
            share = (f"{100 * one[what] / max(one['games'], 1):.1f}" for what in ("wins", "draws"))
            moves = (f"{100 * one['action_shares'][place]:.0f}" for place in (0, 5))
            rows.append([run.title, str(number), str(one["games"]), *share, *moves, f"{100 * one['wins_alone']:.0f}"])
    head = ["run", "networks of round", "games", "wins, %", "draws, %", "stop, %", "bomb, %", "the next network alone, wins, %"]
    return markdown(head, rows)


def figures(plan: PommerlearnPlan) -> dict[str, str]:
    """Draws wins over simulations, and how reinforcement went."""
    runs, played = _there(plan)
    drawn = {}
    if played:
        panels = {f"{title}-MCTS": win_lines(played, search) for search, title in SEARCHES.items()}
        drawn["pommerlearn_simulations"] = wins_figure("simulations per move", panels)
    searched = {run.title: result["rounds"] for run, result in runs.items() if run not in _SHOWN_RUNS}
    if searched:
        drawn["pommerlearn_rounds"] = over_rounds_figure(_panels(searched))
    return drawn


def _panels(runs: Mapping[str, list[dict]]) -> dict[str, dict[str, list[tuple[int, float]]]]:
    """Shares in per cent over the rounds of each run, by what is shown and run."""

    def lines(share: Callable[[dict], float], first: int = 0) -> dict[str, list[tuple[int, float]]]:
        return {title: [(number, 100 * share(one)) for number, one in enumerate(rounds, first)] for title, rounds in runs.items()}

    return {
        "games won by the search, %": lines(lambda one: one["wins"] / max(one["games"], 1)),
        "games won by the network alone, %": lines(lambda one: one["wins_alone"], first=1),  # the one that comes out of the round
        "stop, % of moves": lines(lambda one: one["action_shares"][0]),
    }


PAGE = Page("pommerlearn", PommerlearnPlan, PARTS, ("jaxgames/pommerman", "search", "training"), texts, figures)
