"""What docstrings say of the fields of a dataclass."""

from __future__ import annotations

import dataclasses
import inspect
import re

_FIELD = re.compile(r"(\w+(?:, \w+)*): (.*)")


def told_of(kind: type) -> dict[str, str]:
    """Gives what the section "Attributes" of a dataclass, and of those that it extends, says of each field.

    Args:
      kind: a dataclass. Fields that it does not tell of are missing.
    """
    found: dict[str, str] = {}
    for base in reversed([one for one in kind.__mro__ if dataclasses.is_dataclass(one)]):
        found |= _section(inspect.cleandoc(base.__doc__ or ""))
    return found


def _section(text: str) -> dict[str, str]:
    _, _, section = text.partition("\nAttributes:\n")
    entries: list[str] = []
    for line in section.splitlines():
        if not line.strip() or not line.startswith("  "):
            break
        if line.startswith("   ") and entries:  # goes on
            entries[-1] += f" {line.strip()}"
        else:
            entries.append(line.strip())
    found: dict[str, str] = {}
    for entry in entries:
        if match := _FIELD.fullmatch(entry):
            found |= dict.fromkeys(match[1].split(", "), match[2])
    return found
