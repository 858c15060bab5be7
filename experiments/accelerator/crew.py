"""Processes that work on one device, as many as it has room for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from experiments.accelerator.page import device_of
from experiments.accelerator.supervise import Worker

SHARED = "gpu"  # the platform on which several processes work side by side
SAME = ("device", "platform", "devices")  # what all of them find


class Crew:
    """The workers of a device. One begins alone: on a TPU there is room for no other, and on a CPU they would measure each other.

    On a GPU the others follow, but for those whose processes die at their start or find another device than the first: the CPU,
    where the GPU admits one process.

    Attributes:
      workers: who there is.
      about: what the first has told of the device; {} before it has begun.
    """

    def __init__(self, workers: Sequence[Worker], tell: Callable[[str], None]) -> None:
        """Starts nothing yet.

        Args:
          workers: who may work.
          tell: is told why there is one fewer, once for each reason.
        """
        self.workers = list(workers)
        self.about: dict[str, Any] = {}
        self._tell, self._reasons, self._lock = tell, set[str](), threading.Lock()

    def begin(self, wanted: Callable[[], bool]) -> bool:
        """Waits until the first is ready, as long as that is wanted, and sends the others away where it is to be alone.

        Returns:
          Whether it is ready.
        """
        if not self.workers[0].ready(wanted):
            return False
        self.about = self.workers[0].about
        if self.about["platform"] != SHARED:
            del self.workers[1:]
        return True

    def ready(self, worker: Worker, wanted: Callable[[], bool]) -> bool:
        """Does as `Worker.ready`, with a process that has found the device of the first."""
        while worker.ready(wanted):
            if not (about := worker.about):  # dismissed
                return False
            if all(about.get(name) == self.about[name] for name in SAME):
                return True
            worker.refuse(f"a process has found {device_of(about)}, and not {device_of(self.about)}")
        if worker.retired:
            self._leave_out(worker.retired)
        return False

    def _leave_out(self, why: str) -> None:
        with self._lock:
            known = why in self._reasons
            self._reasons.add(why)
        if not known and not self.over():
            self._tell(why)

    def over(self) -> str:
        """Says why nobody works any more; "" where somebody does."""
        begun = self.workers if self.about else self.workers[:1]
        if all(worker.retired for worker in begun):
            return self.workers[0].retired
        return "" if self.about else "no process was ready in time"

    def stop(self) -> None:
        """Ends all processes for good."""
        for worker in self.workers:
            worker.dismiss()
