"""The strong rule-based player: what it does in hand-made positions, and that it beats the others."""

import dataclasses
import functools

import jax
import numpy as np
import pytest

import jaxgames
from jaxgames.clash import bots, counter, rules, zones
from jaxgames.clash.config import BEGINNER_DECK
from jaxgames.clash.constants import NUM_TILES
from jaxgames.clash.scene import Scene
from jaxgames.clash.tables import spell_columns
from training.play import agents, counting, evaluate

GAME = jaxgames.make("clash", "toy", slots=13)
CONFIG = GAME.config
ROWS = {key: CONFIG.table.card_ids[key] for key in BEGINNER_DECK}
choose = jax.jit(lambda state: counter.counter_actions(CONFIG, state))


def battle(hand, elixir=10, config=CONFIG):
    """A battle in which both have these cards in their hands."""
    scene = Scene(config)
    queue = [key for key in BEGINNER_DECK if key not in hand]
    scene.arrays["hand"][:] = [ROWS[key] for key in hand]
    scene.arrays["queue"][:] = [ROWS[key] for key in queue]
    scene.arrays["elixir"][:] = elixir * 28
    return scene


def played(scene, player=0):
    """What a player does: the card, and column and row of its tile in the own frame; None: it waits."""
    action = int(choose(scene.state)[player])
    if not action:
        return None
    place, tile = divmod(action - 1, NUM_TILES)
    return CONFIG.table.cards[int(scene.arrays["hand"][player, place])].key, tile % 18, tile // 18


def test_a_threat_is_met_by_a_card_that_can_hit_it_in_its_lane():
    for x, columns in ((3_500, range(2, 8)), (14_500, range(10, 16))):
        scene = battle(("knight", "giant", "archers", "fireball"), elixir=4)
        scene.put_unit(1, "BabyDragon", x, 13_000)
        card, column, row = played(scene)
        assert card == "archers" and column in columns and row < 13
        assert played(scene, 1) is None  # nothing threatens the other, who has too little for a push


def test_the_strongest_threat_comes_first():
    scene = battle(("knight", "archers", "minions", "giant"), elixir=5)
    scene.put_unit(1, "Minion", 3_500, 13_000)
    scene.put_unit(1, "Musketeer", 14_500, 13_000)
    assert played(scene)[1] > 9


def test_who_is_met_already_is_left_to_the_defenders():
    scene = battle(("knight", "archers", "minions", "musketeer"), elixir=6)
    scene.put_unit(1, "Minion", 3_500, 12_000)
    scene.put_unit(0, "Musketeer", 3_500, 9_000)
    assert played(scene) is None


def test_a_spell_goes_where_it_destroys_more_than_it_costs():
    scene = battle(("arrows", "knight", "giant", "fireball"), elixir=4)
    for x, y in ((8_500, 14_000), (9_500, 14_500), (9_000, 13_500), (9_500, 13_500), (8_500, 13_500), (9_000, 14_500)):
        scene.put_unit(1, "Minion", x, y)
    card, column, row = played(scene)
    assert card == "arrows" and 7 <= column <= 10 and 10 <= row <= 15
    scene = battle(("arrows", "fireball", "giant", "knight"), elixir=4)
    scene.put_unit(1, "Minion", 9_000, 25_000)
    assert played(scene) is None


def test_a_spell_ends_a_tower_that_it_can_fell():
    scene = battle(("knight", "fireball", "giant", "minions"), elixir=4)
    scene.arrays["hp"][1, 1] = 200
    card, column, row = played(scene)
    assert card == "fireball" and (column, row) == (3, 25)  # the enemy's right is on the own left


def test_a_push_begins_with_the_tank_behind_the_king_when_there_is_elixir_to_spare():
    card, _, row = played(battle(("knight", "giant", "archers", "arrows")))
    assert card == "giant" and row == 0
    assert played(battle(("knight", "giant", "archers", "arrows"), elixir=7)) is None


def test_others_follow_behind_the_tank():
    scene = battle(("knight", "musketeer", "arrows", "fireball"), elixir=8)
    scene.put_unit(0, "Giant", 14_500, 11_000)
    card, column, row = played(scene)
    assert card == "musketeer" and 12 <= column <= 16 and row < 11


def test_it_does_the_same_on_both_sides():
    random = np.random.default_rng(0)
    for _ in range(5):
        scene, turned = battle(("knight", "giant", "archers", "fireball")), battle(("knight", "giant", "archers", "fireball"))
        for _ in range(6):
            x, y, player = int(random.integers(1_000, 17_000)), int(random.integers(9_000, 23_000)), int(random.integers(2))
            name = str(random.choice(["Knight", "Minion", "Giant", "Musketeer"]))
            scene.put_unit(player, name, x, y)
            turned.put_unit(1 - player, name, 18_000 - x, 32_000 - y)
        assert choose(scene.state).tolist() == choose(turned.state)[::-1].tolist()


COUNTER = pytest.param(counter.counter_actions, marks=pytest.mark.slow)  # to compile for two configs


@pytest.mark.parametrize("bot", [COUNTER, bots.guard_actions], ids=["counter", "guard"])
def test_a_building_is_played_beside_another_one(bot):
    deck = ("cannon", "tesla", "barbarian-hut", "archers", "knight", "arrows", "zap", "minions")
    config = jaxgames.make("clash", "beginner", decks=(deck, deck)).config

    @jax.jit
    def act(state):
        actions = bot(config, state)
        return actions[0], rules.read(config, state, actions).plays[0]

    def played(hand, *units):
        """What the first player does when these are there, card and tile; it must be legal."""
        scene = Scene(config)
        for field, keys in (("hand", hand), ("queue", [key for key in deck if key not in hand])):
            scene.arrays[field][0] = [config.table.card_ids[key] for key in keys]
        scene.arrays["elixir"][:] = 280
        for unit in units:
            scene.put_unit(*unit)
        action, plays = act(scene.state)
        assert plays
        return hand[(int(action) - 1) // NUM_TILES], (int(action) - 1) % NUM_TILES

    hand, threat = ("cannon", "tesla", "arrows", "zap"), (1, "Giant", 8_500, 14_500)
    key, tile = played(hand, threat)
    assert key in ("cannon", "tesla")
    other, beside = played(hand, threat, (0, "Cannon", *map(int, zones.centre_of(tile))))
    assert other in ("cannon", "tesla") and beside != tile
    if bot is bots.guard_actions:  # a hut has more hit points, but would never come to a tower
        assert played(("barbarian-hut", "archers", "arrows", "zap"))[0] == "archers"


@pytest.fixture(scope="module", params=[COUNTER, bots.guard_actions], ids=["counter", "guard"])
def unequal(request):
    """A bot's choices by levels: the stronger player first, and last."""
    configs = [dataclasses.replace(CONFIG, levels=levels) for levels in ((14, 6), (6, 14))]
    return [(config, jax.jit(functools.partial(request.param, config))) for config in configs]


def test_each_player_counts_with_its_own_level(unequal):
    random = np.random.default_rng(1)
    for _ in range(12):
        hand, elixir = random.permutation(BEGINNER_DECK)[:4].tolist(), int(random.integers(4, 11))
        (scene, act), (turned, act_turned) = ((battle(hand, elixir, config), chosen) for config, chosen in unequal)
        for _ in range(6):
            x, y, player = int(random.integers(1_000, 17_000)), int(random.integers(9_000, 23_000)), int(random.integers(2))
            name = str(random.choice(["Knight", "Minion", "Giant", "Musketeer"]))
            scene.put_unit(player, name, x, y)
            turned.put_unit(1 - player, name, 18_000 - x, 32_000 - y)
        assert act(scene.state).tolist() == act_turned(turned.state)[::-1].tolist()


def test_a_spell_of_a_low_level_does_not_fell_what_one_of_a_high_level_does():
    config = dataclasses.replace(CONFIG, levels=(14, 6))
    damage = spell_columns(config).crown_damage[:, ROWS["fireball"]]
    scene = battle(("knight", "fireball", "giant", "minions"), 4, config)
    scene.arrays["hp"][:, 1] = damage.mean()
    actions = jax.jit(functools.partial(counter.counter_actions, config))(scene.state)
    assert damage[0] > damage[1] and int(actions[0]) // NUM_TILES == 1 and int(actions[1]) == 0


@pytest.mark.slow
@pytest.mark.parametrize(("other", "share"), [("guard", 0.8), ("random", 0.95)])
def test_it_beats_the_others(other, share):
    game = jaxgames.make("clash", "beginner")
    players = [agents.make("counter", game), agents.make(other, game)]
    assert counting.count(evaluate.play(game, players, jax.random.key(0), 200, batch_size=100)).wins >= 200 * share
