"""The written interactions on the slow engine, one line each."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clash_reference import interactions

ALL = interactions.read()


@pytest.mark.parametrize("interaction", ALL, ids=[interaction["id"] for interaction in ALL])
def test_interaction_comes_out_as_written(interaction: dict[str, Any]) -> None:
    verdict = interactions.judge(interaction)
    print(verdict)
    assert not verdict.outside


def test_prototype_of_the_rules_is_met_exactly() -> None:
    for interaction in ALL:
        if interaction["kind"] in ("engine_duel", "engine_lone"):
            measured = interactions.measure(interaction)
            assert {name: measured[name] for name in interaction["expect"]} == interaction["expect"], interaction["id"]


def test_a_value_outside_its_tolerance_is_told() -> None:
    duel = next(interaction for interaction in ALL if interaction["id"] == "knight_vs_archers")
    wrong = {**duel, "expect": {**duel["expect"], "winner": "second", "ticks": 100, "hp_left_total": 1000}}
    told = interactions.judge(wrong)
    assert [what.split()[0] for what in told.outside] == ["winner", "ticks"]  # 803 is within 264 of 1000
    assert "68 instead of 100" in str(told)
