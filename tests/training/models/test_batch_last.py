"""Layers with the batch innermost: equal to those of JAX and flax with features innermost, gradients included."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from jaxgames.platforms import for_all_platforms
from training.models.networks import batch_last

SHAPES = [(6, 3, 5, 7), (2, 1, 1, 1), (3, 2, 1, 4)]  # [C, H, W, B]


def normal(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def with_features_last(inputs):
    return jnp.moveaxis(inputs, (0, 3), (3, 0))


def plain_convolution(inputs, kernel, groups=1):
    """As JAX has it, with JAX's gradient."""
    found = jax.lax.conv_general_dilated(
        with_features_last(inputs),
        kernel,
        (1, 1),
        "SAME",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        feature_group_count=groups,
    )
    return with_features_last(found)


@functools.partial(jax.jit, static_argnums=0)
def pull(function, weights, *arguments):
    """The value, and the gradient of its weighted sum by each argument."""
    value, back = jax.vjp(function, *arguments)
    return value, *back(weights)


def assert_same(ours, theirs):
    for one, other in zip(ours, theirs, strict=True):
        assert one.shape == other.shape and one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("most_moved", [0, 1 << 20], ids=["large", "small"])
@pytest.mark.parametrize("shape, features", [
    (SHAPES[0], 4), (SHAPES[0], 9), *(pytest.param(*sizes, marks=pytest.mark.slow) for sizes in ((SHAPES[0], 1), (SHAPES[1], 4))),
    pytest.param(SHAPES[2], 1, marks=pytest.mark.slow),
])  # fmt: skip
def test_convolution(monkeypatch, shape, features, most_moved):
    """Small arrays go through one product; large ones, and all on an accelerator, through a convolution.

    With fewer features than channels, or more: the CPU moves after the product or before it.
    """
    monkeypatch.setattr(batch_last, "_MOST_MOVED", most_moved)
    inputs, kernel = normal(0, *shape), normal(1, 3, 3, shape[0], features)
    weights = normal(2, features, *shape[1:])
    with for_all_platforms():
        text = str(jax.make_jaxpr(lambda x: batch_last.convolve(x, kernel))(inputs))
    assert ("platform_index" in text) == (most_moved > 0)

    def ours(inputs, kernel):
        return batch_last.convolve(inputs, kernel)

    assert_same(pull(ours, weights, inputs, kernel), pull(plain_convolution, weights, inputs, kernel))


@pytest.mark.parametrize("most_moved", [0, 1 << 20], ids=["large", "small"])
@pytest.mark.parametrize("features", [4, *(pytest.param(count, marks=pytest.mark.slow) for count in (1, 9))])
def test_convolution_without_a_border(monkeypatch, features, most_moved):
    monkeypatch.setattr(batch_last, "_MOST_MOVED", most_moved)
    inputs, kernel, weights = normal(0, 6, 4, 5, 7), normal(1, 3, 3, 6, features), normal(2, features, 2, 3, 7)

    def theirs(inputs, kernel):
        return plain_convolution(inputs, kernel)[:, 1:-1, 1:-1]

    found = pull(functools.partial(batch_last.convolve, border=0), weights, inputs, kernel)
    assert_same(found, pull(theirs, weights, inputs, kernel))


@pytest.mark.parametrize("shape", SHAPES)
def test_depthwise_convolution(shape):
    inputs, kernel, weights = normal(0, *shape), normal(1, 3, 3, shape[0]), normal(2, *shape)

    def grouped(inputs, kernel):
        return plain_convolution(inputs, kernel[:, :, None], groups=shape[0])

    assert_same(pull(batch_last.convolve_depthwise, weights, inputs, kernel), pull(grouped, weights, inputs, kernel))


@pytest.mark.parametrize("bias", [False, True])
def test_dense_is_flax_linear(bias):
    inputs, weights = normal(0, 6, 3, 5, 7), normal(1, 4, 3, 5, 7)
    ours = batch_last.Dense(6, 4, bias=bias, rngs=nnx.Rngs(0))
    theirs = nnx.Linear(6, 4, use_bias=bias, rngs=nnx.Rngs(0))
    theirs.kernel[...] = ours.kernel[...]
    if bias:
        ours.bias[...] = theirs.bias[...] = normal(2, 4)
    linear = pull(lambda x: with_features_last(theirs(with_features_last(x))), weights, inputs)
    assert_same(pull(lambda x: ours(x), weights, inputs), linear)
    assert_same([ours(inputs[:, 0, 0])], [theirs(inputs[:, 0, 0].T).T])


@pytest.mark.parametrize("groups", [1, 2, 6])
def test_group_norm_is_that_of_flax(groups):
    inputs, weights, scale, bias = 3 + 2 * normal(0, 6, 3, 5, 7), normal(1, 6, 3, 5, 7), normal(2, 6), normal(3, 6)

    def ours(inputs, scale, bias):
        module = batch_last.GroupNorm(6, groups)
        module.scale[...], module.bias[...] = scale, bias
        return module(inputs)

    def theirs(inputs, scale, bias):
        module = nnx.GroupNorm(6, num_groups=groups, rngs=nnx.Rngs(0))
        module.scale[...], module.bias[...] = scale, bias
        return with_features_last(module(with_features_last(inputs)))

    arguments = jnp.asarray(inputs), jnp.asarray(scale), jnp.asarray(bias)
    assert_same(pull(ours, weights, *arguments), pull(theirs, weights, *arguments))


def test_gradients_in_half_precision_have_the_types_of_what_they_are_of():
    """A bias of bfloat16 could not be added up over the parts of a large batch."""
    inputs, scale, bias = jnp.asarray(normal(0, 4, 3, 3, 2)), jnp.asarray(normal(1, 4)), jnp.asarray(normal(2, 4))

    def total(inputs, scale, bias):
        return (batch_last.normalize(inputs, scale, bias, 2).astype(jnp.float32) * jnp.asarray(weights)).sum()

    weights = normal(3, 4, 3, 3, 2)
    whole = jax.grad(total, (0, 1, 2))(inputs, scale, bias)
    half = jax.grad(total, (0, 1, 2))(inputs.astype(jnp.bfloat16), scale, bias)
    assert [leaf.dtype for leaf in half] == [jnp.bfloat16, jnp.float32, jnp.float32]
    for one, other in zip(half, whole, strict=True):
        np.testing.assert_allclose(one.astype(jnp.float32), other, atol=0.1)


def test_a_board_without_contrast_stays_finite():
    def flat(inputs):
        return batch_last.normalize(inputs, jnp.ones(4), jnp.zeros(4), 2)

    value, gradient = pull(flat, normal(0, 4, 3, 3, 2), jnp.full((4, 3, 3, 2), 1e3))
    assert np.isfinite(value).all() and np.isfinite(gradient).all()
