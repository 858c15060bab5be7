"""Settings behind the colon of an agent's name, such as "num_worlds=6,split=1"."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def read_flag(text: str) -> bool:
    """Reads 0 or 1."""
    if text not in ("0", "1"):
        raise ValueError(text)
    return text == "1"


_FORMS: dict[Callable[[str], Any], str] = {read_flag: "0 or 1", int: "a whole number", float: "a number"}


def read_options(spec: str, text: str, kinds: Mapping[str, Callable[[str], Any]], example: str) -> dict[str, Any]:
    """Reads settings.

    Args:
      spec: the whole text, for messages.
      text: what stands behind the colon.
      kinds: how each setting that there is is read from its text.
      example: of a setting, for messages.

    Raises:
      ValueError: there is no such setting, or it is not readable or given twice.
    """
    options: dict[str, Any] = {}
    for part in filter(None, text.split(",")):
        name, _, value = part.partition("=")
        if name not in kinds or not value:
            raise ValueError(f"agent={spec!r}: {part!r} is none of {', '.join(kinds)}, such as {example}")
        if name in options:
            raise ValueError(f"agent={spec!r}: {name} is given twice")
        try:
            options[name] = kinds[name](value)
        except ValueError:
            what = _FORMS.get(kinds[name], "readable")
            raise ValueError(f"agent={spec!r}: {name}={value!r} must be {what}") from None
    return options
