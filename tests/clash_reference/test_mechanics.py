"""One hand-made scene for each further mechanic: lifetimes, shields, stun, slow, deaths, spawners; on the slow engine."""

from __future__ import annotations

import pytest

from tests.clash_reference.scenes import FOREVER, cast_and_wait, empty, place, place_card, ready, run, ticks_until, troops
from tests.clash_reference.tables import CARDS_BY_KEY, LEFT_TOWER, travel_ticks


def test_a_building_decays_over_its_lifetime() -> None:
    battle = empty(towers=False)
    cannon = place(battle, 0, "Cannon", 9000, 8000)
    run(battle, 150)
    assert cannon.hp == cannon.type.hp - cannon.type.hp * 150 // 300
    run(battle, 149)
    assert cannon.alive
    battle.run_tick()
    assert not cannon.alive


def test_a_shield_takes_all_damage_of_the_tick_that_breaks_it() -> None:
    battle = empty(towers=False)
    guard = place(battle, 1, "SkeletonWarrior", 9000, 9500, held=True)
    cast_and_wait(battle, 0, "fireball", 9000, 9500)
    assert (guard.shield, guard.hp) == (0, 81)
    cast_and_wait(battle, 0, "zap", 9000, 9500)
    assert not guard.alive


def test_stun_lasts_its_ticks_and_resets_the_attack() -> None:
    battle = empty(towers=False)
    knight = ready(place(battle, 1, "Knight", 9000, 9500))
    giant = place(battle, 0, "Giant", 9000, 8000, held=True)
    run(battle, 3)
    cast_and_wait(battle, 0, "zap", 9000, 10_500)
    assert knight.stun == 5 and knight.target is giant
    for left in (4, 3, 2, 1, 0):
        battle.run_tick()
        assert knight.stun == left and knight.target is None and knight.cooldown == knight.type.hit_ticks
    battle.run_tick()
    assert knight.target is giant and knight.cooldown == knight.type.hit_ticks - 1


def test_stun_holds_towers_and_the_longer_one_counts() -> None:
    battle = empty()
    tower = battle.players[1].units[LEFT_TOWER]
    giant = place(battle, 0, "Giant", tower.x, 20_000, held=True)
    cast_and_wait(battle, 0, "freeze", tower.x, tower.y)
    cast_and_wait(battle, 0, "zap", tower.x, tower.y)
    assert tower.stun == 39
    run(battle, 39)
    assert giant.hp == giant.type.hp
    ticks_until(battle, lambda: giant.hp < giant.type.hp, 20)


def test_slow_takes_a_share_of_speed_and_of_attacks() -> None:
    battle = empty(towers=False)
    knight = ready(place(battle, 1, "Knight", 9000, 9500))
    giant = place(battle, 1, "Cannon", 9000, 12_000, held=True)
    battle.cast(0, CARDS_BY_KEY["giant-snowball"], 9000, 11_000)
    ticks_until(battle, lambda: knight.slow_ticks == 25)
    assert (knight.slow_percent, knight.speed) == (35, 65) and giant.slow_ticks == 25
    giant.cooldown = 1000
    run(battle, 20)
    assert giant.cooldown == 1000 - 13  # 65 of 100 ticks pass
    run(battle, 5)
    assert (knight.slow_ticks, knight.slow_percent, knight.speed) == (0, 0, 100)


def test_the_strongest_slow_counts_for_the_longest_time() -> None:
    battle = empty(towers=False)
    knight = place(battle, 1, "Knight", 9000, 9500, held=True)
    knight.slow_ticks, knight.slow_percent = 30, 20
    cast_and_wait(battle, 0, "giant-snowball", 9000, 9500)
    assert knight.slow_percent == 35 and knight.slow_ticks >= 25
    knight.slow_ticks, knight.slow_percent = 10, 50
    cast_and_wait(battle, 0, "giant-snowball", knight.x, knight.y)
    assert (knight.slow_percent, knight.slow_ticks) == (50, 25)


def test_a_kamikaze_dies_as_it_fires_and_its_shot_still_lands() -> None:
    battle = empty(towers=False)
    spirit, giant = ready(place(battle, 0, "FireSpirits", 9000, 8000)), place(battle, 1, "Giant", 9000, 11_000, held=True)
    slots = battle.players[0].free_slots()
    ticks_until(battle, lambda: not spirit.alive)
    assert giant.hp == giant.type.hp and battle.players[0].free_slots() == slots  # its slot waits for the shot
    ticks_until(battle, lambda: not battle.players[0].projectiles)
    assert giant.hp == giant.type.hp - spirit.type.damage and len(battle.players[0].free_slots()) == len(slots) + 1


@pytest.mark.parametrize("name, delay", [("Golem", 1), ("GiantSkeleton", 30), ("IceGolemite", 1)])
def test_death_damage_comes_after_its_delay(name: str, delay: int) -> None:
    battle = empty(towers=False)
    dying, giant = place(battle, 0, name, 9000, 8000, held=True), place(battle, 1, "Giant", 9000, 10_000, held=True)
    dying.hp = 0
    battle.run_tick()
    assert ticks_until(battle, lambda: giant.hp < giant.type.hp, 40) == delay
    assert giant.hp == giant.type.hp - dying.type.death_damage


def test_death_damage_has_a_percentage_for_crown_towers() -> None:
    battle = empty(towers=False)
    tower = battle.players[1].units[LEFT_TOWER]
    place(battle, 0, "GiantSkeleton", tower.x, tower.y - 2000, held=True).hp = 0
    run(battle, 31)
    assert tower.type.hp - tower.hp == 534 * 2


def test_a_golem_leaves_two_golemites() -> None:
    battle = empty(towers=False)
    golem = place(battle, 1, "Golem", 9000, 20_000, held=True)
    golem.hp = 0
    battle.run_tick()
    children = troops(battle, 1)
    assert [(unit.type.name, unit.x, unit.y) for unit in children] == [("Golemite", 10_500, 20_000), ("Golemite", 7500, 20_000)]
    assert [(unit.age, unit.deploy_left, unit.slot) for unit in children] == [(0, 10, golem.slot), (0, 10, golem.slot + 1)]


def test_children_without_a_slot_are_lost() -> None:
    battle = empty(towers=False)
    hound = place(battle, 0, "LavaHound", 9000, 8000, held=True)
    while len(battle.players[0].free_slots()) > 2:
        place(battle, 0, "Giant", 9000, 8000, held=True)
    hound.hp = 0
    battle.run_tick()
    assert sum(unit.type.name == "LavaPups" for unit in troops(battle, 0)) == 3 and not battle.players[0].free_slots()


def test_spawners_send_their_waves_in_time() -> None:
    battle = empty(towers=False)
    place(battle, 0, "Tombstone", 9000, 5000)
    waves = []
    for tick in range(1, 120):
        before = len(troops(battle, 0))
        battle.run_tick()
        if len(troops(battle, 0)) > before:
            waves.append((tick, len(troops(battle, 0)) - before))
    assert waves == [(11, 2), (46, 2), (81, 2), (116, 2)]
    battle = empty(towers=False)
    place(battle, 1, "DarkWitch", 9000, 30_000)
    run(battle, 20)
    assert len(troops(battle, 1)) == 1
    battle.run_tick()
    assert [unit.type.name for unit in troops(battle, 1)] == ["DarkWitch", "Bat", "Bat"]


def test_goblins_leave_the_barrel_where_it_lands() -> None:
    battle = empty(towers=False)
    tower = battle.players[1].units[LEFT_TOWER]
    ticks = cast_and_wait(battle, 0, "goblin-barrel", tower.x, tower.y)
    goblins = troops(battle, 0)
    assert ticks == travel_ticks(23_164, 667)
    assert [(unit.x - tower.x, unit.y - tower.y) for unit in goblins] == [(0, 550), (-476, -275), (476, -275)]
    assert all(unit.deploy_left == 11 for unit in goblins) and tower.hp == tower.type.hp


def test_an_earthquake_shakes_buildings_most_and_flyers_not_at_all() -> None:
    battle = empty(towers=False)
    cannon, knight = place(battle, 1, "Tombstone", 9000, 8000, held=True), place(battle, 1, "Knight", 7000, 8000, held=True)
    minion, cannon.hp = place(battle, 1, "Minion", 7000, 8000, held=True), 5000
    age = cannon.age
    ticks = cast_and_wait(battle, 0, "earthquake", 8000, 8000)
    decayed = cannon.type.hp * (age + ticks) // 300 - cannon.type.hp * age // 300
    assert ticks == 30 and 5000 - cannon.hp - decayed == 3 * (82 * 450 // 100)
    assert knight.type.hp - knight.hp == 3 * 82 and minion.hp == minion.type.hp
    tower = battle.players[1].units[LEFT_TOWER]
    cast_and_wait(battle, 0, "earthquake", tower.x, tower.y)
    assert tower.type.hp - tower.hp == 3 * (82 * 65 // 100)


def test_poison_hurts_once_a_second() -> None:
    battle = empty(towers=False)
    giant = place(battle, 1, "Giant", 9000, 8000, held=True)
    assert cast_and_wait(battle, 0, "poison", 9000, 8000) == 80
    assert giant.type.hp - giant.hp == 8 * 91


def test_swarms_take_the_lowest_slots_in_the_order_of_their_formation() -> None:
    battle = empty(towers=False)
    army = place_card(battle, 1, "skeleton-army", 9000, 20_000)
    assert [unit.slot for unit in army] == list(range(3, 18))
    assert (army[0].x, army[0].y) == (10_400, 19_300) and FOREVER > army[0].deploy_left == 10
