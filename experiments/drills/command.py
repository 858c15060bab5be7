"""The command of fault drills: `python scripts/drills.py`."""

from __future__ import annotations

import collections
import dataclasses
import json
import random
import shutil
import time
from pathlib import Path
from typing import Any

import jax
from rich.console import Console

from experiments.drills import lives
from experiments.drills.faults import Fault, faults
from jaxgames import checks, runtime
from training.jobs.errors import one_line
from training.storage.files import output_folder, write_atomically

# How often each fault comes in a round of them.
SHARES = {
    "killed": 4,
    "killed while saving": 4,
    "stopped": 2,
    "a lost process": 2,
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
      seed: of the moments and places.
      output: folder for drills.json, and for the runs of drills that failed.
    """

    drills: int = 400
    minutes: float = 60.0
    fault: str = ""
    seed: int = 0
    output: str = "output/drills"

    def __post_init__(self) -> None:
        checks.at_least(1, self, "drills")
        checks.numbers(self, "minutes", positive=True)
        checks.seed(self)
        if self.fault and self.fault not in faults():
            raise ValueError(f"fault={self.fault!r}: {checks.one_of(self.fault, faults())}")


def run(config: DrillsConfig, console: Console | None = None) -> dict[str, Any]:
    """Makes the drills.

    Returns:
      What drills.json holds.

    Raises:
      ValueError: something was lost, after all is written.
      OSError: the folder cannot be written.
    """
    console = console or Console()
    jax.config.update("jax_platforms", "cpu")  # of all the processes of the drills, too, which are forks of this one
    runtime.prepare(cores=1)
    known = faults()
    names = [config.fault] if config.fault else [name for name in known for _ in range(SHARES[name])]
    with output_folder(config.output) as folder:
        assert folder is not None
        straight = _straight(folder / "straight")
        end = time.monotonic() + 60 * config.minutes
        done: collections.Counter[str] = collections.Counter()
        failed: list[dict[str, Any]] = []
        result: dict[str, Any] = {"drills": {}, "failed": failed}
        write_atomically(folder / "drills.json", json.dumps(result, indent=1) + "\n")  # there may be no time for any
        random.Random(config.seed).shuffle(names)
        for number in range(config.drills):
            if time.monotonic() > end:
                break
            name, place = names[number % len(names)], folder / f"drill-{number:04d}"
            _clear(place)  # what a drill of this number that failed or was stopped has left
            wrong = _drilled(known[name], place, straight, random.Random(f"{config.seed} {number}"))
            done[name] += 1
            if wrong:
                failed.append({"number": number, "fault": name, "wrong": wrong})
            else:
                _clear(place)
            told = "; ".join(wrong) or "nothing is lost"
            console.print(f"{number + 1}/{config.drills} {name}: {told}", markup=False, highlight=False)
            result = {"drills": dict(done), "failed": failed}
            write_atomically(folder / "drills.json", json.dumps(result, indent=1) + "\n")
    if failed:
        raise ValueError(f"{len(failed)} of {sum(done.values())} drills failed; their runs are in {folder}")
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
