"""Measures a case in this process, which must have been prepared for it (see `worker`)."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import fcntl
import math
import os
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.sharding import Mesh, PartitionSpec
from jax.typing import ArrayLike

from experiments.benchmark import programs
from experiments.benchmark.case import Case, Program, Request, Tally, TooLarge, empty_tally
from jaxgames import runtime
from training.storage import provenance

SIGNIFICANT_DIGITS = 5
MOST_WAITING = 600  # seconds for other processes to compile what they measure
FAILED = "failed"  # a file in the folder where processes meet: one of them has ended and will not come


class LeftAloneError(RuntimeError):
    """Another process, with which this one was to measure at the same time, has failed."""


class Lap(NamedTuple):
    """One repeat: units done, CPU seconds of all threads, wall seconds."""

    units: int
    cpu: float
    wall: float


def measure(case: Case, request: Request, mesh: Mesh | None = None) -> dict[str, Any]:
    """Measures a case.

    Args:
      case: which.
      request: how.
      mesh: one axis "data"; None: all devices of this process.

    Returns:
      The row for the JSON file; what its names stand for is told in `docs/benchmarks.md`.
    """
    mesh = mesh or runtime.data_mesh()
    on_cpu = mesh.devices.flat[0].platform == "cpu"
    batch = request.batch or (case.batch if on_cpu else case.accelerator_batch)
    figures = case.measure(request, mesh, batch)
    row: dict[str, Any] = {
        "case": case.name,
        "unit": case.unit,
        "per_cpu_second": None,
        "per_wall_second": None,
        "cores": request.cores,
        "devices": mesh.devices.size,
        "batch": batch * mesh.devices.size,
        "compile_seconds": None,
        "mean_episode_length": None,
        "resets": None,
        "checksum": None,
        "repeats": {"number": request.repeats},
        "details": {},
    }
    figures["settings"] = {**figures.get("settings", {}), "seed": request.seed}
    row |= figures
    if not on_cpu:  # what the host does meanwhile says nothing
        row["per_cpu_second"] = None
    row |= provenance.describe(mesh.devices.flat[0])
    row["date"] = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return row


@dataclasses.dataclass(frozen=True)
class Throughput:
    """The `measure` of a case that times a program, which `make` makes for so many lanes per device."""

    make: Callable[[int], Program]

    def __call__(self, request: Request, mesh: Mesh, batch: int) -> dict[str, Any]:
        return time_program(self.make(batch), request, mesh, batch)


def throughput(make: Callable[[int], Program]) -> Throughput:
    """Makes the `measure` of a case from a function that makes its program for so many lanes per device."""
    return Throughput(make)


def program_of(case: Case, batch: int) -> Program | None:
    """Makes the program of a case for so many lanes per device; None where a case is no such program."""
    make = case.program or (case.measure.make if isinstance(case.measure, Throughput) else None)
    return make(batch) if make else None


def time_program(program: Program, request: Request, mesh: Mesh, batch: int) -> dict[str, Any]:
    """Compiles a program for all devices of a mesh, warms it up and times it.

    Args:
      program: the work of one device.
      request: how often, and the seed.
      mesh: one axis "data".
      batch: lanes per device.

    Returns:
      Figures: throughput, compile seconds, counts, checksum, repeats, settings and details.

    Raises:
      TooLarge: the batch does not fit.
    """
    check_size(program, mesh, batch)
    key = jax.random.key(request.seed)
    start = starter(program, mesh, batch).lower(key).compile()
    with _held(request.lock):
        carry = jax.block_until_ready(start(key))
    timed, compile_seconds = compile_part(program.timed, mesh, carry)
    between = compile_part(program.between, mesh, carry)[0] if program.between else None
    meet(request)
    with _held(request.lock):
        carry, warm_up, first, laps = _time(program, request, timed, between, carry)
    last = _read(carry)
    resets, lengths = _total(last.episodes - first.episodes), _total(last.lengths - first.lengths)
    figures: dict[str, Any] = (
        {} if request.seconds is None else {"program": {**programs.facts(timed, loop_length(program)), "warm_up": warm_up}}
    )
    return {
        **figures,
        **rates(laps),
        "compile_seconds": rounded(compile_seconds),
        "mean_episode_length": rounded(lengths / resets) if lengths else None,
        "resets": resets,
        "checksum": f"{int(last.checksum.sum(dtype=np.uint32)):08x}",
        "settings": dict(program.settings),
        "details": _details(program, carry, mesh),
    }


def repeated(request: Request, warm_up: Callable[[], Any], lap: Callable[[], Lap]) -> list[Lap]:
    """Measures what is no one program, once it is compiled, as a request wants it.

    Args:
      request: how often at most, how long, and the file that is held meanwhile.
      warm_up: what is done first.
      lap: one repeat, which is made at least once.
    """
    meet(request)
    with _held(request.lock):
        started = time.perf_counter()
        warm_up()
        laps = [lap()]
        while len(laps) < request.repeats and not (
            request.seconds is not None and time.perf_counter() - started > request.seconds
        ):
            laps.append(lap())
    return laps


def _time(
    program: Program, request: Request, timed: Callable, between: Callable | None, carry: Any
) -> tuple[Any, int, Tally, list[Lap]]:
    """Times a compiled program.

    Returns:
      What it carries at the end, the calls that warmed it up, what was counted up to then, and the repeats.
    """
    hurry, started = request.seconds, time.perf_counter()

    def late(share: float) -> bool:
        return hurry is not None and time.perf_counter() - started > share * hurry

    def call(carry: Any) -> tuple[Any, float, float]:
        cpu, wall = time.process_time(), time.perf_counter()
        carry = jax.block_until_ready(timed(carry))
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        if between:
            carry = jax.block_until_ready(between(carry))
        return carry, cpu, wall

    warm_up = 0
    while warm_up < program.warm_up and not (warm_up and late(0.5)):
        carry, _, _ = call(carry)
        warm_up += 1
    first = before = _read(carry)
    laps: list[Lap] = []
    while len(laps) < request.repeats and not (laps and late(1.0)):
        cpu = wall = 0.0
        for _ in range(program.calls):
            carry, call_cpu, call_wall = call(carry)
            cpu, wall = cpu + call_cpu, wall + call_wall
        after = _read(carry)
        laps.append(Lap(_total(after.units - before.units), cpu, wall))
        before = after
    return carry, warm_up, first, laps


def meet(request: Request) -> None:
    """Waits until all processes that measure at the same time have come this far.

    Raises:
      LeftAloneError: one of them has failed.
      TimeoutError: one of them has not come.
    """
    if request.meeting is None:
        return
    folder, deadline = Path(request.meeting), time.monotonic() + MOST_WAITING
    (folder / str(os.getpid())).touch()
    while FAILED in (there := os.listdir(folder)) or len(there) < request.processes:
        if FAILED in there:
            raise LeftAloneError("another process that measures at the same time has failed")
        if time.monotonic() > deadline:
            raise TimeoutError(f"{len(there)} of {request.processes} processes are ready after {MOST_WAITING} seconds")
        time.sleep(0.01)


@contextlib.contextmanager
def _held(path: str | None) -> Iterator[None]:
    """Holds a file as others do that measure on this device; None: there are none."""
    if path is None:
        yield
        return
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def loop_length(program: Program) -> int | None:
    """Gives the rounds of the loop in which a program does its work: steps, simulations or waves; None where that is not told.

    The first name that its settings have counts: a search that goes down its tree in waves has fewer of these than simulations.
    """
    told = (program.settings.get(name) for name in ("steps_per_repeat", "simulations_per_repeat", "waves", "num_simulations"))
    return next((rounds for rounds in told if rounds), None)


def check_size(program: Program, mesh: Mesh, batch: int) -> None:
    """Raises TooLarge when the lanes of a program cannot fit into memory; a call keeps what it is given beside what it makes."""
    try:
        carry = jax.eval_shape(starter(program, mesh, batch), jax.random.key(0))
    except (ValueError, OverflowError) as error:
        raise TooLarge(f"batch={batch}: {error}") from error
    needed = 2 * sum(math.prod(leaf.shape) * leaf.dtype.itemsize for leaf in jax.tree.leaves(carry))
    free = runtime.free_memory(mesh.local_devices)
    if free is not None and needed > 0.9 * free:
        fits = max(1, int(0.8 * batch * free / needed))
        raise TooLarge(f"batch={batch}: needs {needed / 1e9:.1f} GB and {free / 1e9:.1f} GB are free; take at most {fits}")


def compilation(
    make: Callable[[int], Mapping[str, tuple[Callable, Sequence[Any]]]], settings: Mapping[str, Any] | None = None
) -> Callable[[Request, Mesh, int], dict[str, Any]]:
    """Makes the `measure` of a case that only compiles, for one device.

    Args:
      make: takes the number of lanes and gives functions by name, each with shapes of its arguments. What is called "step" goes
        into the column of compile seconds.
      settings: what a reader must know to judge the figures.
    """

    def run(request: Request, mesh: Mesh, batch: int) -> dict[str, Any]:
        del mesh
        repeats: dict[str, Any] = {"number": request.repeats}
        functions = make(batch)
        for name, (function, arguments) in functions.items():
            repeats_wanted = request.repeats if request.seconds is None else 1
            laps = [_time_compilation(function, arguments) for _ in range(repeats_wanted)]
            for clock in ("wall", "cpu"):
                seconds = [getattr(lap, clock) for lap in laps]
                repeats[f"{name}_{clock}"] = {"best": rounded(min(seconds)), "median": _median(seconds)}
        return {
            "batch": batch,
            "devices": 1,
            "compile_seconds": repeats["step_wall"]["median"],
            "repeats": repeats,
            "settings": dict(settings or {}),
            "details": {f"{name}_seconds": repeats[f"{name}_wall"]["median"] for name in functions},
        }

    return run


def _time_compilation(function: Callable, arguments: Sequence[Any]) -> Lap:
    jax.clear_caches()  # else the second compilation would find parts of the first
    cpu, wall = time.process_time(), time.perf_counter()
    jax.jit(function).lower(*arguments).compile()
    return Lap(1, time.process_time() - cpu, time.perf_counter() - wall)


def starter(program: Program, mesh: Mesh, batch: int) -> Any:
    """Makes the jitted function from a key to the carry of all devices: leaves [devices, ...]."""

    def start(key: Array) -> Any:
        numbers = jax.lax.axis_index(runtime.DATA_AXIS) * batch + jnp.arange(batch, dtype=jnp.int32)
        return _with_device_axis((program.start(key, numbers), empty_tally(batch)))

    spread, same = PartitionSpec(runtime.DATA_AXIS), PartitionSpec()
    return jax.jit(jax.shard_map(start, mesh=mesh, in_specs=same, out_specs=spread, check_vma=False))


def compile_part(function: Callable, mesh: Mesh, carry: Any) -> tuple[Any, float]:
    """Compiles one part of a program for all devices. Returns it and the seconds that took.

    Args:
      function: `timed` or `between` of a program.
      mesh: one axis "data".
      carry: what it is given, or shapes of that with their shardings.
    """

    def local(carry: Any) -> Any:
        return _with_device_axis(function(*jax.tree.map(lambda leaf: leaf[0], carry)))

    spread = PartitionSpec(runtime.DATA_AXIS)
    mapped = jax.shard_map(local, mesh=mesh, in_specs=(spread,), out_specs=spread, check_vma=False)
    started = time.perf_counter()
    compiled = jax.jit(mapped, donate_argnums=0).lower(carry).compile()
    return compiled, time.perf_counter() - started


def _with_device_axis(tree: Any) -> Any:
    return jax.tree.map(lambda leaf: leaf[None], tree)


def _read(carry: Any) -> Tally:
    """Brings the tally to the host; leaves uint32 [devices, B]."""
    return jax.tree.map(np.asarray, carry[1])


def _total(counts: ArrayLike) -> int:
    return int(np.asarray(counts).sum(dtype=np.uint64))


def rates(laps: Sequence[Lap]) -> dict[str, Any]:
    """Gives the medians of the repeats as the throughput, with the best beside them."""
    figures: dict[str, Any] = {}
    repeats: dict[str, Any] = {"number": len(laps)}
    for name, clock in (("per_cpu_second", "cpu"), ("per_wall_second", "wall")):
        values = [lap.units / max(getattr(lap, clock), 1e-9) for lap in laps]
        figures[name] = _median(values)
        repeats[name] = {"best": rounded(max(values)), "median": figures[name]}
    return {**figures, "repeats": repeats}


def _details(program: Program, carry: Any, mesh: Mesh) -> dict[str, float]:
    def local(state: Any) -> Any:
        return _with_device_axis(program.describe(jax.tree.map(lambda leaf: leaf[0], state)))

    spread = PartitionSpec(runtime.DATA_AXIS)
    described = jax.jit(jax.shard_map(local, mesh=mesh, in_specs=(spread,), out_specs=spread, check_vma=False))(carry[0])
    return {name: rounded(np.mean(np.asarray(values))) for name, values in described.items()}


def _median(values: Iterable[float]) -> float:
    return rounded(statistics.median(values))


def rounded(value: float) -> float:
    """Rounds to the digits that a row shows."""
    return float(f"{value:.{SIGNIFICANT_DIGITS}g}")
