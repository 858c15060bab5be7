"""What each card has done: on random battles, where all must add up, and on hand-made ones."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.clash import counter_sides, ledger, spawning
from jaxgames.clash.card_file import standard_table
from jaxgames.clash.changes import read_change, with_versions
from jaxgames.clash.config import BEGINNER_DECK, preset
from jaxgames.clash.kinds import look_up
from jaxgames.clash.scene import Scene
from jaxgames.clash.tick import Events
from tests.emitters import NEWER_EMITTERS

GAME = jaxgames.make("clash", "toy", regular_ticks=500, slots=12)
CONFIG = GAME.config
TABLE = CONFIG.table
BATTLES, STEPS = 4, 60


count = jax.jit(functools.partial(ledger.of_battles, CONFIG))


@functools.partial(jax.jit, compiler_options=NEWER_EMITTERS)
def play(states, actions):
    """The same battles when nobody counts."""

    def one(states, moves):
        return jax.vmap(lambda state, move: GAME.step(state, move, None))(states, moves), None

    return jax.lax.scan(one, states, jnp.swapaxes(actions, 0, 1))[0]


@pytest.fixture(scope="module")
def battles():
    rng = np.random.default_rng(5)
    places, tiles = rng.integers(4, size=(BATTLES, STEPS, 2)), rng.integers(18, 14 * 18, size=(BATTLES, STEPS, 2))
    actions = np.where(rng.random((BATTLES, STEPS, 2)) < 0.6, 1 + places * 576 + tiles, 0)
    starts = jax.jit(jax.vmap(GAME.init))(jax.random.split(jax.random.key(1), BATTLES))
    return jax.device_get((starts, actions, *count(starts, actions)))


@pytest.mark.slow
def test_battles_are_played_as_if_nobody_counted(battles):
    starts, actions, _, ends = battles
    plain = jax.device_get(play(starts, actions))
    for name, value in vars(plain).items():
        assert (getattr(ends, name) == value).all() or name == "seat_rewards", name


def test_all_that_is_lost_has_been_taken_by_somebody(battles):
    starts, _, found, ends = battles
    lost = (starts.hp[:, :, :3].astype(int) - ends.hp[:, :, :3]).sum(2)
    np.testing.assert_allclose(found.to_towers.sum(2), lost[:, ::-1], rtol=1e-5)
    assert lost.sum() > 1000
    counts = np.array([card.count for card in TABLE.cards] + [0])
    dead = (found.plays * counts).sum(2) - ends.alive[:, :, 3:].sum(2)
    np.testing.assert_allclose(found.kills.sum(2), dead[:, ::-1], rtol=1e-5)
    assert dead.sum() > 10 and found.kills[:, :, -1].sum() > 1  # some by towers
    np.testing.assert_allclose(found.towers.sum(2), (3 - ends.alive[:, :, :3].sum(2))[:, ::-1], atol=1e-5)


def test_who_takes_what(battles):
    """A fireball on three minions, and waves of arrows on a knight, whose shares the towers do not reach."""
    del battles
    scene = Scene(CONFIG)
    scene.put_card(1, "minions", 9000, 16_000)
    scene.cast(0, "fireball", 9000, 16_000, ticks=3)
    scene.put_unit(0, "Knight", 9000, 31_000)
    scene.cast(1, "arrows", 9000, 31_000, ticks=3)
    states = jax.tree.map(lambda leaf: np.stack([leaf] * BATTLES), scene.state)
    found, _ = jax.device_get(count(states, np.zeros((BATTLES, STEPS, 2), int)))
    fireball, arrows = (TABLE.card_ids[key] for key in ("fireball", "arrows"))
    mine = found.to_units[0, 0, fireball], found.kills[0, 0, fireball], found.worth[0, 0, fireball]
    assert mine == pytest.approx((3 * TABLE.unit("Minion").hp, 3, 3))
    assert found.to_units[0, 1, arrows] == pytest.approx(3 * TABLE.card("arrows").damage)
    assert found.plays.sum() == 0  # nobody played a card


def test_children_and_bombs_count_for_the_card_of_their_parent():
    """One side holds changed cards; skeletons and goblins are there too, as such units are deployed by cards of their own."""
    keys = ("golem", "balloon", "goblin-barrel", "witch")
    changed = with_versions(standard_table(), [read_change(standard_table(), f"{key}.cost=3") for key in keys])
    deck = (*keys, "skeletons", "goblins", "arrows", "knight")
    config = preset("toy")
    config = dataclasses.replace(config, table=changed.table, decks=(changed.deck(deck), deck), slots=16, spell_slots=3)
    cards, units, scene = config.table.card_ids, config.table.unit_ids, Scene(config)
    origin = np.full((2, config.slots + config.spell_slots), len(cards), np.int32)
    died, due = np.zeros((2, 2, config.slots), bool)
    for player, mark in enumerate(("*", "")):
        for key, events in (("golem", died), ("balloon", died), ("witch", due)):
            (slot,) = scene.put_card(player, key, 9_000, 16_000)
            origin[player, slot], events[player, slot] = cards[key + mark], True
        slot = scene.cast(player, "goblin-barrel", 9_000, 16_000, ticks=1)
        origin[player, config.slots + slot] = cards["goblin-barrel" + mark]

    @jax.jit
    def end_of_tick(before):
        events = Events(died, due, before.spell_ticks == 1)
        kinds = jax.tree.map(lambda leaf: leaf[..., 0], look_up(config, jax.tree.map(lambda leaf: leaf[..., None], before)))
        after = dataclasses.replace(before, alive=before.alive & ~died, spell_ticks=jnp.zeros_like(before.spell_ticks))
        born = spawning.bring_children(config, spawning.lay_bombs(config, after, kinds, died), before, kinds, *events)
        return born, born.alive & ~after.alive, ledger.inherited(after, kinds, events, jnp.asarray(origin))

    born, new, found = jax.device_get(end_of_tick(scene.state))
    of_units = {"Golemite": "golem", "Goblin": "goblin-barrel", "Skeleton": "witch"}
    for player, mark in enumerate(("*", "")):
        for name, key in of_units.items():
            slots = np.flatnonzero((new & (born.unit == units[name]))[player])
            assert len(slots) > 1 and (found[player, slots] == cards[key + mark]).all(), name
        for name, key in (("Golem", "golem"), ("Balloon", "balloon")):
            (slot,) = np.flatnonzero(born.spell[player] == len(cards) + units[name])
            assert found[player, config.slots + slot] == cards[key + mark], name


def test_units_are_valued_by_cards_that_may_come():
    changed = with_versions(standard_table(), [read_change(standard_table(), "knight.cost=9")])
    beside = dataclasses.replace(preset("beginner"), table=changed.table)
    horde = (*BEGINNER_DECK[:4], "minion-horde", *BEGINNER_DECK[5:])
    hordes = dataclasses.replace(preset("beginner"), decks=(horde, horde))
    for config, minion in ((preset("beginner"), 1), (preset("all"), 1), (beside, 1), (hordes, 5 / 6)):
        rows = config.table.unit_ids
        worth, of_bot = ledger.worth_of_unit(config), counter_sides.worth(config).unit
        assert worth[rows["Knight"]] == 3 and worth[rows["Minion"]] == np.float32(minion) and worth[rows["PrincessTower"]] == 0
        deployed = worth > 0
        assert (of_bot[:, deployed] == (worth[deployed] * 100 + 1e-3).astype(int)).all()
