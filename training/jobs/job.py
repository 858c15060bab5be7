"""What training jobs share: from the first check of their folder to the last picture."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import jax
from jax.sharding import Mesh
from rich.console import Console

from jaxgames import runtime
from training.jobs.stopping import StopRequest
from training.storage.checkpoints import Checkpoints
from training.storage.files import output_folder, write_atomically
from training.storage.logs import read_log

FREE = frozenset({"output", "resume", "keep", "checkpoint_every"})  # settings that may change when a run goes on


class Job(Protocol):
    """What `main` needs of a training job; `State` is whatever it hands on."""

    folder: Path
    who: Any

    def start_or_resume(self, checkpoints: Checkpoints) -> Any: ...

    def learn(self, run: Any, checkpoints: Checkpoints, stop: StopRequest) -> bool: ...

    def finish(self, run: Any) -> dict: ...


def main(job: Job, keep: int) -> dict | None:
    """Runs a job to its end, or until SIGTERM or an interrupt.

    Args:
      job: what to do.
      keep: checkpoints kept.

    Returns:
      What the job's result.json holds; None if it was stopped before the end.
    """
    with output_folder(job.folder):
        with StopRequest() as stop, Checkpoints(job.folder / "checkpoints", job.who.meta, keep=keep) as checkpoints:
            state = job.start_or_resume(checkpoints)
            finished = job.learn(state, checkpoints, stop)
        return job.finish(state) if finished else None


def begin(config: Any, folder: Path, checkpoints: Checkpoints, free: Collection[str]) -> None:
    """Checks that a config fits the folder of its run, and writes it there.

    Raises:
      ValueError: there is a run and `config.resume` is not set, or one with other settings.
    """
    if config.resume:
        check_settings(config, folder / "settings.json", free)
    elif checkpoints.steps():
        raise ValueError(f"output={config.output!r}: holds a run; go on with --resume, or choose another folder")
    write_settings(config, folder / "settings.json")


@contextlib.contextmanager
def iteration(number: int, saved: int) -> Iterator[None]:
    """Turns the failure of a device into a ValueError that names the iteration and the last one saved, if there is one."""
    try:
        yield
    except jax.errors.JaxRuntimeError as error:
        reason = str(error).splitlines()[0][:120]
        then = f"go on with --resume, iteration {saved} is saved" if saved else "nothing is saved yet"
        raise ValueError(f"the device failed in iteration {number} ({reason}): {then}") from error


def check_finite(finite: bool, number: int, saved: int, learning_rate: float) -> None:
    """Raises a ValueError that names the iteration if its loss or gradient is not a number."""
    if not finite:
        before = f"iteration {saved} is saved" if saved else "nothing is saved yet"
        raise ValueError(
            f"iteration {number}: the loss or its gradient is not a number; {before}; "
            f"take a smaller learning_rate than {learning_rate}"
        )


def plot_curves(folder: Path, console: Console, figure: str) -> None:
    """Draws the log as learning.svg by a function of `training.jobs.curves`; says so where matplotlib is missing."""
    try:
        curves = importlib.import_module("training.jobs.curves")
        write_atomically(folder / "learning.svg", getattr(curves, figure)([(folder.name, [read_log(folder / "log.jsonl")])]))
    except ImportError:
        console.print("no plots: pip install jaxgames[viz]", markup=False, highlight=False)


def write_settings(config: Any, path: Path) -> None:
    """Writes a config (a dataclass) as JSON."""
    write_atomically(path, json.dumps(dataclasses.asdict(config), indent=2) + "\n")


def check_settings(config: Any, path: Path, free: Collection[str] = FREE) -> None:
    """Compares a config with the one that a run was begun with.

    Args:
      config: a dataclass.
      path: what `write_settings` has written; nothing is compared if it is not there.
      free: fields that may differ.

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
        if name not in free and found != value:
            raise ValueError(f"{name}={value!r}: the run in {path.parent} has {found!r}; give that, or choose another output")


def plain(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Gives arrays of metrics as Python's numbers and lists."""
    return {name: value.tolist() for name, value in jax.device_get(dict(metrics)).items()}


def mesh_for(*numbers: int) -> Mesh:
    """Makes a mesh of as many devices as there are and as divide all the numbers."""
    count = next(n for n in range(jax.device_count(), 0, -1) if all(number % n == 0 for number in numbers))
    return runtime.data_mesh(count)


def copy(params: Any) -> Any:
    """Copies parameters: a learner's own are given away with its next call."""
    return jax.tree.map(lambda leaf: leaf.copy(), params)


def flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Gives nested dictionaries as one, with names such as "learn.lanes"."""
    result: dict[str, Any] = {}
    for name, value in tree.items():
        result |= flat(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {prefix + name: value}
    return result
