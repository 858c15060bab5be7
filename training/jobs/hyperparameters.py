"""Random search over the numbers of Table IX: the depth and simulations of the oracle, the batch size and rate of learning."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
from jax.errors import JaxRuntimeError
from rich.console import Console
from rich.table import Table

from jaxgames import checks, processes
from training.jobs import job, train_follower
from training.jobs.errors import is_bad_input, one_line, text_of
from training.jobs.folder import check_settings
from training.jobs.train_follower import TrainConfig
from training.play.telling import counted
from training.storage.files import output_folder, write_atomically
from training.storage.json_files import read_json
from training.storage.named_files import digests
from training.storage.owner import RESULT, SETTINGS, check_owner
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
    "resume": "going on with what is in the folder",
}
_DRAWN = {  # where in a trial's settings each of them stands
    "horizons": ("oracle", "horizon"),
    "num_simulations": ("oracle", "num_simulations"),
    "batch_sizes": ("learn", "batch_size"),
    "learning_rates": ("learn", "learning_rate"),
}
_FAILED = "failed.json"  # in the folder of a trial: why it failed, and with what settings and files
_NOTE = {"settings": dict, "files": dict, "failed": str}


@dataclasses.dataclass(frozen=True)
class SearchConfig:
    """Trains followers with settings drawn at random, and ranks them; a search that was stopped goes on where it was.

    A trial that fails, as by a loss that is not a number or for want of memory, is ranked last, and the search goes on. Why it
    failed is in failed.json in its folder; without that file it is tried again.

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
        for name in _DRAWN:
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
        for name, (part, field) in _DRAWN.items():
            for value in getattr(self, name):
                try:
                    dataclasses.replace(getattr(self.base, part), **{field: value})
                except ValueError as error:
                    raise ValueError(f"{name}: {error}") from None

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
    """Trains with every setting that has no result yet and has not failed, shows the ranking, and writes results.json.

    Returns:
      One dictionary per finished trial, the one with most wins first, and then one per trial that failed, with "failed": why.

    Raises:
      ValueError: all trials failed, or a trial's folder holds something else.
      OSError: as `train_follower.run`.
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
            if not processes.on_first(functools.partial(_is_over, trial)) and not _try(trial, console):
                _show(results, console)
                return results  # asked to stop
            made_from(Path(config.output), "*/*.json", lambda: results.__setitem__(slice(None), _ranked(config)))
    except KeyboardInterrupt:
        _show(results, console)
        raise
    _show(results, console)
    if results and "failed" in results[0]:
        number, why = results[0]["trial"], results[0]["failed"]
        told = f"no trial has a result, {counted(len(results), 'trial')} failed; trial {number}: {why}"
        note = Path(config.output) / f"trial{number}" / _FAILED
        raise ValueError(f"{told}; give other settings, or remove {note} to try it again")
    return results


def _try(trial: TrainConfig, console: Console) -> bool:
    """Trains, or notes why that fails; False if asked to stop.

    Raises:
      ValueError: the folder holds something else, or the error is a bug.
    """
    folder = Path(trial.output)
    check_owner(trial, folder)
    processes.agree(lambda: check_settings(trial, folder / SETTINGS))
    try:
        return train_follower.run(trial, console) is not None
    except (ValueError, JaxRuntimeError) as error:
        is_of_device = isinstance(error.__cause__ or error, JaxRuntimeError)
        if (is_of_device and processes.count() > 1) or (isinstance(error, ValueError) and not is_bad_input(error)):
            raise  # one process alone may have failed, or it is a bug
        why = one_line(text_of(error) if isinstance(error, ValueError) else f"the device failed ({str(error).splitlines()[0]})")
    write_atomically(folder / _FAILED, json.dumps({**_asked(trial), "failed": why}, indent=2) + "\n")
    _tell(f"failed: {why}", console)
    return True


def _is_over(trial: TrainConfig) -> bool:
    return (Path(trial.output) / RESULT).exists() or bool(_why_failed(trial))


def _why_failed(trial: TrainConfig) -> str:
    """Gives why a trial failed; "": it did not, or it did with other settings or files than now."""
    path = Path(trial.output) / _FAILED
    if not path.exists():
        return ""
    note = read_json(path, "note of a trial that failed", _NOTE, then="remove it, and the trial is tried again")
    why: str = note["failed"]
    return why if note == {**_asked(trial), "failed": why} else ""


def _asked(trial: TrainConfig) -> dict[str, Any]:
    """What decides how a trial ends: its settings, but for those that change nothing, and what is in the files they name."""
    settings = {name: value for name, value in flat(as_read(trial)).items() if name not in job.JobConfig.FREE}
    return {"settings": settings, "files": digests(trial)}


def _ranked(config: SearchConfig) -> list[dict[str, Any]]:
    """Gives the trials that are finished, the best first, then those that failed, and writes them into results.json."""
    results, failed = list[dict[str, Any]](), list[dict[str, Any]]()
    for number, trial in enumerate(config.draws()):
        path, named = Path(trial.output) / RESULT, {"trial": number, **_varied(trial)}
        if path.exists():
            check_settings(trial, path.parent / SETTINGS, free=job.JobConfig.FREE)  # as many games for each
            result = read_json(path, "result of a trial with final games", _RESULT, then="remove it, and the trial goes on")
            results.append({**named, **{k: result[k] for k in ("released", "strict", "seconds")}})
        elif why := _why_failed(trial):
            failed.append({**named, "failed": why})
    results.sort(key=lambda one: (-one["released"]["wins"] / one["released"]["games"], one["trial"]))
    results += failed
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


def _show(results: list[dict[str, Any]], console: Console) -> None:
    """Shows the ranking, and under it why trials failed."""
    console.print(_table(results))
    for one in results:
        if "failed" in one:
            _tell(f"trial {one['trial']} failed: {one['failed']}", console)


def _tell(line: str, console: Console) -> None:
    console.print(line, markup=False, highlight=False, soft_wrap=True)


def _table(results: list[dict[str, Any]]) -> Table:
    table = Table("trial", "horizon", "simulations", "batch", "learning rate", "win %", "draw %", "loss %", "seconds")
    for one in results:
        settings = [str(one[name]) for name in ("trial", "horizon", "num_simulations", "batch_size", "learning_rate")]
        table.add_row(*settings, *(["failed", "–", "–", "–"] if "failed" in one else _numbers(one)))
    return table


def _numbers(one: dict[str, Any]) -> list[str]:
    counts = one["released"]
    rates = [f"{100 * counts[name] / counts['games']:.1f}" for name in ("wins", "draws", "losses")]
    return [*rates, f"{one['seconds']:.0f}"]
