"""The settings of a run that goes on: those with which it was begun stand in for the flags that are left out."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from training.jobs.job import JobConfig
from training.storage.json_files import read_json
from training.storage.owner import FILES, GO_ON, JOB, SETTINGS

Config = TypeVar("Config")


def settings_of_run(config: type[Config], arguments: Sequence[str]) -> Config | None:
    """Reads the settings of the run that a command line goes on with.

    Args:
      config: of the job, with a default for every setting.
      arguments: the command line without the program's name.

    Returns:
      The settings in the folder of the run; what they lack has its default, and is refused when the run is compared with it.
      None: the command goes on with no run, or its folder has no settings.

    Raises:
      ValueError: the file holds no settings, or settings that the job does not take.
    """
    if not issubclass(config, JobConfig) or "--resume" not in arguments:
        return None
    folder = _last(arguments, "--output") or config.output
    path = Path(folder) / SETTINGS
    if not path.exists():
        return None
    found = read_json(path, "settings", then=GO_ON)
    usual = config()
    try:
        _check_names(usual, found)
        return _filled(usual, found | {"output": folder})  # a run may have been moved
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: of another job, or of another version of this one ({error}); choose another output") from None


def _last(arguments: Sequence[str], flag: str) -> str | None:
    """Gives the value of a flag as it is taken: the last one, `--flag value` or `--flag=value`."""
    value = None
    for word, following in zip(arguments, [*arguments[1:], ""], strict=True):
        name, equals, given = word.partition("=")
        if name == flag:
            value = given if equals else following
    return value


def _check_names(usual: Any, found: Any) -> None:
    """Refuses settings that the job does not have, nested ones too: they are of another."""
    unknown = [name for name in _unknown(usual, found) if name not in (JOB, FILES)]
    if found.get(JOB, usual.JOB) != usual.JOB:
        raise ValueError(f"it is of {found[JOB]}")
    if unknown:
        raise ValueError(f"it has {', '.join(unknown)}")


def _unknown(usual: Any, found: Any, prefix: str = "") -> list[str]:
    """Gives the names of settings that a config does not have, such as "learn.rate"."""
    if not isinstance(found, dict):
        raise TypeError(f"{found!r} where settings by name belong")
    fields = {field.name for field in dataclasses.fields(usual)}
    names = [prefix + name for name in found if name not in fields]
    for name in found:
        if name in fields and dataclasses.is_dataclass(nested := getattr(usual, name)):
            names += _unknown(nested, found[name], f"{prefix}{name}.")
    return names


def _filled(usual: Any, found: Any) -> Any:
    """Gives settings as a config has them: dataclasses for dictionaries, tuples for lists, and what is not found as usual."""
    if dataclasses.is_dataclass(usual) and not isinstance(usual, type):
        if not isinstance(found, dict):
            raise TypeError(f"{found!r} where settings by name belong")
        names = [field.name for field in dataclasses.fields(usual) if field.name in found]
        return dataclasses.replace(usual, **{name: _filled(getattr(usual, name), found[name]) for name in names})
    return _tuples(found)


def _tuples(found: Any) -> Any:
    return tuple(map(_tuples, found)) if isinstance(found, list) else found
