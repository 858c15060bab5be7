"""One hand-made battle per clause of the rules, played by one compiled film of all cards."""

import dataclasses
import functools

import jax
import numpy as np
import pytest

from jaxgames.clash import ending, interactions
from jaxgames.clash.constants import KING
from jaxgames.clash.interactions import CONFIG
from jaxgames.clash.scene import Scene, absolute, film

DUEL = {
    "id": "knight_vs_archers",
    "kind": "engine_duel",
    "setup": {"first": "knight", "second": "archers", "separation": 4000, "y": 13000, "towers": "inactive"},
    "expect": {"winner": "first", "ticks": 68, "survivors": [803], "hp_left_total": 803},
    "tolerance": {"winner": "exact", "ticks": 0.15, "hp_left_total": 264},
}


@pytest.fixture
def scene():
    return Scene(CONFIG)


def test_towers_stand_where_they_should_and_a_battle_without_cards_changes_only_the_clock(scene):
    shown = film(CONFIG, scene.state, 100)
    x, y = absolute(shown)
    assert x[0, :, :3].tolist() == [[3500, 14500, 9000], [14500, 3500, 9000]]
    assert y[0, :, :3].tolist() == [[6500, 6500, 3000], [25500, 25500, 29000]]
    assert (x == x[0]).all() and (shown.hp == shown.hp[0]).all()
    assert shown.elixir[:, 0].tolist() == [140 + t for t in range(101)]


def test_elixir_doubles_and_stops_at_ten(scene):
    scene.arrays["tick"][...] = 1198
    scene.arrays["elixir"][:] = (100, 277)
    assert film(CONFIG, scene.state, 4).elixir.tolist() == [[100, 277], [101, 278], [102, 279], [104, 280], [106, 280]]


def test_a_unit_waits_until_it_is_deployed_and_then_walks(scene):
    slot = scene.put_unit(0, "Knight", 3500, 12000)
    shown = film(CONFIG, scene.state, 14)
    assert shown.y[:, 0, slot].tolist() == [12000] * 11 + [12100, 12200, 12300, 12400]


def test_kings_sleep_until_they_or_a_princess_suffer(scene):
    scene.cast(0, "arrows", 9000, 29000, ticks=1)
    shown = film(CONFIG, scene.state, 2)
    assert shown.king_awake.tolist() == [[False, False], [False, True], [False, True]]
    other = Scene(CONFIG)
    other.arrays["hp"][0, 0] = 1
    other.cast(1, "arrows", 3500, 6500, ticks=1)
    shown = film(CONFIG, other.state, 1)
    assert shown.king_awake[1].tolist() == [True, False]
    assert not shown.alive[1, 0, 0]


def test_troops_on_the_ground_cross_by_a_bridge_and_never_swim(scene):
    slots = [scene.put_unit(0, "Knight", x, 14000) for x in (600, 6000, 9000, 11000, 17400)]
    shown = film(CONFIG, scene.state, 150, towers_act=False)
    x, y = shown.x[:, 0, slots].astype(int), shown.y[:, 0, slots].astype(int)
    on_bridge = ((x >= 2500) & (x <= 4500)) | ((x >= 13500) & (x <= 15500))
    assert (on_bridge | (y <= 15000) | (y >= 17000)).all()
    assert (y[-1] > 17000).all()


def test_of_two_that_are_as_near_the_lowest_slot_is_the_target(scene):
    knight = scene.put_unit(0, "Knight", 9000, 8000)
    lower, _ = (scene.put_unit(1, "Giant", x, 8000) for x in (12_000, 6000))
    scene.arrays["deploying"][0, knight] = 0
    assert film(CONFIG, scene.state, 1, towers_act=False).target[1, 0, knight] == lower


def test_of_two_ways_as_long_the_left_one_is_taken(scene):
    slots = [scene.put_unit(player, "Knight", 9000, 16_000 - far) for player, far in ((0, 2000), (1, -2000))]
    for player, slot in enumerate(slots):
        scene.put_unit(1 - player, "Cannon", 9000, 18_500 if player == 0 else 13_500)
        scene.arrays["deploying"][player, slot] = 0
    shown = film(CONFIG, scene.state, 3, towers_act=False)
    assert (shown.x[3, [0, 1], slots] < 9000).all()  # each in its own frame


def test_giants_that_meet_on_a_bridge_pass_each_other(scene):
    one, other = scene.put_unit(0, "Giant", 3500, 14000), scene.put_unit(1, "Giant", 3500, 18000)
    shown = film(CONFIG, scene.state, 300, towers_act=False)
    assert shown.y[-1, 0, one] > 20000 and shown.y[-1, 1, other] > 20000


def test_a_coincident_pair_is_parted_to_both_sides(scene):
    slots = [scene.put_unit(0, "RoyalHog", 9000, 8000) for _ in range(2)]
    shown = film(CONFIG, scene.state, 1)
    assert shown.x[1, 0, slots].tolist() == [8700, 9300]  # by no more than 0.3 tiles


def test_a_building_is_not_pushed_and_falls_apart(scene):
    slot = scene.put_unit(0, "Cannon", 9000, 10000)
    scene.put_unit(0, "Giant", 9500, 10200)
    shown = film(CONFIG, scene.state, 320, towers_act=False)
    assert set(shown.x[:300, 0, slot].tolist()) == {9000}
    hp = shown.hp[:, 0, slot].astype(int)
    assert hp[1:299].tolist() == [824 - 824 * t // 300 for t in range(1, 299)]
    assert shown.alive[:, 0, slot].sum() == 300


def test_a_spell_hits_crown_towers_by_its_share_and_others_in_full(scene):
    slot = scene.put_unit(1, "Giant", 14500, 23000)
    scene.cast(0, "fireball", 14500, 24500, ticks=1)
    shown = film(CONFIG, scene.state, 1)
    assert shown.hp[1, 1, [0, slot]].tolist() == [3052 - 206, 4091 - 689]


def test_waves_come_in_their_interval(scene):
    slot = scene.put_unit(1, "Giant", 9000, 23000)
    scene.cast(0, "arrows", 9000, 23000, ticks=2)
    hp = film(CONFIG, scene.state, 8, units_act=False).hp[:, 1, slot]
    assert np.flatnonzero(np.diff(hp)).tolist() == [1, 3, 5]
    assert hp[-1] == 4091 - 366


def test_earthquakes_are_worse_for_buildings_and_do_not_reach_what_flies(scene):
    slots = [scene.put_unit(1, name, x, 20000) for name, x in (("Cannon", 8000), ("BabyDragon", 9000), ("Giant", 10500))]
    scene.cast(0, "earthquake", 9000, 20000, ticks=1)
    shown = film(CONFIG, scene.state, 2, units_act=False)
    lost = shown.hp[0, 1, slots].astype(int) - shown.hp[2, 1, slots]
    assert lost.tolist() == [82 * 450 // 100 + 824 * 2 // 300, 0, 82]
    assert shown.slow[1, 1, slots].tolist() == [10, 0, 10] and shown.slow_pct[1, 1, slots[2]] == 50


def test_a_shield_takes_a_blow_alone(scene):
    slot = scene.put_unit(1, "SkeletonWarrior", 9000, 20000)
    scene.cast(0, "rocket", 9000, 20000, ticks=1)
    shown = film(CONFIG, scene.state, 2, units_act=False)
    assert (shown.shield[1, 1, slot], shown.hp[1, 1, slot], shown.alive[1, 1, slot]) == (0, 81, True)


def test_a_stunned_unit_stands_still_and_begins_its_blow_anew(scene):
    slot = scene.put_unit(1, "Knight", 9000, 20000)
    scene.cast(0, "zap", 9000, 20000, ticks=12)
    shown = film(CONFIG, scene.state, 20, towers_act=False)
    y = shown.y[:, 1, slot].astype(int)
    assert np.flatnonzero(np.diff(y) == 0).tolist() == [*range(10), *range(12, 17)]
    assert shown.stun[12, 1, slot] == 5 and shown.cooldown[13:18, 1, slot].tolist() == [12] * 5


def test_a_slowed_unit_walks_slower(scene):
    slot = scene.put_unit(1, "Giant", 3500, 14000)
    scene.cast(0, "giant-snowball", 3500, 14000, ticks=12)
    y = film(CONFIG, scene.state, 60, towers_act=False).y[:, 1, slot].astype(int)
    assert np.diff(y)[[11, 12, 36, 37]].tolist() == [75, 48, 48, 75]


def test_of_what_hampers_the_longest_and_the_strongest_count(scene):
    slot = scene.put_unit(1, "Giant", 9000, 20000)
    for field, value in (("slow", 40), ("slow_pct", 20), ("stun", 9)):
        scene.arrays[field][1, slot] = value
    scene.cast(0, "giant-snowball", 9000, 20000, ticks=1)
    scene.cast(0, "zap", 9000, 20000, ticks=1)
    shown = film(CONFIG, scene.state, 2, towers_act=False)
    assert [getattr(shown, field)[1:, 1, slot].tolist() for field in ("slow", "slow_pct", "stun")] == [[39, 38], [35, 35], [8, 7]]


def test_a_spell_throws_back_what_is_neither_heavy_nor_a_building(scene):
    places = {"Knight": (7500, 23000), "Giant": (10000, 23000), "Cannon": (9000, 24500)}
    slots = [scene.put_unit(1, name, *place) for name, place in places.items()]
    scene.cast(0, "fireball", 9000, 23000, ticks=1)
    shown = film(CONFIG, scene.state, 1, units_act=False)
    x, y = absolute(shown)
    assert list(zip(x[1, 1, slots].tolist(), y[1, 1, slots].tolist(), strict=True)) == [(6500, 23000), *list(places.values())[1:]]


def test_who_dies_may_leave_others_and_a_bomb(scene):
    slot = scene.put_unit(1, "Golem", 9000, 20000)
    near = scene.put_unit(0, "Giant", 9000, 18000)
    scene.arrays["hp"][1, slot] = 1
    scene.cast(0, "zap", 9000, 20000, ticks=1)
    shown = film(CONFIG, scene.state, 3, towers_act=False, units_act=False)
    born = shown.alive[1, 1] & ~shown.alive[0, 1]
    assert shown.unit[1, 1][born].tolist() == [33]  # in the Golem's own slot, and in the next
    assert shown.alive[1, 1, 3:].sum() == 2
    assert shown.x[1, 1, 3:5].tolist() == [7500, 10500]
    assert (shown.hp[:, 0, near].astype(int) - 4091).tolist() == [0, 0, -224, -224]


def test_spawners_make_units_in_their_time(scene):
    slot = scene.put_unit(0, "Tombstone", 9000, 8000)
    shown = film(CONFIG, scene.state, 60, towers_act=False)
    born = np.flatnonzero(np.diff(shown.alive[:, 0, 3:].sum(-1)))
    assert born.tolist() == [10, 45] and slot == 3
    # On both sides of it, and pushed out no further than needed.
    assert shown.x[11, 0, 4:6].tolist() == [7500, 10500]


def test_a_barrel_brings_goblins_where_it_lands(scene):
    scene.cast(0, "goblin-barrel", 9000, 25000, ticks=3)
    shown = film(CONFIG, scene.state, 4, towers_act=False)
    assert shown.alive[:, 0, 3:].sum(-1).tolist() == [0, 0, 0, 3, 3]
    assert shown.unit[3, 0, 3:6].tolist() == [10] * 3 and shown.deploying[3, 0, 3:6].tolist() == [11] * 3
    assert shown.y[3, 0, 3:6].tolist() == [25550, 24725, 24725]


def test_a_bomb_and_a_barrel_in_one_tick_keep_their_places(scene):
    scene.cast(0, "goblin-barrel", 9000, 25000, ticks=1)
    slot = scene.put_unit(0, "GiantSkeleton", 4000, 18000)
    scene.arrays["hp"][0, slot] = 1
    scene.cast(1, "zap", 4000, 18000, ticks=1)
    shown = film(CONFIG, scene.state, 2, towers_act=False, units_act=False)
    goblins = shown.alive[1, 0] & (shown.unit[1, 0] == 10)
    assert sorted(shown.y[1, 0][goblins].tolist()) == [24725, 24725, 25550]


def test_a_kamikaze_dies_as_it_shoots_and_its_shot_lands(scene):
    slot = scene.put_unit(0, "FireSpirits", 9000, 18000)
    other = scene.put_unit(1, "Giant", 9000, 20000)
    shown = film(CONFIG, scene.state, 30, towers_act=False)
    died = int(np.argmin(shown.alive[:, 0, slot]))
    hurt = int(np.argmax(shown.hp[:, 1, other] < 4091))
    assert 0 < died < hurt and shown.hp[hurt, 1, other] == 4091 - 207


def test_a_slot_is_not_free_while_a_shot_of_its_unit_flies(scene):
    slot = scene.put_unit(0, "Knight", 9000, 8000)
    scene.arrays["alive"][0, slot] = False
    scene.arrays["shot_ticks"][0, 1, slot] = 3
    assert scene.put_unit(0, "Knight", 9000, 8000) == slot + 1


def test_slots_of_fallen_towers_stay_empty(scene):
    scene.arrays["alive"][0, 0] = False
    assert scene.put_unit(0, "Knight", 9000, 8000) == 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda scene: scene.put_unit(0, "Nobody", 0, 0), "unit='Nobody': must be one of"),
        (lambda scene: scene.put_unit(0, "Knight", 18001, 0), "must be integers inside the arena"),
        (lambda scene: scene.put_unit(0, "Knight", 9000, 9000, slot=1), "slot=1: must be a free slot of player 0"),
        (lambda scene: scene.put_unit(2, "Knight", 9000, 9000), "player=2: must be 0 or 1"),
        (lambda scene: scene.put_card(0, "no-card", 9000, 9000), "card='no-card': is no card; there are knight"),
    ],
)
def test_scenes_tell_what_is_wrong(scene, call, message):
    with pytest.raises(ValueError, match=message):
        call(scene)


def test_two_kings_that_fall_in_one_tick_are_a_draw_whatever_else_stands(scene):
    scene.arrays["tick"][...] = CONFIG.regular_ticks - 1  # from the next one on more towers would win
    scene.arrays["alive"][1, 0] = False
    scene.arrays["hp"][:, KING] = 1
    for player, y in ((0, 29000), (1, 3000)):
        scene.cast(player, "arrows", 9000, y, ticks=1)
    shown = film(CONFIG, scene.state, 1)
    assert not shown.alive[1, :, KING].any() and shown.alive[1, 0, :KING].all()
    assert (shown.winner[1], shown.terminated[1], shown.seat_rewards[1].tolist()) == (2, True, [0, 0])


@pytest.mark.parametrize("tiebreak, winner", [("draw", 2), ("lowest_tower_hp", 1)])
def test_of_equal_towers_the_weakest_may_decide(scene, tiebreak, winner):
    scene.arrays["tick"][...] = CONFIG.last_tick
    scene.arrays["hp"][:, :3] = [[3000, 3000, 1000], [1500, 1500, 1500]]
    ended = jax.jit(functools.partial(ending.ended, dataclasses.replace(CONFIG, tiebreak=tiebreak)))
    for fallen in (0, 1):  # of each side, whose hit points do not count
        scene.arrays["alive"][:, :fallen], scene.arrays["hp"][:, :fallen] = False, 0
        over = ended(jax.tree.map(lambda leaf: leaf[..., None], scene.state))
        assert over.terminated.all() and over.winner.tolist() == [winner]


def test_a_duel(monkeypatch):
    monkeypatch.setattr(interactions, "MOST_TICKS", 100)
    assert interactions.check(DUEL) == []
    assert interactions.check(DUEL | {"expect": {"winner": "second"}}) == ["winner: first, expected second"]
