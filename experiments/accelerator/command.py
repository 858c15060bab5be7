"""The command for accelerators: `python scripts/accelerator.py`."""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax

from experiments.accelerator import pieces
from experiments.accelerator.page import page
from experiments.accelerator.pieces import Piece
from experiments.accelerator.supervise import COMMAND, LATE, Worker, share_out
from experiments.accelerator.worker import ENDED
from jaxgames import checks
from training.storage.files import output_folder, write_atomically

FAILED = 1
ROWS, ABOUT, PAGE, LOG = "rows.jsonl", "about.json", "page.md", "worker.log"
_SAME = ("device", "versions", "commit")  # of all rows of a folder


@dataclasses.dataclass(frozen=True)
class AcceleratorConfig:
    """Compares an accelerator with the CPU, measures every benchmark case on it, and trains every learner for a moment.

    Rows and a page are written as it goes: whenever it ends, what was found is there, and the page lists what was not reached.

    Attributes:
      minutes: that all takes at most, the start of JAX included.
      only: a regular expression; only pieces whose part:name contains it, as in checks:states, speeds:hex/puct or learners.
      devices: accelerators that cases are measured on.
      resume: go on with the pieces that the folder has no rows of, with the same device, versions and commit.
      output: folder for rows.jsonl, about.json, page.md and worker.log.
    """

    minutes: float = 9.0
    only: str = ""
    devices: int = 1
    resume: bool = False
    output: str = "output/accelerator"

    def __post_init__(self) -> None:
        checks.numbers(self, "minutes", positive=True)
        checks.at_least(1, self, "devices")
        pieces.pattern_of(self.only)


class Findings:
    """What was found so far, kept in a folder."""

    def __init__(self, folder: Path, parts: Mapping[str, Sequence[Piece]], minutes: float, resume: bool) -> None:
        """Begins, or goes on with what is there.

        Raises:
          OSError: a file cannot be read or written.
        """
        self.folder, self.minutes, self.about = folder, minutes, dict[str, Any]()
        self.rows: list[dict[str, Any]] = []
        if resume and (folder / ROWS).exists():
            self.rows = [json.loads(line) for line in (folder / ROWS).read_text().splitlines()]
            if (folder / ABOUT).exists():
                self.about = json.loads((folder / ABOUT).read_text())
        self.rows = [row for row in self.rows if not row["failed"].startswith(LATE)]
        known = {(row["part"], row["name"], row["size"]) for row in self.rows}
        self.missing = {
            part: [piece for piece in planned if (part, piece.name, piece.size) not in known] for part, planned in parts.items()
        }

    def meet(self, about: Mapping[str, Any]) -> None:
        """Takes in what a working process has told of its device.

        Raises:
          ValueError: the rows that are there are of another one.
        """
        for name in _SAME if self.about else ():
            if self.about.get(name) != about.get(name):
                there, here = self.about.get(name), about.get(name)
                told = f"holds rows of {name} {there}, and here it is {here}"
                raise ValueError(f"output={str(self.folder)!r}: {told}: give another folder")
        if self.about != about:
            self.about = dict(about)
            write_atomically(self.folder / ABOUT, json.dumps(self.about) + "\n")

    def reach(self, piece: Piece, rows: Sequence[Mapping[str, Any]], seconds: float, failed: str) -> None:
        """Takes in what a piece has given, and writes all."""
        begun: dict[str, Any] = piece.as_dict() | {"seconds": seconds, "failed": ""}
        self.rows += [{**begun, **row} for row in rows]
        if failed:
            self.rows.append(begun | {"failed": failed})
        self.missing[piece.part] = [other for other in self.missing[piece.part] if other != piece]
        self.write()

    def write(self) -> None:
        """Writes the rows and the page."""
        write_atomically(self.folder / ROWS, "".join(json.dumps(row) + "\n" for row in self.rows))
        write_atomically(self.folder / PAGE, page(self.about, self.rows, self.missing, self.minutes))


def run(config: AcceleratorConfig, command: Sequence[str] = COMMAND, parts: Mapping[str, Sequence[Piece]] | None = None) -> int:
    """Does as much as there is time for.

    Args:
      config: the command line.
      command: the process that works, see `supervise.Worker`.
      parts: pieces in place of all.

    Returns:
      The exit code: 1 if a check has found a difference, or something has failed but for want of time.

    Raises:
      OSError: the folder cannot be written or is in use.
      ValueError: it holds rows of another device, of other versions or of another commit.
    """
    end = time.monotonic() + 60 * config.minutes
    jax.config.update("jax_platforms", "cpu")  # of this process, which leaves accelerators to the one that works
    with output_folder(config.output) as folder:
        assert folder is not None
        findings = Findings(folder, parts or pieces.plan(config.only), config.minutes, config.resume)
        findings.write()
        with Worker(config.devices, folder / LOG, command) as worker:

            def do(piece: Piece, seconds: float) -> None:
                rows: list[dict[str, Any]] = []
                for told in worker.do(piece, seconds):
                    if ENDED in told:
                        if worker.about:
                            findings.meet(worker.about)
                        findings.reach(piece, rows, told[ENDED], told["failed"])
                        print(f"{piece.part}: {piece.title}: {_told(rows, told)}", flush=True)
                    else:
                        rows.append(told["row"])

            try:
                share_out(dict(findings.missing), pieces.SHARES, end - time.monotonic() - 1, do)
            except KeyboardInterrupt:
                findings.write()
                print("interrupted: what was found is kept", file=sys.stderr)
        left = sum(len(planned) for planned in findings.missing.values())
        print(f"{left} pieces were not reached; the page is {folder / PAGE}")
    wrong = any((row["failed"] and not row["failed"].startswith(LATE)) or not row.get("same", True) for row in findings.rows)
    return FAILED if wrong else 0


def _told(rows: Sequence[Mapping[str, Any]], told: Mapping[str, Any]) -> str:
    """What a piece has given, in a few words."""
    if told["failed"]:
        return told["failed"]
    words = []
    for row in rows:
        if "same" in row:
            words.append("the same" if row["same"] else f"differs: {row['differs']}")
        elif row.get("per_wall_second"):
            words.append(f"{row['per_wall_second']:.4g} {row['unit']} per second")
        elif "iterations" in row:
            words.append(f"{row['iterations']} iterations")
    return f"{'; '.join(words) or 'done'} ({told[ENDED]:.1f} s)"
