"""A network for searches on a CPU in games with outputs for each cell: hardly more than one product per block.

Blocks look at the neighbours of a cell, each feature at one of them, at what its row and its column hold on average, so that a
piece that goes far knows of what lies on its way, and at the mean of the board. There is no normalization: its passes over memory
would take as long as all products together.
"""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array

from jaxgames import checks
from training.models.networks.batch_last import Dense
from training.models.networks.network import Network, from_module


@dataclasses.dataclass(frozen=True)
class LightConfig:
    """Sizes of a network; checked when made.

    Attributes:
      width: features per cell.
      blocks: how many.
      value_planes: features of the value head per cell.
      value_width: features of its hidden layer.
    """

    width: int = 32
    blocks: int = 3
    value_planes: int = 4
    value_width: int = 32

    def __post_init__(self) -> None:
        checks.at_least(1, self, "width", "blocks", "value_planes", "value_width")
        if self.width % 4:
            raise ValueError(f"width={self.width}: must be a multiple of 4")


PRESETS = {"light": LightConfig(), "light_small": LightConfig(width=16, blocks=2)}


class _Block(nnx.Module):
    """Adds what a cell, a neighbour, its row and column and the board say: [C, H, W, B] -> the same."""

    def __init__(self, width: int, *, rngs: nnx.Rngs) -> None:
        self.own, self.near = (nnx.Param(jnp.ones(width, jnp.float32)) for _ in range(2))
        self.row, self.column = (Dense(width, width, rngs=rngs) for _ in range(2))
        self.board = Dense(width, width, bias=True, rngs=rngs)
        self.project = Dense(width, width, bias=True, rngs=rngs)
        self.project.kernel[...] = jnp.zeros_like(self.project.kernel[...])  # at first a block changes nothing

    def __call__(self, inputs: Array) -> Array:
        rows, columns = mean_by_adding(inputs, 2), mean_by_adding(inputs, 1)
        lines = self.row(rows)[:, :, None] + self.column(columns)[:, None]
        board = self.board(mean_by_adding(rows, 1))[:, None, None]
        own, near = (scale[...][:, None, None, None] for scale in (self.own, self.near))
        return inputs + self.project(nnx.relu(own * inputs + near * moved(inputs) + lines + board))


def moved(inputs: Array) -> Array:
    """Moves a quarter of the features by a cell up, down, to the left and to the right each: [C, H, W, B] -> the same.

    A depthwise convolution says more and takes ten times as long.
    """
    parts = []
    for number, part in enumerate(jnp.split(inputs, 4)):
        axis, forward = 1 + number // 2, number % 2
        size = inputs.shape[axis]
        kept = jax.lax.slice_in_dim(part, 1 - forward, size - forward, axis=axis)
        parts.append(jnp.pad(kept, [(forward, 1 - forward) if place == axis else (0, 0) for place in range(4)]))
    return jnp.concatenate(parts)


def mean_by_adding(values: Array, axis: int) -> Array:
    """The mean over an axis of few places; on a CPU much faster than XLA's reductions over an axis that is not the last."""
    places = (jax.lax.index_in_dim(values, place, axis, keepdims=False) for place in range(values.shape[axis]))
    return functools.reduce(jnp.add, places) / values.shape[axis]


class _Light(nnx.Module):
    """The whole network: planes [B, H, W, C] -> (logits [B, H * W * policy planes], value [B])."""

    def __init__(self, config: LightConfig, shape: tuple[int, int, int], policy_planes: int, *, rngs: nnx.Rngs) -> None:
        height, wide, channels = shape
        self.stem = Dense(channels, config.width, bias=True, rngs=rngs)
        self.blocks = nnx.List([_Block(config.width, rngs=rngs) for _ in range(config.blocks)])
        self.policy = Dense(config.width, policy_planes, rngs=rngs)
        self.policy_bias = nnx.Param(jnp.zeros(policy_planes, jnp.float32))
        self.value_planes = Dense(config.width, config.value_planes, bias=True, rngs=rngs)
        self.value_hidden = Dense(height * wide * config.value_planes + config.width, config.value_width, bias=True, rngs=rngs)
        self.value = Dense(config.value_width, 1, bias=True, rngs=rngs)
        self.value.kernel[...] = jnp.zeros_like(self.value.kernel[...])  # no opinion before it has learnt

    def __call__(self, planes: Array) -> tuple[Array, Array]:
        batch = planes.shape[0]
        features = nnx.relu(self.stem(jnp.moveaxis(planes, (3, 0), (0, 3))))
        for block in self.blocks:
            features = block(features)
        features = nnx.relu(features)
        logits = jnp.einsum("chwb,cd->bhwd", features, self.policy.kernel[...]) + self.policy_bias[...]
        board = nnx.relu(self.value_planes(features)).reshape(-1, batch)
        hidden = nnx.relu(self.value_hidden(jnp.concatenate([board, mean_by_adding(mean_by_adding(features, 1), 1)])))
        return logits.reshape(batch, -1), jnp.tanh(self.value(hidden)[0])


def make(config: LightConfig, shape: tuple[int, int, int], num_outputs: int) -> Network:
    """Makes a network.

    Args:
      config: its sizes.
      shape: of the planes, (H, W, C).
      num_outputs: a multiple of the cells; N of them per cell, output `(row * W + column) * N + n`.
    """
    per_cell = num_outputs // (shape[0] * shape[1])
    return from_module(lambda key: _Light(config, shape, per_cell, rngs=nnx.Rngs(key)))
