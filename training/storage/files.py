"""Writing files so that a reader never meets half of one."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Mapping
from pathlib import Path


def check_folder(folder: str | os.PathLike[str]) -> None:
    """Makes a folder where it is missing, and sees whether files can be written there.

    Raises:
      OSError: they cannot.
    """
    probe = Path(folder) / f".{uuid.uuid4().hex}"
    probe.parent.mkdir(parents=True, exist_ok=True)
    probe.open("xb").close()
    probe.unlink()


def sync(path: str | os.PathLike[str]) -> None:
    """Waits until a file, or the list of files of a folder, is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_atomically(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Writes a file at once: whoever opens it, also after a crash, sees all of the old content or all of the new.

    Args:
      path: the file; its folder is made where it is missing.
      content: text, which is written as UTF-8, or bytes.

    Raises:
      OSError: the file cannot be written; the old content stays, and no other file is left behind.
    """
    write_together({path: content})


def write_together(contents: Mapping[str | os.PathLike[str], str | bytes]) -> None:
    """Writes several files as `write_atomically` does; the first appears when all of them are on the disk.

    Args:
      contents: by file.

    Raises:
      OSError: a file cannot be written; no other file is left behind.
    """
    temporaries: dict[Path, Path] = {}
    try:
        for path, content in contents.items():
            target = Path(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            temporary = temporaries[target] = target.with_name(f".{target.name[:80]}.{uuid.uuid4().hex}")
            with temporary.open("xb") as file:
                file.write(content.encode("utf-8") if isinstance(content, str) else content)
                file.flush()
                os.fsync(file.fileno())
        for target, temporary in temporaries.items():
            temporary.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            for temporary in temporaries.values():
                temporary.unlink(missing_ok=True)
        raise
