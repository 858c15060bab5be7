"""Clock, elixir, cards, deployment, end and value of the slow engine, and its symmetry."""

from __future__ import annotations

import random

import pytest

from tests.clash_reference.battle import DRAW, WAIT, Battle, Settings
from tests.clash_reference.play import mirrored, random_action, random_decks, snapshot
from tests.clash_reference.scenes import cast_and_wait, empty, place, place_card, run, troops
from tests.clash_reference.tables import (
    BEGINNER_DECK,
    CARDS_BY_KEY,
    KING,
    LAST_TICK,
    LEFT_TOWER,
    REGULAR_TICKS,
    RIGHT_TOWER,
    UNITS_PER_ELIXIR,
)

KNIGHT, GIANT, ARCHERS, ARROWS = range(4)  # the first hand of the beginner deck


def action(k: int, column: int = 0, row: int = 0) -> int:
    return 1 + 576 * k + 18 * row + column


def test_a_card_is_paid_played_and_followed_by_the_next() -> None:
    battle = empty()
    one, other = battle.players
    battle.step((action(KNIGHT, 9, 10), action(ARROWS, 4, 20)))
    assert one.elixir == other.elixir == (5 - 3) * UNITS_PER_ELIXIR + 5
    assert [card.key for card in one.hand] == ["minions", "giant", "archers", "arrows"]
    assert [card.key for card in one.queue] == ["fireball", "musketeer", "baby-dragon", "knight"]
    (knight,) = troops(battle, 0)
    assert (knight.type.name, knight.slot, knight.x, knight.y, knight.age) == ("Knight", 3, 9500, 10_500, 5)
    assert one.past[:2] == [(0, 9, 10), (-1, 0, 0)] and other.past[0] == (3, 4, 20)
    (spell,) = [spell for spell in other.spells if spell is not None]
    assert (spell.x, spell.y, spell.waves) == (18_000 - 4500, 32_000 - 20_500, 3)


def test_red_deploys_in_its_own_frame() -> None:
    battle = empty()
    battle.step((WAIT, action(ARCHERS, 2, 12)))
    assert [(unit.x, unit.y) for unit in troops(battle, 1)] == [(16_050, 19_500), (14_950, 19_500)]


def test_saving_for_a_card_forces_to_wait_until_it_can_be_paid() -> None:
    battle = empty(Settings(start_elixir=4))
    player = battle.players[0]
    assert action(GIANT) in battle.legal_actions(0) and action(GIANT, 9, 10) not in battle.legal_actions(0)
    battle.step((action(GIANT, 3, 31), WAIT))
    assert player.saving_for == GIANT and battle.legal_actions(0) == [WAIT] and player.past[0] == (-1, 0, 0)
    battle.step((action(KNIGHT, 9, 10), WAIT))
    assert not troops(battle, 0)
    while player.saving_for is not None:
        assert player.elixir < 5 * UNITS_PER_ELIXIR
        battle.step((WAIT, WAIT))
    assert battle.tick == 30 and {action(KNIGHT, 9, 10), action(GIANT, 9, 10)} <= set(battle.legal_actions(0))


def test_elixir_comes_twice_as_fast_and_three_times_where_set() -> None:
    battle = empty(Settings(start_elixir=0, triple_from_tick=2400))
    gains = []
    for start in (0, 1199, 1200, 2399, 2400):
        battle.tick, before = start, battle.players[0].elixir
        battle.run_tick()
        gains.append(battle.players[0].elixir - before)
    assert gains == [1, 1, 2, 2, 3]
    battle.players[1].elixir = 279
    battle.run_tick()
    assert battle.players[1].elixir == 280


@pytest.mark.parametrize(
    "column, row, card, legal",
    [
        (9, 14, "knight", True),
        (9, 15, "knight", False),  # the river
        (9, 16, "knight", False),
        (9, 17, "knight", False),
        (5, 0, "knight", False),  # behind the fence
        (6, 0, "knight", True),
        (11, 0, "knight", True),
        (12, 0, "knight", False),
        (2, 5, "knight", False),  # under a tower
        (1, 5, "knight", True),
        (10, 4, "knight", False),
        (11, 4, "knight", True),
        (9, 31, "fireball", True),
        (9, 15, "goblin-barrel", True),
    ],
)
def test_where_a_card_may_be_played(column: int, row: int, card: str, legal: bool) -> None:
    battle = empty()
    for seat in (0, 1):
        assert battle.may_deploy_at(seat, CARDS_BY_KEY[card], column, row) is legal


@pytest.mark.parametrize("seat", [0, 1])
def test_fallen_towers_open_the_ground(seat: int) -> None:
    knight = CARDS_BY_KEY["knight"]
    battle = empty()
    del battle.players[1 - seat].units[LEFT_TOWER]  # on my right
    assert battle.may_deploy_at(seat, knight, 9, 20) and not battle.may_deploy_at(seat, knight, 8, 20)
    assert not battle.may_deploy_at(seat, knight, 9, 21) and not battle.may_deploy_at(seat, knight, 9, 16)
    del battle.players[1 - seat].units[RIGHT_TOWER]
    assert battle.may_deploy_at(seat, knight, 8, 17)
    assert not battle.may_deploy_at(seat, knight, 14, 6)
    del battle.players[seat].units[RIGHT_TOWER]
    assert battle.may_deploy_at(seat, knight, 14, 6) and not battle.may_deploy_at(seat, knight, 3, 6)


@pytest.mark.parametrize(
    "standing, key, nearest",
    [("Cannon", "cannon", 2), ("Cannon", "tombstone", 2), ("Tombstone", "tombstone", 2), ("Cannon", "knight", 0)],
)
def test_buildings_keep_their_distance(standing: str, key: str, nearest: int) -> None:
    battle = empty()
    place(battle, 0, standing, 9500, 10_500)  # radii 600 and 1000: two of the latter may touch
    free = [battle.may_deploy_at(0, CARDS_BY_KEY[key], 9 + away, 10) for away in range(4)]
    assert free == [away >= nearest for away in range(4)]


def test_a_swarm_needs_all_its_slots_and_a_spell_one() -> None:
    battle = Battle((("skeleton-army", "zap", *BEGINNER_DECK[:6]), BEGINNER_DECK), Settings(slots=17, start_elixir=10))
    assert not battle.has_room(0, CARDS_BY_KEY["skeleton-army"]) and battle.has_room(0, CARDS_BY_KEY["minion-horde"])
    battle.step((action(0, 9, 10), WAIT))
    assert not troops(battle, 0) and battle.players[0].elixir == 280
    for _ in range(8):
        battle.cast(0, CARDS_BY_KEY["poison"], 9000, 9000)
    assert not any(1 + 576 <= legal <= 2 * 576 for legal in battle.legal_actions(0))
    battle.step((action(1, 9, 10), WAIT))
    assert battle.players[0].elixir == 280 and battle.players[0].past[0] == (-1, 0, 0)


@pytest.mark.parametrize("fallen, winner", [((0,), 1), ((1,), 0), ((0, 1), DRAW)])
def test_who_loses_the_king_loses_at_once(fallen: tuple[int, ...], winner: int) -> None:
    battle = empty()
    battle.players[1 - fallen[0]].units[LEFT_TOWER].hp = 0
    for seat in fallen:
        battle.players[seat].units[KING].hp = 0
    battle.run_tick()
    assert battle.winner == winner and battle.tick == 1
    facts = snapshot(battle)
    battle.step((action(KNIGHT, 9, 10), WAIT))
    assert snapshot(battle) == facts and battle.legal_actions(0) == [WAIT]


def test_towers_count_when_regular_time_is_over() -> None:
    battle = empty(towers=False)
    del battle.players[0].units[RIGHT_TOWER]
    battle.tick = REGULAR_TICKS - 2
    battle.run_tick()
    assert not battle.done
    battle.run_tick()
    assert battle.winner == 1 and battle.tick == REGULAR_TICKS


@pytest.mark.parametrize("by_hitpoints, winner", [(False, DRAW), (True, 1)])
def test_the_last_tick_is_a_draw_or_goes_to_the_stronger_towers(by_hitpoints: bool, winner: int) -> None:
    battle = empty(Settings(weakest_tower_loses=by_hitpoints))
    battle.players[0].units[RIGHT_TOWER].hp = 1000
    battle.players[1].units[KING].hp = 2000
    battle.tick = LAST_TICK - 1
    battle.run_tick()
    assert battle.winner == winner


def test_playing_on_counts_towers_once_all_is_quiet() -> None:
    battle = empty()
    assert battle.play_on(100) == 0 and battle.tick == 0
    place_card(battle, 0, "giant", 3500, 14_500)
    assert battle.play_on(1500) == 1 and not troops(battle, 0)
    assert not any(player.projectiles for player in battle.players) and battle.tick < 500
    battle.players[0].units[KING].hp = 0
    battle.run_tick()
    assert battle.play_on(100) == -1


def test_playing_on_ends_at_the_cap() -> None:
    battle = empty(towers=False)
    place(battle, 0, "Giant", 9000, 9000, held=True)
    battle.play_on(20)
    assert battle.tick == 20


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1])
def test_exchanging_the_players_turns_the_arena(seed: int) -> None:
    draws = random.Random(seed)
    decks = random_decks(draws)
    rich = Settings(start_elixir=10)
    battle, turned = Battle(decks, rich), Battle(decks[::-1], rich)
    for _ in range(40):
        for player in (*battle.players, *turned.players):
            player.elixir = 280  # much is going on
        actions = random_action(draws, battle, 0), random_action(draws, battle, 1)
        battle.step(actions)
        turned.step(actions[::-1])
        assert snapshot(battle) == mirrored(snapshot(turned))
    assert len(battle.units) > 6


def test_spells_strike_from_the_own_king() -> None:
    battle = empty(towers=False)
    assert cast_and_wait(battle, 0, "rocket", 9000, 29_000) == -(-26_000 // 583)
    assert cast_and_wait(battle, 1, "rocket", 9000, 29_000) == 1


def test_levels_change_hit_points_and_damage_alone() -> None:
    battle = Battle((BEGINNER_DECK, BEGINNER_DECK), Settings(levels=(9, 13)))
    princess = [battle.players[seat].units[LEFT_TOWER].type for seat in (0, 1)]
    knights = [player.kinds[2] for player in battle.players]
    assert [kind.hp for kind in knights] == [690 * 212 // 100, 690 * 309 // 100]  # 1766 = 690 * 256 // 100
    assert princess[0].hp < 3052 < princess[1].hp and princess[0].damage < 109 < princess[1].damage
    assert knights[0].speed == knights[1].speed == 100
    battle.step((action(ARROWS, 14, 25), WAIT))
    (arrows,) = [spell for spell in battle.players[0].spells if spell is not None]
    assert arrows.area.damage == 48 * 212 // 100  # 122 = 48 * 256 // 100


def test_a_short_battle() -> None:
    battle = empty(Settings(regular_ticks=20, overtime_ticks=10, double_from_tick=5, start_elixir=0))
    run(battle, 40)
    assert (battle.tick, battle.winner, battle.players[0].elixir) == (30, DRAW, 5 + 2 * 25)
