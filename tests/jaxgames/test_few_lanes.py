"""Work that few lanes need changes those and no others, in every batch."""

import functools

import jax
import numpy as np
import pytest
from jax import numpy as jnp

from jaxgames import few_lanes
from jaxgames.few_lanes import change_few


def _after(given, before):
    word, (count, flag) = given["word"], before
    return jnp.where(given["twice"], count + 2 * word, count + word), flag ^ (word % 2 == 1)


@functools.cache
def changing(way):
    """Compiled while this is the way of a CPU."""
    return jax.jit(jax.vmap(lambda *lane: change_few(_after, *lane)))


@pytest.mark.parametrize("lanes", [3, 512, *(pytest.param(lanes, marks=pytest.mark.slow) for lanes in (1, 40))])
@pytest.mark.parametrize("share", [0.0, 0.02, 1.0])
@pytest.mark.parametrize("way", [few_lanes._change_few, few_lanes._change_all])
def test_lanes_that_need_it_are_changed(lanes, share, way, monkeypatch):
    monkeypatch.setattr(few_lanes, "_change_few", way)  # the way of a CPU
    rng = np.random.default_rng(lanes)
    needed = rng.random(lanes) < share
    given = {"word": rng.integers(0, 2**31, lanes, dtype=np.uint32), "twice": rng.random(lanes) < 0.5}
    before = rng.integers(0, 2**31, lanes, dtype=np.uint32), rng.random(lanes) < 0.5
    changed = changing(way)(needed, given, before)
    wanted = _after(given, before)
    for got, new, old in zip(changed, wanted, before, strict=True):
        assert got.dtype == old.dtype
        np.testing.assert_array_equal(got, np.where(needed, new, old))


def test_one_lane_and_lanes_of_lanes():
    given, before = {"word": np.uint32(5), "twice": np.bool_(True)}, (np.uint32(1), np.bool_(False))
    alone = jax.jit(lambda needed: change_few(_after, needed, given, before)[0])
    assert [int(alone(np.bool_(needed))) for needed in (True, False)] == [11, 1]
    words = np.arange(12, dtype=np.uint32).reshape(3, 4)

    def one(word):
        return change_few(_after, word % 3 == 0, {"word": word, "twice": np.bool_(False)}, before)[0]

    np.testing.assert_array_equal(jax.jit(jax.vmap(jax.vmap(one)))(words), np.where(words % 3 == 0, words + 1, 1))
