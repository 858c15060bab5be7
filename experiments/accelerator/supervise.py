"""Has pieces done by a process of its own, each within its time; a process that is late or dies is replaced."""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from experiments.accelerator.pieces import Piece
from experiments.accelerator.worker import ENDED, READY
from training.storage.provenance import CHECKOUT

LATE = "not done after"
COMMAND = (sys.executable, "-m", "experiments.accelerator.worker")


class Worker:
    """The process that works; started when it is needed.

    Attributes:
      about: what it has told of its device; {} before it has begun.
    """

    def __init__(self, devices: int, log: Path, command: Sequence[str] = COMMAND) -> None:
        """Starts nothing yet.

        Args:
          devices: accelerators that a case is measured on.
          log: file for what it and its libraries print.
          command: what to start.
        """
        self.about: dict[str, Any] = {}
        self._command, self._log = [*command, str(devices)], log
        self._process: subprocess.Popen[str] | None = None
        self._told: queue.Queue[str | None] = queue.Queue()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def do(self, piece: Piece, seconds: float) -> Iterator[dict[str, Any]]:
        """Has a piece done. Gives what the process tells: {"row": ...} per row, and last {"ended": seconds, "failed": why}."""
        started = time.monotonic()
        try:
            process = self._running(seconds)
            assert process.stdin is not None
            left = seconds - (time.monotonic() - started)
            process.stdin.write(json.dumps(piece.as_dict() | {"seconds": max(left, 0.1)}) + "\n")
            process.stdin.flush()
            while True:
                told = self._next(started + seconds)
                yield told
                if ENDED in told:
                    return
        except TimeoutError:
            self._end()
            failed = f"{LATE} {seconds:.0f} s"
        except (EOFError, OSError):
            code = self._end()
            failed = f"the process has died ({code}); {self._log.name} has its words"
        yield {ENDED: round(time.monotonic() - started, 2), "failed": failed}

    def _running(self, seconds: float) -> subprocess.Popen[str]:
        """Gives the process, started where there is none; waits until it is ready."""
        if self._process is not None:
            return self._process
        self._told = queue.Queue()
        with self._log.open("a") as log:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=CHECKOUT,
                start_new_session=True,  # an interrupt of the terminal is for this process alone
            )
        self._listener = threading.Thread(target=_listen, args=(self._process.stdout, self._told), daemon=True)
        self._listener.start()
        self.about = self._next(time.monotonic() + seconds)[READY]
        return self._process

    def _next(self, limit: float) -> dict[str, Any]:
        try:
            line = self._told.get(timeout=max(limit - time.monotonic(), 0.01))
        except queue.Empty:
            raise TimeoutError from None
        if line is None:
            raise EOFError
        return json.loads(line)

    def _end(self) -> int | None:
        """Ends the process at once. Gives its exit code."""
        process, self._process = self._process, None
        if process is None:
            return None
        with contextlib.suppress(OSError):
            assert process.stdin is not None
            process.stdin.close()
        process.kill()
        self._listener.join()
        return process.wait()


def _listen(pipe: IO[str] | None, told: queue.Queue[str | None]) -> None:
    assert pipe is not None
    with pipe:
        for line in pipe:
            told.put(line)
    told.put(None)


def share_out(
    parts: dict[str, Sequence[Piece]],
    shares: dict[str, float],
    seconds: float,
    do: Callable[[Piece, float], None],
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Does as many pieces as there is time for.

    What a part leaves is for the parts after it. Within a part no piece may take more than three quarters of the time that is
    left, or its even share where that is more: one that hangs must leave something, and one with too little time gives nothing.

    Args:
      parts: pieces by part, in order.
      shares: of the time, by part.
      seconds: for all.
      do: does a piece within some seconds.
      clock: gives seconds.
    """
    end = clock() + seconds
    names = [name for name, pieces in parts.items() if pieces]
    for place, name in enumerate(names):
        left = end - clock()
        part_end = clock() + left * shares[name] / sum(shares[other] for other in names[place:])
        for number, piece in enumerate(parts[name]):
            left = part_end - clock()
            if left < 1:
                break
            do(piece, max(0.75 * left, left / (len(parts[name]) - number)))
