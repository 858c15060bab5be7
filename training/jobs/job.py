"""What training jobs share: from the first check of their folder to the last picture, over any number of interruptions."""

from __future__ import annotations

import abc
import contextlib
import dataclasses
import functools
import importlib
import json
import math
import shutil
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import jax
import numpy as np
from jax.sharding import Mesh
from rich.console import Console

from jaxgames import checks, processes, runtime
from jaxgames.agent import Agent
from jaxgames.registration import named
from search.planner import size_in_bytes
from training.jobs.display import Display
from training.jobs.stopping import StopRequest
from training.learn.dealing import is_dealt, must_deal
from training.play import memory
from training.storage.checkpoints import Checkpoints
from training.storage.files import LOCK, output_folder, write_alone, write_atomically
from training.storage.logs import LOG_FILE, RunLog, read_log
from training.storage.provenance import flat

RESULT = "result.json"
MOST = 2_000_000_000  # units of a run: below 2^31, so that the last iteration may count on


@dataclasses.dataclass(frozen=True)
class JobConfig:
    """What the settings of every training job begin with; checked when made.

    Attributes:
      seed: of everything.
      checkpoint_every: iterations between two checkpoints; there is one after each evaluation anyhow.
      keep: checkpoints kept.
      output: folder of the run.
      resume: go on with the run in that folder, which most jobs may also make longer; without one there, begin.
    """

    FREE: ClassVar[frozenset[str]] = frozenset({"output", "resume", "keep", "checkpoint_every"})  # may change when a run goes on

    seed: int = 0
    checkpoint_every: int = 20
    keep: int = 2
    output: str = "output"
    resume: bool = False

    def __post_init__(self) -> None:
        for name in {"who", "follower"} & {field.name for field in dataclasses.fields(self)}:  # a run's variant has a name
            object.__setattr__(self, name, named(getattr(self, name)))
        checks.at_least(1, self, "checkpoint_every", "keep")
        checks.seed(self)
        checks.folder(self)


class Job(abc.ABC):
    """A training job; `run` carries it to its end. Holds nothing that changes.

    As it stands, an iteration is one call of the compiled programs, and units are samples.

    Attributes:
      config, console, folder, key: as given, and made of it.
      programs: what is compiled: `deal(key, learner)`, and `iterate(key, learner) -> (learner, metrics)` for this `advance`.
      who: the network that learns, with its game and its encoder.
      meta: what its checkpoints are of, such as the game and the network.
      title, total, unit: of what is shown: what goes on, how many units there are to do, and of what.
      learning_rate: what to make smaller where learning fails.
      num_devices: that work on it.
    """

    SHOWN: ClassVar[Mapping[str, str]]  # values that are displayed, and what they are called there
    SPEED: ClassVar[str]  # the value that counts work; it is logged per second
    FIGURE: ClassVar[str]  # the function of `training.jobs.curves` that draws the log

    programs: Any
    who: Any
    meta: dict[str, Any]
    title: str
    total: int
    unit: str
    learning_rate: float

    def __init__(self, config: Any, console: Console) -> None:
        self.config, self.console = config, console
        self.folder = Path(config.output)
        self.key = jax.random.key(config.seed)
        self.num_devices = jax.device_count()

    def make_mesh(self, learn: Any) -> Mesh:
        """Makes the mesh for settings of learning, as `mesh_for` does, and notes its size."""
        mesh = mesh_for(self.console, lanes=learn.lanes, batch_size=learn.batch_size, buffer_size=learn.buffer_size)
        self.num_devices = mesh.size
        return mesh

    @property
    def variant(self) -> str:
        """The game and its variant, for people."""
        return f"{self.meta['game']} {self.meta['mode']}"

    @abc.abstractmethod
    def start(self) -> Any:
        """Makes the state before the first iteration: everything that changes, as a tree of arrays; changed in place later."""

    def begin(self, state: Any) -> None:
        """Does what is to be done once, before the first iteration."""
        del state

    def advance(self, state: Any) -> dict[str, Any]:
        """Makes one iteration, in place, and returns values for the log; "finite" False ends the run.

        What was not measured is NaN: null in the log, and not shown.
        """
        before = samples_of(state)
        state.learner, metrics = self.programs.iterate(self.key, state.learner)
        return plain(metrics) | {self.SPEED: samples_of(state) - before}

    def rate(self, state: Any) -> dict[str, Any]:
        """Evaluates what is learnt where that is due; returns values for the log, none where it is not."""
        del state
        return {}

    def done(self, state: Any) -> int:
        """Returns how many of the `total` units are done."""
        return min(samples_of(state), self.total)

    def is_over(self, state: Any) -> bool:
        """Says whether no iteration is left to do."""
        return self.done(state) >= self.total

    def distribution(self, values: Mapping[str, Any]) -> Mapping[str, float] | None:
        """Returns shares to show as bars, such as those of moves, of the values that were measured."""
        del values
        return None

    def deal(self, learner: Any) -> Any:
        """Takes up a learner of another number of devices: what is spread over them is numpy, as saved."""
        return self.programs.deal(self.key, learner)

    def check_memory(self, *playing: tuple[str, int, Sequence[Agent]], buffer: str = "learn.buffer_size") -> None:
        """Raises a ValueError when games cannot fit into memory beside the learner; compiles nothing.

        Args:
          playing: the setting that says how many games are played at once, how many these are, and who plays; the first are
            those that are learnt from.
          buffer: the setting by which the learner becomes smaller.
        """
        check = functools.partial(memory.check, self.who.game, what="the run")
        setting, lanes, players = playing[0]
        check(players, lanes, setting=setting)  # before the learner, which holds these games
        learner = size_in_bytes(jax.eval_shape(self.programs.init, self.key, jax.eval_shape(self.who.init, self.key)))
        learn = self.config.learn
        planes = size_in_bytes(jax.eval_shape(self.who.encoder.planes, self.programs.updates.example.view))
        batch = learn.batch_size * planes
        larger = "learn.batch_size" if batch > learner else buffer
        other = (learner + batch, f"a smaller {larger} than {getattr(learn, larger.removeprefix('learn.'))}")
        for setting, lanes, players in playing:
            if lanes:
                check(players, lanes, setting=setting, other=other)

    @abc.abstractmethod
    def finish(self, state: Any) -> dict[str, Any]:
        """Writes what remains when all is learnt; returns what result.json holds beside the settings."""


def run(job: Job) -> dict | None:
    """Runs a job to its end, or until SIGTERM or an interrupt.

    Writes into its folder: settings.json, checkpoints/, log.jsonl, events/, result.json, learning.svg, and what is the job's own.

    Returns:
      What result.json holds; None if it was stopped before the end.

    Raises:
      ValueError: there is more to do than programs can count; the folder holds a run and the config does not resume, or one with
        other settings; a loss that is no number; a device that fails.
      OSError: the output folder cannot be written or is in use, or the disk is full.
    """
    if job.total > MOST:
        raise ValueError(f"{job.total} {job.unit} to do: must be <= {MOST}, as programs count in 32 bits")
    with output_folder(job.folder), _nothing_left(job.folder):
        with StopRequest() as stop, Checkpoints(job.folder / "checkpoints", job.meta, keep=job.config.keep) as checkpoints:
            _check_folder(job.config, job.folder, checkpoints)
            progress = _start_or_resume(job, checkpoints)
            if not job.is_over(progress.state):  # of a shorter run: while there is a result, others take the run for finished
                processes.agree(lambda: (job.folder / RESULT).unlink(missing_ok=True) if processes.leads() else None)
            if not _iterate(job, progress, checkpoints, stop):
                return None
        return _finish(job, progress)


@contextlib.contextmanager
def _nothing_left(folder: Path) -> Iterator[None]:
    """Empties a folder of which nothing was there before, when a run is interrupted before its first iteration is done."""
    before = [path for path in folder.iterdir() if path.name != LOCK]
    try:
        yield
    except KeyboardInterrupt:
        if not processes.leads():
            raise
        log = folder / LOG_FILE
        if not before and not (log.exists() and log.stat().st_size):
            for path in folder.iterdir():
                if path.is_dir():
                    shutil.rmtree(path)
                elif path.name != LOCK:
                    path.unlink()
        raise


@dataclasses.dataclass
class _Progress:
    """How far a run has come."""

    iteration: int
    state: Any
    seconds: float

    def tree(self) -> dict[str, Any]:
        """What a checkpoint of this iteration holds."""
        return {"state": self.state, "seconds": np.float64(self.seconds)}


def _check_folder(config: Any, folder: Path, checkpoints: Checkpoints) -> None:
    """Checks that a config fits the folder of its run, and writes it there."""
    path = folder / "settings.json"

    def check() -> None:
        if config.resume:
            check_settings(config, path)
        elif checkpoints.steps():
            raise ValueError(f"output={config.output!r}: holds a run; go on with --resume, or choose another folder")

    processes.agree(check)
    write_atomically(path, json.dumps(dataclasses.asdict(config), indent=2) + "\n")


def _start_or_resume(job: Job, checkpoints: Checkpoints) -> _Progress:
    """Begins a run, or takes up the one in the folder."""
    progress = _Progress(0, job.start(), 0.0)
    found = checkpoints.restore(progress.tree(), free=is_dealt) if job.config.resume else None
    if found is None:
        job.begin(progress.state)
        return progress
    iteration, tree = found
    state = tree["state"]
    if hasattr(state, "learner") and must_deal(state.learner):
        state.learner = job.deal(state.learner)
        job.console.print("the devices are others: games at work begin again", highlight=False)
    job.console.print(f"going on after iteration {iteration}", highlight=False)
    return _Progress(iteration, tree["state"], float(tree["seconds"]))


def _iterate(job: Job, progress: _Progress, checkpoints: Checkpoints, stop: StopRequest) -> bool:
    """Iterates until all is done; False if asked to stop before."""
    saved = progress.iteration
    begun = time.monotonic() - progress.seconds
    state, latest = progress.state, dict[str, Any]()
    with (
        processes.agree(lambda: RunLog(job.folder, saved + 1 if saved else 0)) as log,
        Display(job.title, job.total, start=job.done(state), unit=job.unit, console=job.console) as display,
    ):
        while not job.is_over(state):
            started = time.monotonic()
            number = progress.iteration + 1
            with _failures_named(number, saved):
                values = job.advance(state)
                if job.SPEED in values:
                    values[job.SPEED] /= time.monotonic() - started
                if not values.pop("finite", True):
                    raise ValueError(
                        f"iteration {number}: the loss or its gradient is not a number; {_is_saved(saved)}; "
                        f"take a smaller learning_rate than {job.learning_rate}"
                    )
                rated = job.rate(state)
                progress.iteration, progress.seconds = number, time.monotonic() - begun
                values |= {**rated, "seconds": progress.seconds}
                log.write(number, values)
                measured = _measured(values)
                latest |= measured
                stops = processes.any_of(stop.requested)
                shown = {title: latest[name] for name, title in job.SHOWN.items() if name in latest}
                display.update(job.done(state), shown, job.distribution(measured))
                if rated or stops or job.is_over(state) or number % job.config.checkpoint_every == 0:
                    checkpoints.save(number, progress.tree())
                    saved = number
            if stops:
                display.note(f"stopped after iteration {number}, which is saved; go on with --resume")
                return False
    return True


def _measured(values: Mapping[str, Any]) -> dict[str, Any]:
    """Leaves out what is NaN, as nothing was counted of it."""
    return {name: value for name, value in values.items() if not (isinstance(value, float | list) and np.isnan(value).any())}


def _finish(job: Job, progress: _Progress) -> dict:
    """Lets the job write what remains, and then its result and a picture of its log."""
    result: dict = _as_json_has(
        {
            "settings": dataclasses.asdict(job.config),
            "seconds": progress.seconds,
            "device": f"{job.num_devices} x {jax.devices()[0].device_kind}",
            **job.finish(progress.state),
        }
    )
    write_atomically(job.folder / RESULT, json.dumps(result, indent=2, allow_nan=False) + "\n")
    if processes.on_first(lambda: _draw(job)):
        job.console.print(f"results in {job.folder}", markup=False, highlight=False)
    else:
        job.console.print(f"results in {job.folder}; no plots: pip install jaxgames[viz]", markup=False, highlight=False)
    return result


def _as_json_has(value: Any) -> Any:
    """Gives a value with None in place of every number that is not finite, which JSON has not."""
    if isinstance(value, Mapping):
        return {name: _as_json_has(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(_as_json_has, value)) if type(value) in (list, tuple) else [*map(_as_json_has, value)]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _draw(job: Job) -> bool:
    """Draws the log, in the first process alone; False where matplotlib is not installed."""
    try:
        figure = getattr(importlib.import_module("training.jobs.curves"), job.FIGURE)
        drawn = figure([(job.folder.name, [read_log(job.folder / LOG_FILE)])])
    except ImportError:
        return False
    write_alone({job.folder / "learning.svg": drawn})
    return True


@contextlib.contextmanager
def _failures_named(number: int, saved: int) -> Iterator[None]:
    """Turns the failure of a device into a ValueError that names the iteration and the last one saved, if there is one."""
    try:
        yield
    except jax.errors.JaxRuntimeError as error:
        reason = str(error).splitlines()[0][:120]
        then = f"go on with --resume, {_is_saved(saved)}" if saved else _is_saved(saved)
        raise ValueError(f"the device failed in iteration {number} ({reason}): {then}") from error


def _is_saved(iteration: int) -> str:
    return f"iteration {iteration} is saved" if iteration else "nothing is saved yet"


def check_settings(config: Any, path: Path, free: Collection[str] | None = None) -> None:
    """Compares a config with the one that a run was begun with.

    Args:
      config: of a job.
      path: of the run's settings.json; nothing is compared if it is not there.
      free: fields that may differ; None: its `FREE`, which a run that goes on may have changed.

    Raises:
      ValueError: another field differs, or the file is no config.
    """
    if not path.exists():
        return
    try:
        before = flat(json.loads(path.read_text()))
    except (ValueError, AttributeError) as error:
        raise ValueError(f"{path}: no settings ({error}); remove it to go on with the settings given") from None
    for name, value in flat(json.loads(json.dumps(dataclasses.asdict(config)))).items():
        found = before.get(name)
        if name not in (config.FREE if free is None else free) and found != value:
            raise ValueError(f"{name}={value!r}: the run in {path.parent} has {found!r}; give that, or choose another output")


def samples_of(state: Any) -> int:
    """Gives the samples of a state's learner so far."""
    return int(state.learner.progress["samples"])


def plain(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Gives arrays of metrics as Python's numbers and lists."""
    return {name: value.tolist() for name, value in jax.device_get(dict(metrics)).items()}


def mesh_for(console: Console, **numbers: int) -> Mesh:
    """Makes a mesh of as many devices as there are and as divide all the numbers; with several processes of all devices.

    Args:
      console: told where that leaves devices idle.
      numbers: of what is split over the devices, by the names of their settings.
    """
    if processes.count() > 1:  # each has a share of everything
        return runtime.data_mesh()
    there = jax.device_count()
    count = next(n for n in range(there, 0, -1) if all(number % n == 0 for number in numbers.values()))
    if count < there:
        given = ", ".join(f"{name}={number}" for name, number in numbers.items() if number % there)
        console.print(f"works on {count} of {there} devices: {given} cannot be split over all", markup=False, highlight=False)
    return runtime.data_mesh(count)


def copy(params: Any) -> Any:
    """Copies parameters: a learner's own are given away with its next call."""
    return jax.tree.map(lambda leaf: leaf.copy(), params)
