"""What a process tells of itself while it runs with others: signs of life, and whom it waits for in a common call.

Both are told by threads, once a second at most; a common call itself costs two assignments and sends nothing.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import jax

from jaxgames.last_words import PULSE

SECONDS_TO_WAIT = 60  # in a common call until it is told who has not come
_SECONDS_TO_SHOW = 5  # in a common call until the others can see it; who is slower for a moment costs no message
_WAITS = "jaxgames/waits/"  # before the number of each process; the value is the number of the call in which it waits


class CommonCalls:
    """The calls that all processes make together.

    Attributes:
      at: the number of the last call, from 1, and when it began; None: it is over. One tuple, which a thread reads whole.
    """

    def __init__(self) -> None:
        self.at: tuple[int, float | None] = (0, None)

    @contextlib.contextmanager
    def one(self) -> Iterator[None]:
        """Is a common call as long as it lasts."""
        number = self.at[0] + 1
        self.at = (number, time.monotonic())
        try:
            yield
        finally:
            self.at = (number, None)


def give_signs_of_life() -> None:
    """Begins to tell `last_words`, where stderr goes, that this process has not been stopped."""
    pipe = os.dup(2)  # stderr may go elsewhere later

    def tell() -> None:
        with contextlib.suppress(OSError):
            while True:
                os.write(pipe, f"{PULSE}\n".encode())
                time.sleep(1)

    threading.Thread(target=tell, name="signs of life", daemon=True).start()


def watch(calls: CommonCalls, index: int, count: int, client: Callable[[], Any]) -> None:
    """Begins to tell in one line on stderr who has not come when others have waited for `SECONDS_TO_WAIT`, once for each call.

    Args:
      calls: of this process.
      index: its number.
      count: how many processes there are.
      client: gives JAX's client of the store that all can read; None when it is closed.
    """

    def look() -> None:
        shown = told = 0
        with contextlib.suppress(jax.errors.JaxRuntimeError):  # the others are lost, and JAX is about to tell it
            while store := client():
                number, begun = calls.at
                waited = 0.0 if begun is None else time.monotonic() - begun
                if waited > _SECONDS_TO_SHOW and shown < number:
                    store.key_value_set(f"{_WAITS}{index}", str(number), allow_overwrite=True)
                    shown = number
                if waited > SECONDS_TO_WAIT and told < number:
                    told = number
                    if line := missing(store.key_value_dir_get(_WAITS), number, index, count):
                        print(line, file=sys.stderr)
                del store
                time.sleep(1)

    threading.Thread(target=look, name="who is missing", daemon=True).start()


def missing(shown: Iterable[tuple[str, str]], number: int, index: int, count: int) -> str:
    """Says which processes have not come to a call; "" where all have, or where another process says it.

    Args:
      shown: keys and values of the store: in which call each process waits, or has waited.
      number: of the call.
      index: of the process that would say it.
      count: how many processes there are.
    """
    here = {int(key.rpartition("/")[2]) for key, value in shown if int(value) >= number}
    away = [str(each) for each in range(count) if each not in here]
    if not away or index != min(here):
        return ""
    who = "process" if len(away) == 1 else "processes"
    return f"waiting for {who} {', '.join(away)} of {count} for {SECONDS_TO_WAIT} s now: compiling, or stuck"
