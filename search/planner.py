"""What a planner is: three pure functions over a batch of lanes, as an optimizer is in optax."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames.agent import Agent


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Plan:
    """What a planner found out. B lanes, P players, K arms.

    Attributes:
      actions: int32 [B, P], the final choice for every player.
      arms: int32 [B, P, K], the actions that the columns below stand for.
      legal: bool [B, P, K], which columns count: arms that the player may choose.
      qvalues: float32 [B, P, K], mean result of each arm for its player (posterior mean, or Q), within `Planner.value_range`;
        of an arm never tried what the planner takes for it beforehand, with PUCT -1 whatever its first-play urgency; any number
        where an arm is not legal.
      visit_counts: int32 [B, P, K], how often each arm was tried, earlier plans of this state included.
      action_weights: float32 [B, P, K], what the final choice goes by (of a search by visits: their shares), before a temperature
        that sharpens it; the first of equals is chosen where nothing is drawn. This is what a learner imitates.
      root_value: float32 [B, P], value of the final choice, of PUCT the mean of all simulations; on the scale of `qvalues`.
      metrics: arrays with leading axis B, by name.
    """

    actions: Array
    arms: Array
    legal: Array
    qvalues: Array
    visit_counts: Array
    action_weights: Array
    root_value: Array
    metrics: dict[str, Array]


class Planner(NamedTuple):
    """A planner for batches.

    Attributes:
      name: for tables, such as "FDTS + TS".
      init: `init(batch_size) -> memory`; its shapes follow from the batch alone, and it can be traced. What is in it, and which
        axes, is the planner's own: lanes cannot be taken out of it, nor can it be split over devices from outside.
      reset: `reset(memory, lanes) -> memory`; lanes bool [B], those in which a new episode begins.
      plan: `plan(params, keys, memory, views, seats, active) -> (Plan, memory)`. params: of the network, None without one;
        a search made of `single_player` or `two_player` takes `{"own": ..., "opponents": ...}`, or None where none has any. keys:
        typed keys [B], new ones for every call. views [B]. seats int32 [B]: for whom; planners by self-play plan for all. active
        bool [B]: elsewhere the plan is any and the memory stays. Where the game is over, planners of `search` that are shown the
        state pass, no column is legal, and `root_value` is the outcome. The memory of a lane is that of one seat until it is
        reset: a seat that changes reads what another has believed and found.
      memory_bytes: bytes of memory of a lane that thinks. Where lanes think in parts and nothing is kept, `init` makes room for
        those of one part alone.
      metrics: shape per lane of each metric that may be added up over plans.
      sees_state: whether views are full states or what the seat knows.
      ready: see `Agent.ready`; by the planner's memory.
      search_bytes, uses_hidden: see `Agent`.
      own_first: the first player of a plan is the seat that was asked for; else players are the seats of the game.
      value_range: the values of a loss and of a win: (0, 1) with Thompson sampling and uniform choice, where a draw is 0.5;
        (-1, 1) with UCB1 and PUCT.
    """

    name: str
    init: Callable[[int], Any]
    reset: Callable[..., Any]
    plan: Callable[..., tuple[Plan, Any]]
    memory_bytes: int
    metrics: Mapping[str, tuple[int, ...]]
    sees_state: bool = True
    ready: Callable[[Any, Any], Array] | None = None
    search_bytes: Callable[[int], int] | None = None
    uses_hidden: bool = True
    own_first: bool = False
    value_range: tuple[float, float] = (-1.0, 1.0)


def memoryless(name: str, plan: Callable[..., tuple[Plan, tuple]], **about: Any) -> Planner:
    """Makes a planner that remembers nothing between plans.

    Args:
      name: for tables.
      plan: see `Planner`; the memory is ().
      **about: fields of `Planner` that are not at their defaults.
    """
    plain = Planner(name, lambda batch_size: (), lambda memory, lanes: memory, plan, memory_bytes=0, metrics={})
    return plain._replace(**about)


def size_in_bytes(tree: Any) -> int:
    """Gives the bytes of all arrays of a tree, or of what `jax.eval_shape` says of them."""
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree))


def ended(plan: Plan, over: Array, outcome: Array, pass_action: int, value_range: tuple[float, float] = (-1.0, 1.0)) -> Plan:
    """Gives the plan where the game goes on; where it is over, everybody passes, nothing is legal, and the value is the outcome.

    Args:
      plan: of B lanes and P players.
      over: bool [B].
      outcome: float32 [B, P], +1 win, 0 draw, -1 loss.
      pass_action: of the game.
      value_range: of the plan's values, for a loss and for a win.
    """
    lost, won = value_range
    result = lost + (won - lost) * (outcome + 1) / 2
    return dataclasses.replace(
        plan,
        actions=jnp.where(over[:, None], jnp.int32(pass_action), plan.actions),
        legal=plan.legal & ~over[:, None, None],
        action_weights=jnp.where(over[:, None, None], 0.0, plan.action_weights),
        root_value=jnp.where(over[:, None], result, plan.root_value),
    )


def of_seat(rows: Array, seats: Array) -> Array:
    """Picks the row of one seat per lane: [B, P, ...], int32 [B] -> [B, ...]; out of range the first row, of flags False.

    By selecting, not by a gather: XLA's multi-output fusion fails where several of these stand side by side. Flags are masked:
    for a selection XLA would work out those of all seats again for each of them.
    """
    shape = (-1, *[1] * (rows.ndim - 2))
    if rows.dtype == bool:
        here = jnp.arange(rows.shape[1]) == seats[:, None]
        return (rows & here.reshape(*here.shape, *shape[1:])).any(1)
    chosen = rows[:, 0]
    for seat in range(1, rows.shape[1]):
        chosen = jnp.where((seats == seat).reshape(shape), rows[:, seat], chosen)
    return chosen


def of_asked(rows: Array, seats: Array, *, own_first: bool) -> Array:
    """Picks the row of the seat that was asked for out of those of a plan: [B, P, ...], int32 [B] -> [B, ...].

    Args:
      rows: a field of a plan.
      seats: those for which it was made.
      own_first: see `Planner`.
    """
    return rows[:, 0] if own_first else of_seat(rows, seats)


def of_arm(rows: Array, arms: Array) -> Array:
    """Picks one entry per lane: [B, K, ...], int32 [B] -> [B, ...], zeros out of range; by comparing, for the same reason."""
    here = jnp.arange(rows.shape[1]) == arms[:, None]
    return jnp.where(here.reshape(*here.shape, *[1] * (rows.ndim - 2)), rows, 0).sum(1, dtype=rows.dtype)


def as_agent(planner: Planner, *, keep_metrics: bool = False) -> Agent:
    """Makes a player out of a planner: it acts for the seat it is asked for.

    Args:
      planner: any.
      keep_metrics: the agent's memory becomes (the planner's memory, the metrics added up over all moves, by lane).

    Returns:
      An agent without parameters; give it those of a network by `._replace(params=params)`.
    """

    def act(params, keys, memory, views, seats, active):
        plan, memory = planner.plan(params, keys, memory, views, seats, active)
        return of_asked(plan.actions, seats, own_first=planner.own_first), memory

    agent = Agent(
        planner.name,
        planner.init,
        planner.reset,
        act,
        sees_state=planner.sees_state,
        ready=planner.ready,
        search_bytes=planner.search_bytes,
        uses_hidden=planner.uses_hidden,
    )
    if not keep_metrics:
        return agent

    def init_counting(batch_size: int):
        totals = {name: jnp.zeros((batch_size, *shape), jnp.int32) for name, shape in planner.metrics.items()}
        return planner.init(batch_size), totals

    def reset_counting(memory, lanes):
        return planner.reset(memory[0], lanes), memory[1]

    def act_counting(params, keys, memory, views, seats, active):
        plan, kept = planner.plan(params, keys, memory[0], views, seats, active)
        totals = {
            name: total + jnp.where(active.reshape(-1, *[1] * (total.ndim - 1)), plan.metrics[name], 0)
            for name, total in memory[1].items()
        }
        return of_asked(plan.actions, seats, own_first=planner.own_first), (kept, totals)

    has_thought = planner.ready
    ready = None if has_thought is None else lambda memory, views: has_thought(memory[0], views)
    return agent._replace(init=init_counting, reset=reset_counting, act=act_counting, ready=ready)
