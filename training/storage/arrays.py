"""Arrays by name as the content of an npz file."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np


def as_npz(arrays: Mapping[str, Any]) -> bytes:
    """Gives arrays as the content of a compressed npz file."""
    content = io.BytesIO()
    numpy_arrays: dict[str, Any] = {name: np.asarray(value) for name, value in arrays.items()}
    np.savez_compressed(content, **numpy_arrays)
    return content.getvalue()


def from_npz(content: bytes, names: Iterable[str], what: str) -> dict[str, Any]:
    """Reads arrays, numpy.ndarray by name, from the content of an npz file.

    Args:
      content: of the file.
      names: of the arrays that are wanted.
      what: the file should hold, for the message: "battle".

    Raises:
      ValueError: it is torn, or an array is not there.
    """
    try:
        with np.load(io.BytesIO(content)) as file:
            return {name: file[name] for name in names}
    except Exception as error:  # numpy, zipfile and zlib have errors of their own for torn files
        raise ValueError(f"torn, or no {what} ({type(error).__name__})") from None
