"""A wish to stop, as the operating system and the user tell it."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from typing import Any

FIRST = "stopping when this iteration is done and saved"
INTERRUPT_AGAIN = "; a second interrupt ends without saving it"
SECOND = "ending as soon as what is being computed or compiled is done"


_ENDS: list[int] = []  # of pipes through which threads are told of signals


class StoppedByInterrupt(KeyboardInterrupt):
    """An interrupt that has stopped a run, in all of its processes, after an iteration that is saved."""


class StopRequest:
    """Turns SIGTERM and the first SIGINT into a wish to stop, so that a training loop can save and leave; tells so on stderr.

    Python calls handlers of signals only between its own instructions: not while XLA compiles or computes. So what has come is
    told by a thread, which C wakes up through a pipe; it may print as any thread may, where a handler might cut into a line.

    Attributes:
      requested: whether one of them has come; a second SIGINT raises KeyboardInterrupt.
    """

    def __init__(self) -> None:
        self.requested = False
        self._interrupts = 0
        self._before: dict[signal.Signals, Any] = {}
        self._teller: _Teller | None = None

    @property
    def interrupted(self) -> bool:
        """Whether a SIGINT has come."""
        return self._interrupts > 0

    def __enter__(self) -> StopRequest:
        if threading.current_thread() is threading.main_thread():  # no other may set handlers
            self._teller = _Teller()
            self._before = {number: signal.signal(number, self._handle) for number in (signal.SIGTERM, signal.SIGINT)}
        return self

    def __exit__(self, *_: object) -> None:
        if self._teller is not None:
            self._teller.close()
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: object) -> None:
        del frame
        self.requested = True
        self._interrupts += number == signal.SIGINT
        if self._interrupts > 1:
            raise KeyboardInterrupt


class _Teller:
    """Tells on stderr, at once and from a thread, that a signal has come, and passes it on to who was told of signals before."""

    def __init__(self) -> None:
        source, self._end = os.pipe()
        os.set_blocking(self._end, False)
        self._before = signal.set_wakeup_fd(self._end, warn_on_full_buffer=False)
        self._thread = threading.Thread(target=self._tell, args=(source,), daemon=True)
        self._thread.start()
        _ENDS.append(self._end)

    def close(self) -> None:
        """Ends the thread."""
        try:
            signal.set_wakeup_fd(self._before)
        except (OSError, ValueError):  # whoever it was has closed it
            signal.set_wakeup_fd(-1)
        if self._end in _ENDS:  # else this is a child, which has closed it
            _ENDS.remove(self._end)
            os.close(self._end)
        self._thread.join(timeout=1)  # it may stand still at a stderr that nobody reads

    def _tell(self, source: int) -> None:
        told: list[int] = []
        while number := os.read(source, 1):
            if self._before >= 0:
                with contextlib.suppress(OSError):
                    os.write(self._before, number)
            told.append(number[0])
            if told[-1] in (signal.SIGTERM, signal.SIGINT) and (text := _text(told)):
                # A live display takes the place of stderr, and prints the line above itself.
                sys.stderr.write(f"{text}\n")
                sys.stderr.flush()
        os.close(source)


def _text(told: list[int]) -> str:
    """Says what the last of the signals so far does, if that is news."""
    if told[-1] == signal.SIGINT:
        return (FIRST + INTERRUPT_AGAIN, SECOND, "")[min(told.count(signal.SIGINT), 3) - 1]
    return FIRST if len(told) == 1 else ""


def _forget() -> None:
    """Keeps a child, which has copies of its parent's pipes, from telling the parent's thread of its own signals."""
    if _ENDS and threading.current_thread() is threading.main_thread():
        signal.set_wakeup_fd(-1)
    while _ENDS:
        os.close(_ENDS.pop())


os.register_at_fork(after_in_child=_forget)
