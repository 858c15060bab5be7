"""Steps of agents on battles of one small compiled game: cards, zones, arms, what players see, encoder, pictures."""

import dataclasses
import functools
import re

import jax
import numpy as np
import pytest

import jaxgames
from jaxgames.clash import arms, bots, playing_on, rules, zones
from jaxgames.clash.config import BEGINNER_DECK
from jaxgames.clash.constants import NUM_TILES
from jaxgames.clash.scene import Scene
from jaxgames.clash.state import State
from jaxgames.platforms import for_all_platforms
from jaxgames.random_bits import lane_key

FASTER = {"double_from_tick": 593, "triple_from_tick": 595}  # shortly before the end, for the one test that looks at it
GAME = jaxgames.make("clash", "toy", regular_ticks=500, spell_slots=3, value="towers", **FASTER)
CONFIG = GAME.config
ROWS = {key: CONFIG.table.card_ids[key] for key in BEGINNER_DECK}
KEY = jax.random.key(0)
step, heuristic, state_key = (jax.jit(method) for method in (GAME.step, GAME.heuristic, GAME.state_key))
shaped = jax.jit(jaxgames.make("clash", "toy", value="towers", shaping=0.5).heuristic)
observe, legal_in = (jax.jit(method) for method in (GAME.observe, functools.partial(rules.legal_actions, CONFIG)))


def battle(hand=("knight", "archers", "arrows", "giant"), elixir=10):
    """A battle in which both have these cards in their hands."""
    scene = Scene(CONFIG)
    queue = [key for key in BEGINNER_DECK if key not in hand]
    scene.arrays["hand"][:] = [ROWS[key] for key in hand]
    scene.arrays["queue"][:] = [ROWS[key] for key in queue]
    scene.arrays["elixir"][:] = elixir * 28
    return scene


def play(place, column, row):
    return 1 + place * NUM_TILES + row * 18 + column


def after(scene, first, second=rules.WAIT):
    return jax.device_get(step(scene.state, np.array([first, second], np.int32), KEY))


def legal_actions(state):
    return jax.device_get(legal_in(state))


def test_a_card_comes_onto_its_tile_and_the_next_into_the_hand():
    scene = battle()
    state = after(scene, play(1, 9, 10), play(0, 3, 9))
    assert state.alive[:, 3:].sum(1).tolist() == [2, 1]
    assert state.x[0, 3:5].tolist() == [8950, 10050] and state.y[0, 3:5].tolist() == [10500] * 2
    assert (state.x[1, 3], state.y[1, 3]) == (3500, 9500)  # in its own frame
    assert state.elixir.tolist() == [280 - 3 * 28 + 5] * 2
    names = [[CONFIG.table.cards[row].key for row in hand] for hand in state.hand.tolist()]
    assert names[0] == ["knight", "minions", "arrows", "giant"]
    assert CONFIG.table.cards[state.queue[0, 3]].key == "archers"
    assert state.past[0, :2].tolist() == [[ROWS["archers"], 9, 10], [-1, 0, 0]]


def test_a_card_that_cannot_be_paid_is_saved_for():
    scene = battle(elixir=2)
    state = after(scene, play(3, 0, 0))
    assert state.saving.tolist() == [3, -1] and not state.alive[0, 3:].any()
    legal = legal_actions(State(**vars(state)))
    assert np.flatnonzero(legal[0]).tolist() == [rules.WAIT]
    scene.arrays["saving"][0] = 3
    assert after(scene, play(0, 9, 10)).saving[0] == 3  # nothing else is done
    scene.arrays["elixir"][0] = 5 * 28 - 3
    assert after(scene, rules.WAIT).saving[0] == -1  # it can be paid now


def test_saving_is_offered_once_and_legal_on_every_tile():
    state, offered = battle(elixir=4).state, jax.jit(GAME.offered_action)
    legal = legal_actions(state)
    for action, should in ((play(3, 5, 7), play(3, 0, 0)), (play(0, 5, 7), play(0, 5, 7)), (rules.WAIT, rules.WAIT)):
        assert int(offered(state, 0, action)) == should and legal[0, should]
    assert int(offered(battle(elixir=10).state, 0, play(3, 5, 7))) == play(3, 5, 7)
    mixed = battle()
    mixed.arrays["elixir"][:] = 28 * np.array([10, 4])
    assert [int(offered(mixed.state, seat, play(3, 5, 7))) for seat in (0, 1)] == [play(3, 5, 7), play(3, 0, 0)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [jaxgames.Environment, jaxgames.MultiEnvironment])
def test_an_environment_does_not_call_it_illegal_to_save(kind):
    game = jaxgames.make("clash", "toy", regular_ticks=500, spell_slots=3, value="towers", start_elixir=0)
    env = kind(game, 1, autoreset="disabled")
    state, _ = jax.jit(env.reset)(KEY)
    step = jax.jit(env.step)
    alone = kind is jaxgames.Environment
    actions = np.array([play(3, 5, 7)] if alone else [[play(3, 5, 7), rules.WAIT]])
    state, told = step(state, actions, KEY)
    assert not told.illegal.any() and state.games.saving[0, 0] == 3
    _, told = step(state, actions, KEY)
    assert told.illegal.tolist() == ([True] if alone else [[True, False]]), "who saves can only wait"


@pytest.mark.parametrize(("column", "row"), [(9, 15), (3, 6), (0, 0), (9, 18), (9, 2)])
def test_where_troops_may_not_be_played(column, row):
    state = after(battle(), play(0, column, row))
    assert not state.alive[0, 3:].any() and state.elixir[0] == 280


def test_a_pocket_opens_where_a_tower_has_fallen_and_a_footprint_too():
    scene = battle()
    scene.arrays["alive"][1, 0] = False  # the enemy's left, on the right of player 0
    assert after(scene, play(0, 9, 18)).alive[0, 3] and not after(scene, play(0, 8, 18)).alive[0, 3]
    scene.arrays["alive"][0, 0] = False
    assert after(scene, play(0, 3, 6)).alive[0, 3]


def test_spells_go_anywhere_as_far_as_they_fly():
    state = after(battle(), play(2, 0, 31))
    distance = int(np.hypot(500 - 9000, 31500 - 3000))
    assert state.spell_ticks[0].tolist() == [-(-distance // 1833) - 5, 0, 0]
    assert (state.spell_x[0, 0], state.spell_y[0, 0], state.spell_waves[0, 0]) == (500, 31500, 3)


def test_spells_that_do_not_fly_begin_when_their_card_says():
    config = jaxgames.make("clash", "toy", decks=((*BEGINNER_DECK[:6], "zap", "poison"),) * 2).config
    rows = np.array([config.table.card_ids[key] for key in ("zap", "poison")])
    cards = rules.Play(np.ones(2, bool), np.zeros(2, bool), place=np.zeros(2, int), tile=np.full(2, 20 * 18 + 3), row=rows)
    state = jax.device_get(jax.jit(functools.partial(rules.deploy, config))(Scene(config).state, cards))
    assert state.spell[:, 0].tolist() == rows.tolist() and state.spell_ticks[:, 0].tolist() == [1, 10]
    assert state.spell_waves[:, 0].tolist() == [1, 8]


def test_a_card_without_slots_waits():
    scene = battle()
    for _ in range(5):
        scene.put_unit(0, "Knight", 9000, 9000)
    state = after(scene, play(1, 9, 10))
    assert state.alive[0, 3:].sum() == 5 and state.elixir[0] == 280
    legal = legal_actions(scene.state)[0]
    assert legal[play(0, 9, 10)] and not legal[play(1, 0, 0) : play(2, 0, 0)].any()


def test_elixir_comes_once_then_twice_and_then_three_times_as_fast():
    scene = battle()
    scene.arrays["tick"][...] = CONFIG.triple_from_tick - 3
    scene.arrays["elixir"][:] = (100, 271)
    assert after(scene, rules.WAIT).elixir.tolist() == [100 + 1 + 2 + 2 + 3 + 3, 280]


@pytest.mark.parametrize("action", [-1, -(2**31), rules.NUM_ACTIONS, 2**31 - 1])
def test_what_is_no_action_waits(action):
    assert after(battle(), action).elixir[0] == 280


def test_tiles_at_the_start():
    legal = legal_actions(battle().state)
    assert legal[:, 1:].reshape(2, 4, NUM_TILES).sum(-1).tolist() == [[224, 224, 576, 224]] * 2
    sizes = zones.zones().sizes
    assert (sizes[31], sizes[31 & ~8], sizes[7], sizes[zones.EVERYWHERE]) == (224, 260, 296, 576)


def test_buildings_keep_apart():
    config = jaxgames.make("clash", "toy", decks=((*BEGINNER_DECK[:7], "cannon"),) * 2).config
    scene = Scene(config)
    scene.arrays["hand"][:, 0] = config.table.card_ids["cannon"]
    scene.arrays["elixir"][:] = 280
    scene.put_unit(0, "Cannon", 9500, 10500)
    tiles = np.asarray(jax.jit(functools.partial(rules.legal_tiles, config))(scene.state)).reshape(2, 4, 32, 18)
    closed = np.argwhere(~tiles[0, 0, 9:13, 5:14]) + np.array([9, 5])
    assert closed.tolist() == [[9, 9], [10, 8], [10, 9], [10, 10], [11, 9]]  # nearer than 1.2 tiles
    assert tiles[1, 0].sum() == 224


def test_arms_are_different_legal_actions_and_follow_from_the_state():
    find = jax.jit(functools.partial(arms.search_arms, CONFIG))
    scene = battle(elixir=3)
    seen = []
    for tick in range(12):
        scene.arrays["tick"][...] = tick
        offered, legal = jax.device_get(find(scene.state))
        allowed = legal_actions(scene.state)
        for player in range(2):
            mine = offered[player][legal[player]]
            assert len(set(mine.tolist())) == len(mine) == 1 + 3 * CONFIG.positions + 1
            assert allowed[player][mine].all()
        seen.append(offered[0].tolist())
    assert len({tuple(row) for row in seen}) > 6
    assert np.array_equal(find(scene.state)[0][0], seen[-1])


def test_every_tile_is_offered_as_often():
    config = jaxgames.make("clash", "toy", positions=64).config
    scene = battle()

    @jax.jit
    @jax.vmap
    def find(tick):
        return arms.search_arms(config, State(**(vars(scene.state) | {"tick": tick})))

    offered, legal = jax.device_get(find(np.arange(1500, dtype=np.int16)))
    of_knight = offered[:, 0, 1:65].reshape(-1) - 1
    assert legal[:, 0, 1:65].all()
    counts = np.bincount(of_knight, minlength=NUM_TILES)
    counts = counts[counts > 0]
    assert len(counts) == 224
    expected = 1500 * 64 / 224
    assert abs(counts - expected).max() < 5 * np.sqrt(expected)


def test_a_game_that_begins_with_a_fallen_king_is_over_and_stays_so():
    scene = battle()
    scene.arrays["alive"][0, 2] = False
    state = after(scene, rules.WAIT, play(0, 9, 9))
    assert (state.winner, state.terminated, state.seat_rewards.tolist()) == (1, True, [-1, 1])
    assert state.tick == 1  # of the five ticks only the first was played
    again = jax.device_get(step(State(**vars(state)), np.array([play(0, 9, 9)] * 2, np.int32), KEY))
    assert again.seat_rewards.tolist() == [0, 0]
    assert all(np.array_equal(a, b) for name, a in vars(again).items() if name != "seat_rewards" for b in [getattr(state, name)])
    assert jax.jit(GAME.outcome)(again).tolist() == heuristic(again).tolist() == [-1, 1]


def test_the_heuristic_counts_towers():
    scene = battle()
    scene.arrays["alive"][1, 1] = False
    assert heuristic(scene.state).tolist() == [1, -1]
    scene.arrays["hp"][1, 1] = 0
    assert shaped(scene.state).tolist() == pytest.approx([0.5 + 0.5 / 3, -0.5 - 0.5 / 3])


def test_hit_points_count_where_towers_are_equally_many():
    by_hp = jax.jit(jaxgames.make("clash", "toy", value="play_on_hp").heuristic)
    state = jax.tree.map(np.array, battle().state)
    for lost in range(0, 3_000, 41):  # of both alike: exactly nothing is left of the difference
        even = dataclasses.replace(state, hp=np.where(np.arange(state.hp.shape[1]) == 1, state.hp - lost, state.hp))
        assert by_hp(even).tolist() == shaped(even).tolist() == [0, 0]
    state.hp[0, 2] -= 1
    assert by_hp(state).tolist() == [-1, 1] and heuristic(state).tolist() == [0, 0]
    state.alive[1, 1] = False
    assert by_hp(state).tolist() == [1, -1]


@pytest.mark.slow
def test_battles_that_are_played_on_in_the_places_of_others_take_as_long(monkeypatch):
    """Eight at a time, of ten alike: a knight hits a tower until the time is over."""
    monkeypatch.setattr(playing_on, "_AT_ONCE", 8)
    scene = battle()
    scene.put_unit(0, "Knight", 3500, 23000)
    states = jax.tree.map(lambda leaf: np.stack([leaf] * 10, -1), scene.state)
    play_out = jax.jit(functools.partial(playing_on._play_out, dataclasses.replace(CONFIG, value_ticks=40)))
    left = np.asarray(play_out(states))
    assert (left == left[..., :1]).all() and (left[1, :2, 0] < scene.arrays["hp"][1, :2]).sum() == 1


@pytest.mark.slow
def test_accelerators_play_all_battles_on_at_once():
    states = jax.tree.map(lambda leaf: np.stack([leaf] * 50, -1), battle().state)

    def batches():
        """Of all arrays of slots."""
        traced = jax.jit(lambda states: playing_on._play_out(CONFIG, states)).trace(states)
        return set(re.findall(rf"i8\[2,{CONFIG.slots},(\d+)\]", str(traced.jaxpr)))

    assert batches() == {"50", str(playing_on._AT_ONCE)}
    with for_all_platforms():
        assert batches() == {"50"}


def test_the_key_tells_states_apart_and_forgets_the_dead():
    scene = battle()
    before = state_key(scene.state).tolist()
    scene.arrays["x"][0, 5] = 77
    assert state_key(scene.state).tolist() == before
    keys = {tuple(before)}
    for field, place in (
        ("hp", (1, 1)),
        ("tick", ()),
        ("elixir", (0,)),
        ("hand", (1, 2)),
        ("cooldown", (0, 0)),
        ("saving", (1,)),
    ):
        scene.arrays[field][place] += 1
        keys.add(tuple(state_key(scene.state).tolist()))
    assert len(keys) == 7


def test_players_see_neither_hand_queue_nor_elixir_of_the_other():
    scene = battle()
    seen = jax.device_get(observe(scene.state, np.int32(0)))
    for field in ("hand", "queue", "elixir", "saving"):
        scene.arrays[field][1] += 1
    scene.arrays["queue"][0, 1:] = scene.arrays["queue"][0, 3:0:-1]
    again = jax.device_get(observe(scene.state, np.int32(0)))
    assert all(np.array_equal(a, b) for a, b in zip(jax.tree.leaves(seen), jax.tree.leaves(again), strict=True))


def test_planes_show_what_a_player_sees_in_its_own_frame():
    """What it has played itself fades by a tenth per step."""
    encoder = jaxgames.encoder_of(jaxgames.make("clash", "toy", regular_ticks=500, spell_slots=3, levels=(7, 14)))
    scene = battle(elixir=3)
    scene.arrays["tick"][...] = 500
    scene.put_unit(1, "Giant", 3500, 12000)
    scene.arrays["past"][0, :3] = [[ROWS["giant"], 4, 6], [-1, 0, 0], [ROWS["knight"], 9, 10]]
    shown = jax.jit(lambda state, seat: encoder.planes(encoder.view(state, seat)))
    first, second = (
        dict(zip(encoder.channels, np.moveaxis(np.asarray(shown(scene.state, np.int32(seat))), -1, 0), strict=True))
        for seat in (0, 1)
    )
    for planes, name, expected in (
        (first, "enemy Giant", {(3, 12): 1}),
        (first, "own Giant", {}),
        (second, "own Giant", {(14, 20): 1}),
        (first, "played giant", {(4, 6): 1}),
        (first, "played knight", {(9, 10): 0.81}),
        (first, "played arrows", {}),
        (second, "played giant", {}),
    ):
        found = {tuple(cell): planes[name][tuple(cell)] for cell in np.argwhere(planes[name]).tolist()}
        assert found == pytest.approx(expected), name
    everywhere = {
        "elixir": 0.3,
        "overtime": 1,
        "double elixir": 0,
        "card 0 is knight": 1,
        "card 0 affordable": 1,
        "card 3 affordable": 0,
    }
    for name, value in everywhere.items():
        np.testing.assert_allclose(first[name], value, rtol=1e-6, err_msg=name)
    for planes, levels in ((first, (0.5, 1)), (second, (1, 0.5))):
        assert [planes[f"{side} level"].max() for side in ("own", "enemy")] == pytest.approx(levels)
    tiles = legal_actions(scene.state)[0, 1 : 1 + NUM_TILES].reshape(32, 18)
    np.testing.assert_array_equal(first["card 0 legal"], tiles.T)


def test_bots_play_legal_cards_and_the_guard_meets_a_threat():
    scene = battle()
    scene.put_unit(1, "Giant", 3500, 12000)
    guard, random = (jax.jit(functools.partial(bot, CONFIG)) for bot in (bots.guard_actions, bots.random_actions))
    action = int(guard(scene.state)[0])
    place, tile = divmod(action - 1, NUM_TILES)
    assert action > 0 and place in (0, 1) and tile % 18 in range(1, 7)
    legal = legal_actions(scene.state)
    drawn = jax.device_get(random(scene.state, lane_key(KEY)))
    assert legal[0, drawn[0]] and legal[1, drawn[1]]
