"""PC-PIMC against PIMC in DarkHex 5 x 5, decided: long runs of several seeds, and matches that tell networks from searches."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax

import jaxgames
from experiments.papers.alphaze import SEED, AlphazePlan, epoch_file, medium, player, player_with, train
from experiments.papers.measured import Measurement, Runs, by_seed
from training.play.tournament import play_pair
from training.storage.files import write_atomically

SEEDS = 3
EPOCHS = 32
LONG = {
    "pc_pimc": Runs("hex-5x5-long-pc_pimc", "PC-PIMC", medium(epochs=EPOCHS), SEEDS),
    "pimc": Runs("hex-5x5-long-pimc", "PIMC", medium(epochs=EPOCHS, method="pimc"), SEEDS),
}


class Side(NamedTuple):
    """A player.

    Attributes:
      network: how it was trained, a key of `LONG`.
      search: how it plays, another such key.
    """

    network: str
    search: str


MATCHES = {
    "each with its own network": (Side("pc_pimc", "pc_pimc"), Side("pimc", "pimc")),
    "the searches, network of PC-PIMC": (Side("pc_pimc", "pc_pimc"), Side("pc_pimc", "pimc")),
    "the searches, network of PIMC": (Side("pimc", "pc_pimc"), Side("pimc", "pimc")),
    "the networks, search PC-PIMC": (Side("pc_pimc", "pc_pimc"), Side("pimc", "pc_pimc")),
    "the networks, search PIMC": (Side("pc_pimc", "pimc"), Side("pimc", "pimc")),
}
"""What is compared: the first of two is what PC-PIMC stands for."""
_CHECKED = (8, 16, EPOCHS)  # epochs after which they meet
NODES = (32, 100, 200, 400, 800)  # per world, of both searches


def long_runs(plan: AlphazePlan) -> list[Measurement]:
    """Runs by method and seed."""
    return by_seed(tuple(LONG.values()), "{name}-seed{seed}", partial(train, plan))


def duels(plan: AlphazePlan) -> list[Measurement]:
    """Matches of the same seed: all of them at the end, each with its own network before."""
    epochs = sorted({min(epoch, plan.epochs or EPOCHS) for epoch in _CHECKED})
    wanted = [(title, epoch) for epoch in epochs for title in (MATCHES if epoch == epochs[-1] else list(MATCHES)[:1])]

    def one(title: str, epoch: int, seed: int) -> Measurement:
        name = f"hex-5x5-duel-{list(MATCHES).index(title)}-epoch{epoch}-seed{seed}"
        return Measurement(name, partial(_duel, plan, title, epoch, seed), (title, epoch, seed))

    return [one(title, epoch, seed) for title, epoch in wanted for seed in range(SEEDS)]


def duel(plan: AlphazePlan) -> list[Measurement]:
    """5 x 5 cells: long runs, and their matches."""
    return [*long_runs(plan), *duels(plan)]


def nodes(plan: AlphazePlan) -> list[Measurement]:
    """The searches against each other with one network, by its method of training and the nodes of both."""

    def one(network: str, count: int) -> Measurement:
        return Measurement(f"hex-5x5-nodes-{network}-{count}", partial(_with_nodes, plan, network, count), (network, count))

    return [one(network, count) for count in NODES for network in LONG]


def kept_network(plan: AlphazePlan, network: str) -> Path:
    """The last network of the first seed of a long run: the one that is kept, or else that of the run on this machine.

    Raises:
      OSError: there is neither.
    """
    run = LONG[network]
    kept = plan.kept(f"{run.name}-seed0")
    if not kept.exists():
        write_atomically(kept, epoch_file(plan, run, 0, plan.epochs or EPOCHS).read_bytes())
    return kept


def _with_nodes(plan: AlphazePlan, network: str, count: int) -> dict[str, Any]:
    run = LONG[network]
    game: Any = jaxgames.make("hex", run.config.who.mode)
    file = kept_network(plan, network)
    sides = [player_with(run, file, method=method, num_simulations=count) for method in LONG]
    points = play_pair(game, sides, jax.random.key(SEED), 2 * plan.games)
    return {"network": network, "nodes": count, "wins": int(points.sum()), "games": len(points)}


def _duel(plan: AlphazePlan, title: str, epoch: int, seed: int) -> dict[str, Any]:
    game: Any = jaxgames.make("hex", LONG["pimc"].config.who.mode)
    sides = [player(plan, LONG[side.network], seed, epoch, method=side.search) for side in MATCHES[title]]
    points = play_pair(game, sides, jax.random.key(SEED), 2 * plan.games)
    return {"wins": int(points.sum()), "games": len(points)}
