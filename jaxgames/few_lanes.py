"""Long work that few games of a batch need at a time: those are put together, and the others wait for nothing."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.bits import WORD_BITS
from jaxgames.fusion import all_lanes
from jaxgames.platforms import by_platform
from jaxgames.unrolled import unrolled

Tree = TypeVar("Tree")

LEAST_PLACES = 32  # lanes that are worked on at a time: the overhead of a kernel is that of so many
SHARE = 16  # of a large batch one in so many


def change_few(function: Callable[[Any, Tree], Tree], needed: Array, given: Any, before: Tree) -> Tree:
    """Gives `function(given, before)` where it is needed, and `before` elsewhere.

    On a CPU a batch works on few of its lanes at a time, for as many rounds as it takes, and on none if none needs it. An
    accelerator has room for all lanes, and what it launches is what costs: it works on all of them, always, in few kernels.

    Args:
      function: of one lane, to new values for `before`; of operations that `unrolled` knows.
      needed: bool [].
      given: pytree of uint32 [] and bool [].
      before: such a pytree too.
    """

    def change(needed: Array, given: Any, before: Tree) -> Tree:
        flat = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, needed.shape).reshape(-1), (needed, given, before))
        few, everyone = (functools.partial(way, function) for way in (_change_few, _change_all))
        changed = by_platform(*flat, cpu=few, default=everyone)
        return jax.tree.map(lambda leaf: leaf.reshape(needed.shape), changed)

    return all_lanes(change)(needed, given, before)


def _change_all(function: Callable[[Any, Tree], Tree], needed: Array, given: Any, before: Tree) -> Tree:
    """`change_few` of lanes [B] at once."""
    after = unrolled(function)(given, before)
    return jax.tree.map(lambda new, old: jnp.where(needed, new, old), after, before)


def _change_few(function: Callable[[Any, Tree], Tree], needed: Array, given: Any, before: Tree) -> Tree:
    """`change_few` of lanes [B] in rounds of few."""
    lanes = needed.shape[0]
    places = min(lanes, max(LEAST_PLACES, lanes // SHARE))
    rows = -(-lanes // places)
    pack_given, pack_before = _Packing(given), _Packing(before)

    def one_round(carry: tuple[Array, Tree]) -> tuple[Array, Tree]:
        # The barrier ties what a round reads to what the loop carries. Without it the compiler sees work that does not change in
        # the loop, and does it before the loop, always, whether a round is played or not.
        (waiting, before), fixed = jax.lax.optimization_barrier((carry, given))
        # Each place takes the first lane that waits of every `places`-th one: a single reduction, and no two take the same.
        padded = jnp.pad(waiting, (0, rows * places - lanes)).reshape(rows, places)
        row = jnp.where(padded, np.arange(rows, dtype=np.int32)[:, None], rows).min(0)
        lane = row * places + np.arange(places, dtype=np.int32)  # beyond all lanes where none waits
        read = jnp.minimum(lane, lanes - 1)
        words = pack_before.pack(before)
        chosen = pack_given.unpack(pack_given.pack(fixed)[:, read]), pack_before.unpack(words[:, read])
        after = pack_before.pack(jax.vmap(function)(*chosen))
        words = words.at[:, lane].set(after, mode="drop", unique_indices=True)
        waiting = waiting & (np.arange(rows * places).reshape(rows, places) != lane).reshape(-1)[:lanes]
        return waiting, pack_before.unpack(words)

    return jax.lax.while_loop(lambda carry: carry[0].any(), one_round, (needed, before))[1]


class _Packing:
    """Puts the leaves of a pytree, uint32 [B] and bool [B], into words [W, B], flags together."""

    def __init__(self, tree: Any) -> None:
        leaves, self.structure = jax.tree.flatten(tree)
        self.is_flag = [leaf.dtype == bool for leaf in leaves]

    def pack(self, tree: Any) -> Array:
        leaves = jax.tree.leaves(tree)
        words = [leaf for leaf, is_flag in zip(leaves, self.is_flag, strict=True) if not is_flag]
        flags = [leaf.astype(jnp.uint32) for leaf, is_flag in zip(leaves, self.is_flag, strict=True) if is_flag]
        groups = [flags[start : start + WORD_BITS] for start in range(0, len(flags), WORD_BITS)]
        words += [functools.reduce(operator.or_, (flag << bit for bit, flag in enumerate(group))) for group in groups]
        return jnp.stack(words)

    def unpack(self, words: Array) -> Any:
        count = self.is_flag.count(False)
        plain, flags = iter(range(count)), iter(range(self.is_flag.count(True)))
        leaves = []
        for is_flag in self.is_flag:
            if is_flag:
                number, bit = divmod(next(flags), WORD_BITS)
                leaves.append(((words[count + number] >> bit) & 1) != 0)
            else:
                leaves.append(words[next(plain)])
        return jax.tree.unflatten(self.structure, leaves)
