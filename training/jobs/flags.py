"""Filling the config of a job from the command line."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import io
import re
import sys
import typing
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

from training.jobs.errors import one_line

Config = TypeVar("Config")


def parse(config: type[Config], arguments: Sequence[str] | None = None) -> Config:
    """Fills a config from the command line; arguments and errors as for `parse_all`."""
    return parse_all(config, arguments)[0]


def parse_alone(config: type[Config], arguments: Sequence[str] | None = None) -> Config:
    """Fills the config of a job that runs in one process; arguments as for `parse_all`.

    Raises:
      ValueError: as for `parse_all`, and for flags by which several processes would meet.
      SystemExit: help was asked for and printed.
    """
    from jaxgames.processes import Processes

    refused = {field.name for field in dataclasses.fields(Processes)} - set(inspect.signature(config).parameters)
    for word in sys.argv[1:] if arguments is None else arguments:
        if word.startswith("--") and word[2:].partition("=")[0].replace("-", "_") in refused:
            raise ValueError(f"{word}: this job is done by one process; leave it out")
    filled: Config = _parsed(config, config, arguments)
    return filled


def parse_all(config: type[Config], arguments: Sequence[str] | None = None) -> tuple[Config, Any]:
    """Fills a config from the command line, and what all jobs take beside their own.

    With `--resume`, settings that are left out are those of the run that goes on.

    Args:
      config: a dataclass.
      arguments: the command line without the program's name; None: this process's.

    Returns:
      The filled config, and which processes work together.

    Raises:
      ValueError: a flag or a value is not valid, or the run's settings cannot be read; the message is one line.
      SystemExit: help was asked for and printed.
    """
    import tyro

    from jaxgames.processes import Processes
    from training.jobs.resumed import settings_of_run

    plain = tyro.conf.arg(name="")  # no prefix
    begun = settings_of_run(config, sys.argv[1:] if arguments is None else arguments)
    usual = {} if begun is None else {"default": (begun, Processes())}
    return _parsed(tuple[Annotated[config, plain], Annotated[Processes, plain]], config, arguments, **usual)  # type: ignore[valid-type]


def _parsed(kind: Any, config: type[Any], arguments: Sequence[str] | None, **usual: Any) -> Any:
    """Lets tyro fill what is asked for, from what is usual; the help begins with the docstring of the config."""
    import tyro

    script = Path(sys.argv[0])
    given = list(sys.argv[1:] if arguments is None else arguments)
    if {"-h", "--help"}.intersection(given):  # tyro leaves what is given already out of the help
        given = ["--help"]
    printed = io.StringIO()
    try:
        with contextlib.redirect_stderr(printed):
            settings = tyro.cli(
                kind,
                prog=f"python scripts/{script.name}" if script.suffix == ".py" else script.name,
                description=(inspect.getdoc(config) or "").partition("\nAttributes:")[0],
                args=given,
                **usual,
            )
    except SystemExit as stop:
        if stop.code in (0, None):
            raise
        raise ValueError(message_of(printed.getvalue(), _flags_of(config))) from None
    except ValueError as error:  # of a config
        raise ValueError(str(error)) from error
    sys.stderr.write(printed.getvalue())
    return settings


def _flags_of(config: type[Any], before: str = "--") -> list[str]:
    """Gives the flags of a config, and of configs in it, as "--follower.game"."""
    found, types = [], typing.get_type_hints(config)
    for field in dataclasses.fields(config):
        name = before + field.name.replace("_", "-")
        found += _flags_of(types[field.name], f"{name}.") if dataclasses.is_dataclass(types[field.name]) else [name]
    return found


def message_of(box: str, known: Sequence[str] = ()) -> str:
    """Makes one line of the box that tyro draws around an error.

    Args:
      box: what tyro printed: a frame, the message, and below a rule advice or the help of the flag concerned.
      known: all flags; those that end as one that does not exist are perhaps meant.

    Returns:
      The message, and the flags that were perhaps meant.
    """
    plain = re.sub(r"\x1b\[[0-9;]*m|[│╭╮╰╯]", "", box)
    rule = r"^.*[─-]{4,} *$"  # the top of the frame, which holds the title, is one; without Unicode a rule follows the title
    parts = re.split(rule, plain, flags=re.MULTILINE)
    message, advice = (parts[1], parts[2:]) if len(parts) > 1 else (plain, [])
    message = re.sub(r"^Error parsing (\w+: )?", "", one_line(message)).rstrip(" .")
    message = re.sub(r"invalid literal for int\(\) with base 10: (.*)", r"\1 is no whole number", message)
    message = re.sub(r"could not convert string to float: (.*)", r"\1 is no number", message)
    message = re.sub(r"^\d+(\.|: )", "", message)  # the place of the config among all that is parsed
    meant = [flag for part in advice if "you meant" in part for flag in re.findall(r"^\s*(--[\w.-]+)", part, flags=re.MULTILINE)]
    if not meant and message.startswith("Unrecognized options"):
        meant = [flag for word in re.findall(r"--[\w.-]+", message) for flag in known if _last(flag) == _last(word)]
    return f"{message} (perhaps {' or '.join(meant)}? see --help)" if meant else f"{message} (see --help)"


def _last(flag: str) -> str:
    """The last part of the name of a flag."""
    return flag.lstrip("-").rpartition(".")[2].replace("_", "-")
