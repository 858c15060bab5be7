"""RISEv2-mobile: sizes of the paper's network, and what the outputs depend on."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.training.tiny import drawn
from training.models.networks import presets, rise
from training.models.networks.rise import PRESETS, RiseConfig

SMALL = RiseConfig(width=8, blocks=2, inside=8, inside_step=4, excited=1, value_planes=4, value_width=6, groups=4)
SHAPE, PLANES = (3, 4, 5), 2


@functools.lru_cache
def small(dtype="float32"):
    """A small network, its parameters (no part of it is zero), and its compiled function."""
    network = rise.make(dataclasses.replace(SMALL, dtype=dtype), SHAPE, 12 * PLANES)
    params = jax.tree.map(lambda leaf: leaf + np.float32(0.1) * normal(leaf.size, *leaf.shape), drawn(network.init))
    return network, params, jax.jit(network.apply)


def normal(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def count(params):
    return sum(leaf.size for leaf in jax.tree.leaves(params))


# --- sizes -------------------------------------------------------------------------------------------------------------


def test_size_of_the_papers_network():
    """29 planes of 10 x 10 cells, 36 policy planes: see section 2 of our notes on the paper."""
    params = jax.eval_shape(presets.by_name("rise", (10, 10, 29), 3600).init, jax.random.key(0))
    heads = {head: count({name: part for name, part in params.items() if name.startswith(head)}) for head in ("policy", "value")}
    inside = [128 + 64 * number for number in range(13)]
    blocks = sum(2 * 256 * width + 9 * width + 2 * (2 * width + 256) for width in inside)
    excitation = 5 * (2 * 256 * 128 + 128 + 256)
    assert heads["policy"] == 9 * 256 * 256 + 2 * 256 + 9 * 256 * 36 + 36  # 0.67 M
    assert heads["value"] == 256 * 8 + 2 * 8 + 800 * 256 + 256 + 256 + 1  # 0.21 M
    assert count(params) - sum(heads.values()) == 9 * 29 * 256 + 2 * 256 + blocks + excitation == 3_897_984


@pytest.mark.slow
def test_squeeze_and_excitation_is_in_the_last_blocks():
    for name, config in PRESETS.items():
        params = jax.eval_shape(presets.by_name(name, (5, 5, 8), 25).init, jax.random.key(0))
        assert len(params["blocks"]) == config.blocks
        excited = ["excitation" in params["blocks"][number] for number in range(config.blocks)]
        assert excited == [number >= config.blocks - config.excited for number in range(config.blocks)]
        assert all(leaf.dtype == jnp.float32 for leaf in jax.tree.leaves(params))


# --- outputs -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_shapes_and_bounds():
    _, params, apply = small()
    logits, values = apply(params, 5 * normal(3, 16, *SHAPE))
    assert logits.shape == (16, 3 * 4 * PLANES) and values.shape == (16,)
    assert logits.dtype == values.dtype == jnp.float32
    assert (np.abs(values) < 1).all() and len(np.unique(values)) == 16 and np.isfinite(logits).all()


def test_logits_lie_cell_by_cell():
    """Mirrored kernels make a mirrored board's logits those of the board, mirrored; the planes of a cell stand together."""
    _, params, apply = small()

    def mirrored(path, leaf):
        return (leaf + leaf[:, ::-1]) / 2 if leaf.ndim >= 3 else leaf

    params = jax.tree_util.tree_map_with_path(mirrored, params)
    boards = normal(4, 4, *SHAPE)
    logits = apply(params, boards)[0].reshape(4, *SHAPE[:2], PLANES)
    turned = apply(params, boards[:, :, ::-1])[0].reshape(4, *SHAPE[:2], PLANES)
    np.testing.assert_allclose(turned, logits[:, :, ::-1], rtol=1e-3, atol=1e-4)
    assert not np.allclose(turned, logits, atol=0.1)
    raised = apply(params | {"policy_bias": params["policy_bias"] + np.array([0, 7], np.float32)}, boards)[0]
    np.testing.assert_allclose(raised - logits.reshape(4, -1), np.tile([0, 7], (4, 12)), atol=1e-4)


def test_one_board_does_not_see_the_others():
    _, params, apply = small()
    boards = normal(5, 4, *SHAPE)
    others = np.concatenate([boards[:1], normal(6, 3, *SHAPE)])
    for one, other in zip(apply(params, boards), apply(params, others), strict=True):
        np.testing.assert_allclose(one[0], other[0], rtol=1e-5, atol=1e-6)
        assert not np.allclose(one[1:], other[1:], atol=1e-2)


@pytest.mark.slow  # to compile
def test_half_precision_is_near():
    _, params, apply = small()
    boards = normal(7, 4, *SHAPE)
    for half, whole in zip(small("bfloat16")[2](params, boards), apply(params, boards), strict=True):
        assert half.dtype == jnp.float32
        np.testing.assert_allclose(half, whole, atol=0.15)
        assert not np.array_equal(half, whole)


@pytest.mark.slow  # to compile
def test_half_precision_learns_from_more_boards_than_go_through_at_a_time():
    boards = normal(7, 33, *SHAPE)

    def gradient(dtype):
        _, params, apply = small(dtype)
        return jax.jit(jax.grad(lambda p: sum(jnp.square(out).sum() for out in apply(p, boards))))(params)

    half, whole = gradient("bfloat16"), gradient("float32")
    for one, other in zip(jax.tree.leaves(half), jax.tree.leaves(whole), strict=True):
        assert one.dtype == jnp.float32
        assert (one * other).sum() > 0.95 * jnp.linalg.norm(one) * jnp.linalg.norm(other)


def test_half_precision_computes_in_it():
    _, params, apply = small("bfloat16")
    text = str(jax.make_jaxpr(apply)(params, normal(7, 4, *SHAPE)))
    products = [line for line in text.splitlines() if "dot_general" in line or "conv_general_dilated" in line]
    whole = [line for line in products if ":f32" in line.split("=")[0]]
    assert len(products) > 8 and len(whole) == 1  # the value's last layer


def test_every_parameter_matters():
    _, params, apply = small()
    boards = normal(8, 4, *SHAPE)

    @jax.jit
    def gradient(params):
        return jax.grad(lambda p: sum(jnp.square(out).sum() for out in apply(p, boards)))(params)

    for path, leaf in jax.tree_util.tree_leaves_with_path(gradient(params)):
        assert np.isfinite(leaf).all() and np.abs(leaf).max() > 1e-6, path


# --- settings ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"width": 0}, "width=0: must be >= 1"),
        ({"blocks": 0}, "blocks=0: must be >= 1"),
        ({"excited": 14}, "excited=14: must be in 0..13, the number of blocks"),
        ({"excited": -1}, "excited=-1: must be in 0..13, the number of blocks"),
        ({"inside_step": -8}, "inside_step=-8: must be >= 0"),
        ({"width": 100}, "width=100: must be a multiple of groups=8"),
        ({"inside_step": 4}, "inside_step=4: must be a multiple of groups=8"),
        ({"value_planes": 4}, "value_planes=4: must be a multiple of groups=8"),
        ({"dtype": "float16"}, "dtype='float16': must be float32 or bfloat16"),
    ],
)
def test_bad_settings(values, message):
    with pytest.raises(ValueError) as error:  # noqa: PT011
        RiseConfig(**values)
    assert str(error.value) == message


def test_outputs_that_are_not_the_same_for_each_cell():
    told = "network='tiny': gives the same number of outputs for each of 3 x 4 cells, and there are 6: take one of paper, "
    with pytest.raises(ValueError, match=told):
        presets.by_name("tiny", SHAPE, 6)
