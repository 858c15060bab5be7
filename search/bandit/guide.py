"""A network as a guide of a bandit search: its policy weighs on the choice in the present state, its value ends simulations."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import checks
from search import arguments
from search.bandit.bandits import MAX_CREDITS, Bandit
from search.dynamics import Dynamics, Evaluate, Outputs, arm_logits


@dataclasses.dataclass(frozen=True)
class Guide:
    """How a network guides; checked when made.

    Attributes:
      evaluate: `evaluate(params, states [N], seats int32 [N]) -> (logits float32 [N, A], value float32 [N] in [-1, 1])`; logits
        [N, 1] stand for an even policy.
      prior_weight: the policy counts as so many simulations in the present state, with results of 0; where wins are counted, as
        so many won by it and as many lost by what it leaves to the others. 0: it is not asked for.
      values: players still undecided at the end of a simulation get the network's value instead of 0.
      outputs: which logit is that of an action, as `Encoder.outputs`; None: that of its number.
    """

    evaluate: Evaluate
    prior_weight: float = 4.0
    values: bool = False
    outputs: Outputs | None = None

    def __post_init__(self) -> None:
        arguments.a_function("evaluate", self.evaluate, "from (params, states, seats) to logits and values")
        checks.within(0, MAX_CREDITS, self, "prior_weight")
        checks.flags(self, "values")

    def prior_words(self, game: Dynamics, bandit: Bandit, params: Any, nodes: Any) -> Array:
        """Gives statistics as if the policy had been played: uint32 [B, P * K] for nodes [B].

        They are zeros where the network gives no numbers.
        """
        arms, legal = game.arms(nodes)
        batch, players, count = legal.shape
        if not self.prior_weight:
            return jnp.zeros((batch, players * count), jnp.uint32)
        logits, _, seats = self._ask(game, params, nodes)
        of_arms = arm_logits(logits, arms.reshape(-1, count), seats, self.outputs)
        policy = jax.nn.softmax(jnp.where(legal, of_arms.reshape(legal.shape), -1e9), axis=-1)
        words = bandit.prior(jnp.where(legal, policy, 0.0), legal, self.prior_weight)
        return jnp.where(jnp.isfinite(policy).all(-1, keepdims=True), words, 0).reshape(batch, -1)

    def final_values(self, game: Dynamics, params: Any, nodes: Any, values: Array) -> Array:
        """Gives float32 [B, P]: `values` of the last nodes [B], the network's where a player is undecided."""
        if not self.values:
            return values
        _, guessed, _ = self._ask(game, params, nodes)
        undecided = game.undecided(nodes) & (values == 0)
        return jnp.where(undecided, jnp.clip(jnp.nan_to_num(guessed.reshape(values.shape)), -1.0, 1.0), values)

    def _ask(self, game: Dynamics, params: Any, nodes: Any) -> tuple[Array, Array, Array]:
        """Evaluates nodes [B] for all players, in the order lane, player; what comes back is as of `Dynamics.evaluate`."""
        repeated = jax.tree.map(lambda leaf: jnp.repeat(leaf, game.num_players, axis=0), nodes)
        players = jnp.tile(jnp.arange(game.num_players, dtype=jnp.int32), len(game.terminated(nodes)))
        return game.evaluate(self.evaluate, params, repeated, players, outputs=self.outputs)
