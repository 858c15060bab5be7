"""Carries a training job to its end: from the first check of its folder to the last picture, over any number of interruptions."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import json
import math
import time
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import numpy as np

from jaxgames import processes
from training.jobs.display import COMPILING, Display
from training.jobs.folder import (
    check_folder,
    check_kept,
    check_length,
    files_as_read,
    nothing_left,
    remove_outdated_result,
    write_settings,
)
from training.jobs.job import CHECKPOINTS, Job
from training.jobs.stopping import StoppedByInterrupt, StopRequest
from training.learn.dealing import is_dealt, must_deal
from training.storage.checkpoints import Checkpoints
from training.storage.files import output_folder, write_alone, write_atomically
from training.storage.logs import LOG_FILE, RunLog, read_log
from training.storage.owner import JOB, RESULT

MOST = 2_000_000_000  # units of a run: below 2^31, so that the last iteration may count on


def run(job: Job) -> dict | None:
    """Runs a job to its end, or until SIGTERM or an interrupt.

    Writes into its folder: settings.json, checkpoints/, log.jsonl, events/, result.json, learning.svg, and what is the job's own.

    Returns:
      What result.json holds; None if SIGTERM has stopped it before the end.

    Raises:
      KeyboardInterrupt: an interrupt has stopped it; if it is a `StoppedByInterrupt`, after an iteration that is saved.
      ValueError: there is more to do than programs can count; the folder holds a run and the config does not resume, or one
        without its checkpoints, with other settings or of another job, or one that is longer already; a loss that is no number;
        a device that fails.
      OSError: the output folder cannot be written or is in use, or the disk is full.
    """
    if job.total > MOST:
        raise ValueError(f"{job.total} {job.unit} to do: must be <= {MOST}, as programs count in 32 bits")
    with output_folder(job.folder), nothing_left(job.folder):
        check_kept(job.config, job.folder)
        with StopRequest() as stop, Checkpoints(job.folder / CHECKPOINTS, job.meta, keep=job.config.keep) as checkpoints:
            check_folder(job.config, job.folder, checkpoints, job.files)
            progress = _start_or_resume(job, checkpoints)
            remove_outdated_result(job.config, job.folder, is_over=job.is_over(progress.state))
            if not _iterate(job, progress, checkpoints, stop) or _is_late_asked(job, stop):
                if processes.any_of(stop.interrupted):  # nobody who waits for the end of the run may take it for one
                    raise StoppedByInterrupt
                return None
        return _finish(job, progress)


@dataclasses.dataclass
class _Progress:
    """How far a run has come."""

    iteration: int
    state: Any
    seconds: float

    def tree(self) -> dict[str, Any]:
        """What a checkpoint of this iteration holds."""
        return {"state": self.state, "seconds": np.float64(self.seconds)}


def _start_or_resume(job: Job, checkpoints: Checkpoints) -> _Progress:
    """Begins a run, or takes up the one in the folder."""
    progress = _Progress(0, job.start(), 0.0)
    found = checkpoints.restore(progress.tree(), free=is_dealt) if job.config.resume else None
    if found is not None and job.LENGTH:
        check_length(job.config, job.folder, job.LENGTH, job.length(found[1]["state"]))
    if found is None:
        if job.config.resume:
            told = f"no run to go on with in {job.folder}: one begins"
            job.console.print(told, markup=False, highlight=False, soft_wrap=True)
        write_settings(job.config, job.folder, job.files)
        job.begin(progress.state)
        return progress
    write_settings(job.config, job.folder, files_as_read(job.config, job.folder, job.files))
    iteration, tree = found
    state = tree["state"]
    if hasattr(state, "learner") and must_deal(state.learner):
        state.learner = job.deal(state.learner)
        job.console.print("the devices are others: games at work begin again", highlight=False, soft_wrap=True)
    job.console.print(f"going on after iteration {iteration}", highlight=False, soft_wrap=True)
    return _Progress(iteration, tree["state"], float(tree["seconds"]))


def _iterate(job: Job, progress: _Progress, checkpoints: Checkpoints, stop: StopRequest) -> bool:
    """Iterates until all is done; False if asked to stop before."""
    saved = progress.iteration
    begun = time.monotonic() - progress.seconds
    state, latest, over = progress.state, dict[str, Any](), job.is_over(progress.state)
    known = set[str]()  # what has been done in this process before, and so is compiled
    with (
        processes.agree(lambda: RunLog(job.folder, saved + 1 if saved else 0)) as log,
        Display(job.title, job.total, start=job.done(state), unit=job.unit, console=job.console) as display,
    ):

        def tell(what: str) -> None:
            display.doing(what if what in known else f"{COMPILING}, then {what}", line=what not in known)
            known.add(what)

        while not over:
            started = time.monotonic()
            is_measured = (what := job.doing(state)) in known
            tell(what)
            number = progress.iteration + 1
            with _failures_named(number, saved):
                values = job.advance(state)
                if job.SPEED in values:
                    # The first time most of it is compiling.
                    values[job.SPEED] = values[job.SPEED] / (time.monotonic() - started) if is_measured else math.nan
                if not values.pop("finite", True):
                    raise ValueError(
                        f"iteration {number}: the loss or its gradient is not a number; {_is_saved(saved)}; "
                        f"take a smaller learning_rate than {job.learning_rate}"
                    )
                if what := job.rating(state):
                    tell(what)
                rated, over = job.rate(state), job.is_over(state)
                progress.iteration, progress.seconds = number, time.monotonic() - begun
                values |= {**rated, "seconds": progress.seconds}
                log.write(number, values)
                measured = _measured(values)
                latest |= measured
                stops = processes.any_of(stop.requested)
                shown = {title: latest[name] for name, title in job.SHOWN.items() if name in latest}
                display.doing("" if over else job.doing(state))
                display.update(job.done(state), shown, job.distribution(measured), is_over=over and not job.ending())
                if rated or stops or over or number % job.config.checkpoint_every == 0:
                    processes.agree(log.sync)
                    checkpoints.save(number, progress.tree())
                    saved = number
            if stops:
                display.note(f"stopped after iteration {number}, which is saved; go on with --resume")
                return False
    return True


def _measured(values: Mapping[str, Any]) -> dict[str, Any]:
    """Leaves out what is NaN, as nothing was counted of it."""
    return {name: value for name, value in values.items() if not (isinstance(value, float | list) and np.isnan(value).any())}


def _is_late_asked(job: Job, stop: StopRequest) -> bool:
    """Says whether a wish to stop came when all iterations were done; what is left is done when the run goes on."""
    asked: bool = processes.any_of(stop.requested)
    if asked:
        job.console.print("stopped when all was learnt and saved; go on with --resume", highlight=False, soft_wrap=True)
    return asked


def _finish(job: Job, progress: _Progress) -> dict:
    """Lets the job write what remains, and then its result and a picture of its log."""
    if what := job.ending():
        job.console.print(what, highlight=False, soft_wrap=True)
    try:
        found = job.finish(progress.state)
    except KeyboardInterrupt:
        job.console.print(
            "stopped before there is a result; all that was learnt is saved; go on with --resume", highlight=False, soft_wrap=True
        )
        raise
    result: dict = _as_json_has(
        {
            JOB: job.config.JOB,
            "settings": dataclasses.asdict(job.config),
            "seconds": progress.seconds,
            "device": f"{job.num_devices} x {jax.devices()[0].device_kind}",
            **found,
        }
    )
    write_atomically(job.folder / RESULT, json.dumps(result, indent=2, allow_nan=False) + "\n")
    if processes.on_first(lambda: _draw(job)):
        job.console.print(f"results in {job.folder}", markup=False, highlight=False, soft_wrap=True)
    else:
        job.console.print(
            f"results in {job.folder}; no plots: pip install '.[viz]' in a checkout",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
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
