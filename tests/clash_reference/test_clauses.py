"""One hand-made scene for each clause of the rules of a tick, on the slow engine."""

from __future__ import annotations

import pytest

from tests.clash_reference.movement import waypoint
from tests.clash_reference.scenes import FOREVER, cast_and_wait, empty, place, ready, run, ticks_until, troops
from tests.clash_reference.tables import CARDS, KING, LEFT_TOWER, RIGHT_TOWER, UNITS, formation, tdiv, travel_ticks


def test_division_truncates_toward_zero() -> None:
    assert [tdiv(7, 2), tdiv(-7, 2), tdiv(7, -2), tdiv(-7, -2)] == [3, -3, -3, 3]
    assert [travel_ticks(length, 1000) for length in (0, 1, 1000, 1001)] == [1, 1, 1, 2]


def test_formations_are_those_of_the_cards() -> None:
    for card in CARDS:
        if 1 < len(card.offsets) <= 6:
            radius = max(max(abs(x), abs(y)) for x, y in card.offsets)
            radii = range(radius, 2 * radius + 2)  # 494 is 0.707 of 700
            assert any(formation(len(card.offsets), r) == list(card.offsets) for r in radii), card.key


def test_projectiles_land_before_their_slot_is_needed_again() -> None:
    for kind in UNITS:
        if kind.projectile_speed and not kind.kamikaze:
            assert travel_ticks(kind.range + kind.radius + 1400, kind.projectile_speed) <= 2 * kind.hit_ticks, kind.name


# Targets


def test_a_walker_turns_to_a_nearer_enemy_and_an_attacker_does_not() -> None:
    battle = empty(towers=False)
    knight = ready(place(battle, 0, "Knight", 9000, 8000))
    far = place(battle, 1, "Giant", 9000, 12_000, held=True)
    battle.run_tick()
    assert knight.target is far
    near = place(battle, 1, "Giant", 11_800, 8000, held=True)
    battle.run_tick()
    assert knight.target is near
    ticks_until(battle, lambda: knight.cooldown < knight.type.windup_ticks)
    place(battle, 1, "Skeleton", knight.x, knight.y - 900, held=True)
    battle.run_tick()
    assert knight.target is near


def test_at_equal_distances_the_lowest_slot_is_the_target() -> None:
    battle = empty(towers=False)
    knight = ready(place(battle, 0, "Knight", 9000, 8000))
    right, left = (place(battle, 1, "Giant", x, 8000, held=True) for x in (12_000, 6000))
    battle.run_tick()
    assert knight.target is right and right.slot < left.slot


def test_who_sees_nobody_walks_to_the_nearest_tower_and_buildings_wait() -> None:
    battle = empty(towers=False)
    knight, cannon = ready(place(battle, 0, "Knight", 8000, 8000)), ready(place(battle, 0, "Cannon", 9000, 12_000))
    battle.run_tick()
    towers = battle.players[1].units
    assert knight.target is towers[RIGHT_TOWER] and cannon.target is None
    middle = ready(place(battle, 0, "Knight", 9000, 5000))
    battle.run_tick()
    assert middle.target is towers[LEFT_TOWER]  # equally far: the lowest slot, which is on the right of player 0


@pytest.mark.parametrize(
    "attacker, victim, may",
    [
        ("Knight", "Minion", False),
        ("Knight", "Giant", True),
        ("Archer", "Minion", True),
        ("Giant", "Knight", False),
        ("Giant", "Cannon", True),
        ("Balloon", "Minion", False),
        ("Balloon", "PrincessTower", True),
        ("Mortar", "Bat", False),
    ],
)
def test_layers_and_buildings_only(attacker: str, victim: str, may: bool) -> None:
    battle = empty()
    one, other = place(battle, 0, attacker, 9000, 8000), place(battle, 1, victim, 9000, 10_000)
    assert one.may_hit(other) is may


def test_who_is_being_deployed_does_nothing_but_can_be_hurt_and_loads() -> None:
    battle = empty(towers=False)
    knight = place(battle, 0, "Knight", 9000, 8000)
    enemy = ready(place(battle, 1, "Knight", 9000, 9500))
    run(battle, 10)
    assert knight.deploy_left == 0 and knight.target is None and (knight.x, knight.y) == (9000, 8000)
    assert knight.cooldown == knight.type.windup_ticks and knight.hp < knight.type.hp
    battle.run_tick()
    assert knight.target is enemy


def test_a_mortar_does_not_reach_the_near() -> None:
    battle = empty(towers=False)
    mortar = ready(place(battle, 0, "Mortar", 9000, 8000))
    place(battle, 1, "Giant", 9000, 11_400, held=True)
    battle.run_tick()
    assert mortar.target is None
    far = place(battle, 1, "Giant", 9000, 11_500, held=True)
    battle.run_tick()
    assert mortar.target is far


# Attacks


def test_first_hit_after_the_wind_up_then_every_hit_time() -> None:
    battle = empty(towers=False)
    ready(place(battle, 0, "Knight", 9000, 8000))
    giant = place(battle, 1, "Giant", 9000, 9800, held=True)
    hits = []
    for tick in range(1, 31):
        before = giant.hp
        battle.run_tick()
        hits += [tick] * (giant.hp < before)
    assert hits == [5, 17, 29] and giant.hp == giant.type.hp - 3 * 202


def test_a_begun_wind_up_follows_a_fleeing_target() -> None:
    battle = empty(towers=False)
    knight = ready(place(battle, 0, "Knight", 9000, 8000))
    giant = place(battle, 1, "Giant", 9000, 8000 + knight.type.range + 500 + 750, held=True)
    battle.run_tick()
    assert knight.cooldown == knight.type.windup_ticks - 1
    giant.y += 1500
    battle.run_tick()
    assert knight.target is giant and knight.cooldown == knight.type.windup_ticks - 2 and knight.y == 8000
    giant.y += 1
    battle.run_tick()
    assert knight.cooldown == knight.type.windup_ticks and knight.y > 8000


def test_a_new_target_costs_the_wind_up() -> None:
    battle = empty(towers=False)
    knight = ready(place(battle, 0, "Knight", 9000, 8000))
    first = place(battle, 1, "Giant", 9000, 9700, held=True)
    place(battle, 1, "Giant", 9000, 6200, held=True)
    run(battle, 3)
    first.hp = 0
    battle.run_tick()
    assert knight.target is None
    battle.run_tick()
    assert knight.target is not None and knight.cooldown == knight.type.windup_ticks - 1


def test_a_valkyrie_hits_all_around_and_nobody_in_the_air() -> None:
    battle = empty(towers=False)
    valkyrie = ready(place(battle, 0, "Valkyrie", 9000, 8000))
    front, behind = place(battle, 1, "Giant", 9000, 9900, held=True), place(battle, 1, "Giant", 9000, 5400, held=True)
    flying = place(battle, 1, "Minion", 9500, 8000, held=True)
    battle.run_tick()
    for giant in (front, behind):
        assert giant.hp == giant.type.hp - valkyrie.type.damage
    assert flying.hp == flying.type.hp


def test_two_who_kill_each_other_in_one_tick_both_die() -> None:
    battle = empty(towers=False)
    one, other = ready(place(battle, 0, "Knight", 9000, 8000)), ready(place(battle, 1, "Knight", 9000, 9500))
    one.hp = other.hp = 1
    run(battle, 5)
    assert not one.alive and not other.alive


def test_king_sleeps_until_it_is_hurt_or_a_princess_dies() -> None:
    battle = empty()
    king = battle.players[1].units[KING]
    place(battle, 0, "Giant", 9000, 25_000, held=True)
    run(battle, 20)
    assert king.target is None
    cast_and_wait(battle, 0, "zap", king.x, king.y)
    assert king.awake
    run(battle, 6)
    assert king.target is not None
    other = battle.players[0].units[KING]
    battle.players[0].units[LEFT_TOWER].hp = 0
    battle.run_tick()
    assert other.awake and not battle.players[0].units.get(LEFT_TOWER)


# Movement


def test_push_is_shared_by_mass_and_limited() -> None:
    battle = empty(towers=False)
    knight, giant = place(battle, 0, "Knight", 9000, 8000, held=True), place(battle, 0, "Giant", 9000, 9000, held=True)
    battle.run_tick()
    assert (knight.y, giant.y) == (8000 - 250 * 18 // 24, 9000 + 250 * 6 // 24)
    small = place(battle, 0, "Skeleton", 5000, 8000, held=True)
    place(battle, 0, "Giant", 5000, 8400, held=True)
    battle.run_tick()
    assert small.y == 8000 - 300


def test_flyers_and_walkers_pass_each_other_freely() -> None:
    battle = empty(towers=False)
    knight, minion = place(battle, 0, "Knight", 9000, 8000, held=True), place(battle, 1, "Minion", 9000, 8000, held=True)
    battle.run_tick()
    assert (knight.x, knight.y) == (minion.x, minion.y) == (9000, 8000)


def test_units_at_one_point_part() -> None:
    battle = empty(towers=False)
    low, high = place(battle, 1, "Knight", 9000, 8000, held=True), place(battle, 1, "Knight", 9000, 8000, held=True)
    battle.run_tick()
    assert low.x == 9300 and high.x == 8700  # the left of player 1 is on the right
    mine, theirs = place(battle, 0, "Knight", 5000, 8000, held=True), place(battle, 1, "Knight", 5000, 8000, held=True)
    battle.run_tick()
    assert mine.y == 7700 and theirs.y == 8300


def test_a_walker_slides_around_its_own_tower_and_the_tower_stays() -> None:
    battle = empty(towers=False)
    knight = ready(place(battle, 0, "Knight", 3500, 4900))
    tower = battle.players[0].units[LEFT_TOWER]
    ticks_until(battle, lambda: knight.y > 8000, 200)
    assert knight.x > 3500 and (tower.x, tower.y) == (3500, 6500)


def test_walkers_cross_on_bridges_only_and_flyers_anywhere() -> None:
    battle = empty(towers=False)
    for x in (500, 6000, 8500, 10_000, 17_000):
        ready(place(battle, 0, "Knight", x, 12_000))
    flyer = ready(place(battle, 0, "Minion", 8500, 12_000))
    flew = False
    for _ in range(120):
        battle.run_tick()
        for unit in troops(battle, 0):
            wet = 15_000 < unit.y < 17_000 and not (2500 <= unit.x <= 4500 or 13_500 <= unit.x <= 15_500)
            assert unit.type.flying or not wet
            flew |= wet
    assert flew and flyer.y > 17_000
    assert all(unit.y > 17_000 for unit in troops(battle, 0))


def test_knocked_into_the_river_one_stays_on_the_bank() -> None:
    battle = empty(towers=False)
    knight = place(battle, 1, "Knight", 9000, 14_600, held=True)
    cast_and_wait(battle, 0, "fireball", 9000, 14_000)
    assert (knight.x, knight.y) == (9000, 15_000)
    edge = place(battle, 1, "Knight", 3000, 16_000, held=True)
    cast_and_wait(battle, 0, "fireball", 4000, 16_000)
    assert (edge.x, edge.y) == (2500, 16_000)  # from a bridge: stays on it


def test_pushback_spares_giants_buildings_and_the_very_centre() -> None:
    battle = empty(towers=False)
    held = [place(battle, 1, "Giant", 9000, 8000, held=True), place(battle, 1, "Cannon", 9000, 10_800, held=True)]
    centre = place(battle, 1, "Musketeer", 9000, 9500, held=True)
    before = [(unit.x, unit.y) for unit in (*held, centre)]
    cast_and_wait(battle, 0, "fireball", 9000, 9500)
    assert [(unit.x, unit.y) for unit in (*held, centre)] == before


@pytest.mark.parametrize("shooter, homing", [("Bomber", False), ("Wizard", True)])
def test_shots_follow_their_target_or_land_where_it_stood(shooter: str, homing: bool) -> None:
    battle = empty(towers=False)
    unit, giant = ready(place(battle, 0, shooter, 9000, 8000)), place(battle, 1, "Giant", 9000, 12_000, held=True)
    ticks_until(battle, lambda: bool(battle.players[0].projectiles))
    unit.deploy_left, giant.y = FOREVER, 16_000
    ticks_until(battle, lambda: not battle.players[0].projectiles)
    assert giant.type.hp - giant.hp == (unit.type.damage if homing else 0)


@pytest.mark.parametrize(
    "seat, at, goal, way",
    [
        (0, (500, 12_000), (3500, 25_500), (2750, 15_000)),  # a quarter of a tile inside the bridge
        (0, (9000, 12_000), (14_500, 25_500), (13_750, 15_000)),
        (0, (4400, 12_000), (3500, 25_500), (4400, 17_000)),  # straight on from in front of a bridge
        (0, (4400, 16_000), (3500, 25_500), (4400, 17_000)),
        (1, (4400, 16_000), (3500, 6500), (4400, 15_000)),
        (0, (4400, 16_000), (3000, 16_500), (3000, 16_500)),
        (0, (9000, 12_000), (9000, 29_000), (4250, 15_000)),  # equally far: the own left
        (1, (9000, 20_000), (9000, 3000), (13_750, 17_000)),
        (1, (16_000, 20_000), (14_500, 6500), (15_250, 17_000)),
        (0, (9000, 20_000), (3500, 25_500), (3500, 25_500)),
        (0, (9000, 12_000), (9000, 16_000), (4250, 15_000)),
    ],
)
def test_ways_over_the_bridges(seat: int, at: tuple[int, int], goal: tuple[int, int], way: tuple[int, int]) -> None:
    assert waypoint(place(empty(), seat, "Knight", *at), *goal) == way
    assert waypoint(place(empty(), seat, "Minion", *at), *goal) == goal


@pytest.mark.parametrize("seat, slides", [(1, True), (0, False)])
def test_head_on_one_slides_past_an_enemy_but_not_past_a_friend(seat: int, slides: bool) -> None:
    battle = empty(towers=False)
    giant = ready(place(battle, 0, "Giant", 3500, 10_000))
    blocker = place(battle, seat, "Giant", 3500, 11_450, held=True)
    battle.run_tick()
    assert giant.y < 10_075 and blocker.y > 11_450  # pushed apart
    assert giant.x == 3500 + (75 if slides else 0)  # to the own right
