"""Anything that chooses actions: rule-based bots, planners, networks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np


class Agent(NamedTuple):
    """A player of games, as three pure functions over a batch of lanes.

    Attributes:
      name: for tables.
      init: `init(batch_size) -> memory`, a pytree whose shapes follow from the batch alone; only `act` and `reset` look into it.
      reset: `reset(memory, lanes) -> memory`; lanes bool [B], those in which a new episode begins.
      act: `act(params, keys, memory, views, seats, active) -> (actions, memory)`. params: what the agent learnt, or None;
        keys [B]; views: State [B] if `sees_state`, else Information [B], or, in a game without such, what the seat observes;
        seats int32 [B]; active bool [B], lanes that need an action now (elsewhere the action is any, and the memory stays).
        actions int32 [B].
      sees_state: whether it is shown the full state or only what its seat knows.
      params: what `act` is given as params.
      ready: `ready(memory, views) -> bool [B]`, lanes in which the agent has thought before and `act` costs little; any value
        where it is not asked. Only a hint, by which lanes are made to think together; None: nobody waits for it.
      search_bytes: `search_bytes(batch_size) -> int`, bytes that are taken up while so many lanes think, beside the memory; None:
        few.
      uses_hidden: whether it makes use of what is hidden from its seat, if it is shown the state (an oracle, which cheats).
      act_seats: `act_seats(params, keys, memory, views, seats, active) -> (actions, memory)`, for S seats of one game at once:
        keys [B], memory leaves [B, S, ...], views State [B], seats int32 [B, S], active bool [B, S]; actions int32 [B, S]. For
        searches that model several players, where working out once what all of them see saves time. None: as `act`.
      draws: whether it makes use of its keys. False: they change nothing, and a search that has it as a model does not ask it for
        several replies.
    """

    name: str
    init: Callable[[int], Any]
    reset: Callable[..., Any]
    act: Callable[..., tuple[Any, Any]]
    sees_state: bool = False
    params: Any = None
    ready: Callable[[Any, Any], Any] | None = None
    search_bytes: Callable[[int], int] | None = None
    uses_hidden: bool = True
    act_seats: Callable[..., tuple[Any, Any]] | None = None
    draws: bool = True


def memoryless(
    name: str,
    choose: Callable[..., Any],
    *,
    sees_state: bool = False,
    params: Any = None,
    uses_hidden: bool = True,
    draws: bool = True,
) -> Agent:
    """Makes an agent that keeps nothing between moves.

    Args:
      name: for tables.
      choose: `choose(params, keys, views, seats) -> actions`, int32 [B]; see `Agent.act`. Where it gives anything else than an
        integer for each lane, a ValueError says so when it is traced.
      sees_state: see `Agent`.
      params: what `choose` is given as params.
      uses_hidden: see `Agent`.
      draws: see `Agent`.
    """

    def act(params: Any, keys: Any, memory: tuple, views: Any, seats: Any, active: Any) -> tuple[Any, tuple]:
        del active
        actions = choose(params, keys, views, seats)
        if np.ndim(seats) == 1:  # else somebody asks lane by lane
            check_actions(name, actions, len(seats))
        return actions, memory

    agent = Agent(name, lambda batch_size: (), lambda memory, lanes: memory, act, sees_state, params)
    return agent._replace(uses_hidden=uses_hidden, draws=draws)


def check_actions(name: str, actions: Any, *shape: int) -> None:
    """Raises unless an agent of this name has chosen integers of this shape, such as [B]; what who asks an agent checks first.

    Others would be made integers of, or of another shape, without a word.

    Raises:
      ValueError: it has not.
    """
    dtype, came = getattr(actions, "dtype", None), list(getattr(actions, "shape", ()))
    if dtype is None or not jnp.issubdtype(dtype, jnp.integer) or came != list(shape):
        told = f"a {type(actions).__name__}" if dtype is None else f"{dtype} {came}"
        raise ValueError(f"agent={name!r}: chose {told}, must be integers {list(shape)}, an action for each game")
