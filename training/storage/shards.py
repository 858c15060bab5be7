"""Shares of independent work, as job arrays give them out: each does its own pieces and writes a file for each."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from jaxgames import processes

Piece = TypeVar("Piece")


@dataclasses.dataclass(frozen=True)
class Shard:
    """Which share of the work this is: `number` of `count`, from 1."""

    number: int = 1
    count: int = 1

    def of(self, pieces: Sequence[Piece]) -> list[Piece]:
        """Gives the pieces of this share."""
        return list(pieces[self.number - 1 :: self.count])


def shard_of(text: str) -> Shard:
    """Reads what `--shard` was given; "": all of the work.

    Raises:
      ValueError: it is no share.
    """
    if not text:
        return Shard()
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise ValueError(f"shard={text!r}: must be I/N, with I from 1 to N, such as 2/4")
    return Shard(int(found[1]), int(found[2]))


def made_from(folder: Path, pattern: str, make: Callable[[], None]) -> None:
    """Makes something of the files that are there, again if others have come meanwhile: the last to finish has seen all."""
    if processes.count() > 1:  # they work on one share, the whole
        make()
        return
    while True:
        before = {path: path.stat().st_mtime_ns for path in folder.glob(pattern)}
        make()
        if before == {path: path.stat().st_mtime_ns for path in folder.glob(pattern)}:
            return
