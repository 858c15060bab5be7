"""From what a search has found to an action: corrected visits, draws, and the plan of a player whose turn it is."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames.game import Game
from search.dynamics import Dynamics
from search.planner import Plan, of_arm, of_seat
from search.reductions import first_highest

COLDEST = 1e-30  # temperatures below are as this one: what float32 takes for 0 would leave no numbers


def draw_arm(keys: Array, policy: Array, temperature: float) -> Array:
    """Draws an arm per lane by policy ** (1 / temperature); the first of the most likely at temperature 0.

    Args:
      keys: [B].
      policy: float32 [B, K]; arms with 0 are never drawn.
      temperature: see above.

    Returns:
      int32 [B].
    """
    if not temperature:
        return policy.argmax(-1).astype(jnp.int32)
    noise = jax.vmap(lambda key: jax.random.gumbel(key, policy.shape[1:]))(keys)
    score = jnp.log(jnp.maximum(policy, 1e-30)) / max(temperature, COLDEST) + noise
    return jnp.where(policy > 0, score, -jnp.inf).argmax(-1).astype(jnp.int32)


def without_lost(visits: Array, values: Array, lost: Array, untried: Array) -> tuple[Array, Array]:
    """Leaves arms that are proven lost no visits and the value of a loss.

    Where all that was visited is lost, the arm that would be tried next gets a visit; where there is none, all stays as it is.

    Args:
      visits: float32 [B, K].
      values: float32 [B, K], -1 to 1.
      lost: bool [B, K].
      untried: float32 [B, K], the priors of legal arms never tried, 0 of others.

    Returns:
      Visits and values.
    """
    kept = jnp.where(lost, 0.0, visits)
    following, prior = first_highest(untried)
    is_next = (jnp.arange(visits.shape[-1]) == following[:, None]) & (prior > 0)[:, None]
    kept = jnp.where(kept.any(-1, keepdims=True), kept, is_next.astype(kept.dtype))
    hopeless = ~kept.any(-1, keepdims=True)
    return jnp.where(hopeless, visits, kept), jnp.where(hopeless | ~lost, values, -1.0)


def corrected_visits(visits: Array, values: Array, q_veto: float | None, q_weight: float) -> Array:
    """Corrects visits by Q, as the engine of AlphaZe** does.

    Args:
      visits: float32 [B, K].
      values: float32 [B, K], mean results.
      q_veto: swap the visits of the best and of the most visited arm if the value of the best is higher by more than this, and it
        has more than one visit; None: never.
      q_weight: else add (Q2 - Q1) * q_weight * n1 to the second most visited arm if its value is higher.

    Returns:
      float32 [B, K].
    """
    index = jnp.arange(visits.shape[-1])
    first, first_visits = first_highest(visits)
    first_value = of_arm(values, first)
    is_first = index == first[:, None]
    if q_veto is not None:
        best, best_value = first_highest(jnp.where(visits > 0, values, -jnp.inf))
        best_visits = of_arm(visits, best)[:, None]
        swaps = (best_value > first_value + q_veto)[:, None] & (best_visits > 1)
        swapped = jnp.where(is_first, best_visits, jnp.where(index == best[:, None], first_visits[:, None], visits))
        visits, first_again = jnp.where(swaps, swapped, visits), ~swaps[:, 0]
    else:
        first_again = jnp.ones_like(first_visits, bool)
    if q_weight:
        second = jnp.where(is_first, -1.0, visits).argmax(-1)
        gain = of_arm(values, second) - first_value
        extra = jnp.where(first_again & (gain > 0), gain * q_weight * first_visits, 0.0)
        visits = visits + jnp.where(index == second[:, None], extra[:, None], 0.0)
    return visits


def plan_of_mover(
    game: Game | Dynamics,
    seats: Array,
    chosen: Array,
    *,
    arms: Array,
    legal: Array,
    action_weights: Array,
    qvalues: Array,
    visit_counts: Array,
    root_value: Array,
    metrics: dict[str, Any],
    value_range: tuple[float, float] = (-1.0, 1.0),
) -> Plan:
    """Makes the plan of one player per lane; the others pass.

    Args:
      game: the game.
      seats: int32 [B], whose turn it is.
      chosen: int32 [B], the arm.
      arms: int32 [B, P, K].
      legal: bool [B, P, K].
      action_weights: float32 [B, K], of the player.
      qvalues: float32 [B, K], of the player.
      visit_counts: int32 [B, K].
      root_value: float32 [B], for the player; the others have the opposite.
      metrics: as for `Plan`.
      value_range: of the values, for a loss and for a win; what the passes of the others are worth lies in the middle.
    """
    both = sum(value_range)
    mine = jnp.arange(game.num_players) == seats[:, None]
    own = mine[:, :, None]
    passes = (jnp.arange(action_weights.shape[-1]) == 0).astype(jnp.float32)
    action = of_arm(of_seat(arms, seats), chosen)[:, None]
    return Plan(
        actions=jnp.where(mine, action, game.pass_action).astype(jnp.int32),
        arms=arms,
        legal=legal,
        qvalues=jnp.where(own, qvalues[:, None], both / 2),
        visit_counts=jnp.where(own, visit_counts[:, None], 0),
        action_weights=jnp.where(own, action_weights[:, None], passes),
        root_value=jnp.where(mine, root_value[:, None], both - root_value[:, None] if both else -root_value[:, None]),
        metrics=metrics,
    )
