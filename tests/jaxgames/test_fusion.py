"""Loops that see all lanes at once give each lane what it gets alone."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames import fusion
from jaxgames.fusion import all_lanes, any_lane
from jaxgames.platforms import for_all_platforms


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


def test_copies_are_the_same_values():
    """Also of what there is nothing to choose by: empty arrays, keys, nothing."""
    values = {
        "empty": jnp.zeros((2, 0)),
        "key": jax.random.split(jax.random.key(0)),
        "flags": jnp.array([True, False]),
        "words": jnp.array([[7, 2**32 - 1], [0, 1]], jnp.uint32),
        "floats": jnp.array([-1.5, 2.0]),
    }
    assert fusion.copied(values) is values
    with for_all_platforms():
        found = jax.jit(fusion.copied)(values)
        assert fusion.copied({"key": values["key"]})["key"] is values["key"] and fusion.copied(()) == ()
    for name, value in values.items():
        assert found[name].dtype == value.dtype and (found[name] == value).all(), name
