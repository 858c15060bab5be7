"""Has pieces done by processes of their own, each within its time; a process that is late or dies is replaced."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path
from typing import IO, Any

from experiments.accelerator.pieces import Piece
from experiments.accelerator.worker import ENDED, FULL, READY
from training.storage.provenance import CHECKOUT

LATE = "not done after"
SHARING = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
COMMAND = (sys.executable, "-m", "experiments.accelerator.worker")


class Worker:
    """A process that works; started when it is needed.

    Attributes:
      about: what it has told of its device; {} before it has begun.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        log: Path,
        command: Sequence[str] = COMMAND,
        shares: bool = False,
        on_ready: Callable[[Mapping[str, Any]], None] = lambda about: None,
    ) -> None:
        """Starts nothing yet.

        Args:
          arguments: of the command, see `worker`.
          log: file for what it and its libraries print.
          command: what to start.
          shares: it is one of several and takes memory of the device when it needs it, not all in advance.
          on_ready: is given `about` each time that a process has begun.
        """
        self.about: dict[str, Any] = {}
        self._command, self._log, self._on_ready = [*command, *arguments], log, on_ready
        self._environment = {**(SHARING if shares else {}), **os.environ}
        self._process: subprocess.Popen[str] | None = None
        self._told: queue.Queue[str | None] = queue.Queue()
        self._lock = threading.Lock()  # of starting and ending it
        self._dismissed = False

    def dismiss(self) -> None:
        """Ends the process for good, also while `do` waits for it in another thread, which then ends without a word."""
        with self._lock:
            self._dismissed = True
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
                if told.pop(FULL, False):
                    self._end()
                yield told
                if ENDED in told:
                    return
        except TimeoutError:
            self._end()
            failed = f"{LATE} {seconds:.0f} s"
        except (EOFError, OSError, ValueError):  # ValueError: its pipe was closed by `dismiss`
            code = self._end()
            if self._dismissed:
                return
            failed = f"the process has died ({code}); {self._log.name} has its words"
        yield {ENDED: round(time.monotonic() - started, 2), "failed": failed}

    def _running(self, seconds: float) -> subprocess.Popen[str]:
        """Gives the process, started where there is none; waits until it is ready."""
        with self._lock, self._log.open("a") as log:
            if self._dismissed:
                raise EOFError
            if self._process is not None:
                return self._process
            self._told = queue.Queue()
            process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=CHECKOUT,
                env=self._environment,
                start_new_session=True,  # an interrupt of the terminal is for this process alone, and it ends with its own
            )
            self._listener = threading.Thread(target=_listen, args=(process.stdout, self._told), daemon=True)
            self._listener.start()
            self._process = process
        self.about = self._next(time.monotonic() + seconds)[READY]
        self._on_ready(self.about)
        return process

    def _next(self, limit: float) -> dict[str, Any]:
        try:
            line = self._told.get(timeout=max(limit - time.monotonic(), 0.01))
        except queue.Empty:
            raise TimeoutError from None
        if line is None:
            raise EOFError
        return json.loads(line)

    def _end(self) -> int | None:
        """Ends the process at once, with all that it has started. Gives its exit code."""
        with self._lock:
            process, self._process = self._process, None
            if process is None:
                return None
            code = process.poll()
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            with contextlib.suppress(OSError):
                assert process.stdin is not None
                process.stdin.close()
            self._listener.join()
            last = process.wait()
        return last if code is None else code


def _listen(pipe: IO[str] | None, told: queue.Queue[str | None]) -> None:
    assert pipe is not None
    with pipe:
        for line in pipe:
            told.put(line)
    told.put(None)


def share_out(
    parts: Mapping[str, Sequence[Piece]],
    shares: Mapping[str, float],
    seconds: float,
    doers: Sequence[Callable[[Piece, float], None]],
    stop: Callable[[], None],
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Does as many pieces as there is time for, several at once, one part after the other.

    What a part leaves is for the parts after it. Within a part no piece may take more than three quarters of the time that is
    left, or its even share where that is more: one that hangs must leave something, and one with too little time gives nothing.

    Args:
      parts: pieces by part, in order.
      shares: of the time, by part.
      seconds: for all.
      doers: each does a piece within some seconds, in a thread of its own.
      stop: has those who are at work return at once; called when one of them raises, or at an interrupt.
      clock: gives seconds.
    """
    end = clock() + seconds
    names = [name for name, pieces in parts.items() if pieces]
    for place, name in enumerate(names):
        left = end - clock()
        part_end = clock() + left * shares[name] / sum(shares[other] for other in names[place:])
        queue = _Queue(parts[name], part_end, len(doers), clock)
        with ThreadPoolExecutor(len(doers)) as threads:
            try:
                at_work = [threads.submit(queue.empty, do) for do in doers]
                for done in wait(at_work, return_when=FIRST_EXCEPTION).done:
                    done.result()
            except BaseException:
                queue.close()
                stop()
                raise


class _Queue:
    """The pieces of a part, which threads take one by one, with the seconds for each."""

    def __init__(self, pieces: Sequence[Piece], end: float, threads: int, clock: Callable[[], float]) -> None:
        self._pieces, self._end, self._threads, self._clock = list(pieces), end, threads, clock
        self._lock = threading.Lock()

    def empty(self, do: Callable[[Piece, float], None]) -> None:
        """Does what nobody else has taken, as long as there is time."""
        while taken := self._take():
            do(*taken)

    def close(self) -> None:
        """Leaves nothing to take."""
        with self._lock:
            self._pieces.clear()

    def _take(self) -> tuple[Piece, float] | None:
        with self._lock:
            left = self._end - self._clock()
            if not self._pieces or left < 1:
                return None
            rounds = max(len(self._pieces) / self._threads, 1)
            return self._pieces.pop(0), max(0.75 * left, left / rounds)
