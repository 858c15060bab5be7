"""A planner whose choice is weighed by what another found: few deep looks and many shallow ones, as a product of experts."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from search import arguments
from search.planner import Plan, Planner, of_arm, of_asked
from search.puct.action_selection import COLDEST, draw_arm

_OWN, _OTHER, _DRAW = range(3)  # children of a lane's key


def weighed(planner: Planner, other: Planner, scale: float, *, temperature: float = 0.0, name: str = "") -> Planner:
    """Makes a planner that lets two plan, and multiplies the weights of the first by exp(value of the second / scale).

    What the first gives no weight is not chosen: a plan whose weights are on one action alone stays as it is.

    Args:
      planner: the first; its plan is given, with other weights and another final choice.
      other: the second, which is shown the same and gets the same parameters; of it only `qvalues` count. An action that it does
        not list is worth the least.
      scale: of its values, > 0; the smaller, the more they count.
      temperature: of the final choice; 0: the most likely action.
      name: for tables; "": that of the first, weighed by that of the second.

    Raises:
      ValueError: one of them is shown states and the other what its seat knows; or a number is out of range.
    """
    arguments.of_kind("planner", planner, Planner)
    arguments.of_kind("other", other, Planner)
    if planner.sees_state != other.sees_state:
        raise ValueError(f"other={other.name!r}: must be shown the same as {planner.name!r}: states, or what the seat knows")
    if not scale > 0:
        raise ValueError(f"scale={scale}: must be > 0")
    if not temperature >= 0:
        raise ValueError(f"temperature={temperature}: must be >= 0")

    def init(batch_size: int) -> tuple[Any, Any]:
        return planner.init(batch_size), other.init(batch_size)

    def reset(memory: tuple[Any, Any], lanes: Array) -> tuple[Any, Any]:
        return planner.reset(memory[0], lanes), other.reset(memory[1], lanes)

    def plan(params: Any, keys: Array, memory: tuple[Any, Any], views: Any, seats: Array, active: Array) -> tuple[Plan, Any]:
        own_keys, other_keys, draw_keys = (jax.vmap(jax.random.fold_in, (0, None))(keys, use) for use in (_OWN, _OTHER, _DRAW))
        first, own_memory = planner.plan(params, own_keys, memory[0], views, seats, active)
        second, other_memory = other.plan(params, other_keys, memory[1], views, seats, active)
        values = _values_of(first, planner, second, other, seats)
        own = _row(planner, seats)
        arms, legal, weights = own(first.arms), own(first.legal), own(first.action_weights)
        weights = _product(jnp.where(legal, weights, 0.0), values, scale)
        chosen = of_arm(arms, draw_arm(draw_keys, weights, temperature))
        changed = legal.any(-1) & active  # nobody chooses where the game is over
        mine = (jnp.arange(first.actions.shape[1]) == (0 if planner.own_first else seats[:, None])) & changed[:, None]
        found = dataclasses.replace(
            first,
            actions=jnp.where(mine, chosen[:, None], first.actions),
            action_weights=jnp.where(mine[:, :, None], weights[:, None], first.action_weights),
        )
        return found, (own_memory, other_memory)

    def search_bytes(batch_size: int) -> int:
        return max(each.search_bytes(batch_size) for each in (planner, other) if each.search_bytes)

    return planner._replace(
        name=name or f"{planner.name}, weighed by {other.name}",
        init=init,
        reset=reset,
        plan=plan,
        memory_bytes=planner.memory_bytes + other.memory_bytes,
        ready=None,
        search_bytes=search_bytes if planner.search_bytes or other.search_bytes else None,
        uses_hidden=planner.uses_hidden or other.uses_hidden,
    )


def _row(planner: Planner, seats: Array) -> Any:
    return lambda rows: of_asked(rows, seats, own_first=planner.own_first)


def _values_of(first: Plan, planner: Planner, second: Plan, other: Planner, seats: Array) -> Array:
    """What the second says of the actions of the first: float32 [B, K], the least value where it says nothing."""
    own, others = _row(planner, seats), _row(other, seats)
    listed = others(second.legal)
    same = (own(first.arms)[:, :, None] == others(second.arms)[:, None, :]) & listed[:, None, :]
    return jnp.where(same, others(second.qvalues)[:, None, :], other.value_range[0]).max(-1)


def _product(weights: Array, values: Array, scale: float) -> Array:
    """Multiplies weights [B, K] by exp(value / scale), so that they sum to 1 again; the first alone where that is nothing."""
    chosen = weights > 0
    best = jnp.where(chosen, values, -jnp.inf).max(-1, keepdims=True)
    product = jnp.where(chosen, weights * jnp.exp((values - best) / max(scale, COLDEST)), 0.0)
    total = product.sum(-1, keepdims=True)
    return jnp.where(total > 0, product / jnp.maximum(total, 1e-30), weights)
