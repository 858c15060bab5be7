"""The command line of the benchmarks."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.live import Live

from experiments.benchmark import cases, records, table, worker
from experiments.benchmark.case import DEFAULT_REPEATS, Request
from experiments.pages import fill, is_published
from jaxgames import runtime
from training.storage.provenance import CHECKOUT

FAILED = 1
FOLDER, PAGE, README = CHECKOUT / "benchmarks", CHECKOUT / "docs" / "benchmarks.md", CHECKOUT / "README.md"


@dataclasses.dataclass(frozen=True)
class BenchmarkConfig:
    """Measures cases, each in a process of its own, and keeps the results by device.

    Attributes:
      cases: which; all of them if none is named.
      show_list: print the names of the cases and measure nothing.
      json: print one JSON line per case in place of a table.
      cores: measure with so many CPU cores, each number in turn; 1 and all of them if none is given. One core means that the
        process is pinned to it.
      batch: games at a time per device (on a CPU: per core); the best known one if not given.
      repeats: how often the timed part is repeated, 5 times at least; the row shows the median and the best.
      seed: of everything that is drawn.
      record: append the rows to the file of the device.
      table: make the tables of the page and the README from the newest rows; without cases nothing is measured before.
      folder: where the files of the devices are; `benchmarks` in the checkout if not given.
      page: the file for all figures; docs/benchmarks.md in the checkout if not given.
      readme: the file for a few of them; the checkout's if not given.
    """

    cases: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="CASE ...")] = ()
    show_list: Annotated[bool, tyro.conf.arg(name="list")] = False
    json: bool = False
    cores: tuple[int, ...] = ()
    batch: int | None = None
    repeats: int = DEFAULT_REPEATS
    seed: int = 0
    record: bool = True
    table: bool = False
    folder: Path | None = None
    page: Path | None = None
    readme: Path | None = None

    def __post_init__(self) -> None:
        usable = runtime.usable_cores()
        for cores in self.cores:
            if cores > usable:
                raise ValueError(f"cores={cores}: this process may use {usable}")
        if self.table and not is_published(self.folder, FOLDER):
            for name, given, ours in (("page", self.page, PAGE), ("readme", self.readme, README)):
                if is_published(given, ours):
                    raise ValueError(f"folder={str(self.folder)!r}: would overwrite {ours.name} of the checkout; give --{name}")
        list(self.requests())

    def requests(self) -> Iterator[Request]:
        """Gives what is to be measured, in order.

        Raises:
          ValueError: there is no such case, or a number is not possible.
        """
        names = [cases.find(name).name for name in self.cases] or ([] if self.table else cases.names())
        counts = self.cores or (1, runtime.usable_cores())
        for name in dict.fromkeys(names):
            for cores in dict.fromkeys(counts):
                yield Request(name, cores, self.batch, self.repeats, self.seed)


def run(config: BenchmarkConfig) -> int:
    """Does what the command line asks for.

    Args:
      config: the command line.

    Returns:
      The exit code: 1 if a measurement has failed.

    Raises:
      ValueError: a file of results, the page or the README is not what it must be, or there are no results to make tables from.
      OSError: a file cannot be read or written.
    """
    if config.show_list:
        width = max(len(name) for name in cases.names())
        for case in cases.CASES:
            print(f"{case.name:{width}}  {case.unit:5}  {case.summary}")
        return 0
    folder = config.folder or FOLDER
    requests = list(config.requests())
    failures = 0
    if requests:
        records.read_all(folder)  # what cannot be added to is found before anything is measured
        failures = _measure(config, requests, folder)
    if config.table:
        rows = records.read_all(folder)
        if not rows:  # tables of nothing would take the place of those that are there
            raise ValueError(f"folder={str(folder)!r}: {'holds no rows' if folder.is_dir() else 'there is no such folder'}")
        text = table.figures(rows)
        if not config.json:
            print(text)
        fill(config.page or PAGE, {"figures": text}, others_stay=True)
        fill(config.readme or README, {"speeds": table.brief(rows, table.README)}, others_stay=True)
    return FAILED if failures else 0


def _measure(config: BenchmarkConfig, requests: list[Request], folder: Path) -> int:
    """Measures, shows and records. Returns how many measurements have failed."""
    console, failures = Console(stderr=config.json), 0
    shown = table.for_terminal()
    with Live(shown, console=console, auto_refresh=False, transient=config.json) as live:
        for number, request in enumerate(requests, start=1):
            cores = f"{request.cores} core{'s' * (request.cores > 1)}"
            shown.caption = f"{number} of {len(requests)}: {request.case} on {cores}"
            live.refresh()
            try:
                row = worker.measure_apart(request)
            except worker.MeasurementError as error:
                failures += 1
                print(f"error: {error}", file=sys.stderr)
                continue
            if config.json:
                print(json.dumps(row), flush=True)
            table.add_row(shown, row)
            if config.record:
                records.append(folder, row)
        shown.caption = None
        live.refresh()
    return failures
