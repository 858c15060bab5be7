"""Measures one case in a process of its own, so that neither other cases nor the caller's settings disturb it.

Started as `python -m training.benchmark.worker` with a request as JSON on stdin; the row is the last line on stdout.
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from typing import Any

import jax

from jaxgames import runtime
from training.benchmark import cases, harness
from training.benchmark.case import Request
from training.benchmark.machine import CHECKOUT


class MeasurementError(RuntimeError):
    """The process that measured has died."""


def measure_apart(request: Request) -> dict[str, Any]:
    """Measures in a process of its own.

    Args:
      request: what to measure.

    Returns:
      The row.

    Raises:
      MeasurementError: the process ended without a row; what it had to say is on stderr.
    """
    done = subprocess.run(
        [sys.executable, "-m", "training.benchmark.worker"],
        input=json.dumps(dataclasses.asdict(request)),
        stdout=subprocess.PIPE,
        text=True,
        cwd=CHECKOUT,
        check=False,
    )
    lines = done.stdout.splitlines()
    if done.returncode or not lines:
        raise MeasurementError(f"{request.case} on {request.cores} cores: the process that measured ended with {done.returncode}")
    return json.loads(lines[-1])


def prepare(cores: int) -> None:
    """Prepares this process for a measurement: so many cores, one device each, and no compilation cache."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-cores:])  # the first core serves the system
    os.environ.pop("PJRT_NPROC", None)  # the caller has set it for all cores
    jax.config.update("jax_enable_compilation_cache", False)
    runtime.prepare(cores=cores)


def main() -> None:
    """Takes a request from stdin, prints its row."""
    request = Request(**json.load(sys.stdin))
    prepare(request.cores)
    print(json.dumps(harness.measure(cases.find(request.case), request)), flush=True)


if __name__ == "__main__":
    main()
