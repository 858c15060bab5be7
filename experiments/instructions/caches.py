"""The caches of a core, and which batches of a piece's lanes they hold."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

CORE = Path("/sys/devices/system/cpu/cpu0/cache")
BEYOND = "memory"
_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}


def read(folder: Path = CORE) -> dict[str, int]:
    """Gives the bytes of the caches for data by name, L1 first, as Linux tells them; none where it does not."""
    found = {}
    for index in sorted(folder.glob("index*")):
        level, kind, size = ((index / name).read_text(encoding="ascii").strip() for name in ("level", "type", "size"))
        if kind != "Instruction":
            found[f"L{level}"] = int(size[:-1]) * _UNITS[size[-1]]
    return dict(sorted(found.items()))


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
