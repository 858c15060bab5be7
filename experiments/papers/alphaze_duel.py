"""PC-PIMC against PIMC in DarkHex 5 x 5, decided: long runs of several seeds, and matches that tell networks from searches."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax

import jaxgames
from experiments.papers.alphaze import NUMBERS_OF_SAMPLES, SEED, AlphazePlan, epoch_file, medium, player, player_with, train
from experiments.papers.measured import Measurement, Runs, by_seed, weights_of_finished
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
NUMBERS_OF_NODES = {"pimc": (32, 100, 200, 400, 800), "pimc_value": (32, 100, 200, 400)}
"""Per world, of PC-PIMC and of a rival that searches trees, too."""
RIVALS = {"pimc": "PIMC, trees of as many nodes", "pimc_value": "PIMC, the value after each action"}
"""Whom PC-PIMC meets: by methods of `AlphazeConfig`. The second is Eq. 3 of the paper to the letter."""


def long_runs(plan: AlphazePlan) -> list[Measurement]:
    """Runs by method and seed."""
    return by_seed(tuple(LONG.values()), "{name}-seed{seed}", partial(_train, plan))


def _train(plan: AlphazePlan, run: Runs, seed: int) -> dict | None:
    """Trains, or goes on with, a run, and keeps the last network of a whole one of the first seed."""
    result = train(plan, run, seed)
    if result is not None and seed == 0 and not plan.epochs:
        write_atomically(_kept(plan, run), epoch_file(plan, run, seed, EPOCHS).read_bytes())
    return result


def _kept(plan: AlphazePlan, run: Runs) -> Path:
    return plan.kept_network(f"{run.name}-seed0")


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


def by_nodes(plan: AlphazePlan) -> list[Measurement]:
    """PC-PIMC against its rivals with one network for both, by the rival, the nodes, and whose network it is."""

    def one(rival: str, count: int, network: str) -> Measurement:
        name = f"hex-5x5-nodes-{rival}-{count}-{network}"
        return Measurement(name, partial(_meeting, plan, rival, network, num_simulations=count), (rival, count, network))

    return [one(rival, count, network) for rival, counts in NUMBERS_OF_NODES.items() for count in counts for network in LONG]


def by_worlds(plan: AlphazePlan) -> list[Measurement]:
    """The same with the network of PC-PIMC, by the rival and the worlds of both."""

    def one(rival: str, count: int) -> Measurement:
        how = {"num_worlds": count, "num_simulations": plan.nodes}
        return Measurement(f"hex-5x5-worlds-{rival}-{count}", partial(_meeting, plan, rival, "pc_pimc", **how), (rival, count))

    return [one(rival, count) for rival in RIVALS for count in NUMBERS_OF_SAMPLES]


def meetings(plan: AlphazePlan) -> list[Measurement]:
    """5 x 5 cells: PC-PIMC against PIMC of both kinds."""
    return [*by_nodes(plan), *by_worlds(plan)]


def network_of(plan: AlphazePlan, run: Runs) -> Path:
    """The last network of the first seed: the one that is kept, or else that of the run on this machine.

    Raises:
      ValueError: none is kept, and the run is not over.
    """
    if (kept := _kept(plan, run)).exists():
        return kept
    last = epoch_file(plan, run, 0, plan.epochs or EPOCHS)
    return weights_of_finished(last.parent, last.name)


def _meeting(plan: AlphazePlan, rival: str, network: str, **sizes: int) -> dict[str, Any]:
    """PC-PIMC against a rival, both with one network and the same sizes."""
    run = LONG[network]
    game: Any = jaxgames.make("hex", run.config.who.mode)
    sides = [player_with(run, network_of(plan, run), method=method, **sizes) for method in ("pc_pimc", rival)]
    points = play_pair(game, sides, jax.random.key(SEED), 2 * plan.games)
    return {"rival": rival, "network": network, **sizes, "wins": int(points.sum()), "games": len(points)}


def _duel(plan: AlphazePlan, title: str, epoch: int, seed: int) -> dict[str, Any]:
    game: Any = jaxgames.make("hex", LONG["pimc"].config.who.mode)
    sides = [player(plan, LONG[side.network], seed, epoch, method=side.search) for side in MATCHES[title]]
    points = play_pair(game, sides, jax.random.key(SEED), 2 * plan.games)
    return {"wins": int(points.sum()), "games": len(points)}
