"""The command that counts instructions: `python scripts/instructions.py`."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import tyro

from experiments import caches, kept
from experiments.benchmark.programs import Text, Work
from experiments.instructions import machine_code, pieces
from experiments.instructions.machine_code import Counts
from experiments.instructions.pieces import Piece
from experiments.pages import fill, markdown
from jaxgames import runtime
from training.storage import provenance
from training.storage.provenance import CHECKOUT

DATA = CHECKOUT / "docs" / "results" / "data" / "instructions.json"
PAGE = CHECKOUT / "docs" / "benchmarks.md"
BATCHES = (48, 240, 480, 960, 1904, 3824, 15_376, 61_456)  # none a multiple of 512: see "The runtime" in docs/development.md
LANES_PER_VECTOR = 16  # words of 32 bits
SECONDS = 0.2
_STRAIGHT = 2  # kernels of a piece that is straight code
TRIES = 5


@dataclasses.dataclass(frozen=True)
class InstructionsConfig:
    """Counts the instructions of the pieces that steps and searches are made of, and measures how long they take.

    Attributes:
      pieces: which; all if none is named.
      batches: lanes for which times are measured, as far as there is memory; the best is shown.
      write: keep the rows in docs/results/data and put the table into docs/benchmarks.md.
    """

    pieces: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="PIECE ...")] = ()
    batches: tuple[int, ...] = BATCHES
    write: bool = False

    def __post_init__(self) -> None:
        for name in self.pieces:
            pieces.find(name)
        if not self.batches or min(self.batches) < 1:
            raise ValueError(f"batches={self.batches}: must be numbers of lanes, each at least 1")


def run(config: InstructionsConfig) -> int:
    """Counts and measures, and prints a JSON line per piece.

    Returns:
      The exit code, 0.

    Raises:
      ValueError: there is no disassembler, JAX does not run on a CPU, the rows that are kept are of another, or no batch fits
        into memory.
    """
    with tempfile.TemporaryDirectory() as folder:
        flags = f"--xla_dump_to={folder} --xla_dump_hlo_as_text --xla_dump_hlo_module_re=jit_piece_.*"
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flags}".strip()
        runtime.prepare(cores=1)
        jax.config.update("jax_enable_compilation_cache", False)  # what is read from there leaves no machine code
        if jax.default_backend() != "cpu":
            raise ValueError(f"device={jax.default_backend()}: instructions are counted on a CPU; set JAX_PLATFORMS=cpu")
        if config.write:
            _check_device()
        order = [piece.name for piece in pieces.PIECES]
        for name in config.pieces or order:
            row = measure(pieces.find(name), config.batches, Path(folder))
            print(json.dumps(row), flush=True)
            if config.write:
                kept.put(DATA, [row], _piece, _fill, order)
            jax.clear_caches()
    return 0


def _piece(row: Mapping[str, Any]) -> str:
    name: str = row["piece"]
    return name


def _check_device() -> None:
    """Raises ValueError where the rows that are kept are of another processor: counts and times depend on it."""
    rows = kept.read(DATA, _piece).values()
    of_rows = {row["device"] for row in rows}, {caches.in_words(row["caches"]) for row in rows}
    for others, here in zip(of_rows, (provenance.cpu_name(), caches.in_words(caches.read())), strict=True):
        if others - {here}:
            raise ValueError(f"write=True: the table is of {', '.join(others - {here})}, and this is {here}; leave out --write")


def _fill(rows: Sequence[Mapping[str, Any]]) -> None:
    fill(PAGE, {"instructions": table(rows), "caches": table_of_caches(rows)}, others_stay=True)


def measure(piece: Piece, batches: Sequence[int], folder: Path) -> dict[str, Any]:
    """Counts the instructions of a piece, and times it in batches of several sizes.

    Args:
      piece: which.
      batches: lanes.
      folder: where XLA leaves what it compiles.

    Returns:
      A row.
    """
    text, files, needs = _compiled(piece, piece.batch, folder)
    counts, work = count(text, files)
    per_vector = counts.times(LANES_PER_VECTOR / piece.batch)
    return {
        "piece": piece.name,
        "batch": piece.batch,
        "kernels": work.kernels,
        "bytes": round(work.bytes / piece.batch),
        "needs": round(needs / piece.batch),
        **{name: round(value, 1) for name, value in dataclasses.asdict(per_vector).items()},
        "open_loops": int(counts.open_loops) + work.open_loops,
        "nanoseconds": {str(batch): round(time_of(piece, batch), 2) for batch in those_that_fit(batches, needs / piece.batch)},
        "caches": caches.read(),
        **provenance.describe(jax.devices()[0]),
    }


def those_that_fit(batches: Sequence[int], needs: float) -> list[int]:
    """Gives the batches whose lanes, of so many bytes each, fit into free memory twice.

    Raises:
      ValueError: none does.
    """
    free = runtime.free_memory()
    found = [batch for batch in batches if free is None or 2 * needs * batch < free]
    if not found:
        raise ValueError(f"batches={tuple(batches)}: there is no memory for any of them, with {needs:.0f} bytes a lane")
    return found


def count(text: str, files: Mapping[str, Path]) -> tuple[Counts, Work]:
    """Counts what one round of a program's loop executes.

    Args:
      text: the program, as XLA gives it.
      files: object files by the name of their kernel.

    Returns:
      Instructions, and what the kernels are; loops of unknown length are counted once.
    """
    program = Text(text)
    loops = program.loops(program.entry)
    body = max((loop for loop, _ in loops), key=lambda loop: program.work(loop.called["body"][0]).kernels).called["body"][0]
    counts = {kernel: machine_code.count(path) for kernel, path in files.items()}
    by_content = {program.content(kernel): found for kernel, found in counts.items() if kernel in program.kernels}
    total = Counts()
    for kernel, times in program.launched(body).items():
        found = counts.get(kernel) or by_content.get(program.content(kernel))
        if found is not None:  # else it is a copy of memory, or a part of the runtime
            total += found.times(times)
    return total, program.work(body)


def _compiled(piece: Piece, batch: int, folder: Path) -> tuple[str, dict[str, Path], int]:
    """Compiles a piece; gives the text of the program, the object files of its kernels, and the bytes that it works on."""
    before = set(folder.iterdir())
    work = pieces.start(piece, batch)
    compiled = jax.jit(pieces.rounds(piece, 2 * LANES_PER_VECTOR)).lower(work, jnp.uint32(0)).compile()
    files: dict[str, Path] = {}
    for path in set(folder.iterdir()) - before:
        if match := re.search(r"\.obj-file\.(?:__compute_module_)?(.*?)(?:_kernel_module)?\.o$", path.name):
            files[match[1]] = path
    memory: Any = compiled.memory_analysis()
    return compiled.as_text() or "", files, memory.argument_size_in_bytes + memory.temp_size_in_bytes


def time_of(piece: Piece, batch: int) -> float:
    """Measures how long a round takes per lane, in nanoseconds of CPU time: the least of several tries."""
    work, nothing, length = pieces.start(piece, batch), jnp.uint32(0), 8
    while True:
        program = jax.jit(pieces.rounds(piece, length)).lower(work, nothing).compile()
        jax.block_until_ready(program(work, nothing))
        found = []
        for _ in range(TRIES):
            started = time.process_time()
            jax.block_until_ready(program(work, nothing))
            found.append(time.process_time() - started)
        if min(found) > SECONDS / 4:
            return 1e9 * min(found) / (length * batch)
        length = int(length * min(1000, max(2, SECONDS / max(min(found), 1e-6))))


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Makes the table of the page: instructions for sixteen lanes, and how far each piece is from full rate.

    Full rate is the highest of pieces of straight code, a kernel or two without open loops, whose counts are exact.
    """
    head = (
        "piece",
        "kernels",
        "compute",
        "load, store",
        "on the stack",
        "gathers",
        "scalar",
        "open loops",
        "bytes per lane",
        "ns per lane (lanes)",
        "on vectors per ns",
        "times what full rate takes",
    )
    body = []
    full = max((rate(row) for row in rows if row["kernels"] <= _STRAIGHT and not row["open_loops"]), default=0.0)
    for row in rows:
        batch, least = fastest(row)
        body.append(
            [
                f"`{row['piece']}`: {pieces.find(row['piece']).summary}",
                str(row["kernels"]),
                *(f"{row[name]:.0f}" for name in ("compute", "moves", "stack", "gathers", "scalar")),
                str(row["open_loops"]),
                str(row["bytes"]),
                f"{least:.3g} ({batch})",
                f"{rate(row):.1f}",
                f"{full / rate(row):.1f}",
            ]
        )
    return markdown(head, body)


def table_of_caches(rows: Sequence[Mapping[str, Any]]) -> str:
    """Makes the table of the best batch for each cache: nanoseconds per lane, and lanes."""
    sizes = {name: size for row in rows for name, size in row["caches"].items()}
    columns = [*sizes, caches.BEYOND]
    body = []
    for row in rows:
        best = caches.fastest_in_each(row["caches"], row["needs"], row["nanoseconds"])
        shown = (f"{best[name][1]:.3g} ({best[name][0]})" if name in best else "–" for name in columns)
        body.append([f"`{row['piece']}`", str(row["needs"]), *shown])
    of_caches = (f"{name}, {size // 2**10} kB" for name, size in sizes.items())
    return markdown(["piece", "bytes of a lane", *of_caches, caches.BEYOND], body)


def fastest(row: Mapping[str, Any]) -> tuple[str, float]:
    """The batch in which a piece takes the least time per lane, and that time in nanoseconds."""
    found: tuple[str, float] = min(row["nanoseconds"].items(), key=lambda item: item[1])
    return found


def rate(row: Mapping[str, Any]) -> float:
    """Instructions on vectors per nanosecond, in the best batch."""
    counts = Counts(row["compute"], row["moves"], gathers=row["gathers"])
    return counts.on_vectors / LANES_PER_VECTOR / fastest(row)[1]
