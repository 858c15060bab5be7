"""Thinking for the lanes that need it, some at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from search.planner import Plan, Planner


class Access(NamedTuple):
    """How the memory of some lanes is taken out of that of all, and put back.

    Attributes:
      take: `take(memory, lanes) -> part`, of lanes int32 [C].
      put_back: `put_back(memory, part, merge) -> memory`; `merge` puts what belongs to the lanes [C, ...] into what belongs to
        all [B, ...].
    """

    take: Callable[[Any, Array], Any]
    put_back: Callable[[Any, Any, Callable[[Array, Array], Array]], Any]


SCRATCH = Access(lambda memory, lanes: memory, lambda memory, part, merge: part)  # of one microbatch, used by all in turn
PER_LANE = Access(  # leaves with leading axis B
    lambda memory, lanes: jax.tree.map(lambda leaf: leaf[lanes], memory),
    lambda memory, part, merge: jax.tree.map(merge, memory, part),
)


def equal_size(batch_size: int, size: int) -> int:
    """Gives the number of lanes per microbatch: as equal as can be, at most `size` each."""
    return -(-batch_size // -(-batch_size // size))


def thinking_in_parts(planner: Planner, size: int) -> Planner:
    """Lets a planner that keeps nothing from move to move think for at most `size` lanes at a time, all in one memory."""

    def plan(params: Any, keys: Array, memory: Any, views: Any, seats: Array, active: Array) -> tuple[Plan, Any]:
        def search(keys: Array, memory: Any, views: tuple[Any, Array], active: Array) -> tuple[Plan, Any]:
            return planner.plan(params, keys, memory, *views, active)

        return in_microbatches(search, size, keys, memory, (views, seats), active)

    inner_bytes = planner.search_bytes
    return planner._replace(
        init=lambda batch_size: planner.init(equal_size(batch_size, size)),
        reset=lambda memory, lanes: memory,
        plan=plan,
        search_bytes=None if inner_bytes is None else lambda batch_size: inner_bytes(equal_size(batch_size, size)),
    )


def in_microbatches(
    search: Callable,
    size: int,
    keys: Array,
    memory: Any,
    views: Any,
    active: Array,
    access: Access = SCRATCH,
    load: Array | None = None,
) -> tuple[Any, Any]:
    """Plans for the lanes that need it, some at a time: equal parts of the batch, of at most `size` lanes.

    A microbatch costs the same however many of its lanes need a plan, so lanes that need none cost nothing as far as they fill
    whole microbatches. Large ones are more efficient in a full batch, small ones in one that is running dry.

    Args:
      search: `search(keys, memory, views, active) -> (Plan, memory)` for `equal_size(B, size)` lanes; any tree in place of the
        plan.
      size: lanes at a time, at most.
      keys: [B].
      memory: of all lanes.
      views: any tree with leading axis B.
      active: bool [B], lanes that need a plan.
      access: to the memory of some lanes.
      load: int32 [B], how long each lane will take; lanes of like load are worked on together. None: all the same.

    Returns:
      The plan of every active lane (zeros elsewhere), and the memory.
    """
    search = jax.jit(search)  # traced once, although its shapes are asked for first
    # Arrays of numpy, which a jitted function may close over, take no traced index.
    views, active = jax.tree.map(jnp.asarray, (views, active))
    batch = keys.shape[0]
    size = equal_size(batch, size)
    order = jnp.argsort(~active if load is None else -jnp.where(active, 1 + load, 0), stable=True).astype(jnp.int32)
    rank = jnp.argsort(order).astype(jnp.int32)
    order = jnp.concatenate([order, order[:size]])
    count = active.sum(dtype=jnp.int32)
    first = order[:size]
    some = jax.tree.map(lambda x: x[first], views)
    shapes = jax.eval_shape(search, keys[first], access.take(memory, first), some, active[first])
    plans = jax.tree.map(lambda x: jnp.zeros((batch, *x.shape[1:]), x.dtype), shapes[0])

    def one_part(carry: tuple[Array, Any, Any]) -> tuple[Array, Any, Any]:
        done, plans, memory = carry
        lanes = jax.lax.dynamic_slice_in_dim(order, done, size)
        here_views = jax.tree.map(lambda x: x[lanes], views)
        part, kept = search(keys[lanes], access.take(memory, lanes), here_views, done + jnp.arange(size) < count)
        here = (rank >= done) & (rank < jnp.minimum(done + size, count))

        def merge(whole: Array, piece: Array) -> Array:
            # By gather: scatters of different rank side by side crash the compiler's multi-output fusion.
            here_too = here.reshape(-1, *[1] * (whole.ndim - 1))
            return jnp.where(here_too, piece[jnp.clip(rank - done, 0, size - 1)], whole)

        return done + size, jax.tree.map(merge, plans, part), access.put_back(memory, kept, merge)

    _, plans, memory = jax.lax.while_loop(lambda carry: carry[0] < count, one_part, (jnp.int32(0), plans, memory))
    return plans, memory
