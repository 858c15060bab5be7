"""The follower: a network that plays from what its player sees."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames.agent import Agent, memoryless
from jaxgames.pommerman import Pommerman, planes
from jaxgames.pommerman.config import preset
from jaxgames.pommerman.planes import Planes
from training.models.networks import follower as networks
from training.models.networks.network import Network

VERSION = 1  # of parameters: changes exactly when older ones do not fit any more


class Follower(NamedTuple):
    """A follower without its parameters.

    Attributes:
      game: what it plays.
      planes: what it is shown.
      network: what it computes.
      meta: what identifies its parameters in files.
    """

    game: Pommerman
    planes: Planes
    network: Network
    meta: dict[str, str | int]

    def init(self, key: Array) -> Any:
        """Draws parameters."""
        return self.network.init(key)

    def apply(self, params: Any, observations: Any) -> tuple[Array, Array]:
        """Gives logits float32 [B, K], not masked, and values float32 [B] for observations [B]."""
        return self.network.apply(params, jax.vmap(self.planes.compute)(observations))

    def policy(self, params: Any, observations: Any) -> Array:
        """Gives log probabilities float32 [B, K] over the arms that the player knows to be legal."""
        logits, _ = self.apply(params, observations)
        return masked_log_softmax(logits, jax.vmap(self.game.known_arms)(observations))

    def evaluate(self, params: Any, states: Any, seats: Array) -> tuple[Array, Array]:
        """Gives prior logits [B, K] and values [B] to a search: for states [B] and seats int32 [B], by what each seat sees."""
        return self.apply(params, jax.vmap(self.game.observe)(states, seats))

    def agent(self, params: Any = None, *, name: str = "follower", greedy: bool = True) -> Agent:
        """Makes a player: it takes the most likely legal arm, or draws one.

        Args:
          params: its parameters; `agent._replace(params=...)` changes them without compiling anything anew.
          name: for tables.
          greedy: take the most likely arm; else draw one.
        """

        def choose(params: Any, keys: Array, views: Any, seats: Array) -> Array:
            del seats
            scores = self.policy(params, views)
            if not greedy:
                scores = scores + jax.vmap(lambda key: jax.random.gumbel(key, scores.shape[1:]))(keys)
            return actions_of(self.game, jnp.argmax(scores, -1))

        return memoryless(name, choose, params=params)


def masked_log_softmax(logits: Array, legal: Array) -> Array:
    """Gives log probabilities over legal arms; where none is legal or a logit is not a number, all on the first arm.

    Args:
      logits: float32 [..., K].
      legal: bool [..., K].
    """
    first = jnp.arange(logits.shape[-1]) == 0
    usable = (jnp.isfinite(logits) | ~legal).all(-1, keepdims=True) & legal.any(-1, keepdims=True)
    legal = jnp.where(usable, legal, first)
    return jax.nn.log_softmax(jnp.where(legal, jnp.where(usable, logits, 0.0), -1e9), axis=-1)


def actions_of(game: Pommerman, arms: Array) -> Array:
    """Turns indices of arms (int [...]) into actions int32 [...]; they are the same for all seats."""
    return jnp.asarray(game.arm_actions)[arms]


@dataclasses.dataclass(frozen=True)
class FollowerConfig:
    """Which follower.

    Attributes:
      mode: variant of Pommerman.
      planes: what it is shown: paper, paper_zero_life (as the released code), extended.
      network: paper (four convolutions), paper_value (the same with a value), residual.
    """

    mode: str = "ffa"
    planes: str = "paper"
    network: str = "paper"


def make(config: FollowerConfig) -> Follower:
    """Makes a follower.

    Raises:
      ValueError: for a mode, planes or a network that do not exist.
    """
    game = Pommerman(preset(config.mode))
    shown = planes.by_name(game.config, config.planes)
    size = game.config.board_size
    network = networks.by_name(config.network, (size, size, len(shown.channels)), game.num_arms)
    meta = {"kind": "follower", "game": game.name, **dataclasses.asdict(config), "version": VERSION}
    return Follower(game, shown, network, meta)
