"""Planners that think once per turn: the plan is kept, played action by action, and made anew where the game took another way."""

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
from search.decoupled import in_parts
from search.moves import Moves
from search.planner import Plan, Planner, where_lanes

LANES_AT_ONCE = 64  # on a CPU: half of it costs a tenth more, in trees a third


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class TurnPlan:
    """What a search found for the rest of a turn. B lanes, L actions.

    Attributes:
      actions: int32 [B, L], the actions in order; -1 behind the last.
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


Search = Callable[[Any, LaneKey, Any, Array, Array], TurnPlan]


def turn_planner(
    game: Game, moves: Moves, name: str, search: Search, *, lanes_at_once: int = LANES_AT_ONCE, keeps_plan: bool = True
) -> Planner:
    """Makes a planner out of a search for whole turns.

    Args:
      game: a game of turns.
      moves: how it is played.
      name: for tables.
      search: `search(params, lanes, states, seats, active) -> TurnPlan` for a batch; lanes uint32 [B] each, states of which the
        seats are to move, active bool [B] (elsewhere the plan is any).
      lanes_at_once: lanes that think together; see `decoupled.in_parts`.
      keeps_plan: play the whole plan; else think again before every action.
    """

    def search_states(params: Any, keys: Array, views: Any, active: Array) -> TurnPlan:
        lanes = jax.vmap(random_bits.lane_key)(keys)
        seats = jax.vmap(game.to_play)(views)
        return search(params, lanes, views, seats, active)

    def init(batch_size: int) -> Kept:
        state = jax.eval_shape(game.init, jax.random.key(0))
        views = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct((batch_size, *leaf.shape), leaf.dtype), state)
        keys = jax.eval_shape(lambda: jax.random.split(jax.random.key(0), batch_size))
        active = jax.ShapeDtypeStruct((batch_size,), bool)
        shapes = jax.eval_shape(search_states, None, keys, views, active)
        blank = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
        length = blank.actions.shape[1]
        return Kept(blank, jnp.zeros((batch_size, length, 2), jnp.uint32), jnp.full(batch_size, length, jnp.int32))

    def reset(memory: Kept, lanes: Array) -> Kept:
        return dataclasses.replace(memory, next=jnp.where(lanes, memory.turn.actions.shape[1], memory.next))

    def plan(params: Any, keys: Array, memory: Kept, views: Any, seats: Array, active: Array) -> tuple[Plan, Kept]:
        del seats
        now = jax.vmap(game.state_key)(views)
        awaited, planned = _at(memory.keys, memory.next), _at(memory.turn.actions, memory.next)
        fits = (awaited == now).all(-1) & (planned >= 0) & (memory.next < memory.turn.actions.shape[1])
        active = active & ~views.terminated
        needed = active & ~fits if keeps_plan else active

        def think(part_keys: Array, nothing: tuple, part: Any, part_active: Array) -> tuple[tuple[TurnPlan, Array], tuple]:
            del nothing
            turn = search_states(params, part_keys, part, part_active)
            return (turn, _expected_keys(game, moves, part, turn.actions)), ()

        fresh, _ = in_parts(think, lanes_at_once, keys, (), views, needed, lambda m, _: m, lambda m, *_: m)

        turn, expected = where_lanes(needed, fresh, (memory.turn, memory.keys))
        position = jnp.where(needed, 0, memory.next)
        chosen = _at(turn.actions, position)
        memory = Kept(turn, expected, position + active)
        return _plan(game, views, chosen, turn, position), memory

    return Planner(name, init, reset, plan, memory_bytes=4 * moves.turn_length * 3 + 8, metrics={}, sees_state=True)


def _at(rows: Array, index: Array) -> Array:
    """Picks one entry per lane by comparing: [B, L, ...], int32 [B] -> [B, ...]; zeros out of range."""
    here = jnp.arange(rows.shape[1]) == index[:, None]
    here = here.reshape(*here.shape, *[1] * (rows.ndim - 2))
    return jnp.where(here, rows, 0).sum(1, dtype=rows.dtype)


def _expected_keys(game: Game, moves: Moves, states: Any, actions: Array) -> Array:
    """Gives the keys of the states before each action, uint32 [B, L, 2]."""

    def step(states: Any, action: Array) -> tuple[Any, Array]:
        keys = jax.vmap(game.state_key)(states)
        nobody = LaneKey(jnp.zeros(len(action), jnp.uint32), jnp.zeros(len(action), jnp.uint32))
        after = jax.vmap(moves.advance)(states, jnp.maximum(action, 0), nobody)
        return after, keys

    _, keys = jax.lax.scan(step, states, actions.T)
    return jnp.moveaxis(keys, 0, 1)


def _plan(game: Game, views: Any, chosen: Array, turn: TurnPlan, position: Array) -> Plan:
    """The next action of every lane as a `Plan` with one arm; the whole turn is in its metrics."""
    to_play = jax.vmap(game.to_play)(views)
    moves = jnp.arange(game.num_players) == to_play[:, None]
    actions = jnp.where(moves, chosen[:, None], game.pass_action).astype(jnp.int32)
    value = jnp.where(moves, turn.value[:, None], 0.0)
    one = jnp.ones((*actions.shape, 1), jnp.float32)
    return Plan(
        actions=actions,
        arms=actions[..., None],
        values=value[..., None],
        visits=one.astype(jnp.int32),
        policy=one,
        root_value=value,
        metrics={"turn": turn.actions, "position": position, **turn.metrics},
    )
