"""Reading JSON files that people write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def read_json(path: str | Path) -> Any:
    """Reads a JSON file.

    Raises:
      ValueError: it cannot be read, or is torn; the file is not named.
    """
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise ValueError(f"not a JSON file, or torn: {error}") from None
