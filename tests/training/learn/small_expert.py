"""A small network that is asked about Pommerman as data sets show it, and the key of what is tested with it."""

import jax

import jaxgames
from training.models.networks import follower as networks
from training.models.networks.follower import NetworkConfig
from training.models.policy_value import PolicyValue

GAME = jaxgames.make("pommerman", "ffa")
ENCODER = jaxgames.encoder_of(GAME, "pommerlearn")
WHO = PolicyValue(
    GAME, ENCODER, networks.make(NetworkConfig(width=4, layers=1, value_head=True), ENCODER.shape, ENCODER.num_outputs), {}
)
KEY = jax.random.key(5)
