"""Calls of the command for accelerators, with pieces and processes that are toys."""

import json
import sys
from pathlib import Path

from experiments.accelerator import command
from experiments.accelerator.command import AcceleratorConfig
from experiments.accelerator.pieces import CHECKS, CORE, LEARNERS, SPEEDS, Piece

TOY = (sys.executable, str(Path(__file__).with_name("toy_worker.py")))


def ran(folder, parts, workers=1, words=(), **settings):
    """Runs toy pieces; returns the exit code, the rows and the page."""
    code = command.run(AcceleratorConfig(output=str(folder), workers=workers, **settings), (*TOY, *words), parts)
    rows = [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()]
    return code, rows, (folder / "page.md").read_text()


def numbers(count):
    return " ".join(f"number{number}" for number in range(count))


def starts(folder):
    """How many processes were started."""
    return len((folder / "measuring.lock.starts").read_text())


def toys(**names):
    return {part: [Piece(part, name) for name in names.get(part, "").split()] for part in (CHECKS, SPEEDS, CORE, LEARNERS)}
