"""Something worked out for every seat of a game."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

Result = TypeVar("Result")


def each_seat(function: Callable[..., Result], *stacked: Any) -> Result:
    """Applies a function seat by seat: in a loop, which compiles in a quarter of the time of straight-line code and runs as fast.

    Args:
      function: of one seat.
      *stacked: its arguments, leaves [P].

    Returns:
      The results, leaves [P].
    """

    def apply(_: None, entry: tuple[Any, ...]) -> tuple[None, Result]:
        return None, function(*entry)

    _, results = jax.lax.scan(apply, None, stacked)
    return results


def stack_seats(entries: Sequence[Any]) -> Any:
    """Makes one pytree, leaves [P], of one per seat."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *entries)


def unstack_seats(stacked: Any, count: int) -> tuple[Any, ...]:
    """Makes one pytree per seat of leaves [P]; `count` is P, a Python int."""
    return tuple(jax.tree.map(lambda leaf, seat=seat: leaf[seat], stacked) for seat in range(count))
