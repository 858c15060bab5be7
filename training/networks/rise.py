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
from training.networks.convolution import convolve, convolve_depthwise
from training.networks.network import Network, from_module

_INITIAL = nnx.initializers.xavier_uniform()
_SIZE = 3


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


class _Convolution(nnx.Module):
    """A 3 x 3 convolution without bias."""

    def __init__(self, channels: int, features: int, *, rngs: nnx.Rngs) -> None:
        self.kernel = nnx.Param(_INITIAL(rngs.params(), (_SIZE, _SIZE, channels, features), jnp.float32))

    def __call__(self, inputs: Array) -> Array:
        return convolve(inputs, self.kernel[...].astype(inputs.dtype))


class _Depthwise(nnx.Module):
    """A 3 x 3 convolution of each feature by itself."""

    def __init__(self, features: int, *, rngs: nnx.Rngs) -> None:
        # Xavier's bound for nine inputs and nine outputs.
        scale = (6 / (2 * _SIZE * _SIZE)) ** 0.5
        kernel = jax.random.uniform(rngs.params(), (_SIZE, _SIZE, features), jnp.float32, -scale, scale)
        self.kernel = nnx.Param(kernel)

    def __call__(self, inputs: Array) -> Array:
        return convolve_depthwise(inputs, self.kernel[...].astype(inputs.dtype))


class _Excitation(nnx.Module):
    """Scales each feature by what the whole board says of it."""

    def __init__(self, features: int, dtype: jnp.dtype, *, rngs: nnx.Rngs) -> None:
        self.squeeze = nnx.Linear(features, features // 2, kernel_init=_INITIAL, dtype=dtype, rngs=rngs)
        self.excite = nnx.Linear(features // 2, features, kernel_init=_INITIAL, dtype=dtype, rngs=rngs)

    def __call__(self, inputs: Array) -> Array:
        scale = jax.nn.sigmoid(self.excite(nnx.relu(self.squeeze(inputs.mean((1, 2))))))
        return inputs * scale[:, None, None]


class _Block(nnx.Module):
    """Wide, depthwise, narrow; the input is added and nothing follows."""

    def __init__(self, width: int, inside: int, excited: bool, groups: int, dtype: jnp.dtype, *, rngs: nnx.Rngs) -> None:
        self.excitation = _Excitation(width, dtype, rngs=rngs) if excited else None
        self.expand = nnx.Linear(width, inside, use_bias=False, kernel_init=_INITIAL, dtype=dtype, rngs=rngs)
        self.depthwise = _Depthwise(inside, rngs=rngs)
        self.project = nnx.Linear(inside, width, use_bias=False, kernel_init=_INITIAL, dtype=dtype, rngs=rngs)
        sizes = (inside, inside, width)
        self.norms = nnx.List([nnx.GroupNorm(size, num_groups=groups, dtype=dtype, rngs=rngs) for size in sizes])

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
        self.dtype = dtype = jnp.dtype(config.dtype)
        self.stem = _Convolution(channels, width, rngs=rngs)
        self.stem_norm = nnx.GroupNorm(width, num_groups=groups, dtype=dtype, rngs=rngs)
        first_excited = config.blocks - config.excited
        self.blocks = nnx.List(
            [
                _Block(width, config.inside + config.inside_step * number, number >= first_excited, groups, dtype, rngs=rngs)
                for number in range(config.blocks)
            ]
        )
        planes = config.value_planes
        self.value_planes = nnx.Linear(width, planes, use_bias=False, kernel_init=_INITIAL, dtype=dtype, rngs=rngs)
        self.value_norm = nnx.GroupNorm(planes, num_groups=groups, dtype=dtype, rngs=rngs)
        flat = height * wide * planes
        self.value_hidden = nnx.Linear(flat, config.value_width, kernel_init=_INITIAL, dtype=dtype, rngs=rngs)
        self.value = nnx.Linear(config.value_width, 1, kernel_init=_INITIAL, rngs=rngs)
        self.policy_hidden = _Convolution(width, width, rngs=rngs)
        self.policy_norm = nnx.GroupNorm(width, num_groups=groups, dtype=dtype, rngs=rngs)
        self.policy = _Convolution(width, policy_planes, rngs=rngs)
        self.policy_bias = nnx.Param(jnp.zeros(policy_planes, jnp.float32))

    def __call__(self, planes: Array) -> tuple[Array, Array]:
        features = nnx.relu(self.stem_norm(self.stem(planes.astype(self.dtype))))
        for block in self.blocks:
            features = block(features)
        board = nnx.relu(self.value_norm(self.value_planes(features)))
        hidden = nnx.relu(self.value_hidden(board.reshape(board.shape[0], -1)))
        value = jnp.tanh(self.value(hidden.astype(jnp.float32))[:, 0])
        policy = self.policy(nnx.relu(self.policy_norm(self.policy_hidden(features)))).astype(jnp.float32)
        return (policy + self.policy_bias[...]).reshape(policy.shape[0], -1), value


def make(config: RiseConfig, shape: tuple[int, int, int], policy_planes: int) -> Network:
    """Makes a network.

    Args:
      config: its sizes.
      shape: of the planes, (H, W, C).
      policy_planes: logits per cell; logit `(row * W + column) * policy_planes + plane`.
    """
    return from_module(lambda key: _Rise(config, shape, policy_planes, rngs=nnx.Rngs(key)))


def by_name(name: str, shape: tuple[int, int, int], policy_planes: int) -> Network:
    """Makes a network by the name of its preset.

    Raises:
      ValueError: for an unknown name.
    """
    if name not in PRESETS:
        raise ValueError(f"network={name!r}: must be one of {', '.join(PRESETS)}")
    return make(PRESETS[name], shape, policy_planes)
