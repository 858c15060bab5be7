"""The command that counts kernels: `python scripts/kernels.py`."""

from __future__ import annotations

import dataclasses
import functools
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import jax
import tyro
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from experiments import kept
from experiments.accelerator.pieces import TELLING
from experiments.benchmark import cases, harness, programs
from experiments.benchmark.case import Case
from experiments.benchmark.table import OF_BATCHES, short
from experiments.kernels import plans, targets
from experiments.pages import NONE, fill, markdown
from jaxgames import runtime
from jaxgames.platforms import for_all_platforms
from training.jobs.errors import one_line
from training.storage import provenance
from training.storage.provenance import CHECKOUT

DATA = CHECKOUT / "docs" / "results" / "data"
PAGE = CHECKOUT / "docs" / "accelerators.md"
# What an H100 is taken for where nothing was measured: bytes per second of its memory, seconds until a kernel has been started
# and has ended with little to do, seconds for the host to learn whether a loop goes on.
BANDWIDTH, LAUNCH, QUESTION = 3.35e12, 3e-6, 15e-6
_PER_PROGRAM = {"plans", "decisions", *OF_BATCHES}  # units of which the whole program does one per lane
_PER_ROUND = {  # others, per lane and round
    "steps": 1.0,
    "seconds of battle": 0.5,
    "simulations": 1.0,
    "worlds": 1.0,
    "evaluations": 1.0,
}


@dataclasses.dataclass(frozen=True)
class KernelsConfig:
    """Compiles benchmark cases and planners, and counts kernels, gathers, scatters and bytes of one round of their main loop.

    Attributes:
      cases: which, or planners, each as one word such as "hex mcts:num_simulations=50"; all cases that are one program if none
        is named.
      target: here (the devices of this machine) or h100, which need not be there: see docs/accelerators.md.
      packages: folder with the packages for h100, where they are not installed.
      batch: lanes; what the cases take on accelerators if not given.
      write: keep the rows in docs/results/data and put the table into docs/accelerators.md; for h100 alone.
    """

    cases: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="CASE ...")] = ()
    target: str = targets.HERE
    packages: Path | None = None
    batch: int | None = None
    write: bool = False

    def __post_init__(self) -> None:
        if self.target not in (targets.HERE, targets.H100):
            raise ValueError(f"target={self.target!r}: must be {targets.HERE} or {targets.H100}")
        if self.write and self.target != targets.H100:
            raise ValueError(f"write=True: {PAGE.name} has a table of {targets.H100} alone; give --target {targets.H100}")
        for name in self.cases:
            if not plans.is_plan(name):
                cases.find(name)
        if self.batch is not None and self.batch < 1:
            raise ValueError(f"batch={self.batch}: must be >= 1")


def run(config: KernelsConfig) -> int:
    """Counts, and prints a JSON line per case.

    Returns:
      The exit code: 1 if a case cannot be compiled.

    Raises:
      ValueError: there is nothing to compile for the target with, or no such planner.
    """
    runtime.prepare()
    targets.prepare(config.target, config.packages)
    mesh = targets.mesh_of(config.target, config.packages)
    path = DATA / f"kernels-{config.target}.json"
    order = [*TELLING, *(name for name in cases.names() if name not in TELLING)]
    failed = False
    chosen = {name: plans.case(name) if plans.is_plan(name) else cases.find(name) for name in config.cases or order}
    for name, case in chosen.items():
        row = count(case, mesh, config.batch)
        if row is None and not config.cases:
            continue
        row = row or {"case": name, "failed": "is not one program, so there is no round of which kernels could be counted"}
        print(json.dumps(row), flush=True)
        failed |= bool(row["failed"])
        if config.write and not row["failed"]:
            planners = dict.fromkeys(each for each in (*kept.read(path, _case), name) if plans.is_plan(each))
            kept.put(path, [row], _case, functools.partial(_fill, f"kernels_{config.target}"), [*order, *planners])
        jax.clear_caches()
    return int(failed)


def _case(row: Mapping[str, Any]) -> str:
    name: str = row["case"]
    return name


def _fill(mark: str, rows: Sequence[Mapping[str, Any]]) -> None:
    fill(PAGE, {mark: table(rows)}, others_stay=True)


def count(case: Case, mesh: Mesh, batch: int | None = None) -> dict[str, Any] | None:
    """Compiles the timed part of a case and counts what one round of its loop launches.

    Args:
      case: which.
      mesh: of one device, which need not be there.
      batch: lanes; None: what the case takes on accelerators.

    Returns:
      A row, with `failed` where it could not be compiled; None where a case is not one program.
    """
    lanes = batch or case.accelerator_batch
    started = time.monotonic()
    row: dict[str, Any] = {"case": case.name, "unit": case.unit, "batch": lanes, "failed": ""}
    try:
        program = harness.program_of(case, lanes)
        if program is None:
            return None
        carry = jax.eval_shape(harness.starter(program, runtime.data_mesh(1), lanes), jax.random.key(0))
        spread = NamedSharding(mesh, PartitionSpec(runtime.DATA_AXIS))
        carry = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=spread), carry)
        with for_all_platforms():
            compiled, _ = harness.compile_part(program.timed, mesh, carry)
        row |= programs.facts(compiled, harness.loop_length(program))
        row["units_per_round"] = _units_per_round(case, lanes, row["rounds"], told=harness.loop_length(program) is not None)
    except Exception as error:  # whatever it is: the others are worth knowing
        row["failed"] = f"{type(error).__name__}: {one_line(str(error))}"[:300]
    return (
        row
        | {"device": mesh.devices.flat[0].device_kind, "jax": jax.__version__, "commit": provenance.commit()}
        | {"compile_seconds": round(time.monotonic() - started, 1)}
    )


def _units_per_round(case: Case, lanes: int, rounds: int, told: bool) -> float | None:
    """How much of what a case counts is done in one round; None where neither its unit nor its program tells."""
    if case.unit in _PER_PROGRAM:
        return lanes / rounds if told else None
    return lanes * _PER_ROUND[case.unit] if case.unit in _PER_ROUND else None


def estimate(row: Mapping[str, Any]) -> tuple[float | None, str]:
    """Says what a row lets one expect of an H100: units per second (None where it does not tell), and what limits them."""
    parts = {
        "memory": row["bytes"] / BANDWIDTH,
        "launches": row["kernels"] * LAUNCH,
        "loops of unknown length": row["open_loops"] * QUESTION,
    }
    units = row["units_per_round"]
    return units and units / sum(parts.values()), max(parts, key=lambda name: parts[name])


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Makes the table of the page."""
    head = (
        "case",
        "batch",
        "rounds",
        "kernels per round",
        "gathers, scatters",
        "open loops",
        "MB per round",
        "limited by",
        "estimate",
    )
    body = []
    for row in rows:
        rate, limit = estimate(row)
        body.append(
            [
                f"`{row['case']}`",
                str(row["batch"]),
                str(row["rounds"]),
                str(row["kernels"]),
                f"{row['gathers']}, {row['scatters']}",
                str(row["open_loops"]),
                f"{row['bytes'] / 1e6:.3g}",
                limit,
                f"{short(rate)} {row['unit']}/s" if rate else NONE,
            ]
        )
    return markdown(head, body)
