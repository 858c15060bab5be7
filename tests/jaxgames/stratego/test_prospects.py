"""What undecided positions promise, in hand-made ones; both sides are valued alike, and each game by itself."""

import dataclasses
import functools
import itertools

import jax
import numpy as np
import pytest

import jaxgames
from jaxgames.stratego import Stratego, interop
from jaxgames.stratego.prospects import prospects
from tests.jaxgames.stratego.playing import CONFIG, at, play, position, random_game

BARRAGE = jaxgames.make("stratego", "barrage")
EVEN = "YaaaX aaaaa aa_aa aaaaa MaaaL"


@functools.cache
def compiled(config):
    return jax.jit(functools.partial(prospects, config))


def value(rows, turn="r 0"):
    """Of Red."""
    return float(compiled(CONFIG)(position(rows, turn=turn))[0])


@pytest.mark.parametrize(("better", "worse"), [
    ("YaaaX aaaaa aa_aa aaaaa MaKaL", EVEN),  # more pieces
    (EVEN, "YaaaX aaaaa aa_aa aaaaa MaaaE"),  # a stronger one
    (EVEN, "YaaaX aaaaa aa_aa aaaaa Maaal"),  # the other has not seen it
    ("YaaOX aaaaa aa_Ka aaaaa MaaaL", "YaaOX aaaaa aa_aa aaaaa MaaKL"),  # nearer to what it can take
    ("YNaaX Naaaa Ea_aa aaaaa MaaaL", "YNaaX Naaaa aa_aa aaaEa MaaaL"),  # a miner, to a bomb
    ("YaaaX aaaaa aa_aa aaaaa MaaCL", "YaaaW aaaaa aa_aa aaaaa MaaCK"),  # a spy whose prey is there
    ("YXaaa aaaaa aa_aa aaaaa LMDaa", "YXaaa aaaaa aa_aa aaaaa LMaaa"),  # a scout
])  # fmt: skip
def test_what_is_better(better, worse):
    assert value(better) > value(worse) + 1e-3


def test_pieces_count_that_only_the_start_has():
    # A captain, a major and a colonel are none of the variant's.
    fewer = "YaaaX aaaaa aa_aa aaaaa MaaaL"
    for letter in "GHI":
        start = fewer.replace("aaaaa MaaaL", f"aa{letter}aa MaaaL")
        config = dataclasses.replace(CONFIG, start="".join(reversed(start.split())) + " r 0")
        found = float(compiled(config)(jax.device_get(Stratego(config).init(jax.random.key(0))))[0])
        assert found > value(fewer) + 0.1


def test_equal_sides_differ_by_the_move_alone():
    assert value("YaaaX aaaaO aa_aa aaaaC MaaaL") == pytest.approx(-value("YaaaX aaaaO aa_aa aaaaC MaaaL", "b 0"), abs=1e-6)


def test_who_cannot_be_stopped_on_the_way_to_the_flag_is_about_to_win():
    free = value("YaaaX aaaaa La_aa aaaaa Maaaa")
    assert free > 0.5
    assert free > value("YXaaa aaaaa La_aa aaaaa Maaaa") + 0.3  # somebody is at home
    assert free > value("YNaaX Naaaa La_aa aaaaa Maaaa") + 0.3  # bombs are all around
    assert value("aaaaY aaaaa Xa_aa aaaaa LaDMa") < value("aaaaY aaaaa Xa_aa aaaaa LaMaD")  # a scout has a line to it


def test_of_two_who_are_as_near_to_the_flag_the_one_to_move_is_first():
    race = "aaaaY aaaaa Xa_aL aaaaa Maaaa"
    assert value(race) > 0.5 and value(race, "b 0") < -0.5


def test_both_sides_are_valued_alike_and_each_game_by_itself():
    games = [random_game(CONFIG, 30, seed)[:-1] for seed in range(4)]
    states = jax.tree.map(lambda *leaves: np.stack(leaves), *itertools.chain(*games))
    found = np.asarray(jax.jit(jax.vmap(functools.partial(prospects, CONFIG)))(states))
    assert (np.abs(found) < 1).all() and np.ptp(found[..., 0]) > 0.5
    np.testing.assert_array_equal(found[..., 0], -found[..., 1])
    arrays = interop.to_arrays(CONFIG, states)
    for name in ("piece", "owner", "visible", "moved"):  # the board upside down, and the colours exchanged
        rows = arrays[name].reshape(*arrays[name].shape[:-1], CONFIG.rows, CONFIG.columns)
        arrays[name] = rows[..., ::-1, :].reshape(arrays[name].shape)
    arrays["owner"] = np.where(arrays["owner"] < 2, 1 - arrays["owner"], 2)
    turned = interop.from_arrays(CONFIG, {name: arrays[name] for name in ("piece", "owner", "visible", "moved", "ply")}
                                 | {"player": 1 - arrays["player"]})  # fmt: skip
    for number in (3, 17, len(found) - 1):
        np.testing.assert_allclose(compiled(CONFIG)(at(states, number)), found[number], atol=1e-6)
        np.testing.assert_allclose(compiled(CONFIG)(at(turned, number))[::-1], found[number], atol=1e-6)


def test_the_game_gives_the_outcome_at_the_end():
    state = position("aaaaY aaaaE aa_aa aaaaa MaaaQ")
    prospects = jax.jit(Stratego(CONFIG).prospects)
    assert np.abs(prospects(state)).max() < 1
    np.testing.assert_array_equal(prospects(play(state, "e4e5")), [1, -1])
