"""Lines now and then: long work says that it goes on where no terminal shows a bar (a pipe, nohup, SLURM)."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

from rich.console import Console

SECONDS = 30.0  # from a line to the next
_SHARE = 0.05  # of the time that has passed: the least from a line to the next in long work


@contextlib.contextmanager
def now_and_then(console: Console, text: Callable[[], str], *, seconds: float = SECONDS) -> Iterator[None]:
    """Prints a line every half minute while the block runs, less often when it has run for long; on a terminal, none.

    A thread does it, since the main one may compile for minutes; it is over when the block is.

    Args:
      console: where to.
      text: gives the line; "": none this time.
      seconds: from a line to the next.
    """
    if is_live(console):
        yield
        return
    over, begun = threading.Event(), time.monotonic()

    def tell() -> None:
        while not over.wait(max(seconds, _SHARE * (time.monotonic() - begun))):
            if line := text():
                with contextlib.suppress(OSError, ValueError):  # who reads has gone: the main thread finds out by itself
                    console.print(line, markup=False, highlight=False, soft_wrap=True)

    thread = threading.Thread(target=tell, name="now and then", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(timeout=1)  # it may stand still at an output that nobody reads


def is_live(console: Console) -> bool:
    """Whether what is shown there can be kept up to date."""
    return console.is_terminal and not console.is_dumb_terminal


def duration(seconds: float) -> str:
    """Writes a duration as hours, minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"


def counted(number: int, what: str) -> str:
    """Writes a number of things: "1 game", "2 games"."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
