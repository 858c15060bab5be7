"""Has pieces done by processes of their own, each within its time; a process that is late, spent or dead is replaced."""

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
from typing import IO, Any, NamedTuple

from experiments.accelerator.pieces import Piece
from experiments.accelerator.worker import ENDED, READY, SPENT
from training.storage.provenance import CHECKOUT

LATE, DIED = "not done after", "the process has died"
AGAIN = (LATE, DIED)  # how reasons begin for which a piece is worth another try
TRIES = 2  # to have a process that is of use
LOOK = 0.2  # seconds, from look to look whether something has changed
SHARING = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
COMMAND = (sys.executable, "-m", "experiments.accelerator.worker")


class Worker:
    """A process that works; started when it is needed.

    Attributes:
      about: what it has told of its device; {} while no process is ready.
      retired: why no other is started; "" as long as one may be.
    """

    def __init__(self, arguments: Sequence[str], log: Path, command: Sequence[str] = COMMAND, shares: bool = False) -> None:
        """Starts nothing yet.

        Args:
          arguments: of the command, see `worker`.
          log: file for what it and its libraries print.
          command: what to start.
          shares: it is one of several and takes memory of the device when it needs it, not all in advance.
        """
        self.about: dict[str, Any] = {}
        self.retired = ""
        self._command, self._log = [*command, *arguments], log
        self._environment = {**(SHARING if shares else {}), **os.environ}
        self._process: subprocess.Popen[str] | None = None
        self._told: queue.Queue[str | None] = queue.Queue()
        self._lock = threading.Lock()  # of starting and ending it
        self._dismissed = False
        self._refusals = 0  # one after the other

    def dismiss(self) -> None:
        """Ends the process for good, also while another thread waits for it, which then ends without a word."""
        with self._lock:
            self._dismissed = True
        self._end()

    def ready(self, wanted: Callable[[], bool]) -> bool:
        """Starts a process where there is none, and waits until it is ready, as long as that is wanted.

        One that is not wanted any more goes on starting, for the next call.

        Returns:
          Whether it is ready.
        """
        while not (self.about or self.retired or self._dismissed) and wanted():
            try:
                self._start()
                self.about = self._next(time.monotonic() + LOOK)[READY]
            except TimeoutError:
                continue
            except OSError as error:
                self.refuse(f"a process cannot be started ({error})")
            except (EOFError, ValueError):  # ValueError: a line that is torn
                self.refuse(f"{DIED} ({self._end()}) before it was ready")
        return bool(self.about)

    def refuse(self, why: str) -> None:
        """Ends a process that is of no use; `ready` tries another, but for the last of `TRIES` in a row."""
        self._end()
        self._refusals += 1
        if self._refusals == TRIES and not self._dismissed:
            self.retired = why

    def do(self, piece: Piece, seconds: float) -> Iterator[dict[str, Any]]:
        """Has a process that is ready do a piece.

        Gives what it tells: {"row": ...} per row, and last {"ended": seconds, "failed": why}.
        """
        started = time.monotonic()
        self._refusals = 0
        try:
            process = self._process
            if process is None:  # dismissed
                raise EOFError
            assert process.stdin is not None
            process.stdin.write(json.dumps(piece.as_dict() | {"seconds": seconds}) + "\n")
            process.stdin.flush()
            while True:
                told = self._next(started + seconds)
                if told.pop(SPENT, False):
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
            failed = f"{DIED} ({code}); {self._log.name} has its words"
        yield {ENDED: round(time.monotonic() - started, 2), "failed": failed}

    def _start(self) -> None:
        """Starts a process where there is none."""
        with self._lock:
            if self._dismissed:
                raise EOFError
            if self._process is not None:
                return
            self._told = queue.Queue()
            with self._log.open("a") as log:
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
            self.about = {}
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


class Doer(NamedTuple):
    """Who does pieces.

    Attributes:
      ready: `ready(wanted)` waits until it can do one, as long as `wanted()`, and says whether it can.
      do: does a piece within some seconds.
    """

    ready: Callable[[Callable[[], bool]], bool]
    do: Callable[[Piece, float], None]


def share_out(
    parts: Mapping[str, Sequence[Piece]],
    shares: Mapping[str, float],
    seconds: float,
    doers: Sequence[Doer],
    stop: Callable[[], None],
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Does as many pieces as there is time for, several at once, one part after the other.

    Nobody takes a piece before it is ready: one who never is costs none. What a part leaves is for the parts after it. Within a
    part no piece may take more than three quarters of the time that is left, or its even share where that is more: one that
    hangs must leave something, and one with too little time gives nothing.

    Args:
      parts: pieces by part, in order.
      shares: of the time, by part.
      seconds: for all.
      doers: each in a thread of its own.
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
                at_work = {threads.submit(queue.empty, doer) for doer in doers}
                while at_work:  # in short waits: an interrupt that comes just before one is seen after it
                    done, at_work = wait(at_work, LOOK, FIRST_EXCEPTION)
                    for ended in done:
                        ended.result()
            except BaseException:
                queue.close()
                stop()
                raise


class _Queue:
    """The pieces of a part, which threads take one by one, with the seconds for each."""

    def __init__(self, pieces: Sequence[Piece], end: float, threads: int, clock: Callable[[], float]) -> None:
        self._pieces, self._end, self._threads, self._clock = list(pieces), end, threads, clock
        self._lock = threading.Lock()

    def empty(self, doer: Doer) -> None:
        """Has one do what nobody else has taken, as long as there is time."""
        while doer.ready(self._is_open):
            if not (taken := self._take()):
                return
            doer.do(*taken)
        with self._lock:  # who never was ready takes no share of the time
            self._threads = max(self._threads - 1, 1)

    def close(self) -> None:
        """Leaves nothing to take."""
        with self._lock:
            self._pieces.clear()

    def _is_open(self) -> bool:
        return bool(self._pieces) and self._end - self._clock() >= 1

    def _take(self) -> tuple[Piece, float] | None:
        with self._lock:
            if not self._is_open():
                return None
            left = self._end - self._clock()
            rounds = max(len(self._pieces) / self._threads, 1)
            return self._pieces.pop(0), max(0.75 * left, left / rounds)
