"""The engine of arrays and the engine of objects play the same battles."""

from __future__ import annotations

import copy
import dataclasses
import functools
from typing import Any

import jax
import numpy as np
import pytest

from jaxgames.clash import playing_on, standard_table
from jaxgames.clash import tables as columns
from jaxgames.clash.game import Clash
from jaxgames.clash.state import State
from tests.clash_reference.battle import Settings
from tests.clash_reference.comparison import Arrays, Lane, compare, differences, enrich, new_lane
from tests.clash_reference.play import random_action
from tests.clash_reference.tables import CARDS, UNITS

BATCH, BATTLES = 25, 1000
MOST_TICKS = 150
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


@pytest.mark.slow
def test_battles_played_out_without_further_cards_end_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few battles at a time, so that others take the places of those that are quiet; towers are weak, so that some fall."""
    monkeypatch.setattr(playing_on, "_AT_ONCE", 8)
    lanes, state = weak_battles(range(24), steps=12)
    game = Clash(dataclasses.replace(engine().config, value_ticks=MOST_TICKS))
    found, values = jax.device_get(
        jax.jit(jax.vmap(lambda one: (playing_on.tower_hp(game.config, one), game.heuristic(one))))(state)
    )
    ticks = []
    for lane, hp, value in zip(lanes, found, values, strict=True):
        before = lane.battle.tick
        lead = lane.battle.play_on(MOST_TICKS)
        ticks.append(lane.battle.tick - before)
        towers = [[player.units[slot].hp if slot in player.units else 0 for slot in range(3)] for player in lane.battle.players]
        assert hp.tolist() == towers, f"battle {lane.seed}"
        assert value.tolist() == [lead, -lead], f"battle {lane.seed}"
    assert set(values[:, 0].tolist()) == {-1, 0, 1}
    assert max(ticks) == MOST_TICKS and sum(0 < each < MOST_TICKS for each in ticks) > 8


def weak_battles(seeds: range, steps: int) -> tuple[list[Lane], State]:
    """Battles with all cards on both engines; towers have few hit points, kings too in some of them."""
    lanes = [new_lane(Settings(), seed) for seed in seeds]
    cards = [[[card.id for card in (*player.hand, *player.queue)] for player in lane.battle.players] for lane in lanes]
    state = engine().start(np.array(cards, np.int8))
    hp = np.array(state.hp)
    for index, lane in enumerate(lanes):
        for player in lane.battle.players:
            for slot in range(3):
                hp[index, player.seat, slot] = player.units[slot].hp = 100 + 200 * ((lane.seed + slot) % 4)
    state = dataclasses.replace(state, hp=hp)
    for _ in range(steps):
        state = enrich(lanes, state)
        actions = [tuple(random_action(lane.draws, lane.battle, seat) for seat in (0, 1)) for lane in lanes]
        for lane, chosen in zip(lanes, actions, strict=True):
            lane.battle.step(chosen)
        state = engine().step(state, np.array(actions, np.int32))
    return lanes, state


def test_rows_are_numbered_alike() -> None:
    standard = standard_table()
    assert [unit.name for unit in standard.units] == [unit.name for unit in UNITS]
    assert [card.key for card in standard.cards] == [card.key for card in CARDS]


@pytest.mark.parametrize("level", [9, 10, 11, 12, 13, 14])
def test_levels_scale_alike(level: int) -> None:
    for unit, own in zip(standard_table().units, UNITS, strict=True):
        values = [columns.value_at(value, unit, level) for value in (unit.hp, unit.shield, unit.damage, unit.death_damage)]
        scaled = own.at_level(level)
        assert values == [scaled.hp, scaled.shield, scaled.damage, scaled.death_damage], unit.name
    for card, own_card in zip(standard_table().cards, CARDS, strict=True):
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
    altered.legal_actions, altered.step = (lambda *_: np.zeros((24, 2, 1))), (lambda state, _: state)  # after they have parted
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
