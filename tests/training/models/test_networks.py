"""Networks of followers: the fast convolution against plain ones, sizes, and that elements of a batch do not see each other."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.training.tiny import drawn
from training.models.networks import follower, mobile, presets
from training.models.networks.convolution import Convolution, convolve
from training.models.networks.follower import NetworkConfig
from training.models.networks.mobile import MobileConfig

SHAPE, ARMS = (11, 11, 14), 6
NARROW = {
    "narrow residual": NetworkConfig(width=8, layers=1, residual=True, value_head=True),
    "narrow mobile": MobileConfig(
        width=8, blocks=1, late_width=8, late_blocks=1, policy_planes=4, value_width=8, expansion=1, groups=4
    ),
}
SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("paper_value", "residual", "narrow mobile", "mobile_small")]


def make(name, shape=SHAPE):
    """A network of a preset, or a narrow one, which takes less to compile."""
    if name in NARROW:
        return (follower if name == "narrow residual" else mobile).make(NARROW[name], shape, ARMS)
    return presets.by_name(name, shape, ARMS)


def plain(inputs, kernel):
    """The same convolution as JAX has it, with JAX's gradient."""
    return jax.lax.conv_general_dilated(inputs, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def by_hand(inputs, kernel):
    """As sums over the neighbourhood of each cell, in float64."""
    batch, height, width, _ = inputs.shape
    result = np.zeros((batch, height, width, kernel.shape[-1]))
    for row in range(height):
        for column in range(width):
            for down in (-1, 0, 1):
                for right in (-1, 0, 1):
                    if 0 <= row + down < height and 0 <= column + right < width:
                        cell = inputs[:, row + down, column + right].astype(np.float64)
                        result[:, row, column] += cell @ kernel[1 + down, 1 + right]
    return result


def normal(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("shape", [(3, 11, 11, 14, 32), (2, 8, 8, 32, 5), (1, 2, 5, 3, 4), (4, 1, 1, 2, 2)])
def test_convolution(shape):
    *size, features = shape
    inputs, kernel = normal(0, *size), normal(1, 3, 3, size[-1], features)
    np.testing.assert_allclose(convolve(inputs, kernel), by_hand(inputs, kernel), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("shape", [(3, 11, 11, 14, 32), (2, 8, 8, 32, 5), (1, 2, 5, 3, 4), (4, 1, 1, 2, 2)])
def test_gradients_of_the_convolution(shape):
    *size, features = shape
    inputs, kernel = normal(0, *size), normal(1, 3, 3, size[-1], features)
    gradient = normal(2, *size[:-1], features)

    @functools.partial(jax.jit, static_argnums=0)
    def pull(function):
        value, back = jax.vjp(function, inputs, kernel)
        return value, *back(gradient)

    for ours, theirs in zip(pull(convolve), pull(plain), strict=True):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-3)


def test_a_layer_adds_its_bias():
    from flax import nnx

    layer = Convolution(4, 3, rngs=nnx.Rngs(0))
    layer.bias[...] = jnp.array([1.0, -2.0, 3.0])
    inputs = normal(3, 2, 5, 5, 4)
    np.testing.assert_allclose(layer(inputs), plain(inputs, layer.kernel[...]) + np.array([1, -2, 3]), rtol=1e-5, atol=1e-5)


def count(params):
    return sum(leaf.size for leaf in jax.tree.leaves(params))


def test_size_of_the_papers_network():
    """Four convolutions of 32 features and one linear layer (section 2.2 of our notes on the released code)."""
    params = jax.eval_shape(presets.by_name("paper", SHAPE, ARMS).init, jax.random.key(0))
    assert count(params) == 55_046
    assert count(params) == 14 * 9 * 32 + 32 + 3 * (32 * 9 * 32 + 32) + 121 * 32 * 6 + 6
    assert count(jax.eval_shape(presets.by_name("paper_value", SHAPE, ARMS).init, jax.random.key(0))) == 55_046 + 121 * 32 + 1


_PRESETS = [
    pytest.param(name, marks=pytest.mark.slow) for name in ("paper_value", "compact", "residual", "mobile_small", "mobile")
]


@pytest.mark.parametrize("name", ["paper", *NARROW, *_PRESETS])
def test_form(name):
    network = make(name)
    params = jax.jit(network.init)(jax.random.key(0))
    assert network.has_value == (name != "paper")
    assert {leaf.dtype for leaf in jax.tree.leaves(params)} == {jnp.dtype("float32")}
    logits, value = jax.jit(network.apply)(params, 10 * normal(1, 5, *SHAPE))
    assert (logits.shape, logits.dtype, value.shape, value.dtype) == ((5, 6), jnp.float32, (5,), jnp.float32)
    assert np.isfinite(logits).all() and np.ptp(logits, axis=0).min() > 0
    assert (value == 0).all() or "mobile" in name, "no opinion before it has learnt"
    other = jax.jit(network.init)(jax.random.key(1))
    assert jax.tree.structure(other) == jax.tree.structure(params)
    assert not np.array_equal(jax.jit(network.apply)(other, 10 * normal(1, 5, *SHAPE))[0], logits)


@pytest.mark.parametrize("name", ["narrow residual", *SLOW])
def test_every_parameter_counts(name):
    """Each has an influence on policy or value, and the value stays in [-1, 1]."""
    network = make(name, (8, 8, 14))
    params = jax.device_get(jax.jit(network.init)(jax.random.key(0)))
    params = jax.tree.map(lambda leaf: leaf + 0.05 * normal(leaf.size, *leaf.shape), params)
    planes = normal(1, 4, 8, 8, 14)

    def scalar(params):
        logits, value = network.apply(params, planes)
        return (logits * normal(2, 4, ARMS)).sum() + value.sum()

    gradients = jax.device_get(jax.jit(jax.grad(scalar))(params))
    for path, gradient in jax.tree_util.tree_leaves_with_path(gradients):
        assert np.isfinite(gradient).all() and np.any(gradient), jax.tree_util.keystr(path)
    value = jax.jit(network.apply)(params, 1e4 * planes)[1]
    assert (np.abs(value) <= 1).all() and np.abs(value).max() > 0.5


@pytest.mark.parametrize("name", ["narrow residual", *SLOW])
def test_elements_of_a_batch_do_not_see_each_other(name):
    network = make(name)
    params = drawn(network.init)
    apply, planes = jax.jit(network.apply), normal(1, 6, *SHAPE)
    together = apply(params, planes)
    changed = apply(params, np.where(np.arange(6).reshape(-1, 1, 1, 1) == 3, np.nan, planes))
    for whole, other in zip(together, changed, strict=True):
        np.testing.assert_array_equal(np.delete(whole, 3, axis=0), np.delete(other, 3, axis=0))
    for index in range(6):
        alone = apply(params, planes[index : index + 1])
        for whole, one in zip(together, alone, strict=True):
            np.testing.assert_allclose(whole[index], one[0], rtol=1e-4, atol=1e-5)


def test_same_key_same_parameters():
    network = follower.make(NetworkConfig(width=2, layers=1), (3, 3, 2), ARMS)
    one, again = network.init(jax.random.key(3)), jax.jit(network.init)(jax.random.key(3))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), one, again)


@pytest.mark.parametrize(("settings", "named"), [({"width": 0}, "width=0"), ({"layers": -1}, "layers=-1")])
def test_impossible_sizes(settings, named):
    with pytest.raises(ValueError, match=rf"^{named}: must be >= 1$"):
        NetworkConfig(**settings)


def test_unknown_names():
    with pytest.raises(
        ValueError,
        match=r"^network='vit': must be one of paper, paper_value, compact, residual, tiny, "
        r"small, medium, rise, rise_bf16, light, light_small, mobile, mobile_small, "
        r"pyramid, pyramid_small, arena, arena_small, arena_paper$",
    ):
        presets.by_name("vit", SHAPE, ARMS)
