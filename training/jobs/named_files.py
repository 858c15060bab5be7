"""What is in the files that settings name: several processes must read the same, wherever each of them runs."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

_WRITTEN = frozenset({"output", "folder"})  # settings of what is written; that all see one folder is checked there
_AROUND = re.compile(r"[:,=]")  # around a path in a text such as pc_pimc:guess=FILE,candidates=32
_DATA_SET = ("*.zr", ".zgroup", "zarr.json")  # what a folder with data sets holds, or one that is one
_SMALL = 2**16  # bytes of a file that is read whole though there are many


def digests(settings: Mapping[str, Any]) -> dict[str, str]:
    """Gives 16 hexadecimal digits for each file that settings name, by "file PATH"; what is not there is left out.

    The folder of a training run stands for its best weights. In data sets the names and sizes of files count, and what small
    ones hold.

    Args:
      settings: by name.
    """
    texts = [text for name, value in settings.items() if name not in _WRITTEN for text in _texts(value)]
    words = {word for text in texts for word in (text, *_AROUND.split(text)) if word}
    return {f"file {word}": digest for word in sorted(words) if (digest := _digest(Path(word)))}


def _texts(value: Any) -> Iterator[str]:
    """Gives the texts in a value."""
    if isinstance(value, str | Path):
        yield str(value)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)


def _digest(path: Path) -> str:
    """Names what is in a file or folder; "" where there is nothing to read, or it cannot be read: who reads it tells that."""
    found = hashlib.sha256()
    try:
        files = _files(path)
        for file in files:
            found.update(f"{file.relative_to(path)} {file.stat().st_size}\n".encode())
            if file in (path, path / "best.npz") or file.stat().st_size <= _SMALL:
                found.update(file.read_bytes())
    except OSError:
        return ""
    return found.hexdigest()[:16] if files else ""


def _files(path: Path) -> list[Path]:
    """Gives the files that a path stands for."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        return []
    if (best := path / "best.npz").exists():
        return [best]
    is_data_set = any(True for pattern in _DATA_SET for _ in path.glob(pattern))
    return sorted(file for file in path.rglob("*") if file.is_file()) if is_data_set else []
