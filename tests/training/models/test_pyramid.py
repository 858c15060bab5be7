"""The pyramid: its sizes, and what its outputs depend on; and that a CPU works on large batches in parts."""

import functools

import jax
import numpy as np
import pytest

from training.models.networks import network, presets, pyramid
from training.models.networks.pyramid import PyramidConfig

SHAPE, ACTIONS = (7, 9, 3), 5
SMALL = PyramidConfig(widths=(4, 6), from_layer=1, hidden=8)


def normal(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


@functools.lru_cache
def small():
    """A small network, its parameters (no part of it is zero), and its compiled function."""
    made = pyramid.make(SMALL, SHAPE, ACTIONS)
    drawn = jax.device_get(jax.jit(made.init)(jax.random.key(0)))
    assert not np.any(drawn["value"]["kernel"]), "no opinion before it has learnt"
    params = jax.tree.map(lambda leaf: leaf + np.float32(0.1) * normal(leaf.size, *leaf.shape), drawn)
    return made, params, jax.jit(made.apply)


def test_sizes():
    """Each layer takes a cell off every side; the heads see the cells of the last layer and all planes of the middle."""
    _, params, _ = small()
    assert [params["layers"][number]["kernel"].shape for number in range(2)] == [(3, 3, 3, 4), (3, 3, 4, 6)]
    assert params["first"]["kernel"].shape == (3 * 5 * 6 + 3, 8) and params["policy"]["kernel"].shape == (16, ACTIONS)
    shipped = jax.eval_shape(presets.by_name("pyramid", (11, 11, 23), 6).init, jax.random.key(0))
    seen = 49 * 16 + 25 * 32 + 9 * 32 + 23
    layers = 9 * (23 * 16 + 16 * 16 + 16 * 32 + 32 * 32) + 16 + 16 + 32 + 32
    assert sum(leaf.size for leaf in jax.tree.leaves(shipped)) == layers + (seen + 1) * 64 + 65 * 64 + 129 * 7 == 145_943


def test_every_parameter_and_every_cell_counts():
    made, params, apply = small()
    planes = normal(1, 4, *SHAPE)

    @jax.jit
    @functools.partial(jax.grad, argnums=(0, 1))
    def gradients(params, planes):
        logits, value = made.apply(params, planes)
        return (logits * normal(2, 4, ACTIONS)).sum() + value.sum()

    by_params, by_planes = jax.device_get(gradients(params, planes))
    for path, gradient in jax.tree_util.tree_leaves_with_path(by_params):
        assert np.isfinite(gradient).all() and np.any(gradient), jax.tree_util.keystr(path)
    assert np.any(by_planes, axis=(0, 3)).all()
    logits, value = apply(params, 1e3 * planes)
    assert logits.shape == (4, ACTIONS) and value.shape == (4,) and (np.abs(value) <= 1).all()


def test_parts_of_a_batch_give_the_same_outputs_and_gradients(monkeypatch):
    made, params, _ = small()
    planes, weights = normal(3, 9, *SHAPE), normal(4, 9, ACTIONS)

    def weighted(params):
        logits, value = made.apply(params, planes)
        return (logits * weights).sum() + value.sum(), (logits, value)

    def found(in_parts):
        gradient = jax.grad(lambda params: weighted(params), has_aux=True)  # one that has not been traced yet
        assert ("scan" in str(jax.make_jaxpr(gradient)(params))) == in_parts
        return jax.jit(gradient)(params)

    whole = found(False)
    monkeypatch.setattr(network, "_PART", 4)  # the last part has one board
    jax.tree.map(lambda ours, theirs: np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4), found(True), whole)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"widths": ()}, r"widths=\(\): must be one or more numbers >= 1"),
        ({"widths": (4, 0)}, r"widths=\(4, 0\): must be one or more numbers >= 1"),
        ({"from_layer": 4}, r"from_layer=4: must be in 0\.\.3"),
        ({"hidden": 0}, "hidden=0: must be >= 1"),
    ],
)
def test_impossible_sizes(settings, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        PyramidConfig(**settings)


def test_a_board_that_is_too_small():
    with pytest.raises(
        ValueError,
        match=r"^widths=.*: need a board of at least 9 x 9 cells, and here it is 8 x 8; take fewer, or another network$",
    ):
        presets.by_name("pyramid", (8, 8, 23), 6)
