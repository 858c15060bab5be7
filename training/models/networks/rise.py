"""RISEv2-mobile: blocks of wide 1 x 1 convolutions around a depthwise 3 x 3 one, with squeeze-and-excitation in the last of them.

The network of AlphaZe** (Bluml et al., Table 3). Group normalization takes the place of batch normalization: searches then
see the same function as learning does, and nothing but parameters has to be kept.
"""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array

from jaxgames import checks
from training.models.networks.batch_last import Convolution, Dense, Depthwise, GroupNorm
from training.models.networks.network import Network, from_module


@dataclasses.dataclass(frozen=True)
class RiseConfig:
    """Sizes of a network; checked when made.

    Attributes:
      width: features between blocks.
      blocks: how many.
      inside: features inside the first block; each block has `inside_step` more than the one before.
      inside_step: see there.
      excited: so many of the last blocks begin with squeeze-and-excitation.
      value_planes: features of the value head per cell.
      value_width: features of its hidden layer.
      groups: of the normalization; must divide all widths.
      dtype: in which it computes: float32 or bfloat16; parameters are float32.
    """

    width: int = 256
    blocks: int = 13
    inside: int = 128
    inside_step: int = 64
    excited: int = 5
    value_planes: int = 8
    value_width: int = 256
    groups: int = 8
    dtype: str = "float32"

    def __post_init__(self) -> None:
        checks.at_least(1, self, "width", "blocks", "inside", "value_planes", "value_width", "groups")
        if not 0 <= self.excited <= self.blocks:
            raise ValueError(f"excited={self.excited}: must be in 0..{self.blocks}, the number of blocks")
        if self.inside_step < 0:
            raise ValueError(f"inside_step={self.inside_step}: must be >= 0")
        for name in ("width", "inside", "inside_step", "value_planes"):
            if getattr(self, name) % self.groups:
                raise ValueError(f"{name}={getattr(self, name)}: must be a multiple of groups={self.groups}")
        if self.dtype not in ("float32", "bfloat16"):
            raise ValueError(f"dtype={self.dtype!r}: must be float32 or bfloat16")


PRESETS = {
    "tiny": RiseConfig(width=16, blocks=2, inside=32, inside_step=0, excited=0, value_planes=4, value_width=32, groups=4),
    "small": RiseConfig(width=32, blocks=3, inside=64, inside_step=0, excited=1, value_planes=4, value_width=64, groups=4),
    "medium": RiseConfig(width=64, blocks=6, inside=128, inside_step=16, excited=2),
    "rise": RiseConfig(),
    "rise_bf16": RiseConfig(dtype="bfloat16"),
}


class _Excitation(nnx.Module):
    """Scales each feature by what the whole board says of it."""

    def __init__(self, features: int, *, rngs: nnx.Rngs) -> None:
        self.squeeze = Dense(features, features // 2, bias=True, rngs=rngs)
        self.excite = Dense(features // 2, features, bias=True, rngs=rngs)

    def __call__(self, inputs: Array) -> Array:
        scale = jax.nn.sigmoid(self.excite(nnx.relu(self.squeeze(inputs.mean((1, 2))))))
        return inputs * scale[:, None, None]


class _Block(nnx.Module):
    """Wide, depthwise, narrow; the input is added and nothing follows."""

    def __init__(self, width: int, inside: int, excited: bool, groups: int, *, rngs: nnx.Rngs) -> None:
        self.excitation = _Excitation(width, rngs=rngs) if excited else None
        self.expand = Dense(width, inside, rngs=rngs)
        self.depthwise = Depthwise(inside, rngs=rngs)
        self.project = Dense(inside, width, rngs=rngs)
        self.norms = nnx.List([GroupNorm(size, groups) for size in (inside, inside, width)])

    def __call__(self, inputs: Array) -> Array:
        features = inputs if self.excitation is None else self.excitation(inputs)
        features = nnx.relu(self.norms[0](self.expand(features)))
        features = nnx.relu(self.norms[1](self.depthwise(features)))
        return inputs + self.norms[2](self.project(features))


class _Rise(nnx.Module):
    """The whole network: planes [B, H, W, C] -> (logits [B, H * W * policy planes], value [B])."""

    def __init__(self, config: RiseConfig, shape: tuple[int, int, int], policy_planes: int, *, rngs: nnx.Rngs) -> None:
        height, wide, channels = shape
        width, groups = config.width, config.groups
        self.dtype = jnp.dtype(config.dtype)
        self.stem = Convolution(channels, width, rngs=rngs)
        self.stem_norm = GroupNorm(width, groups)
        first_excited = config.blocks - config.excited
        self.blocks = nnx.List(
            [
                _Block(width, config.inside + config.inside_step * number, number >= first_excited, groups, rngs=rngs)
                for number in range(config.blocks)
            ]
        )
        planes = config.value_planes
        self.value_planes = Dense(width, planes, rngs=rngs)
        self.value_norm = GroupNorm(planes, groups)
        self.value_hidden = Dense(height * wide * planes, config.value_width, bias=True, rngs=rngs)
        self.value = Dense(config.value_width, 1, bias=True, rngs=rngs)
        self.policy_hidden = Convolution(width, width, rngs=rngs)
        self.policy_norm = GroupNorm(width, groups)
        self.policy = Convolution(width, policy_planes, rngs=rngs)
        self.policy_bias = nnx.Param(jnp.zeros(policy_planes, jnp.float32))

    def __call__(self, planes: Array) -> tuple[Array, Array]:
        batch = planes.shape[0]
        features = jnp.moveaxis(planes.astype(self.dtype), (3, 0), (0, 3))
        features = nnx.relu(self.stem_norm(self.stem(features)))
        for block in self.blocks:
            features = block(features)
        return self._logits(features).reshape(batch, -1), self._value(features)

    def _logits(self, features: Array) -> Array:
        """[B, H, W, policy planes]."""
        policy = self.policy(nnx.relu(self.policy_norm(self.policy_hidden(features))))
        return jnp.moveaxis(policy, (0, 3), (3, 0)).astype(jnp.float32) + self.policy_bias[...]

    def _value(self, features: Array) -> Array:
        """[B]."""
        board = jnp.moveaxis(nnx.relu(self.value_norm(self.value_planes(features))), 0, 2)
        hidden = nnx.relu(self.value_hidden(board.reshape(-1, board.shape[3])))
        return jnp.tanh(self.value(hidden.astype(jnp.float32))[0])


def make(config: RiseConfig, shape: tuple[int, int, int], num_outputs: int) -> Network:
    """Makes a network.

    Args:
      config: its sizes.
      shape: of the planes, (H, W, C).
      num_outputs: a multiple of the cells; N of them per cell, output `(row * W + column) * N + n`.
    """
    per_cell = num_outputs // (shape[0] * shape[1])
    return from_module(lambda key: _Rise(config, shape, per_cell, rngs=nnx.Rngs(key)))
