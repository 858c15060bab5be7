"""The command of fault drills: `python scripts/drills.py`."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import functools
import json
import random
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
from rich.console import Console

from experiments.drills import lives, side_by_side
from experiments.drills.faults import FAULTS, Fault, faults, left_out
from experiments.drills.side_by_side import Drill
from jaxgames import checks, runtime
from training.jobs.errors import one_line
from training.storage import provenance
from training.storage.files import output_folder, write_atomically

# How often each fault comes in a round of them.
SHARES = {
    "killed": 4,
    "killed while saving": 4,
    "stopped": 2,
    "a lost process": 2,
    "a hung process": 1,
    "one of two asked to end": 1,
    "a damaged file": 8,
    "two runs on one folder": 1,
    "a full disk": 1,
    "a read-only folder": 1,
}


@dataclasses.dataclass(frozen=True)
class DrillsConfig:
    """Does to a small training run what machines, disks and people do, and checks that nothing saved is lost.

    Attributes:
      drills: how many; each is a run that is interrupted and one that goes on to the end.
      minutes: no drill begins later.
      fault: only this one; "": all in turn.
      at_once: drills side by side, each of a process of its own; 0: one per core.
      seed: of the moments and places.
      output: folder for drills.json, and for the runs of drills that failed.
    """

    drills: int = 400
    minutes: float = 60.0
    fault: str = ""
    at_once: int = 0
    seed: int = 0
    output: str = "output/drills"

    def __post_init__(self) -> None:
        checks.at_least(1, self, "drills")
        checks.numbers(self, "minutes", positive=True)
        checks.at_least(0, self, "at_once")
        checks.seed(self)
        if self.fault and self.fault not in FAULTS:
            raise ValueError(f"fault={self.fault!r}: {checks.one_of(self.fault, FAULTS)}")
        if self.fault and (reason := left_out().get(self.fault)):
            raise ValueError(f"fault={self.fault!r}: {reason}")


def run(config: DrillsConfig, console: Console | None = None) -> dict[str, Any]:
    """Makes the drills.

    Returns:
      What drills.json holds.

    Raises:
      ValueError: something was lost, after all is written.
      OSError: the folder cannot be written.
      KeyboardInterrupt: an interrupt or SIGTERM has come; drills at work have been called off.
    """
    say = functools.partial((console or Console()).print, markup=False, highlight=False, soft_wrap=True)
    jax.config.update("jax_platforms", "cpu")  # of all the processes of the drills, too, which are forks of this one
    runtime.prepare(cores=1)
    known, missing = faults(), left_out()
    about = provenance.describe_cpu() | ({"left_out": missing} if missing else {})
    for name, reason in missing.items():
        say(f"left out: {name}: {reason}")
    names = [config.fault] if config.fault else [name for name in known for _ in range(SHARES[name])]
    random.Random(config.seed).shuffle(names)
    with _interrupted_by(signal.SIGTERM), output_folder(config.output) as folder:
        assert folder is not None
        straight = _straight(folder / "straight")
        done: collections.Counter[str] = collections.Counter()
        failed: list[dict[str, Any]] = []

        def make(drill: Drill) -> list[str]:
            return _drilled(known[drill.fault], drill.place, straight, random.Random(f"{config.seed} {drill.number}"))

        result = _write(folder, done, failed, about)  # there may be no time for any
        at_once = config.at_once or runtime.usable_cores()
        with contextlib.closing(side_by_side.make(_drills(config, names, folder), make, at_once)) as ended:
            for drill, wrong in ended:
                done[drill.fault] += 1
                if wrong:
                    failed.append({"number": drill.number, "fault": drill.fault, "wrong": wrong})
                else:
                    _clear(drill.place)
                say(f"{drill.number + 1}/{config.drills} {drill.fault}: {'; '.join(wrong) or 'nothing is lost'}")
                result = _write(folder, done, failed, about)
    if failed:
        raise ValueError(f"{len(failed)} of {sum(done.values())} drills failed; their runs are in {folder}")
    return result


@contextlib.contextmanager
def _interrupted_by(number: signal.Signals) -> Iterator[None]:
    """Makes a signal an interrupt while the context lasts, so that drills at work are called off."""
    before = signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(number, before)


def _drills(config: DrillsConfig, names: list[str], folder: Path) -> Iterator[Drill]:
    """Gives drills, each with an empty place, as long as there is time."""
    end = time.monotonic() + 60 * config.minutes
    for number in range(config.drills):
        if time.monotonic() > end:
            return
        place = folder / f"drill-{number:04d}"
        _clear(place)  # what a drill of this number that failed or was stopped has left
        yield Drill(number, names[number % len(names)], place)


def _write(folder: Path, done: collections.Counter[str], failed: list[dict[str, Any]], rest: dict[str, Any]) -> dict[str, Any]:
    """Writes what was found so far. Gives it."""
    result = {"drills": dict(done), "failed": sorted(failed, key=lambda drill: drill["number"])} | rest
    write_atomically(folder / "drills.json", json.dumps(result, indent=1) + "\n")
    return result


def _clear(place: Path) -> None:
    """Removes what a drill has made."""
    for path in place.parent.glob(f"{place.name}*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def _drilled(fault: Fault, place: Path, straight: Path, draw: random.Random) -> list[str]:
    """Makes one drill; one that cannot be made has failed, and the others go on."""
    try:
        return fault(place, straight, draw)
    except Exception as error:
        return [f"could not be made: {type(error).__name__}: {one_line(str(error))}"]


def _straight(folder: Path) -> Path:
    """Makes the run that nothing interrupts."""
    shutil.rmtree(folder, ignore_errors=True)
    ended = lives.begin(folder).end()
    if ended.code:
        raise ValueError(f"the run without a fault ended with code {ended.code}: {ended.told.strip()[-300:]}")
    return folder
