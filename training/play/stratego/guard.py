"""Kills what programs have left running, by a mark in their environment; also when their manager is gone without a word.

This file is a program too, which needs nothing but Python: told marks, it kills what still carries one when its input ends.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

VARIABLE = "JAXGAMES_STRATEGO_PROGRAM"  # its value is the mark
_ROUNDS = 5
_running: list[subprocess.Popen[bytes]] = []  # the guard of this process, started when it is needed first


def watch(mark: str) -> None:
    """Lets the guard kill all that carries a mark, should this process end before `release`."""
    if not _running or _running[0].poll() is not None:
        command = [sys.executable, "-I", "-S", __file__]
        started = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, bufsize=0, start_new_session=True)
        _running[:] = [started]
        atexit.register(_end, started)
    _tell(f"+{mark}\n")


def release(mark: str) -> None:
    """Kills all that carries a mark, and lets the guard forget it."""
    kill([mark])
    _tell(f"-{mark}\n")


def _end(running: subprocess.Popen[bytes]) -> None:
    """Ends a guard that is no longer needed."""
    assert running.stdin is not None
    running.stdin.close()
    running.wait()


def _tell(line: str) -> None:
    pipe = _running[0].stdin
    assert pipe is not None
    with contextlib.suppress(BrokenPipeError):  # somebody has ended the guard
        pipe.write(line.encode())


def kill(marks: Collection[str]) -> None:
    """Kills all processes that carry one of some marks; on Linux, which tells the environment of processes."""
    wanted = {f"{VARIABLE}={mark}".encode() for mark in marks}
    for _ in range(_ROUNDS):  # what is killed may have started another meanwhile
        if not sum(_kill_if_marked(folder, wanted) for folder in Path("/proc").glob("[0-9]*")):
            return


def _kill_if_marked(folder: Path, marks: Collection[bytes]) -> bool:
    with contextlib.suppress(OSError):  # it has ended, or is another user's
        held = os.pidfd_open(int(folder.name))  # the number cannot become another process's from here on
        try:
            if any(mark in marks for mark in (folder / "environ").read_bytes().split(b"\0")):
                signal.pidfd_send_signal(held, signal.SIGKILL)
                return True
        finally:
            os.close(held)
    return False


def main() -> None:
    """Listens until its input ends."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    marks = set()
    for line in sys.stdin:
        mark = line[1:].strip()
        if line.startswith("+"):
            marks.add(mark)
        else:
            marks.discard(mark)
    if marks:
        kill(marks)


if __name__ == "__main__":
    main()
