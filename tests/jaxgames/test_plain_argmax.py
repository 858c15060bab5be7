"""`argmax` and `argmin` as they are compiled for CPUs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.processes import output_of

AXES = (0, 1, -1, None)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint32, np.int32, np.float32, jnp.bfloat16])
def test_places_are_those_of_numpy(dtype):
    """Ties among them, the first of which counts."""
    values = np.random.default_rng(0).integers(0, 4, (5, 7, 3)).astype(dtype)
    found = jax.jit(lambda values: [(values.argmax(axis), values.argmin(axis)) for axis in AXES])(values)
    for axis, (highest, lowest) in zip(AXES, found, strict=True):
        assert np.array_equal(highest, values.argmax(axis)) and np.array_equal(lowest, values.argmin(axis))


def test_the_first_of_numbers_that_are_none_counts_and_infinities_do():
    values = np.array([[1, np.nan, 3, np.nan], [-np.inf] * 4, [0, np.inf, -np.inf, np.inf]], np.float32)
    highest, lowest = jax.jit(lambda values: (values.argmax(1), values.argmin(1)))(values)
    assert highest.tolist() == values.argmax(1).tolist() == [1, 0, 1]
    assert lowest.tolist() == values.argmin(1).tolist() == [1, 0, 2]


@pytest.mark.parametrize("dtype, count, highest", [(np.uint8, 200, 199), (np.int8, 200, 100), (np.uint8, 300, 30)])
def test_places_come_in_the_type_that_is_asked_for(dtype, count, highest):
    """Also of more values than the type has numbers, as long as it has that of the highest."""
    place = jax.jit(lambda values: jax.lax.argmax(values, 0, dtype))(np.arange(count) == highest)
    assert place.dtype == dtype and place == highest


@pytest.mark.parametrize("dtype", [np.float32, jnp.bfloat16])
def test_scores_that_are_worked_out_on_the_way(dtype):
    """What is compared with the highest is the same number bit for bit, however many read it."""
    words = np.random.default_rng(0).random((512, 41), np.float32).astype(dtype)

    @jax.jit
    def places(words):
        half = words * 1.7
        scores = jnp.exp(3 * half) * half + jax.lax.rsqrt(half + 0.1) / (words + 0.3) - half * words
        return scores.argmax(-1), scores.argmin(-1), scores.max(-1), scores.min(-1), scores

    highest, lowest, most, least, scores = jax.device_get(places(words))
    rows = np.arange(512)
    assert np.array_equal(highest, scores.argmax(-1)) and np.array_equal(lowest, scores.argmin(-1))
    assert np.array_equal(scores[rows, highest], most) and np.array_equal(scores[rows, lowest], least)


def test_lanes_are_mapped():
    values = np.random.default_rng(1).normal(size=(6, 4, 9)).astype(np.float32)
    found = jax.jit(jax.vmap(lambda one: (one.argmax(), one.argmin(0))))(values)
    assert found[0].tolist() == values.reshape(6, -1).argmax(1).tolist() and np.array_equal(found[1], values.argmin(1))


def test_there_is_no_reduction_over_pairs():
    traced = jax.jit(lambda values: (values.argmax(-1), values.argmin(-1))).trace(np.zeros((4, 9), np.int32))
    here, there = (traced.lower(lowering_platforms=(platform,)).as_text() for platform in ("cpu", "tpu"))
    assert here.count("stablehlo.reduce") == 4 and there.count("stablehlo.reduce") == 2


NEXT_PLAYERS = """
from jaxgames import runtime
runtime.prepare(cores=1)
import jax, jax.numpy as jnp

def after(left, player):
    return (player + 1 + left[(player + 1 + jnp.arange(3)) % 3].argmax()) % 3

def play(left, player):
    def leave(carry):
        left, player, total = carry
        following, another = after(left, player), after(left, player + 1)
        return left & (jnp.arange(3) != following), following, total + another
    return jax.lax.while_loop(lambda carry: carry[0].sum() > 1, leave, (left, player, 0))

left, player, total = jax.jit(jax.vmap(play))(jnp.ones((1, 3), bool), jnp.zeros(1, int))
print(left.tolist(), player.tolist(), total.tolist())
"""


@pytest.mark.slow  # to start a process, which a compiler that fails would end
def test_a_loop_that_looks_twice_for_the_next_player_is_compiled():
    """With pairs XLA's compiler ended the process."""
    assert output_of(NEXT_PLAYERS).strip() == "[[True, False, False]] [2] [2]"
