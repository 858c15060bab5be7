"""A network for searches on a CPU, to be shown boards with the player in their middle: each layer loses one cell on each side.

Without borders the layers get smaller and smaller, and what they find far from the player goes to the heads without more work.
"""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
from flax import nnx
from jax import Array

from jaxgames import checks
from training.models.networks.batch_last import Convolution, Dense
from training.models.networks.network import Network, from_module


@dataclasses.dataclass(frozen=True)
class PyramidConfig:
    """Sizes of a network; checked when made.

    Attributes:
      widths: features of each convolution; a board must have more than twice as many rows and columns as there are.
      from_layer: the heads are shown the cells of this convolution and of all after it, counted from 0.
      hidden: features of the two layers that both heads share.
    """

    widths: tuple[int, ...] = (16, 16, 32, 32)
    from_layer: int = 1
    hidden: int = 64

    def __post_init__(self) -> None:
        checks.at_least(1, self, "hidden")
        if not self.widths or min(self.widths) < 1:
            raise ValueError(f"widths={self.widths}: must be one or more numbers >= 1")
        if not 0 <= self.from_layer < len(self.widths):
            raise ValueError(f"from_layer={self.from_layer}: must be in 0..{len(self.widths) - 1}")


PRESETS = {"pyramid": PyramidConfig(), "pyramid_small": PyramidConfig(widths=(12, 16, 16, 16), hidden=32)}


class _Pyramid(nnx.Module):
    """The whole network: planes [B, H, W, C] -> (logits [B, A], value [B])."""

    def __init__(self, config: PyramidConfig, shape: tuple[int, int, int], num_outputs: int, *, rngs: nnx.Rngs) -> None:
        height, wide, channels = shape
        self.from_layer = config.from_layer
        sizes = (channels, *config.widths)
        self.layers = nnx.List(
            [
                Convolution(before, after, border=0, bias=True, rngs=rngs)
                for before, after in zip(sizes, config.widths, strict=False)
            ]
        )
        left = [(height - 2 * number) * (wide - 2 * number) for number in range(1, len(sizes))]
        seen = sum(cells * width for cells, width in list(zip(left, config.widths, strict=True))[config.from_layer :])
        hidden = config.hidden
        self.first, self.second = (
            Dense(seen + channels, hidden, bias=True, rngs=rngs),
            Dense(hidden, hidden, bias=True, rngs=rngs),
        )
        self.policy, self.value = Dense(2 * hidden, num_outputs, bias=True, rngs=rngs), Dense(2 * hidden, 1, bias=True, rngs=rngs)
        self.value.kernel[...] = jnp.zeros_like(self.value.kernel[...])  # no opinion before it has learnt

    def __call__(self, planes: Array) -> tuple[Array, Array]:
        features = jnp.moveaxis(planes, (3, 0), (0, 3))
        batch = planes.shape[0]
        seen = [features[:, features.shape[1] // 2, features.shape[2] // 2]]  # where the player is, and what holds everywhere
        for number, layer in enumerate(self.layers):
            features = nnx.relu(layer(features))
            if number >= self.from_layer:
                seen.append(features.reshape(-1, batch))
        first = nnx.relu(self.first(jnp.concatenate(seen)))
        hidden = jnp.concatenate([first, nnx.relu(self.second(first))])
        return self.policy(hidden).T, jnp.tanh(self.value(hidden)[0])


def make(config: PyramidConfig, shape: tuple[int, int, int], num_outputs: int) -> Network:
    """Makes a network.

    Args:
      config: its sizes.
      shape: of the planes, (H, W, C).
      num_outputs: A.

    Raises:
      ValueError: the board is too small.
    """
    least = 2 * len(config.widths) + 1
    if min(shape[:2]) < least:
        small, wanted = f"{shape[0]} x {shape[1]}", f"{least} x {least}"
        told = f"need a board of at least {wanted} cells, and here it is {small}"
        raise ValueError(f"widths={config.widths}: {told}; take fewer, or another network")
    return from_module(lambda key: _Pyramid(config, shape, num_outputs, rngs=nnx.Rngs(key)))
