"""The identity of states in search tables: equal exactly where all that it counts is equal."""

import dataclasses
import functools

import jax
import numpy as np
import pytest

from jaxgames.pommerman import interop
from jaxgames.pommerman.config import preset
from jaxgames.pommerman.game import Pommerman
from jaxgames.pommerman.state import state_key
from tests.jaxgames.pommerman import recordings
from tests.jaxgames.pommerman.positions import Bomb, Man, position

keys_of = jax.jit(jax.vmap(state_key))


@functools.cache
def recorded():
    """By recording its arrays, and the keys of its states without and with rigid walls; all are compiled as one batch."""
    look = jax.jit(jax.vmap(lambda state: (state_key(state), state_key(state, include_rigid=True))))
    found = [recordings.states(name)[1:] for name in recordings.GAMES]
    states = [dataclasses.replace(state, messages=(), ring_falls=()) for _, state in found]
    counts = [len(state.step_count) for state in states]
    keys = look(jax.tree.map(lambda *leaves: np.concatenate(leaves), *states))
    parts = [np.split(np.asarray(each), np.cumsum(counts)[:-1]) for each in keys]
    return [(arrays, *both) for (arrays, _), *both in zip(found, *parts, strict=True)]


def contents(arrays, include_rigid=False):
    """All that a key counts, as bytes: everything but the clock, hidden items and, where they never change, rigid walls."""
    sorted_arrays = interop.sort_bombs({field: arrays[field] for field in interop.STATE_FIELDS})
    board = sorted_arrays["s_board"]
    if not include_rigid:
        board = np.where(board == 1, 0, board)
    parts = [board, *(sorted_arrays[field] for field in ("s_flames", "s_nbombs", "s_bombs", "s_agents"))]
    return [b"".join(part[row].tobytes() for part in parts) for row in range(len(board))]


@pytest.mark.parametrize("include_rigid", [False, True])
def test_distinct_states_have_distinct_keys(include_rigid):
    seen = {}
    for arrays, without, including in recorded():
        keys = (including if include_rigid else without).tolist()
        for key, content in zip(map(tuple, keys), contents(arrays, include_rigid), strict=True):
            assert seen.setdefault(key, content) == content
    assert len(set(seen.values())) == len(seen) > 1000


def key(state):
    return tuple(np.asarray(keys_of(state))[0].tolist())


BASE = {"drawing": "0.1+\n..b*", "bombs": {(3, 3): Bomb(), (4, 4): Bomb(owner=1, direction=2)}}


def test_what_is_left_out():
    base = key(position(**BASE))
    assert key(position(**BASE, step=44)) == base
    assert key(position(**BASE, hidden={(0, 3): 7})) == base
    assert key(position(**BASE, hidden={(1, 3): 7})) == base, "an item under flames"
    assert key(position(**{**BASE, "drawing": "0.1+\n..b*#"})) == base
    finished = dataclasses.replace(position(**BASE), terminated=np.ones(1, bool))
    assert key(finished) == base
    first, second = BASE["bombs"].items()
    assert key(position(**{**BASE, "bombs": dict([second, first])})) == base, "bombs have no order"


def test_what_counts():
    others = [
        {"drawing": "0.1.\n..b*"},
        {"drawing": "0.1+\n..r*"},
        {"drawing": "0.1+\n..bb"},
        {"drawing": "0..1+\n..b*"},
        {"drawing": "0.1+2\n..b*"},
        {"drawing": "1.0+\n..b*"},
        {"flames": {(1, 3): [1]}},
        {"flames": {(1, 3): [2, 1]}},
        {"m0": Man(ammo=2)},
        {"m1": Man(strength=3)},
        {"m1": Man(kick=True)},
        {"m3": Man(cell=(5, 5))},
        {"bombs": {(3, 3): Bomb()}},
        {"bombs": {(3, 3): Bomb(life=8), (4, 4): Bomb(owner=1, direction=2)}},
        {"bombs": {(3, 3): Bomb(strength=3), (4, 4): Bomb(owner=1, direction=2)}},
        {"bombs": {(3, 3): Bomb(owner=2), (4, 4): Bomb(owner=1, direction=2)}},
        {"bombs": {(3, 3): Bomb(), (4, 4): Bomb(owner=1, direction=3)}},
        {"bombs": {(3, 3): Bomb(owner=1, direction=2), (4, 4): Bomb()}},
    ]
    keys = {key(position(**{**BASE, **other})) for other in [{}, *others]}
    assert len(keys) == len(others) + 1


def test_rigid_walls_count_where_the_board_collapses():
    walls = [position("0.1"), position("0.1#")]
    for mode, different in (("ffa", False), ("ffa_collapse", True)):
        game = Pommerman(preset(mode))
        one, two = map(np.asarray, map(jax.jit(jax.vmap(game.state_key)), walls))
        assert (one != two).any() == different
