"""Which errors tell the user something, and how they are told in one line."""

import os
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OUR_PACKAGES = ("jaxgames", "search", "training", "experiments", "scripts")
_OUR_FOLDERS = tuple(str(ROOT / name) + os.sep for name in OUR_PACKAGES)


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
    return (origin.line or "").startswith("raise ") and os.path.abspath(origin.filename).startswith(_OUR_FOLDERS)


def one_line(text: str) -> str:
    """Returns the text with every run of white space, line ends included, as one space."""
    return " ".join(text.split())


def text_of(error: ValueError | OSError) -> str:
    """Gives the text of an error; of the operating system's, what file it is about and what is wrong with it."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)
