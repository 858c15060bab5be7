"""Turns what JAX says when it gives up into one line. Run as a program, by `jaxgames.processes`; reads stdin until it ends.

JAX ends a process as soon as its coordination service tells that another one is lost, in C++ and with a page of text. No code of
that process runs then, so its errors go through this program, which also passes on everything else that it is given.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence

FAREWELL = "jaxgames: the end was told"  # after this line there is nothing more to tell
_FATAL = re.compile(r"^F\d{4} .*distributed service detected fatal errors.*absl::Status: (?P<status>.*)")
_LOGGED = re.compile(r"^[EWIF]\d{4} ")
_NOISE = re.compile(r"^[EWI]\d{4} .*(coordination|preemption)")


def main(arguments: Sequence[str]) -> None:
    """Passes lines from stdin to stderr: what JAX says at the end as one line.

    Args:
      arguments: number of this process, how many there are, the coordinator's address, seconds to wait at the start, and
        between signs of life.
    """
    index, count, address, patience, silence = arguments
    for line in told(sys.stdin, index, count, address, patience, silence):
        sys.stderr.write(line)
        sys.stderr.flush()


def told(lines: Iterable[str], index: str, count: str, address: str, patience: str, silence: str) -> Iterator[str]:
    """Gives what is to be printed of what a process writes to stderr; arguments as in `main`."""
    reading, of_noise = iter(lines), False
    for line in reading:
        if line.strip() == FAREWELL:
            break
        if found := _FATAL.match(line):
            rest = [found["status"]]
            for more in reading:
                if more.startswith("***"):
                    break
                rest.append(more.strip())
            yield f"error: {verdict(' '.join(rest).strip(), index, count, address, patience, silence)}\n"
            break
        of_noise = bool(_NOISE.match(line)) or (of_noise and not _LOGGED.match(line))  # with the lines that follow
        if not of_noise:
            yield line
    for _ in reading:  # a process whose errors nobody reads would be ended by the next one
        pass


def verdict(status: str, index: str, count: str, address: str, patience: str, silence: str) -> str:
    """Says in a few words what a status of JAX's coordination service means; arguments as in `main`."""
    me, again = f"process {index} of {count}", "start all again, with --resume where there are checkpoints"
    missed = f"{me} gave no sign of life for {silence} s, and the others have ended: {again}"
    if "RegisterTask" in status and "DEADLINE_EXCEEDED" in status:
        who = f"not all of the {count} processes have come" if index == "0" else f"the coordinator {address} has not answered"
        missing = "" if index == "0" else f", or not all of the {count} processes have come, or it counts others"
        return f"{me}: {who} within {patience} s{missing}: start all of them, with the same --coordinator and --num-processes"
    if found := re.search(r"Unexpected task registered with task=\D*(\d+)", status):
        return f"process_id={found[1]}: the coordinator {address} counts fewer processes: give all the same --num-processes"
    if found := re.search(r"(\d+) unexpectedly tried to connect", status):
        return f"process_id={found[1]}: was given to two processes, or started again alone: give each its own, and {again}"
    if found := re.search(r"unhealthy \(stopped sending heartbeats\):([\s\d,]+)", status):
        lost = found[1].replace(",", " ").split()
        others = f"process {', '.join(lost)} of {count} has died or hangs, or was interrupted"
        return missed if index in lost else f"{others} (no sign of life for {silence} s): {me} ends too; {again}"
    if "already-in-error" in status:
        return missed
    if "header with status" in status.lower():  # of HTTP
        return f"coordinator={address!r}: another program answers there, maybe a proxy: give host and port of process 0"
    if "Failed to send RPC" in status or "Socket closed" in status:
        return f"process 0 of {count}, the coordinator {address}, has died or cannot be reached: {me} ends too; {again}"
    if "Shutdown barrier" in status:
        return f"{me} ends, because others have not come to the end: see what they said; {again}"
    return f"{me} ends, because another one did ({status[:200]}): {again}"


if __name__ == "__main__":
    main(sys.argv[1:])
