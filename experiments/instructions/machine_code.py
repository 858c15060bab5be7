"""Counts the instructions that a kernel executes, from the object file that XLA leaves of it.

Kernels are straight lines of code inside loops of constant length. So what is executed is what stands there, as often as the
loops around it go round; branches within are counted as if all were taken.
"""

from __future__ import annotations

import dataclasses
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from experiments.amounts import Amounts

_LINE = re.compile(r"^\s*([0-9a-f]+):\s+(?:\w+ )*?([a-z][\w.]*)\s*(.*?)\s*$")
_STACK = re.compile(r"\((?:%rsp|%rbp)")
_SCALAR = re.compile(r"^v(?:(?!p|broadcast)\w*s[sd](?:2\w+)?|movd|movq|zeroupper)$")  # of one number, though in vector registers
_COMPARE = re.compile(r"^\$(-?0x[0-9a-f]+|-?\d+),(%\w+)$")
_STEP = re.compile(r"^(-?0x[0-9a-f]+)\((%\w+)\),(%\w+)$")
_WIDE = {f"%e{name}": f"%r{name}" for name in ("ax", "bx", "cx", "dx", "si", "di", "bp")} | {
    f"%r{number}d": f"%r{number}" for number in range(8, 16)
}


class Line(NamedTuple):
    """An instruction: where it stands, what it does, and to what, the target last."""

    place: int
    name: str
    operands: str


@dataclasses.dataclass(frozen=True)
class Counts(Amounts):
    """Instructions that are executed.

    Attributes:
      compute: on vectors, those included that also load an operand.
      moves: loads and stores of vectors.
      stack: of all those, the ones that use the stack: spills for the most part.
      gathers: that read, or write, a vector at places of its own for each element.
      scalar: all others.
      open_loops: loops of which no length was found; each is counted as if it went round once.
    """

    compute: float = 0
    moves: float = 0
    stack: float = 0
    gathers: float = 0
    scalar: float = 0
    open_loops: float = 0

    @property
    def on_vectors(self) -> float:
        """All that work on vectors."""
        return self.compute + self.moves + self.gathers


class _Loop(NamedTuple):
    first: int
    last: int


def count(path: Path) -> Counts:
    """Counts what the kernel in an object file executes.

    Raises:
      ValueError: there is no disassembler.
    """
    return of_lines(disassemble(path))


def disassemble(path: Path) -> list[Line]:
    """Reads an object file.

    Raises:
      ValueError: there is no disassembler.
    """
    program = shutil.which("objdump") or shutil.which("llvm-objdump")
    if program is None:
        raise ValueError("instructions: needs objdump, of the package binutils")
    text = subprocess.run([program, "-d", "--no-show-raw-insn", str(path)], check=True, capture_output=True, text=True).stdout
    found = (_LINE.match(line) for line in text.splitlines())
    return [Line(int(each[1], 16), each[2], each[3]) for each in found if each]


def of_lines(lines: Sequence[Line]) -> Counts:
    """Counts what is executed of a function."""
    loops = _loops(lines)
    lengths = {loop: _length(lines, loop, loops) for loop in loops}
    total = Counts(open_loops=sum(length is None for length in lengths.values()))
    for index, line in enumerate(lines):
        times = 1
        for loop, length in lengths.items():
            if loop.first <= index <= loop.last:
                times *= length or 1
        total += _kind(line).times(times)
    return total


def _kind(line: Line) -> Counts:
    name, operands = line.name, line.operands
    if "gather" in name or "scatter" in name:
        return Counts(gathers=1)
    if not name.startswith(("v", "k")) or _SCALAR.match(name):
        return Counts(scalar=1)
    on_stack = float(bool(_STACK.search(operands)))
    if name.startswith(("vmov", "vpbroadcast", "vbroadcast")) and "(" in operands:
        return Counts(moves=1, stack=on_stack)
    return Counts(compute=1, stack=on_stack)


def _loops(lines: Sequence[Line]) -> list[_Loop]:
    """Every jump back makes a loop. Of those with one beginning the longest counts; those that overlap in part are one."""
    index_of = {line.place: index for index, line in enumerate(lines)}
    longest: dict[int, int] = {}
    for index, line in enumerate(lines):
        target = _target(line)
        first = None if target is None else index_of.get(target)
        if first is not None and first <= index:
            longest[first] = max(longest.get(first, 0), index)
    found: list[_Loop] = []
    for first, last in sorted(longest.items()):
        before = next((loop for loop in found if first <= loop.last < last), None)
        if before is None:
            found.append(_Loop(first, last))
        else:
            found[found.index(before)] = _Loop(before.first, last)
    return found


def _target(line: Line) -> int | None:
    if not line.name.startswith("j"):
        return None
    place = re.match(r"(?:0x)?([0-9a-f]+)\b", line.operands)
    return int(place[1], 16) if place else None


def _length(lines: Sequence[Line], loop: _Loop, loops: Sequence[_Loop]) -> int | None:
    """How often a loop goes round, from the register that it counts in; None if that is not found."""
    inner = [other for other in loops if other != loop and loop.first <= other.first and other.last <= loop.last]
    own = [index for index in range(loop.first, loop.last + 1) if not any(other.first <= index <= other.last for other in inner)]
    steps = dict(step for index in own if (step := _step(lines[index])))
    for index in own:
        line = lines[index]
        if line.name.startswith("cmp") and (match := _COMPARE.match(line.operands)) and _register(match[2]) in steps:
            counter = _register(match[2])
            return _rounds(int(match[1], 0) - _begin(lines, loop.first, counter), steps[counter])
    for counter, size in steps.items():  # without a comparison a register counts to zero
        if begin := _begin(lines, loop.first, counter):
            return _rounds(begin, size)
    return None


def _rounds(way: int, step: int) -> int:
    return max(1, -(-abs(way) // abs(step)))


def _step(line: Line) -> tuple[str, int] | None:
    """The register that an instruction counts up or down, and by how much."""
    name = line.name.rstrip("lq")
    if name in ("inc", "dec"):
        return _register(line.operands), 1 if name == "inc" else -1
    if name in ("add", "sub") and (match := _COMPARE.match(line.operands)):
        return _register(match[2]), int(match[1], 0) * (1 if name == "add" else -1)
    if line.name.startswith("lea"):
        match = _STEP.match(line.operands)
        return (_register(match[3]), int(match[1], 0)) if match and int(match[1], 0) else None
    return None


def _begin(lines: Sequence[Line], first: int, register: str) -> int:
    """What a register holds when a loop begins: the last constant that was put into it; 0 if none was."""
    for line in reversed(lines[:first]):
        parts = line.operands.split(",")
        if _register(parts[-1]) != register:
            continue
        if line.name.startswith("mov") and (match := _COMPARE.match(line.operands)):
            value = int(match[1], 0)
            return value - (1 << 64) if value >= 1 << 63 else value
        return 0
    return 0


def _register(name: str) -> str:
    return _WIDE.get(name, name)
