"""A process that works on pieces: `python -m experiments.accelerator.worker LOCK NUMBER`.

It takes a piece per line of stdin, as JSON with `seconds` that it may take, and prints its rows, a JSON object each, and then a
line that tells how it ended; with "spent", the process should be replaced. What is too large or fails is told in one line; the
process goes on with the next piece. It ends with the process that started it. Several of them compile side by side; while one
measures a speed it holds the file LOCK, and the others wait with theirs.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax

from experiments.accelerator import checks, learners, pieces
from experiments.benchmark import cases, harness
from experiments.benchmark import worker as benchmark
from experiments.benchmark.case import LEAST_REPEATS, Request
from jaxgames import runtime
from training.jobs.errors import one_line
from training.storage import provenance

READY, ENDED, SPENT = "ready", "ended", "spent"
LONGEST_REASON = 300  # characters
LONGEST_MEASUREMENT = 4.0  # seconds, once it is compiled: all others wait for it
MOST_KEPT = 2 * 2**30  # bytes of the device: what a process has once taken it keeps, and others want some too
TRAINED = 0.2  # of the seconds for a training; its first iteration is waited for


class Place(NamedTuple):
    """Where a process works.

    Attributes:
      lock: the file that is held by who measures.
      number: of the process, among those that work side by side.
    """

    lock: str
    number: int


def work(piece: pieces.Piece, seconds: float, place: Place) -> Iterator[dict[str, Any]]:
    """Does a piece. Gives its rows."""
    if piece.part == pieces.CHECKS:
        yield from checks.check(piece.name, jax.devices()[0])
    elif piece.part == pieces.SPEEDS:
        yield measure(piece, seconds, place)
    elif piece.part == pieces.CORE:
        yield measure_core(piece, seconds, place)
    else:
        for row in learners.train(piece.name, TRAINED * seconds):
            yield row | {"devices": jax.device_count()}


def measure(piece: pieces.Piece, seconds: float, place: Place) -> dict[str, Any]:
    """Measures a case. Gives its row of the benchmarks, with what its program needs and launches, and the memory in use."""
    case, mesh = cases.find(piece.name), runtime.data_mesh(piece.devices)
    usual = case.batch if mesh.devices.flat[0].platform == "cpu" else case.accelerator_batch
    hurry = min(max(seconds / 3, 0.1), LONGEST_MEASUREMENT)
    request = Request(case.name, batch=max(1, int(usual * piece.size)), repeats=LEAST_REPEATS, seconds=hurry, lock=place.lock)
    before = most_taken(mesh.devices.flat[0])
    row = harness.measure(case, request, mesh)
    after = most_taken(mesh.devices.flat[0])
    peak = after if after > before else None  # an earlier piece has taken more
    return row | {"peak_bytes": peak, "devices": piece.devices}  # also of what only compiles, which is for one


def most_taken(device: jax.Device) -> int:
    """Gives the most bytes of a device that this process has had; 0 where that is not known."""
    return (device.memory_stats() or {}).get("peak_bytes_in_use", 0)


def measure_core(piece: pieces.Piece, seconds: float, place: Place) -> dict[str, Any]:
    """Measures a case on one core of the CPU, in a process that knows no accelerator. Gives its row of the benchmarks."""
    hurry = min(max(seconds / 3, 0.1), LONGEST_MEASUREMENT)
    request = Request(piece.name, repeats=LEAST_REPEATS, seconds=hurry, lock=place.lock)
    core = runtime.usable_cores() - 1 - place.number % runtime.usable_cores()
    return benchmark.measure_apart(request, core, {"JAX_PLATFORMS": "cpu"})


def reason(error: BaseException) -> str:
    """Tells an error in one line."""
    text = one_line(str(error)) or "no reason given"
    return f"{type(error).__name__}: {text}"[:LONGEST_REASON]


def done(piece: pieces.Piece, seconds: float, place: Place) -> Iterator[dict[str, Any]]:
    """Does a piece. Gives its rows, and last how it ended: `failed` tells why it has, in one line."""
    started = time.monotonic()
    failed, spent = "", False
    try:
        for row in work(piece, seconds, place):
            yield {"row": row}
    except Exception as error:  # whatever it is: the others are worth knowing
        failed, spent = reason(error), breaks(error)
    spent = spent or most_taken(jax.local_devices()[0]) > MOST_KEPT
    yield {ENDED: round(time.monotonic() - started, 2), "failed": failed} | ({SPENT: True} if spent else {})


def breaks(error: BaseException) -> bool:
    """Says whether after an error of the device all else may fail in this process, as after any but a lack of memory."""
    causes = [error]
    while cause := causes[-1].__cause__:  # jobs tell such an error in words of their own
        causes.append(cause)
    return any(isinstance(one, jax.errors.JaxRuntimeError) and "RESOURCE_EXHAUSTED" not in str(one) for one in causes)


def main() -> None:
    """Prepares JAX, says so, and works until stdin ends."""
    place = Place(sys.argv[1], int(sys.argv[2]))
    say = os.fdopen(os.dup(1), "w")  # what jobs print goes elsewhere
    os.dup2(2, 1)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    prepare()
    about = provenance.describe(jax.devices()[0]) | {"devices": jax.device_count(), "against": provenance.cpu_name()}
    print(json.dumps({READY: about}), file=say, flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        seconds = order.pop("seconds")
        for told in done(pieces.Piece(**order), seconds, place):
            print(json.dumps(told), file=say, flush=True)
        gc.collect()
        jax.clear_caches()


def prepare() -> None:
    """Prepares JAX: the CPU is at hand beside an accelerator.

    Compiled programs are taken from a cache only where the user names one; then `compile_seconds` are no such.
    """
    platforms = os.environ.get("JAX_PLATFORMS", "")
    if platforms and "cpu" not in platforms.split(","):
        jax.config.update("jax_platforms", f"{platforms},cpu")
    if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        jax.config.update("jax_enable_compilation_cache", False)
    runtime.prepare()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)  # with what it has started
    os._exit(1)


if __name__ == "__main__":
    main()
