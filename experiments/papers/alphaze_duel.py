"""PC-PIMC against PIMC in DarkHex 5 x 5, decided: long runs of several seeds, and matches that tell networks from searches."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax

import jaxgames
from experiments.papers.alphaze import SEED, AlphazePlan, medium, player, train
from experiments.papers.measured import Measurement, Runs, by_seed
from training.play.tournament import play_pair

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


def _duel(plan: AlphazePlan, title: str, epoch: int, seed: int) -> dict[str, Any]:
    game: Any = jaxgames.make("hex", LONG["pimc"].config.who.mode)
    sides = [player(plan, LONG[side.network], seed, epoch, method=side.search) for side in MATCHES[title]]
    points = play_pair(game, sides, jax.random.key(SEED), 2 * plan.games)
    return {"wins": int(points.sum()), "games": len(points)}
