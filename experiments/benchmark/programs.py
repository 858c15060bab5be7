"""What a compiled program launches: kernels, gathers, scatters and bytes per round of its main loop, read from XLA's own text.

A kernel is what a device is told to start: a fusion, or an operation that was fused with nothing. Inside a kernel nothing is
waited for; between two of them an accelerator reads and writes its memory again.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from experiments.amounts import Amounts

# What takes no time of the device.
_FREE = {
    "parameter",
    "constant",
    "tuple",
    "get-tuple-element",
    "bitcast",
    "after-all",
    "partition-id",
    "replica-id",
    "opt-barrier",
}
_VIEWS = {"bitcast", "reshape"}
_READS = {"gather", "dynamic-slice"}
_WRITES = {"scatter", "dynamic-update-slice"}
_HEAD = re.compile(r"^(ENTRY )?%?([\w.\-]+) (?:\(.*\) -> .*)?\{$")
_NAMED = re.compile(r"^\s+(?:ROOT )?%?([\w.\-]+) = (.*)$")
_SHAPE = re.compile(r"(pred|bf16|[suf]\d+)[a-z0-9]*\[([\d,]*)\]")
_CALLED = re.compile(
    r"(calls|to_apply|body|condition|branch_computations|true_computation|false_computation)=(\{[^}]*\}|%?[\w.\-]+)"
)
_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"')


class Instruction(NamedTuple):
    """One line of a program.

    Attributes:
      name, opcode: as XLA calls them.
      bytes: of its result.
      operands: names of what it takes.
      called: computations it calls, by the name of the attribute.
      trips: of a loop, how often it goes round; None where XLA does not know.
    """

    name: str
    opcode: str
    bytes: int
    operands: tuple[str, ...]
    called: Mapping[str, tuple[str, ...]]
    trips: int | None


@dataclasses.dataclass(frozen=True)
class Work(Amounts):
    """What is done once, inner loops included as often as they go round.

    Attributes:
      kernels: that are launched.
      gathers, scatters: operations of that kind in them, slices at places that are computed included.
      open_loops: rounds of loops of which XLA does not know the length, each counted once: on an accelerator the host is asked
        after each of them.
      bytes: read and written by the kernels, were nothing kept in a cache.
    """

    kernels: int = 0
    gathers: int = 0
    scatters: int = 0
    open_loops: int = 0
    bytes: int = 0


class Text:
    """A compiled program, read from the text that XLA gives of it."""

    def __init__(self, text: str) -> None:
        self.computations: dict[str, list[Instruction]] = {}
        self.entry = ""
        found: list[Instruction] = []
        for line in text.splitlines():
            if head := _HEAD.match(line):
                found = self.computations[head[2]] = []
                if head[1]:
                    self.entry = head[2]
            elif (named := _NAMED.match(line)) and (instruction := _read(named[1], named[2])):
                found.append(instruction)

    @functools.cache  # noqa: B019, a text lives no longer than what is asked of it
    def work(self, computation: str) -> Work:
        """What a computation does."""
        total = Work()
        inside = {each.name: each for each in self.computations[computation]}
        for each in inside.values():
            total += self._of(each, inside)
        return total

    def _of(self, each: Instruction, inside: Mapping[str, Instruction]) -> Work:
        if each.opcode in _FREE or each.opcode.endswith("-done"):
            return Work()
        if each.opcode == "while":
            once = self.work(each.called["body"][0]) + self.work(each.called["condition"][0])
            return once.times(each.trips) if each.trips is not None else once + Work(open_loops=1)
        if each.opcode in ("call", "async-start"):
            return sum((self.work(name) for names in each.called.values() for name in names), Work())
        if each.opcode == "conditional":
            branches = [self.work(name) for names in each.called.values() for name in names]
            return max(branches, key=lambda branch: branch.kernels)
        if each.opcode != "fusion":
            sizes = [inside[name].bytes for name in each.operands if name in inside]
            return Work(1, each.opcode in _READS, each.opcode in _WRITES, bytes=_moved(each, sizes))
        fused = self.computations[each.called["calls"][0]]
        gathers = sum(one.opcode in _READS for one in fused)
        scatters = sum(one.opcode in _WRITES for one in fused)
        return Work(1, gathers, scatters, bytes=_bytes_of_fusion(fused, each.bytes))

    def launched(self, computation: str) -> dict[str, float]:
        """The names of the kernels that a computation launches, and how often; branches share what is launched evenly."""
        found: dict[str, float] = {}
        for each in self.computations[computation]:
            if each.opcode in ("while", "call", "conditional"):
                parts = [name for names in each.called.values() for name in names]
                often = 1 / len(parts) if each.opcode == "conditional" else each.trips or 1
                for kernel, times in (one for name in parts for one in self.launched(name).items()):
                    found[kernel] = found.get(kernel, 0) + times * often
            elif each.opcode not in _FREE:
                found[each.name] = found.get(each.name, 0) + 1
        return found

    def content(self, kernel: str) -> tuple[Any, ...]:
        """What a kernel computes, without the names in it: of equal kernels XLA makes the code once."""
        each = self.kernels[kernel]
        if each.opcode != "fusion":
            return (each.opcode, each.bytes)
        fused = self.computations[each.called["calls"][0]]
        numbers = {one.name: number for number, one in enumerate(fused)}
        return tuple((one.opcode, one.bytes, *(numbers.get(name) for name in one.operands)) for one in fused)

    @functools.cached_property
    def kernels(self) -> dict[str, Instruction]:
        """All instructions by their names, which kernels are called by."""
        return {each.name: each for computation in self.computations.values() for each in computation}

    def loops(self, computation: str, times: int = 1) -> list[tuple[Instruction, int]]:
        """The loops of a computation, those inside of loops and calls too, the outer ones first, and how often each is begun."""
        found: list[tuple[Instruction, int]] = []
        for each in self.computations[computation]:
            if each.opcode == "while":
                found.append((each, times))
            if each.opcode in ("while", "call", "conditional"):
                for names in each.called.values():
                    for name in names:
                        found += self.loops(name, times * (each.trips or 1))
        return found

    def main_loop(self, length: int | None = None) -> tuple[Work, int]:
        """Gives one round of the loop that matters, and how often it goes round in all: that with most work of those of `length`.

        Or of one round more: searches that open their roots in the loop of simulations have a first round for that.
        Without such a loop it is the one with most work of all, which goes round `length` times where XLA does not know how often
        (CPUs leave out a pass that would help it); without loops the whole program, once.
        """
        loops = self.loops(self.entry)
        wanted = [found for found in loops if length is not None and found[0].trips in (length, length + 1)] or loops
        if not wanted:
            return self.work(self.entry), 1

        def weight(found: tuple[Instruction, int]) -> int:
            return found[1] * (found[0].trips or 1) * self.work(found[0].called["body"][0]).kernels

        loop, times = max(wanted, key=weight)  # of equals the outermost
        return self.work(loop.called["body"][0]), times * (loop.trips or length or 1)


def _read(name: str, text: str) -> Instruction | None:
    """Reads what stands after the sign of equality: the type, the operation, its operands, and attributes."""
    end = _closing(text, 0) if text.startswith("(") else text.find(" ")
    opcode = re.match(r"\s*([\w\-]+)\(", text[end:])
    if opcode is None:
        return None
    first = end + opcode.end() - 1
    last = _closing(text, first)
    operands = tuple(re.findall(r"%([\w.\-]+)", text[first:last]))
    called = {match[1]: tuple(re.findall(r"[\w.\-]+", match[2])) for match in _CALLED.finditer(text[last:])}
    trips = _TRIPS.search(text[last:])
    return Instruction(name, opcode[1], _size(text[:end]), operands, called, int(trips[1]) if trips else None)


def _closing(text: str, place: int) -> int:
    """Gives the place after the parenthesis that closes the one at `place`."""
    depth = 0
    for match in re.compile(r"[()]").finditer(text, place):
        depth += 1 if match[0] == "(" else -1
        if depth == 0:
            return match.end()
    return len(text)


def _size(shapes: str) -> int:
    """Bytes of a type, which may be a tuple."""
    return sum(
        _element(kind) * math.prod(int(size) for size in sizes.split(",") if size) for kind, sizes in _SHAPE.findall(shapes)
    )


def _element(kind: str) -> int:
    return 1 if kind == "pred" else max(1, int(re.sub(r"\D", "", kind)) // 8)


def _moved(each: Instruction, sizes: Sequence[int]) -> int:
    """Bytes that an operation alone reads and writes: of a large array only the part that it is about."""
    if each.opcode in _READS:
        return 2 * each.bytes
    if each.opcode in _WRITES:
        return 2 * sizes[-1 if each.opcode == "scatter" else 1]
    return each.bytes + sum(sizes)


def _bytes_of_fusion(fused: Sequence[Instruction], result: int) -> int:
    """Bytes that a fusion reads and writes: of what is only picked from, what is picked; of what is written into, what is new."""
    total, by_name = 0, {one.name: one for one in fused}
    for one in fused:
        if one.opcode == "parameter":
            uses = _uses(one.name, fused)
            if uses and all(user.opcode in _READS and first for user, first in uses):
                total += min(one.bytes, sum(user.bytes for user, _ in uses))
            elif not (uses and all(user.opcode in _WRITES and first for user, first in uses)):
                total += one.bytes
        elif one.opcode in _WRITES:
            new = sum(by_name[name].bytes for name in _news(one) if name in by_name)
            result += new - one.bytes if one.bytes <= result else 0
    return total + max(result, 0)


def _news(one: Instruction) -> tuple[str, ...]:
    """Gives the operands of a scatter, or of a slice that is replaced, which hold what is written."""
    arrays = (len(one.operands) - 1) // 2
    return one.operands[arrays + 1 :] if one.opcode == "scatter" else one.operands[1:2]


def _uses(name: str, fused: Sequence[Instruction]) -> list[tuple[Instruction, bool]]:
    """Gives what uses a value, other shapes of it included, and whether as the first operand: the array that is picked from."""
    found = []
    for user in fused:
        if name in user.operands:
            found += _uses(user.name, fused) if user.opcode in _VIEWS else [(user, user.operands[0] == name)]
    return found


def facts(compiled: Any, length: int | None = None) -> dict[str, Any]:
    """Tells what a compiled program needs and launches.

    Args:
      compiled: as `jax.jit(...).lower(...).compile()` gives it.
      length: rounds of the loop that is looked at, see `Text.main_loop`.

    Returns:
      Bytes of its arguments and of what it needs beside them (where XLA tells), the `Work` of one round of its loop, and how many
      `rounds` there are in all.
    """
    memory = compiled.memory_analysis()
    sizes = {} if memory is None else {"argument_bytes": memory.argument_size_in_bytes, "extra_bytes": memory.temp_size_in_bytes}
    work, rounds = Text(compiled.as_text()).main_loop(length)
    return {**sizes, "rounds": rounds, **dataclasses.asdict(work)}
