"""What an accelerator is put through: pieces of work in the order in which they tell most."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import jaxgames
from experiments.accelerator import checks, learners
from experiments.benchmark import cases
from experiments.benchmark.case import Case
from search import presets

CHECKS, SPEEDS, CORE, LEARNERS = "checks", "speeds", "core", "learners"
SHARES = {CHECKS: 0.25, SPEEDS: 0.4, CORE: 0.15, LEARNERS: 0.2}  # of the time
SIZES = (1.0, 1 / 16, 4.0)  # of the usual batch: what is measured first, and then a small and a large one

# What one wants to know first, of speeds and of planners.
TELLING = (
    "pommerman/random",
    "pommerman/fdts",
    "hex/dark_random",
    "hero_academy/oep",
    "hex/puct_100",
    "stratego/pc_pimc",
    "clash/random",
)
QUICK_TO_COMPILE = ("hex", "hero_academy")
FIRST_PLANNERS = {"pommerman": "fdts", "hex": "puct", "hero_academy": "oep", "clash": "fdts", "stratego": "pc_pimc"}


@dataclasses.dataclass(frozen=True)
class Piece:
    """Some work that is done at once; its rows are written when it is done.

    Attributes:
      part: one of `SHARES`.
      name: what for, unique within its part together with `size` and `devices`.
      size: of speeds, how many times the usual batch.
      devices: of speeds, how many accelerators.
    """

    part: str
    name: str
    size: float = 1.0
    devices: int = 1

    @property
    def title(self) -> str:
        """What people are told."""
        batch = "" if self.size == 1 else f", {self.size:g} times the usual batch"
        return self.name + batch + on_several(self.devices)

    def as_dict(self) -> dict[str, Any]:
        """For the process that does it."""
        return dataclasses.asdict(self)


def of(row: Mapping[str, Any]) -> Piece:
    """Gives the piece that a row is of; trainings take all the devices there are."""
    devices = row.get("devices", 1) if row["part"] == SPEEDS else 1
    return Piece(row["part"], row["name"], row["size"], devices)


def on_several(devices: int) -> str:
    """Says on how many devices something is done; "" where it is one."""
    return "" if devices == 1 else f" on {devices} devices"


def plan(
    only: str = "", sizes: Sequence[float] = SIZES, devices: int = 1, benchmark: Iterable[Case] = cases.CASES
) -> Mapping[str, Sequence[Piece]]:
    """Gives the pieces of each part, in order.

    Args:
      only: a regular expression that names of pieces, written as part:name, must contain.
      sizes: of speeds, how many times the usual batch, in this order.
      devices: of speeds, how many accelerators.
      benchmark: the cases to measure.

    Raises:
      ValueError: it is none, or nothing is left.
    """
    benchmark = list(benchmark)
    parts: dict[str, list[Piece]] = {
        CHECKS: _checks(),
        SPEEDS: _speeds(benchmark, sizes, devices),
        CORE: [Piece(CORE, name) for name in _telling(benchmark)],
        LEARNERS: _learners(),
    }
    pattern = pattern_of(only)
    chosen = {part: [piece for piece in pieces if pattern.search(f"{part}:{piece.name}")] for part, pieces in parts.items()}
    if not any(chosen.values()):
        raise ValueError(
            f"only={only!r}: names nothing; names are such as checks:states hex, speeds:hex/puct_100, learners:alphaze"
        )
    return chosen


def pattern_of(only: str) -> re.Pattern[str]:
    """Reads a regular expression; raises a ValueError where it is none."""
    try:
        return re.compile(only)
    except re.error as error:
        raise ValueError(f"only={only!r}: no regular expression ({error})") from error


def _checks() -> list[Piece]:
    games = sorted(jaxgames.game_names(), key=lambda name: (name not in QUICK_TO_COMPILE, name))
    first = [f"planner {game} {FIRST_PLANNERS[game]}" for game in games]
    rest = [f"planner {game} {name}" for game in games for name in presets.planners_of(jaxgames.make(game))]
    names = [*(f"states {game}" for game in games), *first, *(f"network {name}" for name in checks.NETWORKS), *rest]
    return [Piece(CHECKS, name) for name in dict.fromkeys(names)]


def _speeds(benchmark: Sequence[Case], sizes: Sequence[float], devices: int) -> list[Piece]:
    telling = _telling(benchmark)
    rest = [case.name for case in benchmark if case.name not in telling]
    first = [Piece(SPEEDS, name, sizes[0], devices) for name in (*telling, *rest)]
    return first + [Piece(SPEEDS, name, size, devices) for names in (telling, rest) for name in names for size in sizes[1:]]


def _telling(benchmark: Sequence[Case]) -> list[str]:
    names = {case.name for case in benchmark}
    return [name for name in TELLING if name in names]


def _learners() -> list[Piece]:
    return [Piece(LEARNERS, name) for name in learners.LEARNERS]
