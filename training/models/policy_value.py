"""A network that guides searches in board games: the state's planes in, a prior per arm and a value out."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

import jaxgames
from jaxgames.agent import Agent, memoryless
from search.planner import of_arm, of_seat
from training.models.networks import rise
from training.models.networks.network import Network

VERSION = 1  # of parameters: changes exactly when older ones do not fit any more


@dataclasses.dataclass(frozen=True)
class PolicyValueConfig:
    """Which game and which network.

    Attributes:
      game: name of the game.
      mode: its variant, such as adh-5: abrupt DarkHex with 5 x 5 cells.
      network: a preset of RISEv2-mobile: tiny, small, medium, rise, rise_bf16.
    """

    game: str = "hex"
    mode: str = "adh-5"
    network: str = "tiny"


class PolicyValue(NamedTuple):
    """A network for a game, without its parameters.

    Attributes:
      game: what is played.
      network: what is computed.
      meta: what identifies its parameters in files.
    """

    game: Any
    network: Network
    meta: dict[str, str | int]

    def init(self, key: Array) -> Any:
        """Draws parameters."""
        return self.network.init(key)

    def evaluate(self, params: Any, states: Any, seats: Array) -> tuple[Array, Array]:
        """Gives prior logits float32 [B, K] and values float32 [B], for states of the open game [B] and seats int32 [B]."""
        logits, value = self.network.apply(params, jax.vmap(self.game.input_planes)(states, seats))
        return jax.vmap(self.game.orient)(logits, seats), value

    def agent(self, params: Any = None, *, name: str = "network") -> Agent:
        """Makes a player without search: the most likely arm of one drawn state.

        Args:
          params: its parameters.
          name: for tables.
        """
        game = self.game

        def choose(params: Any, keys: Array, views: Any, seats: Array) -> Array:
            states = jax.vmap(game.sample_hidden)(keys, views)
            logits, _ = self.evaluate(params, jax.vmap(game.open_state)(states), seats)
            arms, legal = (of_seat(x, seats) for x in jax.vmap(game.search_arms)(states))
            best = jnp.where(legal, logits, -jnp.inf).argmax(-1)
            return of_arm(arms, best)

        return memoryless(name, choose, params=params)


def make(config: PolicyValueConfig) -> PolicyValue:
    """Makes a network for a game.

    Raises:
      ValueError: for a game, mode or network that does not exist.
    """
    game: Any = jaxgames.make(config.game, config.mode)
    for what in ("input_planes", "sample_hidden"):
        if not hasattr(game, what):
            raise ValueError(f"game={config.game!r}: has no {what}, which this network needs; take hex")
    rows, columns, _ = game.input_shape
    network = rise.by_name(config.network, game.input_shape, game.num_arms // (rows * columns))
    return PolicyValue(game, network, {"kind": "policy_value", **dataclasses.asdict(config), "version": VERSION})
