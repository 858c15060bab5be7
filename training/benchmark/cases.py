"""The register of all benchmark cases."""

from __future__ import annotations

from collections.abc import Iterable

from training.benchmark.case import Case
from training.benchmark.follower import CASES as FOLLOWER
from training.benchmark.hero_academy import CASES as HERO_ACADEMY
from training.benchmark.hex import CASES as HEX
from training.benchmark.pommerman import CASES as POMMERMAN
from training.benchmark.pommerman_search import CASES as POMMERMAN_SEARCH

CASES: tuple[Case, ...] = (*POMMERMAN, *POMMERMAN_SEARCH, *FOLLOWER, *HEX, *HERO_ACADEMY)


def find(name: str) -> Case:
    """Gives the case of a name.

    Raises:
      ValueError: there is none.
    """
    for case in CASES:
        if case.name == name:
            return case
    raise ValueError(f"case={name!r}: must be one of {', '.join(names())}")


def names(cases: Iterable[Case] = CASES) -> list[str]:
    """Gives the names of cases."""
    return [case.name for case in cases]
