"""AlphaZe** so small that its programs compile in seconds: DarkHex on 3 x 3 cells, and a network of one narrow convolution."""

from __future__ import annotations

import numpy as np

import jaxgames
from jaxgames import runtime
from training.learn.alphaze import Alphaze, AlphazeConfig
from training.models.networks import follower as networks
from training.models.networks.follower import NetworkConfig
from training.models.policy_value import PolicyValue

GAME = jaxgames.make("hex", "adh-3")
NETWORK = NetworkConfig(width=8, layers=1, value_head=True)
CONFIG = AlphazeConfig(
    num_worlds=2,
    num_simulations=4,
    lanes=4,
    steps=10,
    epoch_samples=120,
    buffer_size=128,
    epoch_updates=40,
    updates=20,
    batch_size=32,
    learning_rate=0.02,
    explore_moves=9,
)


def player() -> PolicyValue:
    """The network."""
    encoder = jaxgames.encoder_of(GAME)
    return PolicyValue(GAME, encoder, networks.make(NETWORK, encoder.shape, encoder.num_outputs), {})


def programs(config: AlphazeConfig = CONFIG, mesh=None) -> Alphaze:
    """On all devices, if not told otherwise."""
    return Alphaze(config, player(), mesh or runtime.data_mesh())


def rows_of(ring, device: int = 0) -> np.ndarray:
    """What a device's ring holds, while nothing has given way, in the order in which it came; uint32 [N, W]."""
    sizes = np.asarray(ring.size)
    return np.split(np.asarray(ring.rows), len(sizes))[device][: sizes[device]]
