"""The command that measures how cost grows: `python scripts/growth.py`."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import jax

from experiments import caches
from experiments.growth import curves, learners, worker
from experiments.growth.curves import BATCH, CORES, LEARNERS, MEMORY, SIMULATIONS, Point
from experiments.growth.page import figures, tables
from experiments.pages import NONE, fill, is_published
from jaxgames import checks, runtime
from training.jobs.errors import one_line
from training.storage import provenance
from training.storage.files import alone_in, write_atomically, write_together
from training.storage.json_files import read_json, rows_of
from training.storage.provenance import CHECKOUT

FAILED = 1
DATA, PAGE = CHECKOUT / "docs" / "results" / "data" / "growth.json", CHECKOUT / "docs" / "results" / "growth.md"
PARTS = (MEMORY, BATCH, SIMULATIONS, CORES, LEARNERS)


@dataclasses.dataclass(frozen=True)
class GrowthConfig:
    """Measures how cost grows on CPUs, and writes docs/results/growth.md; points that are there already stay unless done again.

    Attributes:
      parts: batch, simulations, memory, cores, learners; those given are measured, none writes the page alone.
      seconds: per point, beside compiling.
      again: measure points that are there again.
      data: file of the rows; docs/results/data/growth.json in the checkout if not given.
      page: docs/results/growth.md if not given; figures lie beside it.
    """

    parts: tuple[str, ...] = PARTS
    seconds: float = 2.0
    again: bool = False
    data: Path | None = None
    page: Path | None = None

    def __post_init__(self) -> None:
        checks.numbers(self, "seconds", positive=True)
        for part in self.parts:
            if part not in PARTS:
                raise ValueError(f"parts={part!r}: must be some of {', '.join(PARTS)}")
        if not is_published(self.data, DATA) and is_published(self.page, PAGE):
            raise ValueError(f"data={str(self.data)!r}: would overwrite {PAGE.name} of the checkout; give --page")


def run(config: GrowthConfig) -> int:
    """Measures, and writes after every point.

    Returns:
      The exit code: 1 if a point has failed.

    Raises:
      ValueError: the page is not what it must be, or the file has curves of another machine, or none to make the page from.
      OSError: a file cannot be read or written.
    """
    data, page = config.data or DATA, config.page or PAGE
    order = [point for part in PARTS for point in curves.points(part)]
    kept, failed, about = _read(data), False, _about()
    if kept["rows"] and config.parts and (found := _first_difference(_machine(kept["about"]), _machine(about))):
        there, here = found
        raise ValueError(f"data={str(data)!r}: has curves of {there}, and this is {here}: give another file, and another page")
    rows = _by_point(kept)
    done = set() if config.again else {point for point, row in rows.items() if "failed" not in row}
    os.environ["JAX_PLATFORMS"] = "cpu"  # of the processes that measure
    for row in _measured([point for point in order if point.part in config.parts and point not in done], config):
        failed |= "failed" in row
        print(json.dumps(row), flush=True)
        data.parent.mkdir(parents=True, exist_ok=True)
        with alone_in(data.parent):
            rows = _by_point(_read(data)) | {_point(row): row | {"commit": about["commit"]}}
            kept = {"about": about, "rows": [rows[point] for point in order if point in rows]}
            lines = ",\n".join(json.dumps(each) for each in kept["rows"])
            write_atomically(data, f'{{"about": {json.dumps(kept["about"])}, "rows": [\n{lines}\n]}}\n')
    with alone_in(data.parent) if data.exists() else contextlib.nullcontext():  # others may have added to it
        if not (kept := _read(data))["rows"]:  # a page of nothing would take the place of the one that is there
            raise ValueError(f"data={str(data)!r}: {'holds no curves' if data.exists() else 'there is no such file'}")
        _fill(kept, page)
    return FAILED if failed else 0


def _fill(kept: Mapping[str, Any], page: Path) -> None:
    """Makes the tables and figures of the page."""
    about = kept["about"]
    words = ", ".join(f"{name} {version}" for name, version in about.get("versions", {}).items() if name in ("jax", "jaxlib"))
    commits = ", ".join(dict.fromkeys(row["commit"] or NONE for row in kept["rows"]))
    where = f"{about.get('device', 'no device yet')}, {words}, commits {commits or NONE}"
    fill(page, tables(kept["rows"], about.get("caches", {})) | {"where": where})
    write_together({page.parent / name: drawn for name, drawn in figures(kept["rows"]).items()})


def _read(data: Path) -> dict[str, Any]:
    """Reads what has been measured.

    Raises:
      ValueError: the file is torn, or holds something else.
    """
    if not data.exists():
        return {"about": {}, "rows": []}
    what, then = "file of growth curves", "remove it, or give another file"
    kept = read_json(data, what, {"about": dict, "rows": list}, then=then)
    rows_of(data, what, kept["rows"], {"part": str, "name": str, "number": int, "commit": str | None}, then=then)
    return kept


def _by_point(kept: dict[str, Any]) -> dict[Point, dict[str, Any]]:
    return {_point(row): row for row in kept["rows"]}


def _point(row: dict[str, Any]) -> Point:
    return Point(row["part"], row["name"], row["number"])


def _measured(points: list[Point], config: GrowthConfig) -> Iterable[dict[str, Any]]:
    """Measures points: those of a curve in one process."""
    curve = [(point.part, point.name) for point in points]
    for part, name in dict.fromkeys(curve):
        chosen = [point for point in points if (point.part, point.name) == (part, name)]
        if part == LEARNERS:
            can = [point for point in chosen if runtime.usable_cores() >= learners.DEVICES]
            yield from (_one(learners.measure, point) for point in can)
        elif part == CORES:
            can = [point for point in chosen if point.number <= runtime.usable_cores() or name.endswith("processes")]
            yield from (_one(functools.partial(worker.on_cores, seconds=config.seconds), point) for point in can)
        else:
            yield from worker.apart(chosen, config.seconds)


def _one(measure: Callable[[Point], dict[str, Any]], point: Point) -> dict[str, Any]:
    """Measures a point; the others are worth knowing if it fails."""
    try:
        return measure(point)
    except RuntimeError as error:
        return dataclasses.asdict(point) | {"failed": one_line(str(error))[:200]}


def _machine(about: Mapping[str, Any]) -> dict[str, str]:
    """Gives in words what rows under one heading have in common; not the version of this package, as each has its commit."""
    versions = {name: f"{name} {version}" for name, version in about.get("versions", {}).items() if name != "jaxgames"}
    return {"device": str(about.get("device")), **versions, "caches": caches.in_words(about.get("caches", {}))}


def _first_difference(there: dict[str, str], here: dict[str, str]) -> tuple[str, str] | None:
    """Gives the first in which two machines differ, as both have it; None if they do not."""
    both = ((there.get(name, f"no known {name}"), here.get(name, f"no known {name}")) for name in there | here)
    return next((pair for pair in both if pair[0] != pair[1]), None)


def _about() -> dict[str, Any]:
    jax.config.update("jax_platforms", "cpu")
    return provenance.describe(jax.devices()[0]) | {"caches": caches.read()}
