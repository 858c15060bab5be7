"""Loops that see all lanes at once give each lane what it gets alone."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames.fusion import all_lanes, any_lane


@pytest.mark.parametrize("size", [1, 6, 32, 512])
def test_any_lane(size):
    words = np.zeros(size, np.uint32)
    assert not any_lane(jnp.asarray(words))
    for index in {0, size // 2, size - 1}:
        assert any_lane(jnp.asarray(words).at[index].set(1 << 31))


def test_all_lanes_of_a_loop():
    def halve(values, least):
        def go_on(carry):
            values = jnp.where(carry[0] > least, carry[0] >> 1, carry[0])
            return values, carry[0] ^ values

        return jax.lax.while_loop(lambda carry: any_lane(carry[1]), go_on, (values, values))[0]

    mapped, plain = all_lanes(halve), np.random.default_rng(0).integers(0, 2**31, (3, 64)).astype(np.uint32)
    expected = plain.copy()
    while (expected > 5).any():
        expected = np.where(expected > 5, expected >> 1, expected)
    once = jax.jit(jax.vmap(mapped, in_axes=(0, None)))(plain[0], jnp.uint32(5))
    np.testing.assert_array_equal(once, expected[0])
    np.testing.assert_array_equal(
        jax.jit(jax.vmap(jax.vmap(mapped, in_axes=(0, None)), in_axes=(0, None)))(plain, jnp.uint32(5)), expected
    )
    assert mapped(jnp.uint32(plain[1, 7]), jnp.uint32(5)) == expected[1, 7]
