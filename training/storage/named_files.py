"""What is in the files that settings name: several processes must read the same, and a run that goes on must read it again."""

from __future__ import annotations

import dataclasses
import hashlib
import typing
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from training.storage import zarr_folders

FileName = Annotated[str, "is read"]  # the type of a setting that is the name of a file or folder; "": none
Digests = Mapping[str, Mapping[str, str]]  # by setting and path

_NETWORKS, _PROGRAM = ("network", "follower"), "python"  # agents that are a file alone, and a function in one
_READ = ("weights", "guide", "guess")  # settings of planners that are files
_SMALL = 2**16  # bytes of a file that is read whole though there are many


def digests(config: Any) -> Digests:
    """Gives 16 hexadecimal digits for each file that settings name, by setting and path; what is not there is left out.

    Those are settings of the type `FileName`, and the values in texts that name agents. The folder of a training run stands for
    its best weights, and a folder with data sets for each of them: of these the names and sizes of files count, and what small
    ones hold.

    Args:
      config: a dataclass, which may hold others.
    """
    found: dict[str, dict[str, str]] = {}
    for name, word in _named(config):
        if files := _digests(Path(word)):
            found.setdefault(name, {}).update(files)
    return found


def _named(config: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Gives what may be a path, with the name of its setting, such as "learn.data_sets"."""
    types = typing.get_type_hints(type(config), include_extras=True)
    for field in dataclasses.fields(config):
        name, value, kind = prefix + field.name, getattr(config, field.name), types[field.name]
        if dataclasses.is_dataclass(value):
            yield from _named(value, f"{name}.")
        is_name = FileName in (kind, *typing.get_args(kind))
        for text in _texts(value):
            yield from ((name, word) for word in ([text] if is_name else _named_by(text)) if word)


def _named_by(text: str) -> Iterator[str]:
    """Gives what may be a path in the text of an agent: pc_pimc:guess=FILE,candidates=32, network:FILE or python:FILE:FUNCTION.

    A planner's model may have such a text as well: sp_mcts:model=network:FILE. Names of agents, settings and functions do not
    count, which files may happen to have.
    """
    kind, _, rest = text.partition(":")
    if kind in _NETWORKS:
        yield rest.removeprefix("weights=")
    elif kind == _PROGRAM:
        yield rest.rpartition(":")[0]
    else:
        for setting in rest.split(","):
            name, _, value = setting.partition("=")
            if name in _READ:
                yield value
            elif value.partition(":")[0] in (*_NETWORKS, _PROGRAM):
                yield from _named_by(value)


def _texts(value: Any) -> Iterator[str]:
    """Gives the texts in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)


def _digests(path: Path) -> dict[str, str]:
    """Names what is in a file or folder; nothing where nothing is there, or it cannot be read: who reads it tells that."""
    try:
        parts = zarr_folders.inside(path) or [path]
        return {str(part): _digest(part, files) for part in parts if (files := _files(part))}
    except OSError:
        return {}


def _digest(path: Path, files: Iterable[Path]) -> str:
    """Names what is in the files that a path stands for."""
    found = hashlib.sha256()
    for file in files:
        found.update(f"{file.relative_to(path)} {file.stat().st_size}\n".encode())
        if file in (path, path / "best.npz") or file.stat().st_size <= _SMALL:
            found.update(file.read_bytes())
    return found.hexdigest()[:16]


def _files(path: Path) -> list[Path]:
    """Gives the files that a path stands for."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        return []
    if (best := path / "best.npz").exists():
        return [best]
    is_data_set = path.suffix == zarr_folders.SUFFIX or zarr_folders.is_group(path)
    return sorted(file for file in path.rglob("*") if file.is_file()) if is_data_set else []
