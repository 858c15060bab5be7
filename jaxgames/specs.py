"""Settings: of a config by keyword, or after the colon of a name on a command line, such as "num_worlds=6,split=1"."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any


def read_flag(text: str) -> bool:
    """Reads 0 or 1."""
    if text not in ("0", "1"):
        raise ValueError(text)
    return text == "1"


Reader = Callable[[str], Any]
FORMS: dict[Reader, str] = {read_flag: "0 or 1", int: "a whole number", float: "a number", str: "a word"}


def read_options(given: str, text: str, kinds: Mapping[str, Reader], example: str) -> dict[str, Any]:
    """Reads settings.

    Args:
      given: what the settings belong to, as it was written, for messages: "agent='oep:niches=1'".
      text: what stands after the colon.
      kinds: how each setting that there is is read from its text, one of `FORMS`.
      example: of a setting, for messages.

    Raises:
      ValueError: there is no such setting, or it is not readable or given twice.
    """
    options: dict[str, Any] = {}
    for part in text.split(",") if text else ():
        name, _, value = part.partition("=")
        if name not in kinds:
            raise ValueError(f"{given}: {part!r} is none of {', '.join(kinds)}, such as {example}")
        if name in options:
            raise ValueError(f"{given}: {name} is given twice")
        try:
            if not value:
                raise ValueError(value)
            options[name] = kinds[name](value)
        except ValueError:
            raise ValueError(f"{given}: {name}={value!r} must be {FORMS[kinds[name]]}") from None
    return options


def with_settings(config: Any, settings: Mapping[str, Any]) -> Any:
    """Changes fields of a config.

    Raises:
      ValueError: there is no such field, or the config refuses the value.
    """
    known = [field.name for field in dataclasses.fields(config)]
    for name, value in settings.items():
        if name not in known:
            raise ValueError(f"{name}={value!r}: no such setting; there are {', '.join(known)}")
    return dataclasses.replace(config, **settings)
