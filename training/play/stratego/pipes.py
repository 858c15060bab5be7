"""The protocol on stdin and stdout: lines in, lines out, for managers that start us as a program."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from training.play.stratego import protocol
from training.play.stratego.player import TextPlayer

_CHUNK = 1 << 16


def lines_of(descriptor: int) -> Iterator[str]:
    """Reads lines as they come, without ever waiting for more than one.

    Raises:
      ValueError: a line is too long.
    """
    heard = b""
    while True:
        line, end, rest = heard.partition(b"\n")
        if len(line) > protocol.LONGEST_LINE:
            raise ValueError(f"a line of more than {protocol.LONGEST_LINE} bytes: is none of the protocol")
        if end:
            heard = rest
            yield line.decode("ascii", "replace")
            continue
        more = os.read(descriptor, _CHUNK)
        if not more:
            return
        heard += more


def serve(player: TextPlayer, reading: int, writing: int) -> None:
    """Plays until it is told to leave or nobody is there any more.

    Args:
      player: who plays.
      reading: descriptor of what it is told.
      writing: descriptor of its answers.

    Raises:
      ValueError: a line is too long, or begins a game on a board of another size.
    """
    for line in lines_of(reading):
        try:
            for answer in player.hear(line):
                rest = f"{answer}\n".encode()
                while rest:
                    rest = rest[os.write(writing, rest) :]
        except BrokenPipeError:
            return
        if player.over:
            return


def own_output() -> int:
    """Keeps stdout for the protocol: gives a descriptor of it, and lets everything else that is printed go to stderr."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    return kept


def age() -> float:
    """Gives the seconds since this process was started, which a manager may have waited; 0 where Linux does not tell."""
    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, AttributeError):
        return 0.0
