"""A planner's choice, weighed by the values that another found: policy times exp(Q / temperature).

That is the step of policy improvement that stays near a policy (a KL penalty of this weight), as in MPO or Gumbel AlphaZero; here
the policy is of few deep searches, and Q of many shallow ones.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import checks
from search import arguments
from search.planner import Plan, Planner, of_arm, of_asked
from search.puct.action_selection import COLDEST, draw_arm

_OWN, _OTHER, _DRAW = range(3)  # children of a lane's key


def weighed(
    planner: Planner, other: Planner, scale: float, *, temperature: float = 0.0, name: str = "", view: Any = None
) -> Planner:
    """Makes a planner that lets two plan, and multiplies the weights of the first by exp(value of the second / scale).

    The first must spread its weights, as PUCT and PC-PIMC do. What it gives no weight is not chosen, so planners that put all on
    one action (PIMC, bandits, strings of actions) choose as they did.

    Args:
      planner: the first; the plan is its own, with another final choice and other weights for the seat that was asked for. Its
        values, visits and `root_value` are left as they are.
      other: the second, which is shown the same and gets the same parameters; of its plan only `qvalues` count. An action that it
        does not list is worth the least.
      scale: the temperature of its values, > 0; the smaller, the more they count.
      temperature: of the final choice; 0: the most likely action.
      name: for tables; "": that of the first, weighed by that of the second.
      view: the shapes of what both are shown in one lane, to check what is given; None: anything.

    Raises:
      ValueError: one of them is shown states and the other what its seat knows; or a number is out of range.
    """
    arguments.of_kind("planner", planner, Planner)
    arguments.of_kind("other", other, Planner)
    if planner.sees_state != other.sees_state:
        raise ValueError(f"other={other.name!r}: must be shown the same as {planner.name!r}: states, or what the seat knows")
    checks.number("scale", scale, positive=True)
    checks.number("temperature", temperature)

    def init(batch_size: int) -> tuple[Any, Any]:
        return planner.init(batch_size), other.init(batch_size)

    def reset(memory: tuple[Any, Any], lanes: Array) -> tuple[Any, Any]:
        return planner.reset(memory[0], lanes), other.reset(memory[1], lanes)

    def plan(params: Any, keys: Array, memory: tuple[Any, Any], views: Any, seats: Array, active: Array) -> tuple[Plan, Any]:
        own_keys, other_keys, draw_keys = (jax.vmap(jax.random.fold_in, (0, None))(keys, use) for use in (_OWN, _OTHER, _DRAW))
        first, own_memory = planner.plan(params, own_keys, memory[0], views, seats, active)
        second, other_memory = other.plan(params, other_keys, memory[1], views, seats, active)
        own = functools.partial(of_asked, seats=seats, own_first=planner.own_first)
        others = functools.partial(of_asked, seats=seats, own_first=other.own_first)
        arms, weights = own(first.arms), jnp.where(own(first.legal), own(first.action_weights), 0.0)
        same = (arms[:, :, None] == others(second.arms)[:, None, :]) & others(second.legal)[:, None, :]
        values = jnp.where(same, others(second.qvalues)[:, None, :], other.value_range[0]).max(-1)
        weights = _product(weights, values, scale)
        chosen = of_arm(arms, draw_arm(draw_keys, weights, temperature))
        rows = jnp.arange(first.actions.shape[1]) == (0 if planner.own_first else seats[:, None])
        changed = rows & ((weights > 0).any(-1) & active)[:, None]  # nobody chooses where the game is over
        found = dataclasses.replace(
            first,
            actions=jnp.where(changed, chosen[:, None], first.actions),
            action_weights=jnp.where(changed[:, :, None], weights[:, None], first.action_weights),
        )
        return found, (own_memory, other_memory)

    def search_bytes(batch_size: int) -> int:
        return max(each.search_bytes(batch_size) for each in (planner, other) if each.search_bytes)

    found = planner._replace(
        name=name or f"{planner.name}, weighed by {other.name}",
        init=init,
        reset=reset,
        plan=plan,
        memory_bytes=planner.memory_bytes + other.memory_bytes,
        ready=None,
        search_bytes=search_bytes if planner.search_bytes or other.search_bytes else None,
        uses_hidden=planner.uses_hidden or other.uses_hidden,
    )
    return arguments.checked(found, view)


def _product(weights: Array, values: Array, scale: float) -> Array:
    """Multiplies weights [B, K] by exp(value / scale), so that they sum to 1 again; values that are no numbers are the least."""
    chosen = weights > 0
    values = jnp.where(jnp.isnan(values), -jnp.inf, values)
    best = jnp.where(chosen, values, -jnp.inf).max(-1, keepdims=True)
    factor = jnp.exp((values - jnp.where(jnp.isfinite(best), best, 0.0)) / max(scale, COLDEST))
    product = jnp.where(chosen, weights * factor, 0.0)
    total = product.sum(-1, keepdims=True)
    return jnp.where(total > 0, product / jnp.maximum(total, 1e-30), weights)
