"""Battles side by side in groups of like size. Arrays have the battles as their last axis.

Loops of a tick go as far as the last slot that any battle uses: of a hundred battles one has thirty units, most have six.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.clash.state import State
from jaxgames.platforms import only_cpus

# So many together are still worth the start of a kernel, and with so many slots the gain is worth two seconds of compiling;
# measured on one core.
_TOGETHER, _MANY_SLOTS = 64, 24
_FEWEST = 24  # in a group, where so many battles cannot be split into groups of `_TOGETHER`


def by_size(function: Callable[[State], State]) -> Callable[[State], State]:
    """Makes of a function of battles that do not touch each other, leaves [..., B], one that takes those of like size together.

    Results are the same, in the same order. Accelerators take all battles at once, and so do CPUs where there are few slots, or
    a number of battles without equal parts of a good size.
    """

    def in_groups(states: State) -> State:
        size = states.tick.shape[-1]
        number = _groups(size)
        if states.alive.shape[1] < _MANY_SLOTS or number == 1 or not only_cpus():
            return function(states)
        order = jnp.argsort(_last_slots(states))

        def apart(leaf: jax.Array) -> jax.Array:
            return jnp.moveaxis(leaf[..., order].reshape(*leaf.shape[:-1], number, size // number), -2, 0)

        def together(leaf: jax.Array) -> jax.Array:
            return jnp.moveaxis(leaf, 0, -2).reshape(*leaf.shape[1:-1], size)[..., jnp.argsort(order)]

        return jax.tree.map(together, jax.lax.map(function, jax.tree.map(apart, states)))

    return in_groups


def _groups(size: int) -> int:
    """Gives how many equal groups so many battles make: as few as have at most `_TOGETHER` each; 1 where those would be small."""
    number = next(count for count in range(max(-(-size // _TOGETHER), 1), size + 1) if size % count == 0)
    return number if size // number >= _FEWEST else 1


def _last_slots(states: State) -> jax.Array:
    """One more than the last slot that each battle uses: int32 [B]."""
    return jnp.where(states.alive, np.arange(1, states.alive.shape[1] + 1, dtype=np.int32)[:, None], 0).max((0, 1))
