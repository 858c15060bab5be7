"""A small tree of everything that training keeps, checkpoints of it, and the comparison of trees bit for bit."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax

from training.storage import checkpoints
from training.storage.checkpoints import Checkpoints

META = {"kind": "follower", "game": "pommerman", "version": 2, "rate": 0.1}


def small_tree(seed: int = 0) -> dict:
    """One of everything that training keeps."""
    draw = np.random.default_rng(seed)
    params = {"dense": {"kernel": jnp.asarray(draw.standard_normal((3, 4)), jnp.float32), "bias": jnp.zeros(4, jnp.bfloat16)}}
    return {
        "params": params,
        "optimizer": optax.adam(1e-3).init(params),
        "key": jax.random.key(seed),
        "lanes": [jax.random.split(jax.random.key(seed + 1), (2, 3)), jax.random.key(seed, impl="rbg")],
        "buffer": {
            "planes": jnp.asarray(draw.integers(0, 256, (50, 7, 7)), jnp.uint8),
            "words": jnp.asarray(draw.integers(0, 2**32, 50, dtype=np.uint32)),
            "labels": jnp.asarray(draw.integers(-128, 128, 50), jnp.int8),
            "alive": jnp.asarray(draw.integers(0, 2, (50, 4)), bool),
            "shares": jnp.asarray(draw.random((5, 6)), jnp.float16),
        },
        "odd": jnp.asarray([np.nan, -0.0, np.inf, 1e-45], jnp.float32),
        "empty": jnp.zeros((0, 3), jnp.int32),
        "count": jnp.int32(seed),
        "host": (np.arange(4, dtype=np.int64) << 40, np.float64(0.1)),
    }


def bits(leaf):
    values = checkpoints.to_host(leaf)
    return str(leaf.dtype), leaf.shape, values.tobytes()


def assert_same(tree, expected) -> None:
    """The same structure, types, shapes and bits."""
    assert jax.tree.structure(tree) == jax.tree.structure(expected)
    for leaf, other in zip(jax.tree.leaves(tree), jax.tree.leaves(expected), strict=True):
        assert isinstance(leaf, jax.Array) == isinstance(other, jax.Array)
        assert bits(leaf) == bits(other)


def two_checkpoints(folder: Path) -> None:
    with Checkpoints(folder, META) as saved:
        saved.save(10, small_tree(1))
        saved.save(20, small_tree(2))
