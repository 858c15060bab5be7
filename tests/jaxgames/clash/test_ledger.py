"""What each card has done: on random battles, where all must add up, and on hand-made ones."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.clash import ledger
from jaxgames.clash.config import BEGINNER_DECK, preset
from jaxgames.clash.scene import Scene
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


def test_units_belong_to_the_card_that_brings_them():
    config = preset("all")
    table, owners = config.table, ledger.card_of_unit(config)

    def owner(name):
        row = owners[table.unit_ids[name]]
        return table.cards[row].key if row < len(table.cards) else ""

    assert owner("PrincessTower") == "" and owner("Knight") == "knight"
    assert owner("Golemite") == "golem" and owner("LavaPups") == "lava-hound"
    # Skeletons are deployed by one card, and made or left by others.
    assert owner("Skeleton") == "skeletons" and owner("Goblin") == "goblins"
    worth = ledger.worth_of_unit(config)
    assert worth[table.unit_ids["Minion"]] == 1 and worth[table.unit_ids["PrincessTower"]] == 0
    assert set(BEGINNER_DECK) <= set(table.card_ids)
