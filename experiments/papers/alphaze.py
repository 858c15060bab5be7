"""The results of AlphaZe** in DarkHex (Bluml et al., Table 6, Fig. 5 and 6): what is trained and measured for their page.

Runs live in a work folder and are resumed there.
"""

from __future__ import annotations

import dataclasses
import itertools
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import jax

import jaxgames
from experiments.papers.measured import Measurement, Plan, Runs, by_seed, trained
from jaxgames.agent import Agent
from jaxgames.hex.bots import random_agent
from search.planner import as_agent
from training.jobs import train_alphaze
from training.jobs.train_alphaze import TrainConfig
from training.learn.alphaze import AlphazeConfig, make_player
from training.models import policy_value
from training.models.policy_value import PolicyValueConfig
from training.play import agents, exploitability
from training.play.exploitability import ResponseConfig
from training.play.random_bound import best_against_random
from training.play.tournament import play_pair, round_robin
from training.storage.logs import median_of, read_log
from training.storage.weights import load_weights

SEED = 2023  # of all measurements
NUMBERS_OF_SAMPLES = (1, 3, 6, 12, 20)  # in Fig. 6A
TSL_EPOCHS = 5  # epochs with TrueSight, of 12


def _small(mode: str, **learn: Any) -> TrainConfig:
    """A run on a board of 2 x 2 or 3 x 3 cells."""
    config = AlphazeConfig(**{"num_worlds": 4, "num_simulations": 24, "epoch_samples": 8192, "epoch_updates": 128, **learn})
    return TrainConfig(who=PolicyValueConfig(mode=mode), learn=config, epochs=12, rate_games=200, final_games=0)


def medium(mode: str = "adh-5", epochs: int = 12, **learn: Any) -> TrainConfig:
    """A run with about 6 worlds x 32 nodes per move."""
    config = AlphazeConfig(**{"num_worlds": 6, "num_simulations": 32, "epoch_samples": 8192, **learn})
    who = PolicyValueConfig(mode=mode, network="tiny")
    return TrainConfig(who=who, learn=config, epochs=epochs, rate_games=200, final_games=0)


TINY = Runs("hex-2x2", "2 x 2", _small("adh-2", explore_moves=2))
SMALL = Runs("hex-3x3", "3 x 3", _small("adh-3", explore_moves=3))
VARIANTS = (
    Runs("hex-5x5-pc_pimc", "PC-PIMC", medium(), 3),
    Runs("hex-5x5-pimc", "PIMC", medium(method="pimc"), 3),
    Runs("hex-5x5-tsl_pc_pimc", "TSL + PC-PIMC", medium(true_sight_epochs=TSL_EPOCHS), 3),
    Runs("hex-5x5-tsl_pimc", "TSL + PIMC", medium(method="pimc", true_sight_epochs=TSL_EPOCHS), 3),
    Runs("hex-5x5-hex_pc_pimc", "Hex, then PC-PIMC", medium(pretrain_epochs=TSL_EPOCHS), 3),
)
LARGE = Runs("hex-8x8-tsl_pc_pimc", "8 x 8, TSL + PC-PIMC", medium("adh-8", 6, true_sight_epochs=4))
_HUGE = replace(medium("adh-11", 4, true_sight_epochs=3), gate_games=40, rate_games=40)
HUGE = Runs("hex-11x11-tsl_pc_pimc", "11 x 11, TSL + PC-PIMC", _HUGE)
DRAWN_WORLDS = ("determinized_fdts:num_simulations=200,horizon=25", "pc_pimc:num_simulations=200", "path", "random")
LADDER_GAMES = 20  # of each pair of its epochs


@dataclasses.dataclass(frozen=True)
class AlphazePlan(Plan):
    """What to train and play.

    Attributes:
      work: where runs are kept while they train.
      games: of each pair that is measured.
      samples: worlds per move in Table 6.
      nodes: per world in it.
      epochs: of the runs, for a quick look; 0: as many as they have.
    """

    work: Path = Path("output/results/alphaze")
    games: int = 200
    samples: tuple[int, ...] = (6, 12, 20)
    nodes: int = 100
    epochs: int = 0


def _run(plan: AlphazePlan, run: Runs) -> Measurement:
    """A run of one seed, and with it the file that has its name alone."""
    return Measurement(run.name, partial(train, plan, run, 0), "run")


def two(plan: AlphazePlan) -> list[Measurement]:
    """2 x 2 cells: a run, and what a best reply makes against it."""
    return [_run(plan, TINY), Measurement(f"{TINY.name}-exact", partial(_exact, plan), "exact")]


def three(plan: AlphazePlan) -> list[Measurement]:
    """3 x 3 cells: a run, trained responses to it, and the most that anyone can make against a random player."""
    return [
        _run(plan, SMALL),
        Measurement(f"{SMALL.name}-response", partial(_responses, plan), "response"),
        Measurement(f"{SMALL.name}-bound", lambda: dict(zip(("first", "second"), best_against_random(3), strict=True)), "bound"),
    ]


def variants(plan: AlphazePlan) -> list[Measurement]:
    """Curves of all variants by variant and seed, the first seed of each before the second of any."""
    return by_seed(VARIANTS, "{name}-seed{seed}", partial(train, plan))


def rivals(plan: AlphazePlan) -> list[Measurement]:
    """Table 6."""

    def cell(samples: int, run: Runs) -> Measurement:
        name = f"hex-table6-{run.name.removeprefix('hex-5x5-')}-{samples}"
        return Measurement(name, partial(_rival, plan, run, samples), (samples, run))

    return [cell(samples, run) for samples in plan.samples for run in VARIANTS]


def epochs(plan: AlphazePlan) -> list[Measurement]:
    """Strength over epochs (Fig. 5A)."""
    return [Measurement(f"{run.name}-epochs", partial(_over_epochs, plan, run), run) for run in VARIANTS]


def five(plan: AlphazePlan) -> list[Measurement]:
    """5 x 5 cells: what needs the first seeds before the others."""
    runs = variants(plan)
    return [*runs[: len(VARIANTS)], *rivals(plan), *epochs(plan), *runs[len(VARIANTS) :]]


def eight(plan: AlphazePlan) -> list[Measurement]:
    """8 x 8 cells: a run, and PC-PIMC against PIMC with its network."""
    numbers = [Measurement(f"hex-8x8-by-samples-{n}", partial(_by_samples, plan, n), n) for n in NUMBERS_OF_SAMPLES]
    return [_run(plan, LARGE), *numbers]


def speeds(plan: AlphazePlan) -> list[Measurement]:
    """Time per game."""
    del plan
    sizes = [("adh-5", 12), ("adh-8", 3), ("adh-8", 6), ("adh-8", 12), ("adh-8", 20), ("adh-11", 12)]
    return [Measurement(f"hex-time-{mode}-{samples}", partial(_time, mode, samples), (mode, samples)) for mode, samples in sizes]


def eleven(plan: AlphazePlan) -> list[Measurement]:
    """11 x 11 cells: a run, and a ladder of its epochs."""
    return [_run(plan, HUGE), Measurement(f"{HUGE.name}-elo", partial(_ladder, plan), "elo")]


def drawn_worlds(plan: AlphazePlan) -> list[Measurement]:
    """Planners of the open game in drawn worlds, without networks, on 5 x 5 cells; by both players."""

    def one(first: str, second: str) -> Measurement:
        name = f"hex-5x5-drawn-{first.partition(':')[0]}-{second.partition(':')[0]}"
        return Measurement(name, partial(_by_name, plan, first, second), (first, second))

    return [one(*pair) for pair in itertools.combinations(DRAWN_WORLDS, 2)]


PARTS = {"2x2": two, "3x3": three, "5x5": five, "8x8": eight, "time": speeds, "11x11": eleven, "drawn": drawn_worlds}


def _config(plan: AlphazePlan, run: Runs, seed: int) -> TrainConfig:
    config = replace(run.config, seed=seed, output=str(plan.work / f"{run.name}-{seed}"), resume=True)
    return replace(config, epochs=plan.epochs) if plan.epochs else config


def train(plan: AlphazePlan, run: Runs, seed: int) -> dict | None:
    """Trains, or goes on with, a run. Returns its curve and numbers; None if asked to stop."""
    config = _config(plan, run, seed)
    folder = Path(config.output)
    result = trained(train_alphaze.run, config)
    if result is None:
        return None
    log = read_log(folder / "log.jsonl")
    fields = ("samples", "epoch", "cross_entropy", "value_error", "agreement", "score_against_random", "gate_score", "rating")
    curve = [{name: record[name] for name in fields if name in record} for record in log]
    return result | {"curve": curve, "searches_per_second": median_of(log, "searches_per_second")}


def epoch_file(plan: AlphazePlan, run: Runs, seed: int, epoch: int) -> Path:
    """The network of an epoch of a run on this machine."""
    return Path(_config(plan, run, seed).output) / f"epoch-{epoch:03d}.npz"


def _network(run: Runs, file: Path) -> tuple[policy_value.PolicyValue, Any]:
    who = policy_value.make(run.config.who)
    params, _ = load_weights(file, jax.eval_shape(who.init, jax.random.key(0)), who.meta)
    return who, params


def player(plan: AlphazePlan, run: Runs, seed: int, epoch: int, *, temperature: float = 0.0, **learn: Any) -> Agent:
    """A player with the network of an epoch, and other settings of its search."""
    return player_with(run, epoch_file(plan, run, seed, epoch), temperature=temperature, **learn)


def player_with(run: Runs, file: Path, *, temperature: float = 0.0, **learn: Any) -> Agent:
    """A player with the network in a file, and other settings of the search than those of a run."""
    who, params = _network(run, file)
    return as_agent(make_player(replace(run.config.learn, **learn), who, temperature=temperature))._replace(params=params)


def _epochs(plan: AlphazePlan, run: Runs) -> int:
    return plan.epochs or run.config.epochs


def _chosen_epochs(plan: AlphazePlan, run: Runs) -> list[int]:
    """0, 1, 2, 4, 8, ... and the last."""
    last = _epochs(plan, run)
    doubling = itertools.takewhile(lambda epoch: epoch < last, (2**power for power in itertools.count()))
    return [0, *doubling, last]


def _exact(plan: AlphazePlan) -> dict:
    game: Any = jaxgames.make("hex", "adh-2")
    rows = []
    for epoch in _chosen_epochs(plan, TINY):
        who, params = _network(TINY, epoch_file(plan, TINY, 0, epoch))
        planner = make_player(TINY.config.learn, who)
        key = jax.random.key(SEED)
        drawn, greedy = (exploitability.exact(game, planner, params, key, greedy=greedy) for greedy in (False, True))
        rows.append({"epoch": epoch, "drawn": drawn, "greedy": greedy})
    return {"rows": rows}


def _responses(plan: AlphazePlan) -> dict:
    game: Any = jaxgames.make("hex", "adh-3")
    key = jax.random.key(SEED)
    rows = []
    for epoch in _chosen_epochs(plan, SMALL):
        points = play_pair(game, (player(plan, SMALL, 0, epoch), random_agent(game)), key, 1000)
        half = len(points) // 2
        found = {"epoch": epoch, "first": float(points[:half].mean()), "second": float(points[half:].mean())}
        for name, temperature in (("response", 0.0), ("response_to_drawn", 1.0)):
            frozen = player(plan, SMALL, 0, epoch, temperature=temperature)
            found[name] = exploitability.best_response(game, frozen, key, ResponseConfig())
        rows.append(found)
    return {"rows": rows, "games": 1000}


def _rival(plan: AlphazePlan, run: Runs, samples: int) -> dict:
    """One cell of Table 6: against TSL + PC-PIMC with 12 samples."""
    reference = VARIANTS[2]
    game: Any = jaxgames.make("hex", reference.config.who.mode)
    epochs = _epochs(plan, run)
    mine = player(plan, run, 0, epochs, num_worlds=samples, num_simulations=plan.nodes)
    theirs = player(plan, reference, 0, epochs, num_worlds=12, num_simulations=plan.nodes)
    points = play_pair(game, (mine, theirs), jax.random.key(SEED), plan.games)
    return {"title": run.title, "samples": samples, "nodes": plan.nodes, "wins": int(points.sum()), "games": len(points)}


def _over_epochs(plan: AlphazePlan, run: Runs) -> dict:
    """Fig. 5A: the networks of some epochs against the last one of TSL + PC-PIMC, with the search of training."""
    reference = VARIANTS[2]
    game: Any = jaxgames.make("hex", reference.config.who.mode)
    theirs = player(plan, reference, 0, _epochs(plan, reference))
    rows = []
    for epoch in _chosen_epochs(plan, run):
        points = play_pair(game, (player(plan, run, 0, epoch), theirs), jax.random.key(SEED), plan.games)
        rows.append({"epoch": epoch, "wins": int(points.sum()), "games": len(points)})
    return {"title": run.title, "rows": rows}


def _by_samples(plan: AlphazePlan, samples: int) -> dict:
    """PC-PIMC against PIMC with the same network and number of worlds."""
    game: Any = jaxgames.make("hex", LARGE.config.who.mode)
    epochs = _epochs(plan, LARGE)
    players = [player(plan, LARGE, 0, epochs, method=method, num_worlds=samples) for method in ("pc_pimc", "pimc")]
    points = play_pair(game, players, jax.random.key(SEED), plan.games)
    return {"samples": samples, "wins": int(points.sum()), "games": len(points)}


def _by_name(plan: AlphazePlan, first: str, second: str) -> dict:
    """A pair of players by their names, colours swapped half-way."""
    game: Any = jaxgames.make("hex", "adh-5")
    points = play_pair(game, [agents.make(spec, game) for spec in (first, second)], jax.random.key(SEED), plan.games)
    return {"players": [first, second], "wins": int(points.sum()), "games": len(points)}


def _time(mode: str, samples: int) -> dict:
    """CPU seconds per game of PC-PIMC against itself, with a network that knows nothing: its size is what counts."""
    game: Any = jaxgames.make("hex", mode)
    who = policy_value.make(PolicyValueConfig(mode=mode))
    config = AlphazeConfig(num_worlds=samples, num_simulations=32)
    player = as_agent(make_player(config, who))._replace(params=who.init(jax.random.key(SEED)))
    games = 16
    play_pair(game, (player, player), jax.random.key(SEED), games, batch_size=games)  # compiles
    started, cpu = time.perf_counter(), time.process_time()
    play_pair(game, (player, player), jax.random.key(SEED + 1), games, batch_size=games)
    return {
        "mode": mode,
        "samples": samples,
        "cpu_seconds_per_game": (time.process_time() - cpu) / games,
        "seconds_per_game": (time.perf_counter() - started) / games,
    }


def _ladder(plan: AlphazePlan) -> dict:
    """A round robin of the epochs on 11 x 11 and a random player, whose Elo is 0."""
    game: Any = jaxgames.make("hex", HUGE.config.who.mode)
    entries = {"random": random_agent(game)}
    for epoch in range(_epochs(plan, HUGE) + 1):
        entries[f"epoch {epoch}"] = player(plan, HUGE, 0, epoch)
    return round_robin(game, entries, jax.random.key(SEED), LADDER_GAMES).as_dict()
