"""The RISEv2-mobile of PommerLearn: few outputs from the whole board, and a board that shrinks half-way.

Group normalization takes the place of batch normalization, as in `rise`. (Source: Weil et al.)
"""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
from flax import nnx
from jax import Array

from jaxgames import checks
from training.models.networks.batch_last import Convolution, Dense, Depthwise, GroupNorm
from training.models.networks.network import Network, from_module

_SLOPE = 0.2  # of the leaky rectifier


@dataclasses.dataclass(frozen=True)
class MobileConfig:
    """Sizes of a network; checked when made.

    Attributes:
      width: features of the first blocks.
      blocks: how many on the whole board; none of them changes the width.
      late_width: features after the board has shrunk to half its sides.
      late_blocks: how many there; the first one shrinks the board. 0: it stays as it is.
      policy_planes: features of the policy head per cell.
      value_width: of the hidden layer of the value head.
      expansion: features inside a block, in widths of what goes in; in the shrinking one twice as many.
      groups: of the normalization; must divide all widths.
    """

    width: int = 64
    blocks: int = 2
    late_width: int = 128
    late_blocks: int = 2
    policy_planes: int = 16
    value_width: int = 256
    expansion: int = 4
    groups: int = 8

    def __post_init__(self) -> None:
        checks.at_least(1, self, "width", "late_width", "policy_planes", "value_width", "expansion", "groups")
        checks.at_least(0, self, "blocks", "late_blocks")
        for name in ("width", "late_width", "policy_planes"):
            if getattr(self, name) % self.groups:
                raise ValueError(f"{name}={getattr(self, name)}: must be a multiple of groups={self.groups}")


PRESETS = {
    "mobile": MobileConfig(),
    "mobile_small": MobileConfig(
        width=24, blocks=1, late_width=32, late_blocks=1, policy_planes=8, value_width=64, expansion=2, groups=4
    ),
}


def _leaky(features: Array) -> Array:
    return nnx.leaky_relu(features, _SLOPE)


class _Block(nnx.Module):
    """Wide, depthwise, narrow. What goes in is added, unless the board shrinks; nothing follows."""

    def __init__(self, width: int, inside: int, out: int, groups: int, *, shrinks: bool, rngs: nnx.Rngs) -> None:
        self.shrinks = shrinks
        self.expand = Dense(width, inside, rngs=rngs)
        self.depthwise = Depthwise(inside, rngs=rngs)
        self.project = Dense(inside, out, rngs=rngs)
        self.norms = nnx.List([GroupNorm(size, groups) for size in (inside, inside, out)])

    def __call__(self, inputs: Array) -> Array:
        features = self.depthwise(_leaky(self.norms[0](self.expand(inputs))))
        if self.shrinks:
            features = features[:, ::2, ::2]
        features = self.norms[2](self.project(_leaky(self.norms[1](features))))
        return features if self.shrinks else inputs + features


class _Mobile(nnx.Module):
    """The whole network: planes [B, H, W, C] -> (logits [B, A], value [B])."""

    def __init__(self, config: MobileConfig, shape: tuple[int, int, int], num_outputs: int, *, rngs: nnx.Rngs) -> None:
        height, wide, channels = shape
        width, late, groups = config.width, config.late_width, config.groups
        self.stem, self.stem_norm = Convolution(channels, width, rngs=rngs), GroupNorm(width, groups)
        inside = config.expansion * width
        blocks = [_Block(width, inside, width, groups, shrinks=False, rngs=rngs) for _ in range(config.blocks)]
        if config.late_blocks:
            blocks.append(_Block(width, 2 * inside, late, groups, shrinks=True, rngs=rngs))
            rest = range(config.late_blocks - 1)
            blocks += [_Block(late, config.expansion * late, late, groups, shrinks=False, rngs=rngs) for _ in rest]
            height, wide, width = -(-height // 2), -(-wide // 2), late
        self.blocks = nnx.List(blocks)
        self.policy_planes = Dense(width, config.policy_planes, rngs=rngs)
        self.policy_norm = GroupNorm(config.policy_planes, groups)
        self.policy = Dense(height * wide * config.policy_planes, num_outputs, bias=True, rngs=rngs)
        self.value_plane, self.value_norm = Dense(width, 1, rngs=rngs), GroupNorm(1, 1)
        self.value_hidden = Dense(height * wide, config.value_width, bias=True, rngs=rngs)
        self.value = Dense(config.value_width, 1, bias=True, rngs=rngs)

    def __call__(self, planes: Array) -> tuple[Array, Array]:
        features = jnp.moveaxis(planes, (3, 0), (0, 3))
        features = _leaky(self.stem_norm(self.stem(features)))
        for block in self.blocks:
            features = block(features)
        batch = planes.shape[0]
        policy = _leaky(self.policy_norm(self.policy_planes(features))).reshape(-1, batch)
        value = _leaky(self.value_norm(self.value_plane(features))).reshape(-1, batch)
        return self.policy(policy).T, jnp.tanh(self.value(_leaky(self.value_hidden(value)))[0])


def make(config: MobileConfig, shape: tuple[int, int, int], num_outputs: int) -> Network:
    """Makes a network.

    Args:
      config: its sizes.
      shape: of the planes, (H, W, C).
      num_outputs: A.
    """
    return from_module(lambda key: _Mobile(config, shape, num_outputs, rngs=nnx.Rngs(key)))
