"""Turns what JAX says when it gives up into one line. Run as a program, by `jaxgames.processes`; reads stdin until it ends.

JAX ends a process as soon as its coordination service tells that another one is lost, in C++ and with a page of text. No code of
that process runs then, so its errors go through this program, which also passes on everything else that it is given.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

FAREWELL = "jaxgames: the end was told"  # after this line there is nothing more to tell
PULSE = "jaxgames: runs"  # once a second, from a process that has not been stopped
_FATAL = re.compile(r"^F\d{4} .*distributed service detected fatal errors.*absl::Status: (?P<status>.*)")
_LOGGED = re.compile(r"^[EWIF]\d{4} ")
_NOISE = re.compile(r"^[EWI]\d{4} .*(coordination|preemption)")


class Setting(NamedTuple):
    """In what a process runs, in the words in which it is told.

    Attributes:
      number: of the process.
      total: how many processes there are; "several" where that is not known.
      address: the coordinator's; "" where JAX finds it.
      patience: seconds to wait at the start.
      silence: seconds between signs of life, at most.
    """

    number: str
    total: str
    address: str
    patience: str
    silence: str


def main(arguments: Sequence[str]) -> None:
    """Passes lines from stdin to stderr: what JAX says at the end as one line. Arguments are those of `Setting`."""
    for line in told(sys.stdin, Setting(*arguments)):
        sys.stderr.write(line)
        sys.stderr.flush()


class Pulse:
    """When a process gave signs of life. One that was stopped finds, when it goes on, that the others have given it up."""

    def __init__(self, silence: float) -> None:
        self._silence = silence
        self._last, self._stood = float("inf"), -float("inf")  # when the last sign came, and when the last pause ended

    def beat(self, now: float) -> None:
        """Takes note of a sign of life."""
        if self._paused(now):
            self._stood = now
        self._last = now

    def stood_still(self, now: float) -> bool:
        """Says whether the process has just been silent for so long that others have missed it."""
        return self._paused(now) or now - self._stood < self._silence

    def _paused(self, now: float) -> bool:
        return now - self._last > self._silence


def told(lines: Iterable[str], setting: Setting, clock: Callable[[], float] = time.monotonic) -> Iterator[str]:
    """Gives what is to be printed of the lines that a process writes to stderr."""
    reading, of_noise, pulse = iter(lines), False, Pulse(float(setting.silence))
    for line in reading:
        if line.strip() == FAREWELL:
            break
        if line.rstrip().endswith(PULSE):
            pulse.beat(clock())
            line = line.rstrip().removesuffix(PULSE)  # of a line that C++ has not ended yet
            if not line:
                continue
        if found := _FATAL.match(line):
            rest, stood = [found["status"]], pulse.stood_still(clock())
            for more in reading:
                if more.startswith("***"):
                    break
                rest.append("" if more.strip() == PULSE else more.strip())
            yield f"error: {verdict(' '.join(rest).strip(), setting, stood=stood)}\n"
            break
        of_noise = bool(_NOISE.match(line)) or (of_noise and not _LOGGED.match(line))  # with the lines that follow
        if not of_noise:
            yield line
    for _ in reading:  # a process whose errors nobody reads would be ended by the next one
        pass


def verdict(status: str, setting: Setting, *, stood: bool = False) -> str:
    """Says in a few words what a status of JAX's coordination service means.

    Args:
      status: of the service.
      setting: of this process.
      stood: this process itself has just stood still. Then it takes for lost, as a coordinator, whom it has not heard meanwhile,
        and the coordinator whose end it has missed.
    """
    index, count, address, _, silence = setting
    me, again = f"process {index} of {count}", "start all again, with --resume where there are checkpoints"
    where = address or "that JAX has found"
    missed = f"{me} gave no sign of life for {silence} s, and the others have ended: {again}"
    late = f"(no sign of life for {silence} s): {me} ends too; {again}"
    if "RegisterTask" in status and "DEADLINE_EXCEEDED" in status:
        return f"{me}: {_in_vain(setting)}"
    if found := re.search(r"Unexpected task registered with task=\D*(\d+)", status):
        return f"process_id={found[1]}: the coordinator {where} counts fewer processes: give all the same --num-processes"
    if found := re.search(r"(\d+) unexpectedly tried to connect", status):
        return f"process_id={found[1]}: was given to two processes, or started again alone: give each its own, and {again}"
    if found := re.search(r"unhealthy \(stopped sending heartbeats\):([\s\d,]+)", status):
        lost = found[1].replace(",", " ").split()
        others = f"process {', '.join(lost)} of {count} has died or hangs, or was interrupted"
        return missed if index in lost or (stood and index == "0") else f"{others} {late}"
    if stood or "already-in-error" in status:
        return missed
    if "/Heartbeat" in status and "DEADLINE_EXCEEDED" in status:
        return f"process 0 of {count}, the coordinator {where}, has died or hangs {late}"
    if "header with status" in status.lower():  # of HTTP
        return f"coordinator={where!r}: another program answers there, maybe a proxy: give host and port of process 0"
    if "Failed to send RPC" in status or "Socket closed" in status:
        return f"process 0 of {count}, the coordinator {where}, has died or cannot be reached: {me} ends too; {again}"
    if "Shutdown barrier" in status:
        return f"{me} ends, because others have not come to the end: see what they said; {again}"
    return f"{me} ends, because another one did ({status[:200]}): {again}"


def _in_vain(setting: Setting) -> str:
    """Says for whom a process has waited at the start, and what to do."""
    index, count, address, patience, _ = setting
    if not address:
        advice = "start all of them in one step or job, and let them reach the machine of process 0"
    else:
        advice = "start all of them, with the same --coordinator and --num-processes, where they can reach that address"
    where = address or "that JAX has found"
    if index == "0":
        return f"not all of the {count} processes have come to the coordinator {where} within {patience} s: {advice}"
    absent = f"not all of the {count} processes have come"
    others = f"{absent}, or it counts others, or number {index} is taken" if address else absent
    return f"the coordinator {where} has not answered within {patience} s, or {others}: {advice}"


if __name__ == "__main__":
    main(sys.argv[1:])
