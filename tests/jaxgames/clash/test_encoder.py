"""The planes of Clash against a plain account of what a player sees, thing by thing, in random positions with spells."""

import jax
import numpy as np
import pytest

import jaxgames
from jaxgames.clash.card_file import standard_table
from jaxgames.clash.changes import read_change, with_versions
from jaxgames.clash.config import BEGINNER_DECK, ClashConfig
from jaxgames.clash.constants import AIR, COLUMNS, ELIXIR, HEIGHT, MOST_ELIXIR, MOST_LEVEL, ROWS, TILE, TOWERS, WIDTH
from jaxgames.clash.encoder import MEMORY
from jaxgames.clash.game import Clash
from jaxgames.clash.scene import Scene
from jaxgames.clash.tables import unit_columns

GAME = jaxgames.make("clash", "beginner", levels=(9, 11))
SIDES = ("own", "enemy")


def battle(random):
    """Anything anywhere: units and spells of both players, cards, the last steps, the clock."""
    scene, ids = Scene(GAME.config), GAME.config.table.card_ids
    arrays, slots = scene.arrays, np.arange(GAME.config.slots)

    def anywhere():
        return tuple(int(random.integers(2 * TILE, most - 2 * TILE)) for most in (WIDTH, HEIGHT))

    for player in range(2):
        deck = random.permutation(BEGINNER_DECK).tolist()
        arrays["hand"][player], arrays["queue"][player] = np.split(np.array([ids[key] for key in deck]), 2)
        for key in deck:
            scene.put_card(player, key, *anywhere())
        later = slots >= TOWERS
        arrays["alive"][player] &= random.random(len(slots)) < np.where(later, 0.8, 0.9)
        arrays["deploying"][player] *= random.random(len(slots)) < 0.5
        arrays["hp"][player] -= (arrays["hp"][player] * random.uniform(0, 0.9, len(slots))).astype(np.int16)
        for age in range(int(random.integers(10))):
            if random.random() < 0.6:
                arrays["past"][player, age] = ids[random.choice(deck)], random.integers(COLUMNS), random.integers(ROWS)
    arrays["elixir"][:] = random.integers(MOST_ELIXIR * ELIXIR + 1, size=2)
    arrays["tick"][...] = random.integers(GAME.config.last_tick)
    return scene.state


@pytest.fixture(scope="module")
def shown():
    """What both players see in some battles, its planes, and what is legal then."""
    encoder, random = jaxgames.encoder_of(GAME), np.random.default_rng(4)

    def look(state, seat):
        view = GAME.observe(state, seat)
        return view, encoder.planes(view), encoder.legal(view)

    states = jax.tree.map(lambda *leaves: np.stack(leaves), *(battle(random) for _ in range(6)))
    looks = jax.device_get(jax.jit(jax.vmap(jax.vmap(look, (None, 0)), (0, None)))(states, np.arange(2, dtype=np.int32)))
    return jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), looks)


def told(view):
    """The planes by name, zero where nothing is said."""
    config, table = GAME.config, GAME.config.table
    planes = {name: np.zeros((COLUMNS, ROWS), np.float32) for name in jaxgames.encoder_of(GAME).channels}

    def add(name, column, row, value):
        if name in planes:
            planes[name][column, row] += np.float32(value)

    def tile(side, x, y):
        x, y = (WIDTH - x, HEIGHT - y) if side else (x, y)
        return min(max(x // TILE, 0), COLUMNS - 1), min(max(y // TILE, 0), ROWS - 1)

    arena = {name: np.asarray(values).astype(int) for name, values in view.arena.items()}
    flies = unit_columns(config).layer[0] == AIR
    for side, who in enumerate(SIDES):
        level = config.levels[int(view.viewer) if side == 0 else 1 - int(view.viewer)] / MOST_LEVEL
        for slot in np.flatnonzero(arena["alive"][side]):
            unit, deploying = arena["unit"][side, slot], arena["deploying"][side, slot] > 0
            where = tile(side, arena["x"][side, slot], arena["y"][side, slot])
            add(f"{who} {table.units[table.shown_units[unit]].name}", *where, 1)
            values = (arena["hp"][side, slot] / 1000, 1, flies[unit], deploying, level)
            for what, value in zip(("hit points", "units", "flying", "deploying", "level"), values, strict=True):
                add(f"{who} {what}", *where, value)
        for slot in np.flatnonzero(arena["spell_ticks"][side] > 0):
            card = table.cards[table.shown_cards[arena["spell"][side, slot]]].key
            add(f"{who} {card}", *tile(side, arena["spell_x"][side, slot], arena["spell_y"][side, slot]), 1)
    for age, (card, column, row) in enumerate(np.asarray(view.past).astype(int)):
        if card >= 0:
            add(f"played {table.cards[table.shown_cards[card]].key}", column, row, np.float32(MEMORY) ** age)
    cards = [table.cards[table.shown_cards[card]] for card in (*np.asarray(view.hand), np.asarray(view.next_card))]
    for place, card in zip(("card 0", "card 1", "card 2", "card 3", "next card"), cards, strict=True):
        planes[f"{place} is {card.key}"][:] = 1
    for number, card in enumerate(cards[:4]):
        planes[f"card {number} affordable"][:] = card.cost * ELIXIR <= int(view.elixir)
    planes["elixir"][:] = int(view.elixir) / (MOST_ELIXIR * ELIXIR)
    planes["time"][:] = int(view.tick) / config.last_tick
    planes["double elixir"][:] = int(view.tick) >= config.double_from_tick
    planes["overtime"][:] = int(view.tick) >= config.regular_ticks
    return planes


def test_planes_are_what_is_seen_thing_by_thing(shown):
    encoder, (views, every, legal) = jaxgames.encoder_of(GAME), shown
    met = set()
    for number, planes in enumerate(every):
        expected = told(jax.tree.map(lambda leaf, n=number: np.asarray(leaf)[n], views))
        for place in range(4):  # outputs go row by row, planes column by column
            expected[f"card {place} legal"] = shown_tiles(legal[number], place, expected[f"card {place} affordable"])
        for channel, name in enumerate(encoder.channels):
            np.testing.assert_allclose(planes[..., channel], expected[name], rtol=1e-5, err_msg=name)
            met |= {name} if expected[name].any() else set()
    kinds = ("own Giant", "enemy Giant", "own deploying", "enemy hit points", "next card is giant", "card 3 legal")
    assert {"own fireball", "own arrows"} & met and set(kinds) <= met, "the battles have something of each"


def shown_tiles(legal, place, affordable):
    """Where a card may be played; what is legal of a card that cannot be paid is to save for it."""
    tiles = legal[1 + place * COLUMNS * ROWS :][: COLUMNS * ROWS].reshape(ROWS, COLUMNS).T
    return np.where(affordable > 0, tiles, 0)


def test_what_falls_when_a_unit_dies_is_none_of_the_cards():
    """Also where a spell is the last card of the table."""
    changed = with_versions(standard_table(), [read_change(standard_table(), "arrows.cost=4")])
    deck = changed.deck(("knight", "giant", "archers", "arrows", "minions", "fireball", "musketeer", "balloon"))
    game = Clash(ClashConfig(decks=(deck, deck), table=changed.table))
    scene = Scene(game.config)
    scene.arrays["spell"][0, 0] = len(changed.table.cards) + changed.table.unit_ids["Balloon"]
    scene.arrays["spell_ticks"][0, 0] = 20
    encoder = jaxgames.encoder_of(game)
    look = jax.jit(lambda state: encoder.planes(game.observe(state, np.int32(0))))
    planes = dict(zip(encoder.channels, np.moveaxis(look(scene.state), -1, 0), strict=True))
    assert not planes["own arrows"].any() and not planes["own fireball"].any()
