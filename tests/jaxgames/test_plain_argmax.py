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


def test_places_come_in_the_type_that_is_asked_for():
    place = jax.jit(lambda values: jax.lax.argmax(values, 0, np.uint8))(np.arange(200))
    assert place.dtype == np.uint8 and place == 199


def test_there_is_no_reduction_over_pairs():
    text = jax.jit(lambda values: (values.argmax(-1), values.argmin(-1))).lower(np.zeros((4, 9), np.float32)).as_text()
    assert text.count("stablehlo.reduce") == 4


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


def test_a_loop_that_looks_twice_for_the_next_player_is_compiled():
    """With pairs XLA's compiler ended the process."""
    assert output_of(NEXT_PLAYERS).strip() == "[[True, False, False]] [2] [2]"
