"""The caches of a core, and which batches of a program's lanes they hold."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

CORE = Path("/sys/devices/system/cpu/cpu0/cache")
BEYOND = "memory"
_UNITS = {"": 1, "K": 2**10, "M": 2**20}


def read(folder: Path = CORE) -> dict[str, int]:
    """Gives the bytes of the caches for data by name, such as {"L1": 32768}, where Linux tells."""
    found = {}
    for path in sorted(folder.glob("index*")):
        files = [path / name for name in ("type", "level", "size")]
        if not all(file.exists() for file in files):
            continue
        kind, level, size = (file.read_text(encoding="ascii").strip() for file in files)
        number = re.fullmatch(r"(\d+)([KM]?)", size)
        if kind != "Instruction" and number:
            found[f"L{level}"] = int(number[1]) * _UNITS[number[2]]
    return found


def in_words(levels: Mapping[str, int]) -> str:
    """Tells of caches as `read` gives them."""
    return ", ".join(f"{name} {size // 1024} KiB" for name, size in levels.items()) or "no known caches"


def fastest_in_each(caches: Mapping[str, int], needs: float, nanoseconds: Mapping[str, float]) -> dict[str, tuple[int, float]]:
    """Finds the best batch in each cache: of those that it holds and that the smaller ones do not.

    Args:
      caches: bytes by name, the smallest first.
      needs: bytes per lane.
      nanoseconds: per lane, by the number of lanes.

    Returns:
      Lanes and nanoseconds by the name of the cache, `BEYOND` for batches that no cache holds; what holds none is left out.
    """
    found: dict[str, tuple[int, float]] = {}
    for lanes, time in nanoseconds.items():
        where = next((name for name, size in caches.items() if needs * int(lanes) <= size), BEYOND)
        if where not in found or time < found[where][1]:
            found[where] = int(lanes), time
    return found
