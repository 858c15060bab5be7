"""Planes as PommerLearn has them: what they show in a hand-made position, and that they are read back."""

import functools

import jax
import numpy as np
import pytest

from jaxgames.pommerman.encoder import POMMERLEARN, pommerlearn_planes, search_view
from jaxgames.pommerman.pommerlearn_planes import as_published, observation_of, restored_view, wrong_planes
from tests.jaxgames.pommerman.positions import RIGHT, SMALL, UP, Bomb, Man, position

SEAT = 2
BOMBS = {(4, 4): Bomb(life=9, strength=2, owner=SEAT), (6, 6): Bomb(life=1, strength=4, direction=UP, owner=3)}
STATE = position(
    "0#+b.1r 2..k",
    bombs=BOMBS | {(7, 2): Bomb(life=5, strength=10, direction=RIGHT, owner=0)},
    flames={(7, 7): [2], (7, 5): [0]},
    step=47,
    config=SMALL,
    m2=Man(ammo=2, strength=3, kick=True),
)


restored = jax.jit(functools.partial(restored_view, SMALL))


@functools.cache
def shown():
    """The view of a player, and its planes."""

    def look(state, seat):
        view = search_view(SMALL, state, seat)
        return view, pommerlearn_planes(SMALL, view)

    return jax.device_get(jax.jit(look)(jax.tree.map(lambda leaf: leaf[0], STATE), np.int32(SEAT)))


@pytest.fixture
def view():
    return shown()[0]


@pytest.fixture
def planes():
    """float32 [1, 23, 8, 8]"""
    return as_published(shown()[1][None])


def test_planes_count_as_pommerlearn_does(planes):
    shown = {name: planes[0, index] for index, name in enumerate(POMMERLEARN)}

    def places(name):
        return {tuple(cell): pytest.approx(float(shown[name][tuple(cell)])) for cell in np.argwhere(shown[name]).tolist()}

    assert places("rigid") == {(0, 1): 1} and places("wood") == {(0, 2): 1}
    assert places("extra bomb") == {(0, 3): 1} and places("range") == {(0, 6): 1} and places("kick") == {(1, 3): 1}
    assert places("bomb time") == {(6, 6): 8 / 9, (7, 2): 4 / 9}, "a bomb that was just laid counts 0"
    assert places("bomb reach") == {(4, 4): 1 / 11, (6, 6): 3 / 11, (7, 2): 9 / 11}, "a cell less than the strength"
    assert places("bomb right") == {(7, 2): 1} and places("bomb up") == {(6, 6): 1}
    assert places("flames") == {(7, 7): 1, (7, 5): 1 / 3}
    assert (
        places("own position") == {(1, 0): 1} and places("second after") == {(0, 0): 1} and places("third after") == {(0, 5): 1}
    )
    assert not shown["agent after"].any(), "the dead are not there"
    numbers = [float(shown[name][5, 5]) for name in POMMERLEARN[14:]]
    assert numbers == pytest.approx([2 / 11, 1 / 5, 3 / 5, 1, 1, 0, 1, 1, 47 / 799])


def test_planes_are_read_back(view, planes):
    observation, own_bombs = observation_of(SMALL, planes, np.array([SEAT]))
    one = jax.tree.map(lambda leaf: leaf[0], (observation, own_bombs))
    again, encoded = jax.device_get(restored(*one))
    for (path, leaf), found in zip(jax.tree_util.tree_leaves_with_path(view), jax.tree.leaves(again), strict=True):
        np.testing.assert_array_equal(found, leaf, jax.tree_util.keystr(path))
        assert found.dtype == leaf.dtype, jax.tree_util.keystr(path)
    assert not wrong_planes(SMALL, planes, encoded[None]).any()


def test_a_longer_reach_than_ours_counts_as_the_longest(planes):
    longer = planes.copy()
    longer[0, POMMERLEARN.index("bomb reach"), 7, 2] = 1.0
    observation, own_bombs = observation_of(SMALL, longer, np.array([SEAT]))
    one = jax.tree.map(lambda leaf: leaf[0], (observation, own_bombs))
    _, encoded = restored(*one)
    assert not wrong_planes(SMALL, longer, np.asarray(encoded)[None]).any()
