"""Layers for many small boards: arrays are [C, H, W, B], with the batch innermost.

A board has few cells and a small network few features, but a search asks for hundreds of boards at once. With the batch
innermost, every norm, shift and sum runs along it in whole vectors, and a product has all cells of all boards as its columns:
on a CPU a small network takes 0.4 of the time that it takes with features innermost. Accelerators choose their own layout.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array

from training.models.networks import convolution

_INITIAL = nnx.initializers.xavier_uniform()
_SIZE = 3
_MOST_MOVED = 3 << 19  # floats that fit into a core's cache


def dense(inputs: Array, kernel: Array) -> Array:
    """Multiplies the features of each place: [C, ...] by [C, D] gives [D, ...]."""
    flat = kernel.T @ inputs.reshape(inputs.shape[0], -1)
    return flat.reshape(kernel.shape[1], *inputs.shape[1:])


def convolve(inputs: Array, kernel: Array) -> Array:
    """Convolves with zero padding: small arrays on a CPU by one product, which takes half of the time there.

    Args:
      inputs: [C, H, W, B].
      kernel: [3, 3, C, D].

    Returns:
      [D, H, W, B].
    """
    moved = _SIZE * _SIZE * min(kernel.shape[2:]) * inputs[0].size
    if moved > _MOST_MOVED:
        return _with_features_last(inputs, kernel)
    return jax.lax.platform_dependent(inputs, kernel, cpu=_by_one_product, default=_with_features_last)


def _with_features_last(inputs: Array, kernel: Array) -> Array:
    return jnp.moveaxis(convolution.convolve(jnp.moveaxis(inputs, (0, 3), (3, 0)), kernel), (3, 0), (0, 3))


@jax.custom_vjp
def _by_one_product(inputs: Array, kernel: Array) -> Array:
    """Moves before the product or after it, whichever moves less."""
    channels, features = kernel.shape[2:]
    if channels <= features:
        return dense(_columns(inputs), kernel.reshape(-1, features))
    parts = dense(inputs, kernel.transpose(2, 0, 1, 3).reshape(channels, -1))
    parts = parts.reshape(_SIZE, _SIZE, features, *inputs.shape[1:])
    moved = [part[row, column] for row, column, part in _windows(parts)]
    return sum(moved[1:], moved[0])


def _forward(inputs: Array, kernel: Array) -> tuple[Array, tuple[Array, Array]]:
    return _by_one_product(inputs, kernel), (inputs, kernel)


def _backward(saved: tuple[Array, Array], gradient: Array) -> tuple[Array, Array]:
    inputs, kernel = saved
    for_inputs = _by_one_product(gradient, jnp.swapaxes(kernel[::-1, ::-1], 2, 3))
    columns = _columns(inputs)
    for_kernel = columns.reshape(columns.shape[0], -1) @ gradient.reshape(gradient.shape[0], -1).T
    return for_inputs, for_kernel.reshape(kernel.shape)


_by_one_product.defvjp(_forward, _backward)


@jax.custom_vjp
def convolve_depthwise(inputs: Array, kernel: Array) -> Array:
    """Convolves each feature by itself, with zero padding: nine products, which XLA fuses.

    Args:
      inputs: [C, H, W, B].
      kernel: [3, 3, C].

    Returns:
      [C, H, W, B].
    """
    parts = [window * kernel[row, column][:, None, None, None] for row, column, window in _windows(inputs)]
    return sum(parts[1:], parts[0])


def _depthwise_forward(inputs: Array, kernel: Array) -> tuple[Array, tuple[Array, Array]]:
    return convolve_depthwise(inputs, kernel), (inputs, kernel)


def _depthwise_backward(saved: tuple[Array, Array], gradient: Array) -> tuple[Array, Array]:
    inputs, kernel = saved
    flat = inputs.shape[0], -1
    for_kernel = jnp.stack([jnp.vecdot(window.reshape(flat), gradient.reshape(flat)) for _, _, window in _windows(inputs)])
    return convolve_depthwise(gradient, kernel[::-1, ::-1]), for_kernel.reshape(kernel.shape)


convolve_depthwise.defvjp(_depthwise_forward, _depthwise_backward)


def normalize(inputs: Array, groups: int, epsilon: float = 1e-6) -> Array:
    """Group normalization without scale and bias: each group of features of a board gets mean 0 and variance 1.

    Args:
      inputs: [C, H, W, B]; statistics are float32.
      groups: divides C.
      epsilon: added to variances.
    """
    features, *board = inputs.shape
    grouped = inputs.astype(jnp.float32).reshape(groups, features // groups, *board)
    mean = grouped.mean((1, 2, 3), keepdims=True)
    variance = jnp.maximum(jnp.square(grouped).mean((1, 2, 3), keepdims=True) - jnp.square(mean), 0.0)
    return ((grouped - mean) * jax.lax.rsqrt(variance + epsilon)).reshape(inputs.shape)


def _per_feature(values: Array, batch: int) -> Array:
    """[C] beside [C, H, W, B]; by a product, so that its gradient is one too, and not a slow sum."""
    return jnp.outer(values, jnp.ones(batch, values.dtype))[:, None, None]


def _windows(inputs: Array) -> list[tuple[int, int, Array]]:
    """The inputs [..., H, W, B] moved by each offset of a kernel: (row, column, [..., H, W, B])."""
    *_, height, width, _ = inputs.shape
    padded = jnp.pad(inputs, [(0, 0)] * (inputs.ndim - 3) + [(1, 1), (1, 1), (0, 0)])
    places = [(row, column) for row in range(_SIZE) for column in range(_SIZE)]
    return [(row, column, padded[..., row : row + height, column : column + width, :]) for row, column in places]


def _columns(inputs: Array) -> Array:
    """What each cell's kernel sees: [C, H, W, B] -> [9 * C, H, W, B]."""
    return jnp.concatenate([window for _, _, window in _windows(inputs)])


class Dense(nnx.Module):
    """Multiplies the features of each place: [C, ...] -> [D, ...]."""

    def __init__(self, channels: int, features: int, *, bias: bool = False, rngs: nnx.Rngs) -> None:
        self.kernel = nnx.Param(_INITIAL(rngs.params(), (channels, features), jnp.float32))
        self.bias = nnx.Param(jnp.zeros(features, jnp.float32)) if bias else None

    def __call__(self, inputs: Array) -> Array:
        found = dense(inputs, self.kernel[...].astype(inputs.dtype))
        if self.bias is None:
            return found
        bias = self.bias[...].astype(inputs.dtype)
        return found + bias.reshape(-1, *[1] * (inputs.ndim - 1))


class Convolution(nnx.Module):
    """A 3 x 3 convolution without bias: [C, H, W, B] -> [D, H, W, B]."""

    def __init__(self, channels: int, features: int, *, rngs: nnx.Rngs) -> None:
        self.kernel = nnx.Param(_INITIAL(rngs.params(), (_SIZE, _SIZE, channels, features), jnp.float32))

    def __call__(self, inputs: Array) -> Array:
        return convolve(inputs, self.kernel[...].astype(inputs.dtype))


class Depthwise(nnx.Module):
    """A 3 x 3 convolution of each feature by itself."""

    def __init__(self, features: int, *, rngs: nnx.Rngs) -> None:
        # Xavier's bound for nine inputs and nine outputs.
        scale = (6 / (2 * _SIZE * _SIZE)) ** 0.5
        self.kernel = nnx.Param(jax.random.uniform(rngs.params(), (_SIZE, _SIZE, features), jnp.float32, -scale, scale))

    def __call__(self, inputs: Array) -> Array:
        return convolve_depthwise(inputs, self.kernel[...].astype(inputs.dtype))


class GroupNorm(nnx.Module):
    """Group normalization with a scale and a bias per feature."""

    def __init__(self, features: int, groups: int) -> None:
        self.groups = groups
        self.scale = nnx.Param(jnp.ones(features, jnp.float32))
        self.bias = nnx.Param(jnp.zeros(features, jnp.float32))

    def __call__(self, inputs: Array) -> Array:
        normal, batch = normalize(inputs, self.groups), inputs.shape[3]
        return (normal * _per_feature(self.scale[...], batch) + _per_feature(self.bias[...], batch)).astype(inputs.dtype)
