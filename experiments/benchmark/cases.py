"""The register of all benchmark cases."""

from __future__ import annotations

from collections.abc import Iterable

from experiments import named
from experiments.benchmark.case import Case
from experiments.benchmark.clash import CASES as CLASH
from experiments.benchmark.clash_follower import CASES as CLASH_FOLLOWER
from experiments.benchmark.environments import CASES as ENVIRONMENTS
from experiments.benchmark.follower import CASES as FOLLOWER
from experiments.benchmark.hero_academy import CASES as HERO_ACADEMY
from experiments.benchmark.hex import CASES as HEX
from experiments.benchmark.modelled import CASES as MODELLED
from experiments.benchmark.official import CASES as OFFICIAL
from experiments.benchmark.pommerman import CASES as POMMERMAN
from experiments.benchmark.stratego import CASES as STRATEGO

CASES: tuple[Case, ...] = (
    *POMMERMAN,
    *ENVIRONMENTS,
    *MODELLED,
    *OFFICIAL,
    *FOLLOWER,
    *HEX,
    *HERO_ACADEMY,
    *CLASH,
    *CLASH_FOLLOWER,
    *STRATEGO,
)


def find(name: str) -> Case:
    """Gives the case of a name.

    Raises:
      ValueError: there is none.
    """
    return named.find(CASES, "case", name)


def names(cases: Iterable[Case] = CASES) -> list[str]:
    """Gives the names of cases."""
    return [case.name for case in cases]
