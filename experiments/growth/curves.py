"""The curves that are measured, and one point of each."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

from experiments.benchmark import cases, harness, hex, pommerman
from experiments.benchmark.case import LEAST_REPEATS, Program, Request
from jaxgames import runtime
from jaxgames.hex import Hex, HexConfig
from search import fdts

BATCH, CORES, LEARNERS, SIMULATIONS, MEMORY = "batch", "cores", "learners", "simulations", "memory"
BATCHES = (1, 8, 64, 256, 1024, 4096, 16384, 65536)
NUM_SIMULATIONS = (25, 100, 400, 1600, 12800)
TABLE_ROWS = tuple(2**power for power in range(8, 19, 2))
STEPS = ("pommerman/random", "hex/dark_random", "hero_academy/random")
SEARCHES = ("hex PUCT", "Pommerman FDTS")
SELF_PLAY, DAGGER = "self-play (AlphaZe** on DarkHex 5 x 5)", "DAgger (Pommerman)"
SPREAD = {"devices": (1, 2), "processes": (1, 2, 4)}
LANES = {"hex PUCT": 16, "Pommerman FDTS": 32}
EARLY = 8  # steps of games before plans are timed


@dataclasses.dataclass(frozen=True)
class Point:
    """One point of a curve.

    Attributes:
      part: one of the names above.
      name: a case, a search, or a run of a learner.
      number: where it lies: lanes, devices (or processes), simulations, or rows.
    """

    part: str
    name: str
    number: int


def points(part: str) -> list[Point]:
    """Gives the points of a part, the cheapest curves first."""
    if part == BATCH:
        return [Point(part, name, number) for name in STEPS for number in BATCHES]
    if part == SIMULATIONS:
        return [Point(part, name, number) for name in SEARCHES for number in NUM_SIMULATIONS]
    if part == LEARNERS:
        return [Point(part, name, number) for name in (SELF_PLAY, DAGGER) for number in (1, 2)]
    if part == MEMORY:
        return [Point(part, name, number) for name in SEARCHES for number in (NUM_SIMULATIONS if "PUCT" in name else TABLE_ROWS)]
    return [Point(part, f"{name}, {kind}", number) for name in STEPS for kind, numbers in SPREAD.items() for number in numbers]


def search_program(name: str, num_simulations: int) -> Callable[[int], Program]:
    """Makes the program of a search with so many simulations, for so many lanes."""
    if name == "hex PUCT":
        return functools.partial(hex.searches, num_simulations=num_simulations)
    return functools.partial(pommerman.fdts_match, warm_up=EARLY, calls=1, num_simulations=num_simulations)


def measure(point: Point, seconds: float) -> dict[str, Any]:
    """Measures a point of `BATCH`, `SIMULATIONS` or `MEMORY` in this process, on one device.

    Args:
      point: which.
      seconds: for warming up and repeats, compiling not counted.

    Returns:
      A row: of time `per_cpu_second` and `per_wall_second`, and what the program needs; of memory `bytes` per game.
    """
    row: dict[str, Any] = dataclasses.asdict(point)
    if point.part == MEMORY:
        return row | {"bytes": tree_bytes(point)}
    mesh = runtime.data_mesh(1)
    lanes, program = point.number, None
    if point.part == SIMULATIONS:
        lanes = LANES[point.name]
        program = search_program(point.name, point.number)(lanes)
    else:
        program = harness.program_of(cases.find(point.name), lanes)
    assert program is not None
    request = Request(point.name, batch=lanes, repeats=LEAST_REPEATS, seconds=seconds)
    figures = harness.time_program(program, request, mesh, lanes)
    names = ("per_cpu_second", "per_wall_second", "compile_seconds", "details", "program")
    return row | {"lanes": lanes} | {name: figures[name] for name in names}


def tree_bytes(point: Point) -> int:
    """Bytes of the tree of one game: of PUCT by simulations, of FDTS by rows of its table."""
    if point.name == "hex PUCT":
        return hex.searcher(Hex(HexConfig(hex.SIZE)), point.number).memory_bytes
    return fdts(pommerman.ffa(), table_rows=point.number).memory_bytes
