"""How AlphaZe** learns Barrage from its own games (Bluml et al., Figure 4A), with and without TSL, from what `hunt` taught it."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax

import jaxgames
from experiments.benchmark.table import short
from experiments.pages import markdown
from experiments.papers.figures import points_figure
from experiments.papers.measured import Measurement, Runs, trained
from experiments.papers.tables import points, with_interval
from training.jobs import train_alphaze
from training.jobs.train_alphaze import TrainConfig
from training.learn.alphaze import AlphazeConfig
from training.models.policy_value import PolicyValueConfig
from training.play import agents, counting, evaluate
from training.storage.files import write_atomically
from training.storage.logs import median_of, read_log
from training.storage.provenance import CHECKOUT

if TYPE_CHECKING:
    from experiments.papers.stratego import StrategoPlan

SEED = 2024
GAMES = 512  # of a network alone, which plays fast
BARRAGE = "barrage:max_plies=400"
TAUGHT = CHECKOUT / "docs/results/weights/stratego-taught.npz"  # what `hunt` taught, with which runs begin but for the last
LAST_OF_LONG = CHECKOUT / "docs/results/weights/stratego-learning-long.npz"  # with which the last begins
OPPONENTS = ("hunt", "random", "network")  # the last is the network that the run began with


_SHORT: dict[str, Any] = {"epoch_samples": 16_384, "num_simulations": 50, "lanes": 64, "learning_rate": 5e-4}
_LONG: dict[str, Any] = {  # sizes for a large GPU
    "epoch_samples": 131_072,
    "num_simulations": 100,
    "lanes": 4096,
    "microbatch_size": 4096,
    "steps": 8,
    "buffer_size": 262_144,
    "epoch_updates": 512,
    "batch_size": 1024,
    "learning_rate": 1e-3,
}


_MORE: dict[str, Any] = {  # sizes for two cores; a rate that does not shake what has been learnt
    "epoch_samples": 65_536,
    "num_simulations": 50,
    "lanes": 256,
    "steps": 8,
    "buffer_size": 262_144,
    "batch_size": 512,
    "learning_rate": 5e-4,
}


def _run(name: str, title: str, epochs: int = 10, start: str = str(TAUGHT), **learn: Any) -> Runs:
    config = AlphazeConfig(num_worlds=3, first_play_urgency=None, prospects=0.5, **learn)
    who = PolicyValueConfig(game="stratego", mode=BARRAGE, network="light")
    whole = TrainConfig(
        who=who, learn=config, start=start, epochs=epochs, gate_games=0, rate_games=0, final_games=0, checkpoint_every=1000
    )
    return Runs(f"stratego-learning-{name}", title, whole)


RUNS = (_run("plain", "PC-PIMC", **_SHORT), _run("tsl", "TSL + PC-PIMC", true_sight_epochs=5, **_SHORT))
LONG = _run("long", "TSL + PC-PIMC, 20 times as long", epochs=25, true_sight_epochs=20, **_LONG)
MORE = _run("more", "from there, PC-PIMC alone", epochs=20, start=str(LAST_OF_LONG), **_MORE)

# The last networks, by what matches call them.
KEPT = {"plain": RUNS[0].name, "tsl": RUNS[1].name, "long": LONG.name, "more": MORE.name}


def learning(plan: StrategoPlan) -> list[Measurement]:
    """Both short runs, and what the network plays like after some epochs."""
    return [Measurement(run.name, partial(learn_and_keep, plan, run), run) for run in RUNS]


def long_run(plan: StrategoPlan) -> Measurement:
    """The long run: minutes on a large GPU, half a day on a core."""
    return Measurement(LONG.name, partial(learn_and_keep, plan, LONG), LONG)


def longer_run(plan: StrategoPlan) -> Measurement:
    """What follows the long run, in games that hide what they hide: hours on two cores."""
    return Measurement(MORE.name, partial(learn_and_keep, plan, MORE), MORE)


def learn_and_keep(plan: StrategoPlan, run: Runs) -> dict | None:
    """Does what `learn` does, and keeps the last network."""
    result = learn(plan, run)
    if result is not None:
        config = config_of(plan, run)
        write_atomically(plan.kept_network(run.name), _network(Path(config.output), config.epochs).read_bytes())
    return result


def config_of(plan: StrategoPlan, run: Runs) -> TrainConfig:
    """The settings of a run, in the plan's work folder."""
    config: TrainConfig = replace(run.config, output=str(plan.work / run.name), resume=True)
    return replace(config, epochs=plan.epochs) if plan.epochs else config


def learn(plan: StrategoPlan, run: Runs) -> dict | None:
    """Trains, or goes on with, a run, and plays its networks. Returns points by epoch and opponent; None if asked to stop."""
    config = config_of(plan, run)
    folder = Path(config.output)
    result = trained(train_alphaze.run, config)
    if result is None:
        return None
    log = read_log(folder / "log.jsonl")
    return {
        "settings": result["settings"],
        "searches_per_second": median_of(log, "searches_per_second"),
        "epochs": {str(epoch): _ends(plan, config, epoch) for epoch in chosen_epochs(config.epochs)},
    }


def chosen_epochs(last: int) -> list[int]:
    """The network of the start, that of the end, and four between."""
    return sorted({round(last * share / 5) for share in range(6)})


def _network(folder: Path, epoch: int) -> Path:
    return folder / f"epoch-{epoch:03d}.npz"


def _ends(plan: StrategoPlan, config: TrainConfig, epoch: int) -> dict[str, dict[str, int]]:
    """How games of an epoch's network ended for it, by opponent."""
    game = jaxgames.make("stratego", BARRAGE)
    player = agents.make(f"network:weights={_network(Path(config.output), epoch)}", game)
    found = {}
    for name in OPPONENTS:
        opponent = f"network:weights={config.start}" if name == "network" else name
        players = [player, agents.make(opponent, game)]
        games = evaluate.play(game, players, jax.random.key(SEED), plan.network_games, batch_size=128, seating="rotated")
        found[name] = asdict(counting.count(games))
    return found


def learning_table(found: dict[Runs, dict]) -> str:
    """Makes the table of points by searches so far."""
    rows = []
    for run, result in found.items():
        for epoch, by_opponent in result["epochs"].items():
            searches = _searches(run, epoch)
            shown = (with_interval(*points(by_opponent[name])) for name in OPPONENTS)
            rows.append([run.title, short(searches) if searches else "0", *shown])
    return markdown(["run", "searches", *(f"against {who}" for who in ("`hunt`", "`random`", "the network of the start"))], rows)


def _searches(run: Runs, epoch: str) -> int:
    """How many a run has made when an epoch is over."""
    searches: int = int(epoch) * run.config.learn.epoch_samples
    return searches


def learning_figure(found: dict[Runs, dict]) -> str:
    """Draws points over thousands of searches; the network of the start, of none, is that of all runs and lies off the scale."""
    lines = [
        (
            f"{run.title}, against {name}",
            {round(_searches(run, epoch) / 1000): ends[name] for epoch, ends in result["epochs"].items() if int(epoch)},
        )
        for run, result in found.items()
        for name in ("hunt", "network")
    ]
    return points_figure("thousands of searches", lines, log=True)
