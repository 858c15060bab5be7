"""The networks of followers: planes in; a logit per output and a value out, from all cells together."""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
from flax import nnx
from jax import Array

from jaxgames import checks
from training.models.networks.convolution import Convolution
from training.models.networks.network import Network, from_module


@dataclasses.dataclass(frozen=True)
class NetworkConfig:
    """Sizes of a network; checked when made.

    Attributes:
      width: features of the convolutions.
      layers: convolutions in a row, or blocks of two with a skip connection.
      residual: blocks instead of single convolutions, with layer normalization.
      value_head: also learn the value of the oracle's choice; else the value is 0.
    """

    width: int = 32
    layers: int = 4
    residual: bool = False
    value_head: bool = False

    def __post_init__(self) -> None:
        checks.at_least(1, self, "width", "layers")


PRESETS = {
    "paper": NetworkConfig(),
    "paper_value": NetworkConfig(value_head=True),
    "compact": NetworkConfig(width=16, value_head=True),
    "residual": NetworkConfig(width=64, layers=6, residual=True, value_head=True),
}


class _Block(nnx.Module):
    """Two convolutions with a skip connection."""

    def __init__(self, width: int, *, rngs: nnx.Rngs) -> None:
        self.first, self.second = Convolution(width, width, rngs=rngs), Convolution(width, width, rngs=rngs)
        self.normalization = nnx.LayerNorm(width, rngs=rngs)

    def __call__(self, inputs: Array) -> Array:
        inside = nnx.relu(self.first(self.normalization(inputs)))
        return inputs + self.second(inside)


class _Follower(nnx.Module):
    """Convolutions, then one linear layer per head on all cells, as in the paper."""

    def __init__(self, config: NetworkConfig, shape: tuple[int, int, int], num_outputs: int, *, rngs: nnx.Rngs) -> None:
        (height, width, channels), features = shape, config.width
        self.config = config
        self.entry = Convolution(channels, features, rngs=rngs)
        if config.residual:
            self.body: nnx.List = nnx.List([_Block(features, rngs=rngs) for _ in range(config.layers)])
            self.squeeze = nnx.Linear(features, 8, rngs=rngs)
            features = 8
        else:
            self.body = nnx.List([Convolution(features, features, rngs=rngs) for _ in range(config.layers - 1)])
        self.policy = nnx.Linear(height * width * features, num_outputs, rngs=rngs)
        if config.value_head:
            self.value = nnx.Linear(height * width * features, 1, kernel_init=nnx.initializers.zeros, rngs=rngs)

    def __call__(self, planes: Array) -> tuple[Array, Array]:
        features = self.entry(planes)
        if self.config.residual:
            for block in self.body:
                features = block(features)
            features = nnx.relu(self.squeeze(nnx.relu(features)))
        else:
            features = nnx.relu(features)
            for layer in self.body:
                features = nnx.relu(layer(features))
        flat = features.reshape(features.shape[0], -1)
        value = jnp.tanh(self.value(flat)[:, 0]) if self.config.value_head else jnp.zeros(flat.shape[0], flat.dtype)
        return self.policy(flat), value


def make(config: NetworkConfig, shape: tuple[int, int, int], num_outputs: int) -> Network:
    """Makes a network.

    Args:
      config: its sizes.
      shape: of the planes, (H, W, C).
      num_outputs: A.
    """
    return from_module(lambda key: _Follower(config, shape, num_outputs, rngs=nnx.Rngs(key)), has_value=config.value_head)
