"""A network as a guide of a bandit search: its policy weighs on the choice in the present state, its value ends simulations."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import random_bits
from jaxgames.game import Game
from jaxgames.random_bits import LaneKey
from search.bandit.bandits import MAX_CREDITS, Bandit

_ROUNDING = 1 << 22  # child of a lane key


@dataclasses.dataclass(frozen=True)
class Guide:
    """How a network guides; checked when made.

    Attributes:
      evaluate: `evaluate(params, states [N], seats int32 [N]) -> (prior_logits float32 [N, K], value float32 [N] in [-1, 1])`.
      prior_weight: the policy counts as much as so many simulations in the present state; 0: it is not asked for.
      values: players still undecided at the end of a simulation get the network's value instead of 0.
    """

    evaluate: Callable[[Any, Any, Array], tuple[Array, Array]]
    prior_weight: float = 4.0
    values: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.prior_weight <= MAX_CREDITS:
            raise ValueError(f"prior_weight={self.prior_weight}: must be in 0..{MAX_CREDITS}")

    def prior_words(self, game: Game, bandit: Bandit, params: Any, states: Any, legal: Array) -> Array:
        """Gives statistics as if the policy had been played: uint32 [B, P * K] for states [B] and legal bool [B, P, K].

        They are zeros where the network gives no numbers.
        """
        batch = legal.shape[0]
        if not self.prior_weight:
            return jnp.zeros((batch, game.num_players * game.num_arms), jnp.uint32)
        logits, _ = self._ask(game, params, states)
        policy = jax.nn.softmax(jnp.where(legal, logits.reshape(legal.shape), -1e9), axis=-1)
        words = bandit.prior(jnp.where(legal, policy, 0.0), legal, self.prior_weight)
        return jnp.where(jnp.isfinite(policy).all(-1, keepdims=True), words, 0).reshape(batch, -1)

    def final_values(self, game: Game, params: Any, states: Any, values: Array) -> Array:
        """Gives float32 [B, P]: `values` of the last states [B], the network's where a player is undecided."""
        if not self.values:
            return values
        _, guessed = self._ask(game, params, states)
        undecided = jax.vmap(game.in_play)(states) & (values == 0) & ~states.terminated[:, None]
        return jnp.where(undecided, jnp.clip(jnp.nan_to_num(guessed.reshape(values.shape)), -1.0, 1.0), values)

    def _ask(self, game: Game, params: Any, states: Any) -> tuple[Array, Array]:
        """Evaluates states [B] for all seats, in the order lane, seat."""
        players = game.num_players
        repeated = jax.tree.map(lambda leaf: jnp.repeat(leaf, players, axis=0), states)
        seats = jnp.tile(jnp.arange(players, dtype=jnp.int32), states.terminated.shape[0])
        return self.evaluate(params, repeated, seats)


def rounding_noise(lanes: LaneKey, num_players: int) -> Array:
    """Draws float32 [L, P] in [0, 1): by it, values between the units of a credit are rounded up or down."""
    lanes = random_bits.fold(lanes, _ROUNDING)
    spread = LaneKey(lanes.first[:, None], lanes.second[:, None])
    return random_bits.uniform(random_bits.bits(spread, jnp.arange(num_players, dtype=jnp.int32)))
