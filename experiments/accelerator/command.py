"""The command for accelerators: `python scripts/accelerator.py`."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import shutil
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import jax

from experiments.accelerator import clock, pieces, record
from experiments.accelerator.crew import Crew
from experiments.accelerator.page import device_of, page, versions_of
from experiments.accelerator.pieces import Piece
from experiments.accelerator.supervise import AGAIN, COMMAND, LATE, Doer, Worker, share_out
from experiments.accelerator.worker import ENDED
from jaxgames import checks, runtime
from training.storage.files import output_folder, write_atomically
from training.storage.json_files import read_json, read_lines

FAILED = 1
ROWS, ABOUT, PAGE, LOG, LOCK = "rows.jsonl", "about.json", "page.md", "worker.log", "measuring.lock"
EARLIER = "earlier"  # what the folders of earlier calls are called, with a number
CORES_OF_ONE, MOST_WORKERS = 2, 8  # a process that compiles keeps about two cores busy
_SAME = ("device", "devices", "versions", "commit")  # of all rows of a folder
_ROW = {"part": str, "name": str, "size": int | float, "failed": str}


@dataclasses.dataclass(frozen=True)
class AcceleratorConfig:
    """Compares an accelerator with the CPU, measures every benchmark case on it, and trains every learner for a moment.

    Rows and a page are written as it goes: whenever it ends, what was found is there, and the page lists what was not reached.
    What an earlier call has left in the folder is kept, in a folder of its own within.

    Attributes:
      minutes: that all takes at most, the start of Python and JAX included.
      only: a regular expression; only pieces whose part:name contains it, as in checks:states, speeds:hex/puct or learners.
      sizes: speeds are measured with so many times the usual batch, first all cases with the first of these.
      devices: accelerators that cases are measured on.
      workers: processes that compile side by side on a GPU, while one at a time measures; 0: as many as the CPU is good for. On a
        TPU, which has room for one process, and where there is no accelerator it is one.
      record: keep the rows in docs/results/data, and make the tables of docs/accelerators.md anew.
      resume: go on with the pieces that the folder has no rows of, with the same devices, versions and commit.
      output: folder for rows.jsonl, about.json, page.md and worker.log.
    """

    minutes: float = 9.0
    only: str = ""
    sizes: tuple[float, ...] = pieces.SIZES
    devices: int = 1
    workers: int = 0
    record: bool = False
    resume: bool = False
    output: str = "output/accelerator"

    def __post_init__(self) -> None:
        checks.numbers(self, "minutes", positive=True)
        checks.at_least(1, self, "devices")
        checks.at_least(0, self, "workers")
        pieces.pattern_of(self.only)
        if not self.sizes or len(set(self.sizes)) < len(self.sizes) or not all(0 < size < math.inf for size in self.sizes):
            raise ValueError(f"sizes={self.sizes}: must be different numbers above 0, such as 1 0.0625 4")


class Findings:
    """What was found so far, kept in a folder."""

    def __init__(self, folder: Path, parts: Mapping[str, Sequence[Piece]], minutes: float, resume: bool) -> None:
        """Begins, or goes on with what is there.

        Raises:
          ValueError: a file is torn, or holds something else.
          OSError: a file cannot be read or written.
        """
        self.folder, self.minutes, self.about = folder, minutes, dict[str, Any]()
        self._lock = threading.Lock()
        self.rows: list[dict[str, Any]] = []
        if resume and (folder / ROWS).exists():
            self.rows = read_lines(folder / ROWS, "list of rows", _ROW)
            if (folder / ABOUT).exists():
                self.about = read_json(folder / ABOUT, "description of a device")
        again = {pieces.of(row) for row in self.rows if row["failed"].startswith(AGAIN)}
        self.rows = [row for row in self.rows if pieces.of(row) not in again]
        known = set(map(pieces.of, self.rows))
        self.missing = {part: [piece for piece in planned if piece not in known] for part, planned in parts.items()}

    def take(self, piece: Piece, rows: Sequence[Mapping[str, Any]], seconds: float, failed: str) -> None:
        """Takes in what a piece has given, and writes all."""
        with self._lock:
            begun: dict[str, Any] = piece.as_dict() | {"seconds": seconds, "failed": ""}
            self.rows += [{**begun, **row} for row in rows]
            if failed:
                self.rows.append(begun | {"failed": failed})
            self.missing[piece.part] = [other for other in self.missing[piece.part] if other != piece]
            self.write()

    def meet(self, about: Mapping[str, Any]) -> None:
        """Takes in on what this call works, which holds for all of it: who edits a file meanwhile does not end it.

        Raises:
          ValueError: the rows that are there are of something else.
        """
        for name in _SAME if self.about else ():
            if self.about.get(name) != about.get(name):
                there, here = self.about.get(name), about.get(name)
                told = f"holds rows of {name} {there}, and here it is {here}"
                raise ValueError(f"output={str(self.folder)!r}: {told}: give another folder")
        if self.about != about:
            self.about = dict(about)
            write_atomically(self.folder / ABOUT, json.dumps(self.about) + "\n")

    def write(self) -> None:
        """Writes the rows and the page."""
        write_atomically(self.folder / ROWS, "".join(json.dumps(row) + "\n" for row in self.rows))
        write_atomically(self.folder / PAGE, page(self.about, self.rows, self.missing, self.minutes))


def set_aside(folder: Path) -> Path | None:
    """Moves what an earlier call has found into a folder of its own, with which that call can be resumed.

    Returns:
      That folder; None where nothing was found.

    Raises:
      OSError: it cannot be moved; all of it is where it was.
    """
    if not (folder / ROWS).exists() or not (folder / ROWS).stat().st_size:
        return None
    number = 1
    while (apart := folder / f"{EARLIER}-{number}").exists():
        number += 1
    found = [path for path in (folder / name for name in (ROWS, ABOUT, PAGE, LOG)) if path.exists()]
    copying = folder / f".{EARLIER}"
    shutil.rmtree(copying, ignore_errors=True)  # of a call that was ended here
    copying.mkdir()
    for path in found:
        shutil.copy2(path, copying / path.name)
    copying.rename(apart)  # from here on all of it is there
    for path in found:  # rows first: without them nothing here counts as found
        path.unlink()
    return apart


def main(config: AcceleratorConfig) -> int:
    """Does as `run`, for the script, from whose start the minutes count."""
    return run(config, since=clock.STARTED)


def run(
    config: AcceleratorConfig,
    command: Sequence[str] = COMMAND,
    parts: Mapping[str, Sequence[Piece]] | None = None,
    since: float | None = None,
) -> int:
    """Does as much as there is time for.

    Args:
      config: the command line.
      command: the process that works, see `supervise.Worker`.
      parts: pieces in place of all.
      since: when the minutes began, by `time.monotonic`; None: now.

    Returns:
      The exit code: 1 if a check has found a difference, something has failed but for want of time, or no process could go on.

    Raises:
      OSError: the folder cannot be written or is in use.
      ValueError: it holds rows of other devices, of other versions or of another commit.
    """
    end = (time.monotonic() if since is None else since) + 60 * config.minutes
    number = config.workers or default_workers()
    jax.config.update("jax_platforms", "cpu")  # of this process, which leaves accelerators to those that work
    with output_folder(config.output) as folder:
        assert folder is not None
        if not config.resume and (apart := set_aside(folder)):
            print(f"what was found earlier is kept in {apart}; to go on with that: --resume --output {apart}", flush=True)
        planned = parts or pieces.plan(config.only, config.sizes, config.devices)
        findings = Findings(folder, planned, config.minutes, config.resume)
        findings.write()
        lock, log = folder.resolve() / LOCK, folder / LOG
        workers = [Worker([str(lock), str(place)], log, command, number > 1) for place in range(number)]
        crew = Crew(workers, lambda why: print(f"others go on without a process: {why}; {log} may tell more", flush=True))
        over = ""
        try:
            if any(findings.missing.values()):
                over = _work(crew, findings, config.workers, log, end - 1)
        except KeyboardInterrupt:
            print("interrupted: what was found is kept", file=sys.stderr)
        finally:
            crew.stop()
        if over:
            print(f"no process is left to work: {over}; {log} may tell more", file=sys.stderr)
        if config.record and findings.about:
            record.record(findings.about, findings.rows)
        left = sum(len(planned) for planned in findings.missing.values())
        print(f"{left} pieces were not reached; the page is {folder / PAGE}")
    wrong = any((row["failed"] and not row["failed"].startswith(LATE)) or not row.get("same", True) for row in findings.rows)
    return FAILED if wrong or over else 0


def default_workers() -> int:
    """Gives how many processes compile side by side on a GPU where nothing is said."""
    return min(max(runtime.usable_cores() // CORES_OF_ONE, 1), MOST_WORKERS)


def _work(crew: Crew, findings: Findings, asked: int, log: Path, end: float) -> str:
    """Has pieces done until the time is over.

    Args:
      crew: who does them.
      findings: what is missing, and what takes in what is found.
      asked: how many workers the user wants.
      log: has the words of JAX.
      end: of the time, by `time.monotonic`.

    Returns:
      Why nobody could go on; "" where somebody could.
    """
    if crew.begin(lambda: time.monotonic() < end):
        findings.meet(crew.about)
        greet(crew.about, log)
        if asked > len(crew.workers):
            told = f"one works, as only a gpu has room for several, and here it is platform {crew.about['platform']}"
            print(f"workers={asked}: {told}", flush=True)
        doers = [Doer(partial(crew.ready, worker), partial(_do, worker, findings)) for worker in crew.workers]
        left = end - time.monotonic()
        share_out(dict(findings.missing), pieces.SHARES, left, doers, crew.stop)
    return crew.over()


def greet(about: Mapping[str, Any], log: Path) -> None:
    """Says on what all is done; `log` has the words of JAX."""
    print(f"on {device_of(about)}: {versions_of(about)}", flush=True)
    if about["platform"] == "cpu":
        print(f"warning: {_lacking(log)}", file=sys.stderr, flush=True)


def _lacking(log: Path, devices: Path = Path("/dev")) -> str:
    """Says that there is nothing but a CPU, and what may be the reason."""
    told = "JAX has found no accelerator: all is done by the CPU, and compared with itself"
    if asked := os.environ.get("JAX_PLATFORMS"):
        return f"{told}; JAX_PLATFORMS={asked} is set"
    cards = sorted(path.name for path in devices.glob("nvidia[0-9]*"))
    if not cards:
        return told
    needed = "pip install '.[cuda]', or make env EXTRAS=test,viz,cuda"
    return f"{told}, although {devices / cards[0]} is there; JAX needs its packages for it ({needed}); {log} may tell more"


def _do(worker: Worker, findings: Findings, piece: Piece, seconds: float) -> None:
    """Has a piece done, keeps what it has given, and says so."""
    rows: list[dict[str, Any]] = []
    for told in worker.do(piece, seconds):
        if ENDED in told:
            findings.take(piece, rows, told[ENDED], told["failed"])
            print(f"{piece.part}: {piece.title}: {_told(piece, rows, told)}", flush=True)
        else:
            rows.append(told["row"])


def _told(piece: Piece, rows: Sequence[Mapping[str, Any]], told: Mapping[str, Any]) -> str:
    """What a piece has given, in a few words."""
    if told["failed"]:
        return told["failed"]
    words = []
    for row in rows:
        if "same" in row:
            words.append("the same" if row["same"] else f"differs: {row['differs']}")
        elif row.get("per_wall_second"):
            words.append(f"{row['per_wall_second']:.4g} {row['unit']} per second{' of one core' * (piece.part == pieces.CORE)}")
        elif "iterations" in row:
            words.append(f"{row['iterations']} iterations")
    return f"{'; '.join(words) or 'done'} ({told[ENDED]:.1f} s)"
