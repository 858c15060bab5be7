"""What a planner is: three pure functions over a batch of lanes, as an optimizer is in optax."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
from jax import Array

from jaxgames.agent import Agent


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Plan:
    """What a planner found out. B lanes, P players, K arms.

    Attributes:
      actions: int32 [B, P], the final choice for every player.
      arms: int32 [B, P, K], the actions that the columns below stand for.
      values: float32 [B, P, K], mean result of each arm (posterior mean, or Q); illegal arms have the lowest.
      visits: int32 [B, P, K], how often each arm was tried, earlier plans of this state included.
      policy: float32 [B, P, K], the distribution of the final choice.
      root_value: float32 [B, P], value of the final choice.
      metrics: arrays with leading axis B, by name.
    """

    actions: Array
    arms: Array
    values: Array
    visits: Array
    policy: Array
    root_value: Array
    metrics: dict[str, Array]


class Planner(NamedTuple):
    """A planner for batches.

    Attributes:
      name: for tables, such as "FDTS + TS".
      init: `init(batch_size) -> memory`.
      reset: `reset(memory, lanes) -> memory`; lanes bool [B], those in which a new episode begins.
      plan: `plan(params, keys, memory, views, seats, active) -> (Plan, memory)`; keys [B], views [B], seats int32 [B] (for
        whom; planners by self-play plan for all), active bool [B] (elsewhere the plan is any and the memory stays).
      memory_bytes: bytes of memory per lane.
      sees_state: whether views are full states (an oracle) or what the seat knows.
    """

    name: str
    init: Callable[[int], Any]
    reset: Callable[..., Any]
    plan: Callable[..., tuple[Plan, Any]]
    memory_bytes: int
    sees_state: bool = True


def as_agent(planner: Planner) -> Agent:
    """Makes a player out of a planner: it acts for the seat it is asked for."""

    def act(params, keys, memory, views, seats, active):
        plan, memory = planner.plan(params, keys, memory, views, seats, active)
        return jax.vmap(lambda actions, seat: actions[seat])(plan.actions, seats), memory

    return Agent(planner.name, planner.init, planner.reset, act, sees_state=planner.sees_state)
