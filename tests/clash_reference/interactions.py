"""Plays the written interactions: duels, lone attackers, sums, special cases; compares with what is expected of them.

`python -m tests.clash_reference.interactions [FILE]` prints a line for each and how many are outside their tolerances.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.clash_reference import scenes
from tests.clash_reference.tables import CARDS_BY_KEY, UNITS

INTERACTIONS = Path(__file__).parents[1] / "data" / "clash" / "interactions.json"
FAMILIES = {"pos": ("knight_to", "giant_to"), "hp": ("knight_hp", "giant_hp")}


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What came out of an interaction, and which of it lies outside the tolerance."""

    id: str
    measured: dict[str, Any]
    outside: tuple[str, ...]

    def __str__(self) -> str:
        what = "outside: " + "; ".join(self.outside) if self.outside else "ok"
        return f"{self.id:28s} {what}  {json.dumps(self.measured)}"


def measure(interaction: dict[str, Any]) -> dict[str, Any]:
    """Plays an interaction; returns the values that its `expect` names, by name."""
    kind, name, setup = interaction["kind"], interaction["id"], interaction["setup"]
    if kind == "engine_duel":
        return scenes.duel(setup["first"], setup["second"], setup["separation"], setup["y"])
    if kind == "engine_lone":
        return scenes.lone(setup["card"], *setup.get("deploy_xy", (3500, 14_500)))
    if name.startswith("tower_shots_"):
        return scenes.tower_shots(setup["unit"])
    special: Callable[[], dict[str, Any]] = scenes.SPECIAL[name]
    return special()


def judge(interaction: dict[str, Any]) -> Verdict:
    """Plays an interaction and compares.

    Raises:
      KeyError: an interaction of a kind that nobody knows how to play.
    """
    measured = measure(interaction)
    outside = []
    for name, expected in interaction["expect"].items():
        allowed = _tolerance(interaction, name)
        if allowed is not None and _distance(measured[name], expected) > allowed * (
            expected if _relative(interaction, name) else 1
        ):
            outside.append(f"{name} {measured[name]} instead of {expected} +-{allowed}")
    if not interaction["expect"]:
        outside += [name for name, holds in measured.items() if not holds]
    return Verdict(interaction["id"], measured, tuple(outside))


def _relative(interaction: dict[str, Any], name: str) -> bool:
    return name == "ticks" and interaction["kind"].startswith("engine_")


def _tolerance(interaction: dict[str, Any], name: str) -> float | None:
    """How far a value may be off; None where nothing is said about it."""
    tolerance = interaction["tolerance"]
    if not isinstance(tolerance, dict):
        return float(tolerance)
    families = [family for family, names in FAMILIES.items() if name in names]
    families += [family for family in tolerance if name.endswith(f"_{family}")]
    found = [tolerance[key] for key in (name, *families) if key in tolerance]
    if not found:
        return None
    if found[0] == "exact":
        return 0.0
    if found[0] == "one hit of the unit":
        return float(UNITS[CARDS_BY_KEY[interaction["setup"]["card"]].unit_id].damage)
    return float(found[0])


def _distance(measured: Any, expected: Any) -> float:
    if isinstance(expected, str | bool):
        return 0.0 if measured == expected else float("inf")
    if isinstance(expected, list):
        if len(measured) != len(expected):
            return float("inf")
        return max((abs(a - b) for a, b in zip(measured, expected, strict=True)), default=0.0)
    return float(abs(measured - expected))


def read(path: Path = INTERACTIONS) -> list[dict[str, Any]]:
    interactions: list[dict[str, Any]] = json.loads(path.read_text())["interactions"]
    return interactions


def main(arguments: list[str]) -> int:
    verdicts = [judge(interaction) for interaction in read(*map(Path, arguments))]
    for verdict in verdicts:
        print(verdict)
    outside = sum(bool(verdict.outside) for verdict in verdicts)
    print(f"{len(verdicts)} interactions, {outside} outside tolerance")
    return 1 if outside else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
