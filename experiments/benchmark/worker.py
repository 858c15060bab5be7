"""Measures one case in a process of its own, so that neither other cases nor the caller's settings disturb it.

Started as `python -m experiments.benchmark.worker` with a request as JSON on stdin; the row is the last line on stdout.
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import jax

from experiments.benchmark import cases, harness
from experiments.benchmark.case import Request, TooLarge
from jaxgames import runtime
from training.storage.provenance import CHECKOUT

CORE = "JAXGAMES_BENCHMARK_CORE"
REFUSED = 3  # exit code of the process that measures


class MeasurementError(RuntimeError):
    """The process that measured has died."""


def measure_apart(
    request: Request, core: int | None = None, environment: Mapping[str, str] = MappingProxyType({})
) -> dict[str, Any]:
    """Measures in a process of its own.

    Args:
      request: what to measure.
      core: place of the one to use among those that this process may use; None: the last ones.
      environment: variables that are others in that process.

    Returns:
      The row.

    Raises:
      MeasurementError: what was asked for does not fit, or the process ended without a row; what it had to say is on stderr.
    """
    done = subprocess.run(
        [sys.executable, "-m", "experiments.benchmark.worker"],
        input=json.dumps(dataclasses.asdict(request)),
        stdout=subprocess.PIPE,
        text=True,
        cwd=CHECKOUT,
        env={**os.environ, **environment, **({} if core is None else {CORE: str(core)})},
        check=False,
    )
    lines, what = done.stdout.splitlines(), f"{request.case} on {request.cores} core{'s' * (request.cores > 1)}"
    if done.returncode == REFUSED and lines:
        raise MeasurementError(f"{what}: {lines[-1]}")
    if done.returncode or not lines:
        raise MeasurementError(f"{what}: the process that measured ended with {done.returncode}")
    return json.loads(lines[-1])


def prepare(cores: int) -> None:
    """Prepares this process for a measurement: so many cores, one device each, and no compilation cache."""
    if hasattr(os, "sched_setaffinity"):
        usable = sorted(os.sched_getaffinity(0))
        chosen = usable[int(os.environ[CORE])] if CORE in os.environ else None
        os.sched_setaffinity(0, usable[-cores:] if chosen is None else [chosen])  # the first core serves the system
    os.environ.pop("PJRT_NPROC", None)  # the caller has set it for all cores
    jax.config.update("jax_enable_compilation_cache", False)
    runtime.prepare(cores=cores)


def main() -> None:
    """Takes a request from stdin, prints its row; or, with its own exit code, why it cannot be measured, in one line."""
    request = Request(**json.load(sys.stdin))
    prepare(request.cores)
    try:
        row = harness.measure(cases.find(request.case), request)
    except (TooLarge, harness.LeftAloneError, jax.errors.JaxRuntimeError) as error:
        if isinstance(error, jax.errors.JaxRuntimeError) and "RESOURCE_EXHAUSTED" not in str(error):
            raise
        print(" ".join(str(error).split()), flush=True)
        sys.exit(REFUSED)
    print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
