"""Searches for turns that stop by the clock: so many milliseconds, however much that is on this machine. Not reproducible."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import checks, random_bits
from jaxgames.game import Game
from search.turns.game import moves_of
from search.turns.planner import TurnPlan, TurnSearch

_LOOKS = 32  # at the clock per plan, about

Think = Callable[[Array, Any, float], tuple[TurnPlan, int]]


def by_the_clock(game: Game, search: TurnSearch) -> Think:
    """Makes a function that searches until its time is over; it cannot be called inside jit.

    What it calls is compiled once per batch size, on the first call, whose time is not counted. The budget of the search is the
    most that it does; where the clock stops it earlier, numbers of rounds stand for the share of the time that has passed, so
    that what depends on them (the bridges of a bridge-burning search) comes in time.

    Args:
      game: the game.
      search: such as `evolution.evolution(game, moves_of(game), settings)`, with a budget that will not be reached.

    Returns:
      `think(keys, states, milliseconds) -> (turn, rounds)` for random keys [B] and states [B], of which the players to move are
      asked. Raises a ValueError if there is no time.
    """
    known = moves_of(game).known

    @jax.jit
    def start(keys: Array, states: Any) -> Any:
        lanes = jax.vmap(random_bits.lane_key)(keys)
        states = jax.vmap(known)(states)
        return search.start(lanes, states, jax.vmap(game.to_play)(states), ~states.terminated)

    @functools.partial(jax.jit, donate_argnums=2)  # else a tree is copied at every look at the clock
    def go_on(first: Array, end: Array, carry: Any) -> tuple[Any, Array]:
        carry = search.rounds_from(first, end, carry)
        return carry, search.done(carry)

    finish = jax.jit(search.finish)
    compiled: set[int] = set()

    def think(keys: Array, states: Any, milliseconds: float) -> tuple[TurnPlan, int]:
        checks.number("milliseconds", milliseconds, positive=True)
        batch = len(keys)
        if batch not in compiled:
            # Twice: what a round gives back may be typed more strictly than what the first one was given.
            carry, _ = go_on(jnp.int32(0), jnp.int32(1), start(keys, states))
            finish(go_on(jnp.int32(1), jnp.int32(2), carry)[0])
            compiled.add(batch)
        began = time.perf_counter()
        carry = jax.block_until_ready(start(keys, states))
        number, portion, rounds, share = 0, 1, 0, 0.0
        done = False
        while share < 1 and number < search.rounds and not done:
            end = min(number + portion, search.rounds)
            carry, over = go_on(jnp.int32(number), jnp.int32(end), carry)
            done = bool(over)  # waits
            rounds += end - number
            before, share = share, (time.perf_counter() - began) * 1000 / milliseconds
            # As many rounds as leave some looks at the clock, and not more than what is left allows.
            speed = (end - number) / max(share - before, 1e-9)
            portion = max(1, int(speed * min(1 / _LOOKS, 1 - share)))
            number = max(end, min(int(share * search.rounds), search.rounds - 1))
        return jax.block_until_ready(finish(carry)), rounds

    return think
