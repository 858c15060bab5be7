"""The record of a checkpoint: what it is of, and checksums by which damage of any of its files is found, its own too."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from training.storage.files import write_alone

FORMAT = 2  # a change makes older checkpoints unreadable
RECORD = "record.json"  # what the checkpoint is of, and the checksums of all arrays and files


class DamagedError(Exception):
    """A checkpoint is not what was saved."""


def write_record(folder: Path, record: Mapping[str, Any]) -> None:
    """Writes the record of a checkpoint, with a checksum of itself."""
    write_alone({folder / RECORD: _sealed(json.dumps(record).encode())})


def read_record(folder: Path) -> dict[str, Any]:
    """Reads the record of a checkpoint, and compares the checksums of its files.

    Raises:
      DamagedError: anything of the checkpoint is not as it was written.
    """
    try:
        content = (folder / RECORD).read_bytes()
        record = content.partition(b"\n")[2]
        if content != _sealed(record):
            raise DamagedError(f"{RECORD} has another checksum")
        found: dict[str, Any] = json.loads(record)
        for name, checksum in found["files"].items():
            if crc32_of(folder / name) != checksum:
                raise DamagedError(f"{name} has another checksum")
    except OSError as error:
        name = Path(error.filename).relative_to(folder) if error.filename else RECORD
        raise DamagedError(f"{name}: {error.strerror}") from error
    return found


def _sealed(record: bytes) -> bytes:
    """Puts a line with its checksum before a record."""
    return f"{zlib.crc32(record):08x}\n".encode() + record


def crc32(array: np.ndarray) -> int:
    """Returns the checksum of an array's bytes."""
    return zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


def crc32_of(path: Path) -> int:
    """Returns the checksum of a file."""
    checksum = 0
    with path.open("rb") as file:
        while block := file.read(2**20):
            checksum = zlib.crc32(block, checksum)
    return checksum
