"""A wish to stop, as the operating system and the user tell it."""

from __future__ import annotations

import signal
import threading
from typing import Any


class StopRequest:
    """Turns SIGTERM and the first SIGINT into a wish to stop, so that a training loop can save and leave.

    Attributes:
      requested: whether one of them has come; a second SIGINT raises KeyboardInterrupt.
    """

    def __init__(self) -> None:
        self.requested = False
        self._interrupts = 0
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> StopRequest:
        if threading.current_thread() is threading.main_thread():  # no other may set handlers
            self._before = {number: signal.signal(number, self._handle) for number in (signal.SIGTERM, signal.SIGINT)}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: object) -> None:
        del frame
        self.requested = True
        self._interrupts += number == signal.SIGINT
        if self._interrupts > 1:
            raise KeyboardInterrupt
