"""Layers for many small boards: arrays are [C, H, W, B], with the batch innermost.

A board has few cells and a small network few features, but a search asks for hundreds of boards at once. With the batch
innermost, every norm, shift and sum runs along it in whole vectors, and a product has all cells of all boards as its columns:
on a CPU a small network takes 0.4 of the time that it takes with features innermost. Accelerators choose their own layout.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array

from jaxgames.platforms import by_platform
from training.models.networks import convolution

_INITIAL = nnx.initializers.xavier_uniform()
_SIZE = 3
_MOST_MOVED = 3 << 19  # floats that fit into a core's cache


def dense(inputs: Array, kernel: Array) -> Array:
    """Multiplies the features of each place: [C, ...] by [C, D] gives [D, ...]."""
    flat = kernel.T @ inputs.reshape(inputs.shape[0], -1)
    return flat.reshape(kernel.shape[1], *inputs.shape[1:])


def convolve(inputs: Array, kernel: Array, border: int = 1) -> Array:
    """Convolves: small arrays on a CPU by one product, which takes half of the time there.

    Args:
      inputs: [C, H, W, B].
      kernel: [3, 3, C, D].
      border: of zeros around each board: 1 keeps its size; 0: each side loses a cell.

    Returns:
      [D, H, W, B], or [D, H - 2, W - 2, B].
    """
    moved = _SIZE * _SIZE * min(kernel.shape[2:]) * inputs[0].size
    if moved > _MOST_MOVED:
        return _with_features_last(inputs, kernel, border)
    by_one_product, with_features_last = (functools.partial(form, border=border) for form in (_product, _with_features_last))
    return by_platform(inputs, kernel, cpu=by_one_product, default=with_features_last)


def _with_features_last(inputs: Array, kernel: Array, border: int) -> Array:
    found = jnp.moveaxis(convolution.convolve(jnp.moveaxis(inputs, (0, 3), (3, 0)), kernel), (3, 0), (0, 3))
    return found if border else found[:, 1:-1, 1:-1]


def _product(inputs: Array, kernel: Array, border: int) -> Array:
    return _by_one_product(inputs, kernel, border)


@functools.partial(jax.custom_vjp, nondiff_argnums=(2,))
def _by_one_product(inputs: Array, kernel: Array, border: int) -> Array:
    """Moves before the product or after it, whichever moves less; border 0, 1 or 2."""
    channels, features = kernel.shape[2:]
    if channels <= features:
        return dense(_columns(inputs, border), kernel.reshape(-1, features))
    parts = dense(inputs, kernel.transpose(2, 0, 1, 3).reshape(channels, -1))
    parts = parts.reshape(_SIZE, _SIZE, features, *inputs.shape[1:])
    moved = [part[row, column] for row, column, part in _windows(parts, border)]
    return sum(moved[1:], moved[0])


def _forward(inputs: Array, kernel: Array, border: int) -> tuple[Array, tuple[Array, Array]]:
    return _by_one_product(inputs, kernel, border), (inputs, kernel)


def _backward(border: int, saved: tuple[Array, Array], gradient: Array) -> tuple[Array, Array]:
    inputs, kernel = saved
    for_inputs = _by_one_product(gradient, jnp.swapaxes(kernel[::-1, ::-1], 2, 3), _SIZE - 1 - border)
    columns = _columns(inputs, border)
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
    for_kernel = jnp.stack([_sum_by_adding(window * gradient) for _, _, window in _windows(inputs)])
    return convolve_depthwise(gradient, kernel[::-1, ::-1]), for_kernel.reshape(kernel.shape)


convolve_depthwise.defvjp(_depthwise_forward, _depthwise_backward)


@functools.partial(jax.custom_vjp, nondiff_argnums=(3, 4))
def normalize(inputs: Array, scale: Array, bias: Array, groups: int, epsilon: float = 1e-6) -> Array:
    """Group normalization: each group of features of a board gets mean 0 and variance 1; then a scale and a bias per feature.

    Args:
      inputs: [C, H, W, B]; statistics are float32.
      scale: float32 [C].
      bias: float32 [C].
      groups: divides C.
      epsilon: added to variances.
    """
    return _normalize_forward(inputs, scale, bias, groups, epsilon)[0]


def _normalize_forward(inputs: Array, scale: Array, bias: Array, groups: int, epsilon: float) -> tuple[Array, tuple]:
    grouped = _grouped(inputs, groups)
    mean = grouped.mean((1, 2, 3), keepdims=True)
    variance = jnp.maximum(jnp.square(grouped).mean((1, 2, 3), keepdims=True) - jnp.square(mean), 0.0)
    rate = jax.lax.rsqrt(variance + epsilon)
    normal = ((grouped - mean) * rate).reshape(inputs.shape)
    result = normal * scale[:, None, None, None] + bias[:, None, None, None]
    return result.astype(inputs.dtype), (inputs, scale, mean, rate)


def _normalize_backward(groups: int, epsilon: float, saved: tuple, gradient: Array) -> tuple[Array, Array, Array]:
    del epsilon
    inputs, scale, mean, rate = saved
    gradient = gradient.astype(jnp.float32)  # as are the scale and the bias, whatever the inputs are
    normal = (_grouped(inputs, groups) - mean) * rate
    for_scale, for_bias = _sum_per_feature(normal.reshape(inputs.shape) * gradient), _sum_per_feature(gradient)
    for_normal = _grouped(gradient * scale[:, None, None, None], groups)
    along = (for_normal * normal).mean((1, 2, 3), keepdims=True)
    for_inputs = rate * (for_normal - for_normal.mean((1, 2, 3), keepdims=True) - normal * along)
    return for_inputs.reshape(inputs.shape).astype(inputs.dtype), for_scale, for_bias


normalize.defvjp(_normalize_forward, _normalize_backward)


def _grouped(values: Array, groups: int) -> Array:
    """[C, H, W, B] as float32 [groups, C / groups, H, W, B]."""
    return values.astype(jnp.float32).reshape(groups, -1, *values.shape[1:])


def _sum_per_feature(values: Array) -> Array:
    """[C, H, W, B] -> [C]: first over cells, along whole vectors."""
    cells = values.sum((1, 2))
    return cells @ jnp.ones(cells.shape[1], cells.dtype)


def _sum_by_adding(values: Array) -> Array:
    """The same by adding cell by cell: on a CPU twice as fast for many products side by side as XLA's reductions."""
    for _ in range(2):
        values = functools.reduce(jnp.add, [values[:, place] for place in range(values.shape[1])])
    return values @ jnp.ones(values.shape[1], values.dtype)


def _windows(inputs: Array, border: int = 1) -> list[tuple[int, int, Array]]:
    """The inputs [..., H, W, B] moved by each offset of a kernel: (row, column, [..., H, W, B] for a border of 1)."""
    *outer, height, width, _ = inputs.shape
    around = [(0, 0)] * len(outer) + [(border, border), (border, border), (0, 0)]
    padded = jnp.pad(inputs, around) if border else inputs
    if border:
        padded = jax.lax.optimization_barrier(padded)  # else each of nine sums pads again
    height, width = (size + 2 * border - _SIZE + 1 for size in (height, width))
    places = [(row, column) for row in range(_SIZE) for column in range(_SIZE)]
    return [(row, column, padded[..., row : row + height, column : column + width, :]) for row, column in places]


def _columns(inputs: Array, border: int) -> Array:
    """What each cell's kernel sees: [C, H, W, B] -> [9 * C, H, W, B] for a border of 1."""
    return jnp.concatenate([window for _, _, window in _windows(inputs, border)])


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
    """A 3 x 3 convolution: [C, H, W, B] -> [D, H, W, B], or without a border [D, H - 2, W - 2, B]."""

    def __init__(self, channels: int, features: int, *, border: int = 1, bias: bool = False, rngs: nnx.Rngs) -> None:
        self.border = border
        self.kernel = nnx.Param(_INITIAL(rngs.params(), (_SIZE, _SIZE, channels, features), jnp.float32))
        self.bias = nnx.Param(jnp.zeros(features, jnp.float32)) if bias else None

    def __call__(self, inputs: Array) -> Array:
        found = convolve(inputs, self.kernel[...].astype(inputs.dtype), self.border)
        if self.bias is None:
            return found
        return found + self.bias[...].astype(inputs.dtype)[:, None, None, None]


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
        return normalize(inputs, self.scale[...], self.bias[...], self.groups)
