"""The engine of arrays and the engine of objects play the same battles."""

from __future__ import annotations

import copy
import dataclasses
import functools
from typing import Any

import pytest

from jaxgames.clash import cards as table
from jaxgames.clash import tables as columns
from jaxgames.clash.state import State
from tests.clash_reference.battle import Settings
from tests.clash_reference.comparison import Arrays, compare, differences
from tests.clash_reference.tables import CARDS, UNITS

BATCH, BATTLES = 25, 1000
WITH_EVERYTHING = Settings(
    levels=(9, 13),
    slots=22,
    spell_slots=3,
    start_elixir=7,
    regular_ticks=600,
    overtime_ticks=200,
    double_from_tick=200,
    triple_from_tick=400,
    weakest_tower_loses=True,
)


@functools.cache
def engine() -> Arrays:
    return Arrays(Settings())


@pytest.mark.slow
def test_some_battles_with_all_cards() -> None:
    assert compare(Settings(), range(24), most_steps=30, engine=engine(), ticks=20) == 24 * (1 + 30 + 20)


def test_rows_are_numbered_alike() -> None:
    standard = table.standard_table()
    assert [unit.name for unit in standard.units] == [unit.name for unit in UNITS]
    assert [card.key for card in standard.cards] == [card.key for card in CARDS]


@pytest.mark.parametrize("level", [9, 10, 11, 12, 13, 14])
def test_levels_scale_alike(level: int) -> None:
    for unit, own in zip(table.standard_table().units, UNITS, strict=True):
        values = [columns.value_at(value, unit, level) for value in (unit.hp, unit.shield, unit.damage, unit.death_damage)]
        scaled = own.at_level(level)
        assert values == [scaled.hp, scaled.shield, scaled.damage, scaled.death_damage], unit.name
    for card, own_card in zip(table.standard_table().cards, CARDS, strict=True):
        assert columns.value_at(card.damage, card, level) == own_card.at_level(level).damage, card.key


def test_a_difference_is_told_by_name() -> None:
    facts = {("unit", 0, 3, "hp"): 100, ("battle", "tick"): 5}
    assert differences(facts, {**facts, ("unit", 0, 3, "hp"): 99}) == ["unit 0 3 hp: objects 100, arrays 99"]
    assert differences(facts, {("battle", "tick"): 5}) == ["unit 0 3 hp: objects 100, arrays nothing"]


def test_a_battle_in_which_the_engines_part_is_told() -> None:
    altered = copy.copy(engine())

    def start(cards: Any) -> State:
        state = engine().start(cards)
        return dataclasses.replace(state, hp=state.hp - 1)

    altered.start = start
    with pytest.raises(ExceptionGroup, match="24 of 24 battles") as raised:
        compare(Settings(), range(24), most_steps=1, engine=altered)
    assert "battle 0: the engines differ after tick 0" in str(raised.value.exceptions[0])
    assert "unit 0 2 hp: objects 4824, arrays 4823" in str(raised.value.exceptions[0])


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, BATTLES, BATCH))
def test_a_thousand_battles_to_their_end(first: int) -> None:
    assert compare(Settings(), range(first, first + BATCH), most_steps=10**4, engine=engine()) > 100


@pytest.mark.slow
def test_battles_with_other_settings() -> None:
    assert compare(WITH_EVERYTHING, range(50), most_steps=10**4) > 100
