"""Planners that think once per turn: the plan is kept, played action by action, and made again where the game differs from it."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import random_bits, shapes
from jaxgames.game import Game
from jaxgames.lanes import where_lanes
from jaxgames.random_bits import LaneKey
from search.arguments import checked, state_of
from search.microbatch import in_microbatches
from search.planner import Plan, Planner, ended, of_arm, size_in_bytes
from search.turns.game import Moves

MICROBATCH_SIZE = 64  # on a CPU: half of it costs a tenth more, in trees a third


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class TurnPlan:
    """What a search found for the rest of a turn. B lanes, L actions.

    Attributes:
      actions: int32 [B, L], the actions in order; -1 after the last.
      value: float32 [B], of the turn.
      metrics: arrays with leading axis B, by name.
    """

    actions: Array
    value: Array
    metrics: dict[str, Array]


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Kept:
    """The plans at work: what is next, and in which state. All with leading axis B.

    Attributes:
      turn: the plan.
      keys: uint32 [B, L, 2], the state before each action.
      next: int32 [B], which action is next.
    """

    turn: TurnPlan
    keys: Array
    next: Array


class TurnSearch(NamedTuple):
    """A search for turns that goes on round by round, so that it can also be stopped by a clock (`anytime`).

    Attributes:
      start: `start(lanes, states, seats, active) -> carry` for a batch; lanes uint32 [B] each, states of which the seats are to
        move, active bool [B] (elsewhere the plan is any).
      round: `round(number, carry) -> carry`; numbers grow, and say how much of the budget is spent.
      finish: `finish(carry) -> TurnPlan`.
      done: `done(carry) -> bool []`: more rounds change nothing.
      rounds: the budget.
    """

    start: Callable[[LaneKey, Any, Array, Array], Any]
    round: Callable[[Array, Any], Any]
    finish: Callable[[Any], TurnPlan]
    done: Callable[[Any], Array]
    rounds: int

    def run(self, lanes: LaneKey, states: Any, seats: Array, active: Array | None = None) -> TurnPlan:
        """Spends the whole budget."""
        active = jnp.ones(len(seats), bool) if active is None else active
        return self.finish(self.rounds_from(jnp.int32(0), self.rounds, self.start(lanes, states, seats, active)))

    def rounds_from(self, first: Array, end: Array | int, carry: Any) -> Any:
        """Goes through the rounds first, first + 1, ... before `end`, unless all is done earlier."""

        def one(numbered: tuple[Array, Any]) -> tuple[Array, Any]:
            number, carry = numbered
            return number + 1, self.round(number, carry)

        def unfinished(numbered: tuple[Array, Any]) -> Array:
            return (numbered[0] < end) & ~self.done(numbered[1])

        return jax.lax.while_loop(unfinished, one, (first, carry))[1]

    def num_bytes(self, game: Game, batch_size: int) -> int:
        """Gives the bytes that a search takes up in so many lanes."""

        def begin() -> Any:
            keys = jax.random.split(jax.random.key(0), batch_size)
            seats, active = jnp.zeros(batch_size, jnp.int32), jnp.ones(batch_size, bool)
            return self.start(jax.vmap(random_bits.lane_key)(keys), jax.vmap(game.init)(keys), seats, active)

        return size_in_bytes(jax.eval_shape(begin))


def never(carry: Any) -> Array:
    """The `done` of a search that can always go on."""
    del carry
    return jnp.bool_(False)


def turn_planner(
    game: Game, moves: Moves, name: str, search: TurnSearch, *, microbatch_size: int = MICROBATCH_SIZE, keeps_plan: bool = True
) -> Planner:
    """Makes a planner out of a search for whole turns. Its views are states, of which it uses what the player to move knows.

    Args:
      game: a game of turns.
      moves: how it is played.
      name: for tables.
      search: what is spent once per plan.
      microbatch_size: lanes that think together; see `microbatch.in_microbatches`.
      keeps_plan: play the whole plan; else think again before every action, unless End Turn is all that is left.
    """

    def search_states(keys: Array, views: Any, active: Array) -> TurnPlan:
        lanes = jax.vmap(random_bits.lane_key)(keys)
        return search.run(lanes, views, jax.vmap(game.to_play)(views), active)

    @functools.lru_cache(maxsize=8)  # a search takes a second to trace
    def shapes_of(batch_size: int) -> TurnPlan:
        views = shapes.batched(state_of(game), batch_size)
        keys = jax.eval_shape(lambda: jax.random.split(jax.random.key(0), batch_size))
        active = jax.ShapeDtypeStruct((batch_size,), bool)
        blank: TurnPlan = jax.eval_shape(search_states, keys, views, active)
        return blank

    def init(batch_size: int) -> Kept:
        blank = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes_of(batch_size))
        length = blank.actions.shape[1]
        return Kept(blank, jnp.zeros((batch_size, length, 2), jnp.uint32), jnp.full(batch_size, length, jnp.int32))

    def reset(memory: Kept, lanes: Array) -> Kept:
        return dataclasses.replace(memory, next=jnp.where(lanes, memory.turn.actions.shape[1], memory.next))

    def ready(memory: Kept, views: Any) -> Array:
        now = jax.vmap(lambda view: game.state_key(moves.known(view)))(views)
        awaited, planned = of_arm(memory.keys, memory.next), of_arm(memory.turn.actions, memory.next)
        fits = (awaited == now).all(-1) & (planned >= 0) & (memory.next < memory.turn.actions.shape[1])
        if keeps_plan:
            return fits
        only_end = jax.vmap(lambda view: _ends_only(moves, moves.known(view)))(views)
        return fits & only_end & (planned == moves.end_turn)

    def plan(params: Any, keys: Array, memory: Kept, views: Any, seats: Array, active: Array) -> tuple[Plan, Kept]:
        del params, seats
        over, outcome = views.terminated, jax.vmap(game.outcome)(views)
        active = active & ~over
        views = jax.vmap(moves.known)(views)
        needed = active & ~ready(memory, views)

        def think(part_keys: Array, nothing: tuple, part: Any, part_active: Array) -> tuple[tuple[TurnPlan, Array], tuple]:
            del nothing
            turn = search_states(part_keys, part, part_active)
            return (turn, _expected_keys(game, moves, part, turn.actions)), ()

        fresh, _ = in_microbatches(think, microbatch_size, keys, (), views, needed)

        turn, expected = where_lanes(needed, fresh, (memory.turn, memory.keys))
        position = jnp.where(needed, 0, memory.next)
        chosen = of_arm(turn.actions, position)
        memory = Kept(turn, expected, position + active)
        metrics = {"turn": turn.actions, "position": position, **turn.metrics}
        planned = plan_of_action(game, jax.vmap(game.to_play)(views), chosen, turn.value, metrics)
        return ended(planned, over, outcome, game.pass_action), memory

    kept = 4 * (3 * moves.turn_length + 2)  # without a search's own metrics, which are a few numbers more
    planner = Planner(name, init, reset, plan, memory_bytes=kept, metrics={}, ready=ready)
    planner = planner._replace(
        uses_hidden=False, search_bytes=lambda batch_size: search.num_bytes(game, min(batch_size, microbatch_size))
    )
    return checked(planner, state_of(game), game.num_players)


def _ends_only(moves: Moves, state: Any) -> Array:
    """Says whether ending the turn is all that the player to move can do, bool []."""
    offered = moves.offered(state)
    return offered.has(jnp.int32(moves.end_turn)) & (offered.count() == 1)


def _expected_keys(game: Game, moves: Moves, states: Any, actions: Array) -> Array:
    """Gives the keys of the states before each action, uint32 [B, L, 2]; any after the end of the turn."""

    def step(states: Any, action: Array) -> tuple[Any, Array]:
        keys = jax.vmap(game.state_key)(states)
        return jax.vmap(moves.act)(states, jnp.maximum(action, 0)), keys

    _, keys = jax.lax.scan(step, states, actions.T)
    return jnp.moveaxis(keys, 0, 1)


def plan_of_action(game: Game, movers: Array, action: Array, value: Array, metrics: dict[str, Array]) -> Plan:
    """Makes a plan of one arm per player out of the mover's action.

    Args:
      game: a game of turns.
      movers: int32 [B], who is to move; the others pass.
      action: int32 [B].
      value: float32 [B], for the mover; the others have 0.
      metrics: see `Plan`.
    """
    moves = jnp.arange(game.num_players) == movers[:, None]
    actions = jnp.where(moves, action[:, None], game.pass_action).astype(jnp.int32)
    values = jnp.where(moves, value[:, None], 0.0)
    one = jnp.ones((*actions.shape, 1), jnp.float32)
    return Plan(
        actions=actions,
        arms=actions[..., None],
        legal=one > 0,
        qvalues=values[..., None],
        visit_counts=one.astype(jnp.int32),
        action_weights=one,
        root_value=values,
        metrics=metrics,
    )
