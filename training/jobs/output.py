"""Standard output and standard error that may end before a job does."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO

NAMES = {"stdout": "standard output", "stderr": "standard error"}


@contextlib.contextmanager
def outlived() -> Iterator[None]:
    """Lets a job go on to its end, and save, when nobody reads any more what it prints (`| head -1`, `| tee log`).

    What is printed from then on is dropped. Other errors say which output they are about. One that is closed from the start
    (`>&-`) is opened onto nothing, to the end of the process: else the first file that is opened would take its place.
    """
    for name in NAMES:
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115, to the end of the process
    before = {name: getattr(sys, name) for name in NAMES}
    ours = {name: _Outlived(stream, NAMES[name]) for name, stream in before.items()}
    for name, stream in ours.items():
        setattr(sys, name, stream)
    try:
        yield
    finally:
        for name, stream in before.items():
            if getattr(sys, name) is ours[name]:  # else several processes have parted them
                setattr(sys, name, stream)


class _Outlived:
    """A text stream whose writes are dropped once its reader has gone; all else is that of the stream."""

    def __init__(self, stream: TextIO, name: str) -> None:
        self._stream, self._name = stream, name
        self._is_terminal = stream.isatty()  # one that is gone does not tell

    def write(self, text: str) -> int:
        """Writes, as a text stream does."""
        with self._dropped():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flushes, as a text stream does."""
        with self._dropped():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    @contextlib.contextmanager
    def _dropped(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno == errno.EPIPE or (error.errno == errno.EIO and self._is_terminal):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, self._stream.fileno())  # also for what the stream still holds
                os.close(nowhere)
                return
            error.filename = self._name
            raise
