"""Planners of full states for players who see less: they plan from what their player believes to be the state."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import shapes
from jaxgames.abilities import BelievedGame, TalkingGame, can_talk
from jaxgames.lanes import where_lanes
from search import arguments
from search.planner import Plan, Planner, of_asked, size_in_bytes


class Memory(NamedTuple):
    """What is kept from move to move; B lanes.

    Attributes:
      planner: the planner's own.
      belief: of the game, leaves [B, ...].
      begins: bool [B], nothing has been seen of the episode yet.
      actions: int32 [B], what was planned last.
    """

    planner: Any
    belief: Any
    begins: Array
    actions: Array


def believed(game: BelievedGame, planner: Planner, *, worst_case: bool = False, talks: bool = False) -> Planner:
    """Makes a planner that is shown observations, and plans in the state that they make its player believe.

    It must be asked in every step of its player, or it misses what happened in between.

    Args:
      game: says what is believed.
      planner: of full states.
      worst_case: what is not seen of others is taken for the worst, instead of followed.
      talks: tell teammates what is seen, and believe what they tell: words go with the actions, not with the arms.

    Returns:
      A planner with the same plans, of views `game.observe(state, seat)`.

    Raises:
      ValueError: it is to talk, and actions of the game carry no words; the game does not tell beliefs; or an argument is of
        another kind.
    """
    arguments.a_believed_game(game)
    arguments.of_kind("planner", planner, Planner)
    talker = game if can_talk(game) and talks else None
    if talks and talker is None:
        raise ValueError(f"talks=True: actions of game={game.name!r} carry no words in this variant")
    init_belief = functools.partial(game.init_belief, worst_case=worst_case)

    def update_belief(before: Any, view: Any, own_action: Array) -> Any:
        belief = game.update_belief(before, view, own_action, worst_case=worst_case)
        return talker.heed(before, belief, view) if talker else belief

    view = shapes.observation_of(game)
    example = shapes.shapes_of(game, "init_belief", view, worst_case=worst_case)

    def init(batch_size: int) -> Memory:
        belief = jax.tree.map(lambda leaf: jnp.zeros((batch_size, *leaf.shape), leaf.dtype), example)
        return Memory(planner.init(batch_size), belief, jnp.ones(batch_size, bool), jnp.zeros(batch_size, jnp.int32))

    def reset(memory: Memory, lanes: Array) -> Memory:
        return memory._replace(planner=planner.reset(memory.planner, lanes), begins=memory.begins | lanes)

    def plan(params: Any, keys: Array, memory: Memory, views: Any, seats: Array, active: Array) -> tuple[Plan, Memory]:
        begun = jax.vmap(init_belief)(views)
        later = jax.vmap(update_belief)(memory.belief, views, memory.actions)
        belief = where_lanes(active, where_lanes(memory.begins, begun, later), memory.belief)
        states = jax.vmap(game.believed_state)(belief)
        found, inner = planner.plan(params, keys, memory.planner, states, seats, active)
        if talker:
            found = _speaking(talker, views, found, None if planner.own_first else seats)
        own = of_asked(found.actions, seats, own_first=planner.own_first)
        actions = jnp.where(active, own, memory.actions)
        return found, Memory(inner, belief, memory.begins & ~active, actions)

    fair = planner._replace(
        name=f"{planner.name}, fair",
        init=init,
        reset=reset,
        plan=plan,
        memory_bytes=planner.memory_bytes + size_in_bytes(example) + 5,
        sees_state=False,
        uses_hidden=False,
        ready=None,
    )
    return arguments.checked(fair, view, game.num_players)


def _speaking(game: TalkingGame, views: Any, plan: Plan, seats: Array | None) -> Plan:
    """Adds words to the actions of those who were asked: of `seats` (int32 [B]), or of the first column.

    Arms stay silent, as those who learn from a plan know them.
    """
    own = jnp.arange(plan.actions.shape[1]) == (0 if seats is None else seats[:, None])
    return dataclasses.replace(plan, actions=jnp.where(own, jax.vmap(game.tell)(views, plan.actions), plan.actions))


def acted(memory: Any, actions: Array, active: Array | None = None) -> Any:
    """Puts right what a memory holds to have been done last, where that was not what had been planned.

    Args:
      memory: of such a planner, or of any agent; one that keeps no actions stays as it is.
      actions: int32 [B], what was done.
      active: bool [B], lanes that were asked; None: all.
    """
    if not isinstance(memory, Memory):
        return memory
    return memory._replace(actions=actions if active is None else jnp.where(active, actions, memory.actions))
