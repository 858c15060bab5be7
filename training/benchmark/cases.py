"""The register of all benchmark cases."""

from __future__ import annotations

from collections.abc import Iterable

from training.benchmark import pommerman, pommerman_search
from training.benchmark.case import Case

CASES: tuple[Case, ...] = (*pommerman.CASES, *pommerman_search.CASES)


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
