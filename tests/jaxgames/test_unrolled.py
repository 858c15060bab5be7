"""Functions of vectors, taken apart into numbers, do the same to every lane."""

import jax
import numpy as np
import pytest
from jax import numpy as jnp

from jaxgames.unrolled import unrolled

LANES = 37


def _words(rng, count=3):
    return [rng.integers(0, 2**32, LANES, dtype=np.uint32) for _ in range(count)]


def _same(function, *arguments):
    """What `unrolled` gives of all lanes is what `vmap` gives, leaf by leaf."""
    got, wanted = jax.jit(unrolled(function))(*arguments), jax.jit(jax.vmap(function))(*arguments)
    assert jax.tree.structure(got) == jax.tree.structure(wanted)
    for one, other in zip(jax.tree.leaves(got), jax.tree.leaves(wanted), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def test_vectors_are_stacked_moved_and_reduced():
    def function(a, b, c):
        rows = jnp.stack([jnp.stack([a, b, c]), jnp.stack([c, a ^ b, a + 1])])
        turned = jnp.concatenate([rows.T, rows.T[::2]], axis=0)
        flags = turned > np.arange(10, dtype=np.uint32).reshape(5, 2)
        return {
            "or": jnp.bitwise_or.reduce(rows, axis=None),
            "and": jnp.bitwise_and.reduce(rows, axis=0)[2],
            "sum": turned.sum(0)[1],
            "most": turned[1:4].max(),
            "least": turned.min(1)[-1],
            "any": (rows[0] == rows[1]).any(),
            "all": flags.all(),
            "count": jax.lax.population_count(rows[1] & ~rows[0]).sum().astype(jnp.int8),
            "chosen": jnp.where(flags, turned, jnp.zeros_like(turned) + b)[3, 1],
            "constant": jnp.uint32(5),
        }

    _same(function, *_words(np.random.default_rng(0)))


def test_loops_end_when_the_last_lane_is_done():
    """How often a lane goes round depends on its bits; one that is done stays as it is."""

    @jax.jit
    def function(a, flag):
        def body(carry):
            words, rounds, _ = carry
            lowest = words & -words
            return words ^ lowest, rounds + (words != 0).astype(jnp.int32), ((words ^ lowest) != 0).any()

        words = jnp.stack([a, a >> 3, jnp.where(flag, a, jnp.uint32(0))])
        left, rounds, _ = jax.lax.while_loop(lambda carry: carry[2], body, (words, jnp.zeros(3, jnp.int32), jnp.bool_(True)))
        return jnp.bitwise_or.reduce(left), rounds.sum(), rounds[1]

    rng = np.random.default_rng(1)
    _same(function, np.append(_words(rng, 1)[0][1:], np.uint32(0)), rng.random(LANES) < 0.5)


def test_what_cannot_be_taken_apart_is_named():
    with pytest.raises(NotImplementedError, match="operation sort: cannot be unrolled"):
        unrolled(lambda a, b: jnp.sort(jnp.stack([a, b]))[0])(*_words(np.random.default_rng(2), 2))
