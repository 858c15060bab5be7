"""How fast learners go on in two processes of one device each, beside one process of two."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from subprocess import PIPE, STDOUT
from typing import Any, NamedTuple

from experiments.growth.curves import DAGGER, SELF_PLAY, Point
from jaxgames import processes, runtime
from training.storage.logs import read_log
from training.storage.provenance import CHECKOUT

DEVICES = 2  # of one core each
PATIENCE = 600  # seconds until the processes have found each other, compiled and finished

_ALPHAZE = (
    "scripts/train_alphaze.py --who.mode adh-5 --who.network tiny --learn.num-worlds 4 --learn.num-simulations 16 "
    "--learn.lanes 64 --learn.steps 8 --epochs 6 --learn.epoch-samples 2048 --learn.buffer-size 8192 --learn.epoch-updates 64 "
    "--learn.updates 32 --learn.batch-size 128 --gate-games 0 --rate-games 0 --final-games 0"
)
_DAGGER = (
    "scripts/train_follower.py --learn.lanes 32 --learn.episodes 64 --oracle.num-simulations 50 --oracle.table-rows 8192 "
    "--evaluate-every 1000 --evaluate-games 2 --final-games 0 --checkpoint-every 10000"
)


class Job(NamedTuple):
    """A real job, with few and short iterations: the smaller these are, the more messages weigh.

    Attributes:
      command: with its flags.
      first, last: iterations between which its pace is taken: all is compiled, every lane is busy, the last save is to come.
    """

    command: str
    first: int
    last: int


JOBS: Mapping[str, Job] = {SELF_PLAY: Job(_ALPHAZE, 11, 35), DAGGER: Job(_DAGGER, 2, 26)}


class RunFailedError(RuntimeError):
    """A run has not come to its end."""


def measure(point: Point) -> dict[str, Any]:
    """Runs a job on two devices in as many processes as the point says.

    Returns:
      A row with `per_wall_second`, iterations.

    Raises:
      RunFailedError: a process ended otherwise than it should, with what it said last.
    """
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "run"
        job = JOBS[point.name]
        _run(job.command.split(), output, point.number)
        rate = pace(read_log(output / "log.jsonl"), job.first, job.last)
    return {"part": point.part, "name": point.name, "number": point.number, "per_wall_second": rate}


def pace(log: Sequence[Mapping[str, Any]], first: int, last: int) -> float:
    """Iterations per second from the end of one iteration to that of another.

    Raises:
      RunFailedError: the run had fewer.
    """
    seconds = {line["iteration"]: line["seconds"] for line in log}
    if not {first, last} <= set(seconds):
        raise RunFailedError(f"{max(seconds, default=0)} iterations: must be at least {last}, to be timed from {first} to there")
    return (last - first) / (seconds[last] - seconds[first])


def _run(command: Sequence[str], output: Path, number: int) -> None:
    """Starts the processes, each with its share of the cores, and waits for them."""
    order = [sys.executable, *command, "--output", str(output), "--coordinator"]
    address, share = f"localhost:{processes.free_port()}", DEVICES // number
    environment = _as_a_user(os.environ)
    started = []
    for me in range(number):
        which = ["none"] if number == 1 else [address, "--num-processes", str(number), "--process-id", str(me)]
        with _cores(me * share, share):
            started.append(
                subprocess.Popen([*order, *which], cwd=CHECKOUT, env=environment, stdout=PIPE, stderr=STDOUT, text=True)
            )
    try:
        for process in started:
            try:
                told, _ = process.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                raise RunFailedError(f"{command[0]} took more than {PATIENCE} s") from None
            if process.returncode:
                raise RunFailedError(f"{command[0]} ended with {process.returncode}: {told[-300:]}")
    finally:
        for process in started:
            process.kill()
            process.wait()


def _as_a_user(environment: Mapping[str, str]) -> dict[str, str]:
    """Takes from an environment what this process has added when it prepared itself: how many devices and threads there are."""
    kept = {name: value for name, value in environment.items() if name not in ("PJRT_NPROC", "JAX_NUM_CPU_DEVICES")}
    flags = kept.get("XLA_FLAGS", "").split()
    kept["XLA_FLAGS"] = " ".join(flag for flag in flags if not flag.startswith(runtime.DEVICE_COUNT_FLAG))
    return kept


@contextlib.contextmanager
def _cores(first: int, number: int) -> Iterator[None]:
    """Lets processes that are started meanwhile use these of the cores alone, where the system can."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    usable = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, usable[first : first + number])
    try:
        yield
    finally:
        os.sched_setaffinity(0, usable)
