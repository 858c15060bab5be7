"""Random search over the numbers of Table IX: the depth and simulations of the oracle, the batch size and rate of learning."""

from __future__ import annotations

import dataclasses
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from jaxgames import checks, processes
from training.jobs import job, train_follower
from training.jobs.folder import check_settings
from training.jobs.train_follower import TrainConfig
from training.storage.files import output_folder, write_atomically
from training.storage.json_files import read_json
from training.storage.provenance import as_read, flat
from training.storage.shards import made_from, shard_of

_COUNTS = ("games", "wins", "draws", "losses")
_RESULT = {"seconds": int | float, "strict": dict, **{f"released.{name}": int for name in _COUNTS}}  # what is ranked and shown
_REPLACED = {  # settings of `base`, and those of the search that stand in for them
    "oracle.horizon": "horizons",
    "oracle.num_simulations": "num_simulations",
    "learn.batch_size": "batch_sizes",
    "learn.learning_rate": "learning_rates",
    "learn.episodes": "episodes",
    "output": "output",
}


@dataclasses.dataclass(frozen=True)
class SearchConfig:
    """Trains followers with settings drawn at random, and ranks them; a search that was stopped goes on where it was.

    Attributes:
      base: all other settings; those that a search sets itself are left out.
      trials: how many settings to try, no two the same.
      episodes: per trial.
      horizons: depths of the oracle's search to draw from.
      num_simulations: simulations per plan to draw from.
      batch_sizes: to draw from.
      learning_rates: to draw from.
      seed: of the draws; `base.seed` is that of the training.
      output: folder; one folder in it per trial.
      shard: does only share I of N of the trials, as 2/4; several may write into one folder, and all that is there is ranked.
    """

    base: TrainConfig = TrainConfig()
    trials: int = 8
    episodes: int = 50
    horizons: tuple[int, ...] = (5, 10, 15, 20, 25)
    num_simulations: tuple[int, ...] = (25, 50, 100, 200)
    batch_sizes: tuple[int, ...] = (16, 32, 64, 128)
    learning_rates: tuple[float, ...] = (3e-4, 1e-3, 3e-3)
    seed: int = 0
    output: str = "output/hyperparameters"
    shard: str = ""

    def __post_init__(self) -> None:
        shard_of(self.shard)
        checks.at_least(1, self, "trials", "episodes")
        checks.seed(self)
        checks.folder(self)
        for name in ("horizons", "num_simulations", "batch_sizes", "learning_rates"):
            if not getattr(self, name):
                raise ValueError(f"{name}: give at least one value")
        if self.base.oracle.planner:
            named = f"base.oracle.planner={self.base.oracle.planner!r}"
            raise ValueError(f"{named}: horizons and simulations are drawn for FDTS; leave it out")
        usual, given = flat(as_read(TrainConfig())), flat(as_read(self.base))
        for name, instead in _REPLACED.items():
            if given[name] != usual[name]:
                raise ValueError(f"base.{name}={given[name]!r}: takes no effect, as {instead} replaces it; leave it out")
        if self.base.final_games < 1:
            raise ValueError(f"final_games={self.base.final_games}: must be >= 1, trials are ranked by them")
        if self.trials > len(self.grid()):
            raise ValueError(f"trials={self.trials}: there are {len(self.grid())} different settings")

    def grid(self) -> list[tuple[int, int, int, float]]:
        """All settings, no two the same: (horizon, num_simulations, batch_size, learning_rate)."""
        every = itertools.product(self.horizons, self.num_simulations, self.batch_sizes, self.learning_rates)
        return list(dict.fromkeys(every))

    def draws(self) -> list[TrainConfig]:
        """The settings to try, in order."""
        chosen = np.random.default_rng(self.seed).permutation(len(self.grid()))[: self.trials]
        return [self._trial(number, *self.grid()[index]) for number, index in enumerate(chosen)]

    def _trial(self, number: int, horizon: int, num_simulations: int, batch_size: int, learning_rate: float) -> TrainConfig:
        base = self.base
        return dataclasses.replace(
            base,
            oracle=dataclasses.replace(base.oracle, horizon=horizon, num_simulations=num_simulations),
            learn=dataclasses.replace(base.learn, episodes=self.episodes, batch_size=batch_size, learning_rate=learning_rate),
            output=str(Path(self.output) / f"trial{number}"),
            resume=True,
        )


def run(config: SearchConfig, console: Console | None = None) -> list[dict[str, Any]]:
    """Trains with every setting that has no result yet, shows the ranking, and writes results.json.

    Returns:
      One dictionary per finished trial, the one with most wins first.

    Raises:
      ValueError, OSError: as `train_follower.run`.
      KeyboardInterrupt: an interrupt has stopped a trial; the ranking is shown before.
    """
    if config.shard:  # others are at work in the folder; each trial's own is locked
        return _try_all(config, console or Console())
    with output_folder(config.output):
        return _try_all(config, console or Console())


def _try_all(config: SearchConfig, console: Console) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = []
    try:
        for number, trial in shard_of(config.shard).of(list(enumerate(config.draws()))):
            console.print(f"trial {number}: {_describe(trial)}", highlight=False, soft_wrap=True)
            if not processes.on_first((Path(trial.output) / "result.json").exists) and train_follower.run(trial, console) is None:
                break  # asked to stop
            made_from(Path(config.output), "*/result.json", lambda: results.__setitem__(slice(None), _ranked(config)))
    except KeyboardInterrupt:
        console.print(_table(results))
        raise
    console.print(_table(results))
    return results


def _ranked(config: SearchConfig) -> list[dict[str, Any]]:
    """Gives the trials that are finished, the best first, and writes them into results.json."""
    results: list[dict[str, Any]] = []
    for number, trial in enumerate(config.draws()):
        path = Path(trial.output) / "result.json"
        if path.exists():
            check_settings(trial, path.parent / "settings.json", free=job.JobConfig.FREE)  # as many games for each
            result = read_json(path, "result of a trial with final games", _RESULT, then="remove it, and the trial goes on")
            results.append({"trial": number, **_varied(trial), **{k: result[k] for k in ("released", "strict", "seconds")}})
    results.sort(key=lambda one: (-one["released"]["wins"] / one["released"]["games"], one["trial"]))
    write_atomically(Path(config.output) / "results.json", json.dumps(results, indent=2) + "\n")
    return results


def _varied(trial: TrainConfig) -> dict[str, Any]:
    return {
        "horizon": trial.oracle.horizon,
        "num_simulations": trial.oracle.num_simulations,
        "batch_size": trial.learn.batch_size,
        "learning_rate": trial.learn.learning_rate,
    }


def _describe(trial: TrainConfig) -> str:
    return ", ".join(f"{name} {value}" for name, value in _varied(trial).items())


def _table(results: list[dict[str, Any]]) -> Table:
    table = Table("trial", "horizon", "simulations", "batch", "learning rate", "win %", "draw %", "loss %", "seconds")
    for one in results:
        counts = one["released"]
        rates = [f"{100 * counts[name] / counts['games']:.1f}" for name in ("wins", "draws", "losses")]
        table.add_row(
            *(str(one[name]) for name in ("trial", "horizon", "num_simulations", "batch_size", "learning_rate")),
            *rates,
            f"{one['seconds']:.0f}",
        )
    return table
