"""Rows of accelerators that are kept, one file per device, and the tables made of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments import kept
from experiments.accelerator.page import TRAINING, cores_worth, learner
from experiments.accelerator.pieces import CHECKS, CORE, LEARNERS, SPEEDS, TELLING
from experiments.benchmark.table import short
from experiments.pages import NONE, fill, markdown
from training.storage import provenance
from training.storage.json_files import read_rows
from training.storage.provenance import CHECKOUT

DATA = CHECKOUT / "docs" / "results" / "data"
PAGE = CHECKOUT / "docs" / "accelerators.md"

Row = Mapping[str, Any]
_ROW = {"on": str, "part": str, "name": str, "size": int | float}


def record(about: Row, rows: Iterable[Row], folder: Path = DATA, page: Path = PAGE) -> None:
    """Keeps what was found (not what failed) in place of what was kept of the same pieces, and makes the tables anew.

    Args:
      about: the device.
      rows: as in rows.jsonl.
      folder: where the files of the devices are.
      page: with the marks `accelerator_speeds`, `accelerator_checks` and `accelerator_trainings`.

    Raises:
      OSError: a file cannot be read or written.
    """
    path = folder / f"accelerator-{provenance.slug(about['device'])}.json"
    own = {"on": about["device"], "commit": about.get("commit")}
    found = ({**own, **row} for row in rows if not row["failed"])
    kept.put(path, found, _key, lambda _: make_tables(folder, page), piece=lambda row: _key(row)[:-1])


def make_tables(folder: Path = DATA, page: Path = PAGE) -> None:
    """Makes the tables of a page from all that is kept."""
    rows = [row for path in sorted(folder.glob("accelerator-*.json")) for row in read_rows(path, "list of rows", _ROW)]
    tables = {"speeds": speeds_table, "checks": checks_table, "trainings": trainings_table}
    fill(page, {f"accelerator_{name}": table(rows) for name, table in tables.items()}, others_stay=True)


def _key(row: Row) -> tuple[str, str, float, int, str]:
    compared = row.get("compared", "")  # a check of a network makes several rows
    return row["part"], row["name"], row["size"], row.get("devices", 1), compared


def _on(row: Row) -> str:
    """Names what a row was found on."""
    devices = row.get("devices", 1)
    return row["on"] if devices == 1 else f"{devices} x {row['on']}"


def speeds_table(rows: Sequence[Row]) -> str:
    """Makes the table of speeds, and how many cores of the CPU beside it each is worth."""
    cores = {(row["on"], row["name"]): row["per_cpu_second"] for row in rows if row["part"] == CORE}
    order = {name: place for place, name in enumerate(TELLING)}
    shown = [row for row in rows if row["part"] == SPEEDS and row["per_wall_second"]]
    shown.sort(key=lambda row: (row["on"], row.get("devices", 1), order.get(row["name"], len(order)), row["name"], row["batch"]))
    body = []
    for row in shown:
        core, program = cores.get((row["on"], row["name"])), row.get("program") or {}  # not all cases are one program
        needs = program.get("argument_bytes", 0) + program.get("extra_bytes", 0)
        body.append(
            [
                _on(row),
                f"`{row['name']}`",
                str(row["batch"]),
                f"{short(row['per_wall_second'])} {row['unit']}/s",
                cores_worth(row["per_wall_second"], core),
                f"{program['kernels']}{'+' * bool(program['open_loops'])}" if program else NONE,
                f"{row['compile_seconds']:.0f} s",
                f"{needs / 2**20:.0f} MiB" if needs else NONE,
                row["commit"] or NONE,
            ]
        )
    head = ("device", "case", "batch", "measured", "cores", "kernels", "compiled in", "needs", "commit")
    return markdown(head, body)


def checks_table(rows: Sequence[Row]) -> str:
    """Makes the table of checks."""
    body = [
        [
            *(row["on"], row["name"], row["compared"]),
            *("yes" if row["same"] else "**no**", row["differs"] or NONE, row["commit"] or NONE),
        ]
        for row in rows
        if row["part"] == CHECKS
    ]
    return markdown(("device", "check", "compared", "same", "what differs", "commit"), body)


def trainings_table(rows: Sequence[Row]) -> str:
    """Makes the table of trainings."""
    body = [[_on(row), *learner(row), row["commit"] or NONE] for row in rows if row["part"] == LEARNERS]
    return markdown(("device", *TRAINING, "commit"), body)
