"""Measures points of curves in a process of its own, which takes them as JSON from stdin and prints rows."""

from __future__ import annotations

import dataclasses
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import jax

from experiments.benchmark import worker as benchmark_worker
from experiments.benchmark.case import LEAST_REPEATS, Request
from experiments.benchmark.cases import find
from experiments.benchmark.harness import FAILED
from experiments.growth import curves
from experiments.growth.curves import Point
from jaxgames import runtime
from training.jobs.errors import one_line
from training.storage.provenance import CHECKOUT


def apart(points: Sequence[Point], seconds: float) -> Iterator[dict[str, Any]]:
    """Measures points in one process on one core. Gives rows as they come; a point that fails has `failed`."""
    order = {"points": [(point.part, point.name, point.number) for point in points], "seconds": seconds}
    command = [sys.executable, "-m", "experiments.growth.worker"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=CHECKOUT) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps(order))
        process.stdin.close()
        left = list(points)
        for line in process.stdout:
            row = json.loads(line)
            left.remove(Point(row["part"], row["name"], row["number"]))
            yield row
        code = process.wait()
    for point in left:
        yield dataclasses.asdict(point) | {"failed": f"the process that measured ended with {code}"}


def on_cores(point: Point, seconds: float) -> dict[str, Any]:
    """Measures one process with so many devices, or so many processes at the same time.

    Each device, and each process, has a core of its own. Where there are more processes than cores they take turns.

    Raises:
      MeasurementError: the first process to fail; the others do not wait for it.
    """
    name, kind = point.name.split(", ")
    count = point.number if kind == "processes" else 1
    request = Request(
        name, cores=1 if count > 1 else point.number, batch=find(name).batch, repeats=LEAST_REPEATS, seconds=seconds
    )

    def one(core: int) -> dict[str, Any]:
        try:
            return benchmark_worker.measure_apart(request, core=core % runtime.usable_cores() if count > 1 else None)
        except Exception:
            Path(folder, FAILED).touch()  # the others wait for this one
            raise

    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(count) as threads:
        request = dataclasses.replace(request, meeting=folder, processes=count)  # none measures while another compiles
        rows = [done.result() for done in as_completed([threads.submit(one, core) for core in range(count)])]
    # In a second all together do the sum of what each does, in as many CPU seconds as they take for it one by one.
    walls, per_cpu_second = [row["per_wall_second"] for row in rows], [row["per_cpu_second"] for row in rows]
    rates = {"per_cpu_second": statistics.harmonic_mean(per_cpu_second, weights=walls), "per_wall_second": sum(walls)}
    return {"part": point.part, "name": point.name, "number": point.number, **rates}


def main() -> None:
    """Measures what stdin asks for."""
    order = json.load(sys.stdin)
    say = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    benchmark_worker.prepare(1)
    for given in order["points"]:
        point = Point(*given)
        try:
            row = curves.measure(point, order["seconds"])
        except Exception as error:  # whatever it is: the other points are worth knowing
            row = {"part": point.part, "name": point.name, "number": point.number, "failed": one_line(str(error))[:200]}
        print(json.dumps(row), file=say, flush=True)
        jax.clear_caches()


if __name__ == "__main__":
    main()
