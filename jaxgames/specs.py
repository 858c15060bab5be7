"""Settings: fields of frozen dataclasses, by keyword or after the colon of a name on a command line, as "niches=1,islands=4"."""

from __future__ import annotations

import dataclasses
import functools
import typing
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from jaxgames import checks

EMPTY = '""'  # how an empty word or list is written


class Kind(NamedTuple):
    """How a setting is read from its text: by what, which raises a ValueError, and what the text must be, in words."""

    read: Callable[[str], Any]
    form: str


def _read_flag(text: str) -> bool:
    """Reads 0 or 1, or the same as a word."""
    if text.lower() not in ("0", "1", "false", "true"):
        raise ValueError(text)
    return text.lower() in ("1", "true")


def _read_word(text: str) -> str:
    """Reads a word; the empty one is written as in tables of settings."""
    return "" if text == EMPTY else text


def _read_lists(text: str) -> tuple[tuple[str, ...], ...]:
    """Reads lists of words between "/"."""
    return () if text == EMPTY else tuple(_read_list(str, part) for part in text.split("/"))


def _read_list(inside: Callable[[str], Any], text: str) -> tuple[Any, ...]:
    """Reads what stands between "+"."""
    return tuple(inside(part) for part in _read_word(text).split("+") if part)


def _read_pair(text: str) -> tuple[int, ...]:
    """Reads two whole numbers with "+" between."""
    numbers = _read_list(int, text)
    if len(numbers) != 2:
        raise ValueError(f"{text!r}: must be two whole numbers")
    return numbers


KINDS = {
    bool: Kind(_read_flag, "0 or 1, or false or true"),
    int: Kind(int, "a whole number"),
    float: Kind(float, "a number"),
    str: Kind(_read_word, f"a word, or {EMPTY} for none"),
}
_LISTS: dict[Any, Kind] = {
    tuple[int, ...]: Kind(functools.partial(_read_list, int), "whole numbers with + between"),
    tuple[int, int]: Kind(_read_pair, "two whole numbers with + between"),
    tuple[str, ...]: Kind(functools.partial(_read_list, str), "words with + between"),
    tuple[tuple[str, ...], ...]: Kind(_read_lists, "lists with / between, of words with + between"),
}


def kinds_of(config: Any, without: Collection[str] = ()) -> dict[str, Kind]:
    """Gives what can be set of a config: its fields that are numbers, flags, words or lists of them, and those of dataclasses.

    Args:
      config: a dataclass; where names are equal, the outer field counts, or the first of those side by side.
      without: fields to leave out.
    """
    types = typing.get_type_hints(type(config))
    own: dict[str, Kind] = {}
    inner: dict[str, Kind] = {}
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if field.name in without:
            continue
        if dataclasses.is_dataclass(value):
            inner = inner | {name: kind for name, kind in kinds_of(value, without).items() if name not in inner}
        elif kind := _kind_of(types[field.name]):
            own[field.name] = kind
    found = own | {name: kind for name, kind in inner.items() if name not in own}
    return dict(sorted(found.items(), key=lambda item: item[1] in _LISTS.values()))


def _kind_of(annotation: Any) -> Kind | None:
    kind = KINDS.get(annotation) or _LISTS.get(annotation)
    if kind or type(None) not in typing.get_args(annotation):
        return kind
    inside = next((KINDS[each] for each in typing.get_args(annotation) if each in KINDS), None)
    return inside and Kind(lambda text: None if text == "none" else inside.read(text), f"{inside.form} or none")


def values_of(config: Any) -> dict[str, Any]:
    """Gives the fields of a config, and those of dataclasses in it, by name; of equal names the outer or first."""
    fields = {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
    inner: dict[str, Any] = {}
    for value in fields.values():
        if dataclasses.is_dataclass(value):
            inner = inner | {name: each for name, each in values_of(value).items() if name not in inner}
    return inner | {name: value for name, value in fields.items() if not dataclasses.is_dataclass(value)}


def with_settings(config: Any, settings: Mapping[str, Any]) -> Any:
    """Changes fields of a config, or of dataclasses in it; where names are equal, the outer or the first one alone.

    Lists may be given as text too, as on command lines: "3+3+3".

    Raises:
      ValueError: there is no such field, text is none that a list is written as, or the config refuses the value.
    """
    known = dict.fromkeys([*values_of(config), *(field.name for field in dataclasses.fields(config))])
    for name, value in settings.items():
        if name not in known:
            raise ValueError(f"{name}={value!r}: no such setting; {checks.one_of(name, known)}")
    return _changed(config, {**settings, **_read_as_lists(config, settings)})


def _read_as_lists(config: Any, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Reads those of some settings that are lists and given as text."""
    texts = {name: value for name, value in settings.items() if isinstance(value, str)}
    kinds = {name: kind for name, kind in kinds_of(config).items() if kind in _LISTS.values()} if texts else {}
    return {name: _read_setting(name, text, kinds[name]) for name, text in texts.items() if name in kinds}


def _read_setting(name: str, text: str, kind: Kind) -> Any:
    try:
        return kind.read(text)
    except ValueError:
        raise ValueError(f"{name}={text!r}: must be {kind.form}") from None


def _changed(config: Any, settings: Mapping[str, Any]) -> Any:
    values = {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
    changes = {name: settings[name] for name in values if name in settings}
    rest = {name: value for name, value in settings.items() if name not in changes}
    for name, value in values.items():
        if rest and dataclasses.is_dataclass(value):
            changes[name] = _changed(changes.get(name, value), rest)
            rest = {inside: given for inside, given in rest.items() if inside not in _names_in(value)}
    return dataclasses.replace(config, **changes)


def _names_in(config: Any) -> set[str]:
    """Gives the names of all fields of a config, and of dataclasses in it."""
    fields = {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
    return set(fields).union(*(_names_in(value) for value in fields.values() if dataclasses.is_dataclass(value)))


def read_options(given: str, text: str, kinds: Mapping[str, Kind], example: str) -> dict[str, Any]:
    """Reads settings.

    Args:
      given: what the settings belong to, as it was written, for messages: "agent='oep:niches=1'".
      text: what stands after the colon.
      kinds: how each setting that there is is read from its text.
      example: of a setting, for messages.

    Raises:
      ValueError: there is no such setting, or it is not readable or given twice.
    """
    options: dict[str, Any] = {}
    for part in text.split(",") if text else ():
        name, _, value = part.partition("=")
        if name not in kinds:
            meant = f" ({found})" if (found := checks.perhaps(name, kinds)) else ""
            raise ValueError(f"{given}: {part!r} is none of {', '.join(kinds)}, such as {example}{meant}")
        if name in options:
            raise ValueError(f"{given}: {name} is given twice")
        try:
            if not value:
                raise ValueError(value)
            options[name] = kinds[name].read(value)
        except ValueError:
            raise ValueError(f"{given}: {name}={value!r} must be {kinds[name].form}") from None
    return options
