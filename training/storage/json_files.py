"""Reading JSON that a program of ours has written: what is torn, or is something else, is told in one line."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

File = str | os.PathLike[str]
Types = Mapping[str, Any]  # names, and the types of their values: a class, or a union of some

_THEN = "remove it, or give another folder"


def read_json(path: File, what: str, has: Types | None = None, *, then: str = _THEN) -> dict[str, Any]:
    """Reads an object.

    Args:
      path: the file.
      what: what it holds, for people, such as "result of a run".
      has: names that it must have, such as "settings" or, of one within another, "released.wins", with the types of their values;
        `object`: any.
      then: what to do about a file that is none.

    Raises:
      ValueError: the file is torn, or holds something else.
      OSError: it cannot be read.
    """
    return _as_object(path, what, _parsed(path, what, _text(path, what, then), then), has or {}, then)


def read_rows(path: File, what: str, has: Types | None = None, *, then: str = _THEN) -> list[dict[str, Any]]:
    """Reads a list of objects; arguments and errors as for `read_json`, `has` being of each of them."""
    return rows_of(path, what, _parsed(path, what, _text(path, what, then), then), has, then=then)


def read_lines(path: File, what: str, has: Types | None = None, *, then: str = _THEN) -> list[dict[str, Any]]:
    """Reads objects that stand one on each line; arguments and errors as for `read_rows`."""
    lines = _text(path, what, then).splitlines()
    return rows_of(path, what, [_parsed(path, what, line, then) for line in lines], has, then=then)


def rows_of(path: File, what: str, found: Any, has: Types | None = None, *, then: str = _THEN) -> list[dict[str, Any]]:
    """Checks that what was found in a file is a list of objects; arguments and errors as for `read_rows`."""
    if not isinstance(found, list):
        raise ValueError(_told(path, what, then))
    return [_as_object(path, what, row, has or {}, then) for row in found]


def _text(path: File, what: str, then: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ValueError(_told(path, what, then)) from None


def _parsed(path: File, what: str, text: str, then: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(_told(path, what, then)) from None


def _as_object(path: File, what: str, found: Any, has: Types, then: str) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise ValueError(_told(path, what, then))
    for name, kind in has.items():
        value: Any = found
        for part in name.split("."):
            if not isinstance(value, dict) or part not in value:
                raise ValueError(_told(path, what, then))
            value = value[part]
        if not isinstance(value, kind):
            raise ValueError(_told(path, what, then))
    return found


def _told(path: File, what: str, then: str) -> str:
    return f"{os.fspath(path)}: torn, or no {what}; {then}"
