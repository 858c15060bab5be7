"""The light network: against the same in plain numpy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from training.models.networks import presets
from training.models.networks.light import LightConfig, make, mean_by_adding, moved

SHAPE, PER_CELL = (4, 3, 5), 2
CONFIG = LightConfig(width=8, blocks=2, value_planes=2, value_width=6)


def reference(params, planes):
    """One board [H, W, C]."""
    relu = lambda x: np.maximum(x, 0)  # noqa: E731
    dense = lambda part, x: x @ part["kernel"] + part.get("bias", 0)  # noqa: E731
    height, wide, _ = planes.shape
    features = relu(dense(params["stem"], planes))
    for number in range(CONFIG.blocks):
        block = params["blocks"][number]
        seen = np.zeros_like(features)
        for row in range(height):
            for column in range(wide):
                near = np.zeros(CONFIG.width)
                # What comes from below, above, the right and the left: a quarter of the features each.
                for quarter, (down, right) in enumerate([(1, 0), (-1, 0), (0, 1), (0, -1)]):
                    part = slice(2 * quarter, 2 * quarter + 2)
                    if 0 <= row + down < height and 0 <= column + right < wide:
                        near[part] = features[row + down, column + right, part]
                lines = dense(block["row"], features[row].mean(0)) + dense(block["column"], features[:, column].mean(0))
                board = dense(block["board"], features.mean((0, 1)))
                seen[row, column] = block["own"] * features[row, column] + block["near"] * near + lines + board
        features = features + dense(block["project"], relu(seen))
    features = relu(features)
    logits = (features @ params["policy"]["kernel"] + params["policy_bias"]).reshape(-1)
    board = relu(dense(params["value_planes"], features))
    hidden = relu(dense(params["value_hidden"], np.concatenate([board.transpose(2, 0, 1).reshape(-1), features.mean((0, 1))])))
    return logits, np.tanh(dense(params["value"], hidden))[0]


def test_it_computes_what_it_says():
    network = make(CONFIG, SHAPE, 4 * 3 * PER_CELL)
    draw = np.random.default_rng(1)
    shapes = jax.eval_shape(network.init, jax.random.key(0))
    params = jax.tree.map(lambda leaf: draw.normal(0, 0.5, leaf.shape).astype(np.float32), shapes)
    planes = draw.normal(size=(3, *SHAPE)).astype(np.float32)
    logits, values = jax.device_get(jax.jit(network.apply)(params, planes))
    plain = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), params)
    for board, *found in zip(np.asarray(planes, np.float64), logits, values, strict=True):
        expected = reference(plain, board)
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-3, atol=1e-3)
        assert found[1] == pytest.approx(expected[1], abs=1e-3)


def test_features_move_by_a_cell_and_drop_out_at_the_border():
    field = np.zeros((4, 3, 3, 1), np.float32)
    field[:, 1, 1] = 1
    once = jax.jit(moved)
    ends = [tuple(int(x) for x in np.argwhere(part)[0][:2]) for part in np.asarray(once(field))]
    assert ends == [(0, 1), (2, 1), (1, 0), (1, 2)]
    assert not np.asarray(once(once(field))).any()


def test_the_gradient_of_a_mean():
    values = jax.random.normal(jax.random.key(3), (2, 3, 4))
    found, expected = (
        jax.jit(jax.grad(lambda x, mean=mean: jnp.sin(mean(x)).sum()))(values)
        for mean in (lambda x: mean_by_adding(x, 1), lambda x: x.mean(1))
    )
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_presets():
    for name in ("light", "light_small"):
        network = presets.by_name(name, (10, 10, 30), 3600)
        size = sum(leaf.size for leaf in jax.tree.leaves(jax.eval_shape(network.init, jax.random.key(0))))
        assert 10_000 < size < 40_000
    with pytest.raises(ValueError, match=r"^network='light': gives the same number of outputs for each of 3 x 3 cells"):
        presets.by_name("light", (3, 3, 4), 10)
    with pytest.raises(ValueError, match=r"^width=6: must be a multiple of 4$"):
        LightConfig(width=6)
