"""Imports of libraries that are not always installed."""

from __future__ import annotations

import importlib
from typing import Any


def needed(library: str, extra: str = "wrappers") -> Any:
    """Imports a library of an extra.

    Raises:
      ImportError: it is not installed, and the message says how to install it; or it fails by itself.
    """
    try:
        return importlib.import_module(library)
    except ModuleNotFoundError as error:
        if error.name != library.partition(".")[0]:
            raise
        raise ImportError(f"{library} is not installed: pip install '.[{extra}]' in a checkout") from error
