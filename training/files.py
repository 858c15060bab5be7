"""Writing files so that a reader never meets half of one."""

from __future__ import annotations

import contextlib
import os
import uuid
from pathlib import Path


def write_atomically(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Writes a file at once: whoever opens it, also after a crash, sees all of the old content or all of the new.

    Args:
      path: the file; its folder is made where it is missing.
      content: text, which is written as UTF-8, or bytes.

    Raises:
      OSError: the file cannot be written; the old content stays, and no other file is left behind.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name[:80]}.{uuid.uuid4().hex}")
    try:
        with temporary.open("xb") as file:
            file.write(content.encode("utf-8") if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
