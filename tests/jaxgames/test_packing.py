"""Rows of words hold trees of small numbers without loss."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import jaxgames
from jaxgames.packing import packed_flags, packing_of
from tests.jaxgames.pommerman.positions import equal

WIDTHS = {"bool": 1, "int8": 8, "uint8": 8, "float16": 16, "int16": 16, "uint16": 16, "int32": 32, "uint32": 32, "float32": 32}


@st.composite
def leaves(draw):
    """An array of one of the types, of any values, NaN and infinities included."""
    dtype = np.dtype(draw(st.sampled_from(tuple(WIDTHS))))
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3))
    return draw(hnp.arrays(dtype, shape))


@settings(max_examples=6)
@given(st.lists(leaves(), min_size=1, max_size=4))
@example([np.array([1.5, -0.1, 1e-40, np.nan], np.float32), np.array(-3, np.int8)])
def test_what_is_packed_is_unpacked(arrays):
    tree = {"first": arrays[0], "others": tuple(arrays[1:])}
    packing = packing_of(tree)
    words = jax.jit(packing.pack)(tree)
    bits = {width: width * sum(a.size for a in arrays if WIDTHS[a.dtype.name] == width) for width in (1, 8, 16, 32)}
    assert words.dtype == jnp.uint32 and words.shape == (packing.num_words,) == (sum(-(-n // 32) for n in bits.values()),)
    unpacked = jax.jit(packing.unpack)(words)
    assert jax.tree.structure(unpacked) == jax.tree.structure(tree)
    for back, array in zip(jax.tree.leaves(unpacked), jax.tree.leaves(tree), strict=True):
        assert back.dtype == array.dtype and back.shape == array.shape
        assert np.asarray(back).tobytes() == array.tobytes(), "bit for bit, also of a NaN"


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn])
def test_small_floats(dtype):
    """Every one of them, NaN with all its bits too; two or four to a word."""
    count = 2 ** (8 * np.dtype(dtype).itemsize)
    every = np.arange(count, dtype=np.uint32).astype(f"uint{8 * np.dtype(dtype).itemsize}").view(dtype)
    packing = packing_of(every)
    back = np.asarray(jax.jit(lambda tree: packing.unpack(packing.pack(tree)))(every))
    assert packing.num_words == every.nbytes // 4
    assert back.dtype == dtype and back.tobytes() == every.tobytes()


def test_what_cannot_be_packed_is_refused():
    with pytest.raises(ValueError, match="leaf of type float64: must be of bools, or of numbers of 8, 16 or 32 bits"):
        packing_of({"a": np.zeros(2)})


def test_samples_of_a_game():
    """What the follower's buffer holds, in a batch."""
    game = jaxgames.make("hex", "adh-3")
    observe = jax.jit(jax.vmap(lambda key: game.observe(game.init(key), jnp.int32(1))))
    target = np.random.default_rng(1).random((3, 6), np.float32)
    observations = observe(jax.random.split(jax.random.key(0), 3))
    samples = {"seen": observations, "target": target, "value": np.array([0.25, -0.0, 1], np.float32)}
    packing = packing_of(jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), samples))
    words = jax.jit(jax.vmap(packing.pack))(samples)
    assert words.shape == (3, packing.num_words)
    back = jax.jit(jax.vmap(packing.unpack))(words)
    assert equal(back, samples) and np.signbit(back["value"][1])


def test_a_packing_may_be_a_static_argument():
    tree = {"a": jnp.zeros(3), "b": jnp.int8(1)}
    assert packing_of(tree) == packing_of(jax.eval_shape(lambda: tree))
    assert hash(packing_of(tree)) == hash(packing_of(jax.tree.map(jnp.copy, tree)))
    assert packing_of(tree) != packing_of({"a": jnp.zeros(3), "b": jnp.int32(1)})


def test_flags_in_a_word():
    flags = np.random.default_rng(0).random(32) < 0.5
    assert int(packed_flags([jnp.bool_(flag) for flag in flags])) == sum(int(flag) << index for index, flag in enumerate(flags))
