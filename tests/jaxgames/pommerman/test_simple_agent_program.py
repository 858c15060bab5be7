"""The SimpleAgent as a program: lanes, seats and types, and how it draws."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxgames import random_bits
from jaxgames.pommerman.arrays import STATE_FIELDS, from_arrays
from jaxgames.pommerman.config import preset
from jaxgames.pommerman.constants import Move
from jaxgames.pommerman.interop_simple import memory_from_arrays, observation_from_arrays
from jaxgames.pommerman.observation import observe
from jaxgames.pommerman.simple_agent import (
    SimpleMemory,
    all_simple_moves,
    decide,
    draw_words,
    init_memory,
    pick_move,
    some_simple_moves,
)
from tests.jaxgames.pommerman.positions import FFA, RIGHT, STOP, equal
from tests.recordings import SAMPLES

RECORDED = SAMPLES / "pommerman"


@pytest.fixture(scope="module")
def sample():
    arrays = dict(np.load(RECORDED / "simple_cases.npz"))
    rows = np.flatnonzero(arrays["source"] != 1)[:64]
    arrays = {name: array[rows] for name, array in arrays.items()}
    return jax.tree.map(jnp.asarray, (observation_from_arrays(FFA, arrays), memory_from_arrays(FFA, arrays)))


@pytest.mark.slow
def test_a_decision_does_not_depend_on_its_neighbours(sample):
    observation, memory = sample
    lanes = random_bits.fold(random_bits.LaneKey(jnp.uint32(3), jnp.uint32(4)), jnp.arange(64))

    def one(observation, memory, lane):
        return decide(FFA, observation, memory, draw_words(lane))

    everybody = jax.tree.map(np.asarray, (observation, memory, lanes))
    decide_all = jax.jit(jax.vmap(one))
    together = jax.tree.map(np.asarray, decide_all(*everybody))
    for i in range(0, 64, 7):
        alone = decide_all(*jax.tree.map(lambda leaf, i=i: np.repeat(leaf[i : i + 1], 64, axis=0), everybody))
        assert equal(alone, jax.tree.map(lambda leaf, i=i: np.repeat(leaf[i : i + 1], 64, axis=0), together))


@pytest.mark.slow
def test_types_stay_as_they_were(sample):
    observation, memory = jax.tree.map(lambda leaf: leaf[0], sample)
    move, after = decide(FFA, observation, memory, draw_words(random_bits.LaneKey(jnp.uint32(3), jnp.uint32(4))))
    assert move.dtype == jnp.int32 and not move.weak_type
    for leaf, fresh in zip(jax.tree.leaves(after), jax.tree.leaves(init_memory()), strict=True):
        assert leaf.dtype == fresh.dtype == jnp.int8 and not leaf.weak_type


@pytest.mark.slow
@pytest.mark.parametrize("mode, recording", [("ffa", "ffa_simple"), ("radio", "radio")])
def test_all_seats_decide_as_each_would_alone(mode, recording):
    config = preset(mode)
    arrays = dict(np.load(RECORDED / f"{recording}.npz"))
    states = jax.tree.map(jnp.asarray, from_arrays(config, {name: arrays[name][:200] for name in STATE_FIELDS}))
    lanes = random_bits.fold(random_bits.LaneKey(jnp.uint32(9), jnp.uint32(10)), jnp.arange(len(states.step_count)))
    seats = jnp.arange(config.num_players)
    memory = SimpleMemory(tuple(jnp.int8(cell) for cell in (12, 23, 13, -1, -1, -1)), jnp.int8(RIGHT))

    def together(state, lane):
        return _stacked(all_simple_moves(config, state, (memory,) * config.num_players, lane))

    def alone(state, lane, seat):
        return decide(config, observe(config, state, seat), memory, draw_words(lane, seat))

    def two(state, lane):
        memories = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), memory)
        return some_simple_moves(config, state, jnp.array([3, 1]), memories, lane)

    got = jax.jit(jax.vmap(together))(states, lanes)
    wanted = jax.jit(jax.vmap(jax.vmap(alone, in_axes=(None, None, 0)), in_axes=(0, 0, None)))(states, lanes, seats)
    assert equal(got, wanted)
    assert equal(jax.jit(jax.vmap(two))(states, lanes), jax.tree.map(lambda leaf: leaf[:, [3, 1]], got))


def _stacked(decided):
    moves, memories = decided
    return jnp.stack(moves), jax.tree.map(lambda *leaves: jnp.stack(leaves), *memories)


def test_pick_move_is_uniform():
    pick = jax.jit(jax.vmap(pick_move, (None, 0)))
    words = np.asarray(jax.jit(random_bits.bits)(random_bits.LaneKey(np.uint32(1), np.uint32(2)), np.arange(6000)))
    for mask in (0b1, 0b10100, 0b11111, 0b111111, 0b100010):
        picked = np.asarray(pick(np.uint32(mask), words))
        moves = [move for move in range(len(Move)) if mask >> move & 1]
        counted = np.bincount(picked, minlength=len(Move))
        assert counted[moves].sum() == len(words)
        assert stats.chisquare(counted[moves]).pvalue > 1e-4 or len(moves) == 1
    assert (np.asarray(pick(np.uint32(0), words)) == STOP).all()
