"""The record of a checkpoint: what it is of, and checksums by which damage of any of its files is found, its own too."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from training.storage.files import write_alone

FORMAT = 2  # a change makes older checkpoints unreadable
RECORD = "record.json"  # what the checkpoint is of, and the checksums of all arrays and files
_DAMAGE = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EIO)  # a file is lost or spoilt; other errors may be of a moment


class DamagedError(Exception):
    """A checkpoint is not what was saved."""


def write_record(folder: Path, record: Mapping[str, Any]) -> None:
    """Writes the record of a checkpoint, with a checksum of itself."""
    write_alone({folder / RECORD: _sealed(json.dumps(record).encode())})


def read_record(folder: Path) -> dict[str, Any]:
    """Reads the record of a checkpoint, and compares the checksums of its files.

    Raises:
      DamagedError: anything of the checkpoint is not as it was written.
      OSError: a file cannot be read at the moment.
    """
    with reading(folder, RECORD):
        content = (folder / RECORD).read_bytes()
    record = content.partition(b"\n")[2]
    if content != _sealed(record):
        raise DamagedError(f"{RECORD} has another checksum")
    found: dict[str, Any] = json.loads(record)
    for name, checksum in found["files"].items():
        with reading(folder, name):
            is_whole = crc32_of(folder / name) == checksum
        if not is_whole:
            raise DamagedError(f"{name} has another checksum")
    return found


@contextlib.contextmanager
def reading(folder: Path, name: str) -> Iterator[None]:
    """Tells what the operating system says of a file of a checkpoint that is read meanwhile.

    Raises:
      DamagedError: it is lost, or the disk cannot read it.
      OSError: it cannot be read at the moment, as with too many open files; what it holds may be whole.
    """
    try:
        yield
    except (EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise DamagedError(f"{name}: {error}") from error
    except Exception as error:
        number = error_number(error)
        if number is None:
            raise
        reason = os.strerror(number)
        if number in _DAMAGE:
            raise DamagedError(f"{name}: {reason}") from error
        raise OSError(
            f"checkpoint {folder}: {name} cannot be read at the moment ({reason}); all stays as it is: go on with --resume when "
            "it can be"
        ) from error


def error_number(error: BaseException) -> int | None:
    """Gives the number of an error of the operating system; None where the cause is another.

    Errors of orbax's storage library are no OSErrors: their text has a part such as "[os_error_code='28']", or begins with
    NOT_FOUND.
    """
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno
    if str(error).startswith("NOT_FOUND:"):
        return errno.ENOENT
    found = re.search(r"os_error_code='(\d+)'", str(error))
    return int(found[1]) if found else None


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
