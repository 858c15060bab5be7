"""Parts of arrays as several processes write them: each those on its own devices, into a file of its own."""

from __future__ import annotations

import dataclasses
import math
import os
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from jaxgames import processes
from training.storage.leaves import Place, is_spread, place_of, to_host, within
from training.storage.record import reading

_LEVEL = 1  # of compression: tables and buffers are mostly empty


def own_parts(leaves: Mapping[str, Any]) -> Iterator[tuple[str, Place, np.ndarray]]:
    """Gives what this process is to write of leaves: path, place and values.

    Every element is written by one process: what is spread, by that which has it; what all have alike, by the first.
    """
    for path, leaf in leaves.items():
        if is_spread(leaf):
            for shard in leaf.addressable_shards:
                if shard.replica_id == 0:
                    yield path, place_of(shard.index, leaf.shape), to_host(shard.data)
        elif processes.leads():
            yield path, [[0, size] for size in leaf.shape], to_host(leaf)


def write(path: Path, parts: Iterable[tuple[str, Place, np.ndarray]]) -> list[tuple[str, Place]]:
    """Writes parts into one file, an ordinary `.npz`, and waits until it is on the disk; returns paths and places, in order.

    Raises:
      OSError: the disk is full or cannot be written.
    """
    written = []
    with path.open("xb") as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
            for number, (leaf, place, values) in enumerate(parts):
                with archive.open(f"{number}.npy", "w", force_zip64=True) as entry:
                    np.lib.format.write_array(entry, np.asarray(values), allow_pickle=False)
                written.append((leaf, place))
        file.flush()
        os.fsync(file.fileno())
    return written


@dataclasses.dataclass(frozen=True)
class Piece:
    """The box of a leaf that a process holds.

    Attributes:
      start: where it begins along each axis of the leaf.
      values: what is in it; typed keys have their words in axes of their own.
    """

    start: tuple[int, ...]
    values: np.ndarray

    @classmethod
    def empty(cls, place: Place, words: tuple[int, ...], dtype: np.dtype) -> Piece:
        """Makes one for such a place, with axes of so many words, to be filled."""
        shape = (*(stop - start for start, stop in place), *words)
        return cls(tuple(start for start, _ in place), np.empty(shape, dtype))

    def overlap(self, place: Place) -> Place:
        """Gives what it has in common with a place; [0, 0] along some axis where that is nothing."""
        own = zip(self.start, self.values.shape, strict=False)
        spans = ((max(start, first), min(stop, first + size)) for (start, stop), (first, size) in zip(place, own, strict=True))
        return [[start, stop] if start < stop else [0, 0] for start, stop in spans]


def read(folder: Path, files: Mapping[str, list[tuple[str, Place]]], pieces: Mapping[str, Piece]) -> None:
    """Fills pieces of leaves; of parts that have nothing in common with them nothing is read.

    Args:
      folder: of the files.
      files: what `write` returned, by name.
      pieces: to fill, by path of the leaf.

    Raises:
      ValueError: a part is missing or of another shape.
      DamagedError: a file is lost, or the disk cannot read it.
      OSError: a file cannot be read at the moment.
    """
    missing = {path: piece.values.size for path, piece in pieces.items()}
    for name, parts in files.items():
        common = [pieces[path].overlap(place) for path, place in parts]
        if not any(map(_size, common)):
            continue
        with reading(folder, name), (folder / name).open("rb") as file, np.load(file, allow_pickle=False) as archive:
            for number, ((path, place), shared) in enumerate(zip(parts, common, strict=True)):
                if not _size(shared):
                    continue
                values, piece = archive[str(number)], pieces[path]
                if values.dtype.kind == "V":  # a type that numpy does not know by itself, such as bfloat16
                    values = values.view(piece.values.dtype)
                if values.shape[: len(place)] != tuple(stop - start for start, stop in place):
                    raise ValueError(f"leaf {path} has a part of another shape")
                piece.values[within(shared, piece.start)] = found = values[within(shared, [start for start, _ in place])]
                missing[path] -= found.size
    if lost := [path for path, size in missing.items() if size]:
        raise ValueError(f"leaf {lost[0]} has parts that are missing")


def _size(place: Place) -> int:
    return math.prod(stop - start for start, stop in place)
