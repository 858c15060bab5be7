"""What a network is taught of a plan: how much of the final choice falls to each of its outputs."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames.encoder import Encoder
from search.planner import Plan, of_asked

DENSE_OUTPUTS = 512  # up to so many, policies have a weight for each, and arms find their places by comparing


def policy_targets(encoder: Encoder, plan: Plan, seats: Array, *, own_first: bool = False) -> Array:
    """Gives the weights of a plan's final choice per output of a policy network, for a loss such as a cross-entropy.

    Lanes that were not active have any: leave them out.

    Args:
      encoder: numbers the outputs, A.
      plan: of B lanes.
      seats: int32 [B], whose choice it is: the player to move, or any where all move at once.
      own_first: as `Planner.own_first` of the planner that made the plan (SP-MCTS, TP-MCTS: True).

    Returns:
      float32 [B, A] whose rows sum to 1; or to 0 where the game is over, or the seat passes and no output is the pass.
    """
    own = functools.partial(of_asked, seats=jnp.asarray(seats), own_first=own_first)

    def one(arms: Array, legal: Array, weights: Array, seat: Array) -> Array:
        return per_output(encoder, arms, legal, weights, seat)

    return jax.vmap(one)(own(plan.arms), own(plan.legal), own(plan.action_weights), jnp.asarray(seats))


def per_output(encoder: Encoder, arms: Array, legal: Array, weights: Array, seat: Array) -> Array:
    """Adds up the weights of legal arms by their outputs; arms may come in any order, and again.

    Args:
      encoder: numbers the outputs, A.
      arms: int32 [K], actions.
      legal: bool [K].
      weights: float32 [K].
      seat: int32 [].

    Returns:
      float32 [A]; what has no output, such as a pass, is left out.
    """
    outputs = encoder.outputs(arms, seat)
    weights = jnp.where(legal, weights, 0.0)
    number = jnp.arange(encoder.num_outputs)
    if encoder.num_outputs <= DENSE_OUTPUTS:  # XLA's multi-output fusion fails at scatters side by side
        return jnp.where(outputs[:, None] == number, weights[:, None], 0.0).sum(0)
    place = jnp.where(outputs >= 0, outputs, len(number))
    return jnp.zeros(len(number)).at[place].add(weights, mode="drop")
