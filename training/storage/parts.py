"""Parts of arrays as several processes write them: each those on its own devices, into a file of its own."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxgames import processes
from training.storage.leaves import to_host

Place = list[list[int]]  # [start, stop] along each axis of a leaf
_LEVEL = 1  # of compression: tables and buffers are mostly empty


def own_parts(leaves: Mapping[str, Any]) -> Iterator[tuple[str, Place, np.ndarray]]:
    """Gives what this process is to write of leaves: path, place and values.

    Every element is written by one process: what is spread, by that which has it; what all have alike, by the first.
    """
    for path, leaf in leaves.items():
        if isinstance(leaf, jax.Array) and not leaf.is_fully_addressable:
            for shard in leaf.addressable_shards:
                if shard.replica_id == 0:
                    spans = zip(shard.index, leaf.shape, strict=True)
                    yield path, [list(span.indices(size)[:2]) for span, size in spans], to_host(shard.data)
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


def read(folder: Path, files: Mapping[str, list[tuple[str, Place]]], empty: dict[str, np.ndarray]) -> None:
    """Fills leaves with all parts of them.

    Args:
      folder: of the files.
      files: what `write` returned, by name.
      empty: arrays to fill, by path.

    Raises:
      ValueError: a part is missing or of another shape.
      OSError: a file cannot be read.
    """
    missing = {path: array.size for path, array in empty.items()}
    for name, parts in files.items():
        with np.load(folder / name, allow_pickle=False) as archive:
            for number, (path, place) in enumerate(parts):
                values, whole = archive[str(number)], empty[path]
                whole[tuple(slice(*span) for span in place)] = values  # typed keys have their words in axes of their own
                missing[path] -= values.size
    if lost := [path for path, size in missing.items() if size]:
        raise ValueError(f"leaf {lost[0]} has parts that are missing")
