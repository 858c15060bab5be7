"""Something worked out for every seat of a game; all seats decide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames.platforms import by_platform
from jaxgames.pommerman.config import PommermanConfig
from jaxgames.pommerman.observation import Observation, choose_seat, observe
from jaxgames.pommerman.state import Bomber, State

Memory = TypeVar("Memory")
Result = TypeVar("Result")
View = TypeVar("View")


def each_seat(function: Callable[..., Result], *stacked: Any) -> Result:
    """Applies a function to each seat.

    On a CPU in a loop, which compiles in a quarter of the time of straight-line code and runs as fast; on accelerators to all at
    once, in a quarter of the kernels.

    Args:
      function: of one seat.
      *stacked: its arguments, leaves [P].

    Returns:
      The results, leaves [P].
    """

    def apply(_: None, entry: tuple[Any, ...]) -> tuple[None, Result]:
        return None, function(*entry)

    def one_by_one(*stacked: Any) -> Result:
        return jax.lax.scan(apply, None, stacked)[1]

    return by_platform(*stacked, cpu=one_by_one, default=jax.vmap(function))


def decide_all(
    config: PommermanConfig,
    state: State,
    memories: Sequence[Memory],
    look: Callable[[Observation], View],
    decide: Callable[[View, Array, Bomber, Memory], tuple[Array, Memory]],
) -> tuple[tuple[Array, ...], tuple[Memory, ...]]:
    """Lets all seats decide by what each of them sees; without fog that is worked out once for all.

    Args:
      config: the variant.
      state: one game.
      memories: one per seat.
      look: what is worked out of an observation, whoever's it is.
      decide: `decide(view, seat, bomber, memory) -> (move, memory)`.

    Returns:
      moves: int32 [] per seat.
      memories: after the decisions.
    """
    seats = jnp.arange(config.num_players)
    moves, after = decide_seats(config, state, seats, stack_seats(memories), look, decide)
    return unstack_seats(moves, len(memories)), unstack_seats(after, len(memories))


def decide_seats(
    config: PommermanConfig,
    state: State,
    seats: Array,
    memories: Memory,
    look: Callable[[Observation], View],
    decide: Callable[[View, Array, Bomber, Memory], tuple[Array, Memory]],
) -> tuple[Array, Memory]:
    """Lets some seats decide, as `decide_all`.

    Args:
      config: the variant.
      state: one game.
      seats: int32 [S].
      memories: theirs, leaves [S].
      look: as of `decide_all`; decide too.
      decide: see there.

    Returns:
      moves: int32 [S].
      memories: after the decisions.
    """
    shared = look(observe(config, state, jnp.int32(0))) if config.view_radius is None else None

    def decide_seat(seat: Array, memory: Memory) -> tuple[Array, Memory]:
        view = look(observe(config, state, seat)) if shared is None else shared
        return decide(view, seat, choose_seat(state.bombers, seat), memory)

    return each_seat(decide_seat, seats, memories)


def stack_seats(entries: Sequence[Any]) -> Any:
    """Makes one pytree, leaves [P], of one per seat."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *entries)


def unstack_seats(stacked: Any, count: int) -> tuple[Any, ...]:
    """Makes one pytree per seat of leaves [P]; `count` is P, a Python int."""
    return tuple(jax.tree.map(lambda leaf, seat=seat: leaf[seat], stacked) for seat in range(count))
