"""What all command lines share: flags from a dataclass, a prepared runtime, errors in one line."""

from __future__ import annotations

import contextlib
import io
import os
import re
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn, TypeVar

import jax
import tyro

from jaxgames import runtime

Config = TypeVar("Config")

BAD_INPUT = 2
INTERRUPTED = 130
ROOT = Path(__file__).resolve().parents[1]
OUR_FOLDERS = tuple(str(ROOT / name) + os.sep for name in ("jaxgames", "search", "training", "experiments", "scripts"))


def run_main(main: Callable[[Config], int | None], config: type[Config], arguments: Sequence[str] | None = None) -> NoReturn:
    """Runs a command line and leaves the process; the last line of every script.

    The flags fill `config` before JAX is prepared and `main` is called, so that `--help` and a mistyped flag cost no time. Bad
    input (a flag, a ValueError that this project raises, a file that cannot be opened) is told in one line on stderr, with exit
    code 2; any other error is a bug and shows its traceback.

    Args:
      main: takes the filled config; returns the exit code, None for 0.
      config: a frozen dataclass; its docstrings are the help.
      arguments: the command line without the program's name; None: this process's, which then ends.
    """
    jax.config.update("jax_traceback_filtering", "off")  # hidden frames would make JAX's own errors look like ours
    try:
        settings = parse(config, arguments)
        runtime.prepare()
        code = main(settings)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read our output, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        code = INTERRUPTED
    except (ValueError, OSError) as error:
        if not is_bad_input(error):
            raise
        print(f"error: {one_line(_told(error))}", file=sys.stderr)
        code = BAD_INPUT
    if arguments is None:
        _leave(code)
    sys.exit(code)


def _told(error: ValueError | OSError) -> str:
    """Gives the text of an error; of the operating system's, what file it is about and what is wrong with it."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def _leave(code: int | None) -> None:
    """Prepares the end of the process; an interrupted one ends here."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done: no traceback for an interrupt that comes too late
    if code == INTERRUPTED:  # what XLA still computes would outlive the interpreter, and crash
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def parse(config: type[Config], arguments: Sequence[str] | None = None) -> Config:
    """Fills a config from the command line.

    Args:
      config: a dataclass.
      arguments: the command line without the program's name; None: this process's.

    Returns:
      The filled config.

    Raises:
      ValueError: a flag or a value is not valid; the message is one line.
      SystemExit: help was asked for and printed.
    """
    printed = io.StringIO()
    try:
        with contextlib.redirect_stderr(printed):
            settings = tyro.cli(config, prog=f"python scripts/{Path(sys.argv[0]).name}", args=arguments)
    except SystemExit as stop:
        if stop.code in (0, None):
            raise
        raise ValueError(message_of(printed.getvalue())) from None
    sys.stderr.write(printed.getvalue())
    return settings


def message_of(box: str) -> str:
    """Makes one line of the box that tyro draws around an error.

    Args:
      box: what tyro printed: a frame, the message, and below a rule advice or the help of the flag concerned.

    Returns:
      The message, and the flags that were perhaps meant.
    """
    plain = re.sub(r"\x1b\[[0-9;]*m|[│╭╮╰╯]", "", box)
    rule = r"^.*[─-]{4,} *$"  # the top of the frame, which holds the title, is one; without Unicode a rule follows the title
    parts = re.split(rule, plain, flags=re.MULTILINE)
    message, advice = (parts[1], parts[2:]) if len(parts) > 1 else (plain, [])
    message = re.sub(r"^Error parsing (\w+: )?", "", one_line(message)).rstrip(" .")
    meant = [flag for part in advice if "you meant" in part for flag in re.findall(r"^\s*(--[\w.-]+)", part, flags=re.MULTILINE)]
    return f"{message} (perhaps {' or '.join(meant)}? see --help)" if meant else f"{message} (see --help)"


def is_bad_input(error: ValueError | OSError) -> bool:
    """Says whether an error tells the user something, which a bug does not.

    Args:
      error: as caught.

    Returns:
      True for errors of the operating system, and for a ValueError that a `raise` in this project's code has raised.
    """
    if isinstance(error, OSError):
        return True
    *_, origin = traceback.extract_tb(error.__traceback__)
    return (origin.line or "").startswith("raise ") and os.path.abspath(origin.filename).startswith(OUR_FOLDERS)


def one_line(text: str) -> str:
    """Returns the text with every run of white space, line ends included, as one space."""
    return " ".join(text.split())
