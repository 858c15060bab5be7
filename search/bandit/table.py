"""The search tree of simultaneous-move planners: per game a set-associative hash table from state to statistics.

A row belongs to one state and holds one word per player and arm. There are no child pointers and no stored states: a
simulation carries its state along and looks rows up by key. A key may lie in any way of one bucket; when the bucket is full, the
row that was visited longest ago gives way, of several the one in the lowest way. So the size is fixed, and a lookup is one read
of a bucket and one of a row. One row per table may be held, and then never gives way: while a search runs, that of the state from
which it plans, which a small table would lose to what the same simulations visit further down.

Rows carry the time of their last visit, and a row from before the episode began counts as empty. So a new episode clears
nothing, and what the earlier ones left behind changes nothing in it.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.hashing import hash_words
from search.microbatch import Access

WAYS = 4
_KEY_WORDS = 3  # two of the key, one stamp
# Rows are at least one word longer than keys: scatters into two arrays of one shape side by side, as for one player with three
# arms, crash the compiler's multi-output fusion.
_LEAST_WORDS = _KEY_WORDS + 1
_HELD = np.uint32(2**32 - 1)  # the stamp of a row that does not give way: any other is older
_PER_LANE = ("first_bucket", "clock", "started", "evicted", "stored")


@functools.partial(
    jax.tree_util.register_dataclass,
    data_fields=("keys", "words", "first_bucket", "clock", "started", "evicted", "stored"),
    meta_fields=("num_buckets", "num_words"),
)
@dataclasses.dataclass(frozen=True)
class Table:
    """Tables of B games. R rows in R / 4 buckets of 4 ways.

    Attributes:
      num_buckets: R / 4.
      num_words: P * K, statistics of a row.
      keys: uint32 [B * R, 3], two words of the key and the stamp of the last visit, 0 for an empty row, 2^32 - 1 for one that is
        held.
      words: uint32 [B * R, max(P * K, 4)], statistics, and zeros after them. The rows of a bucket lie side by side in both.
      first_bucket: int32 [B], where the rows of each table begin.
      clock: uint32 [B], simulations so far; stamps are its values.
      started: uint32 [B], the clock when the episode began: rows with older stamps are empty.
      evicted: int32 [B], rows of this episode that were replaced.
      stored: int32 [B], rows of this episode that were opened.
    """

    num_buckets: int
    num_words: int
    keys: Array
    words: Array
    first_bucket: Array
    clock: Array
    started: Array
    evicted: Array
    stored: Array

    @property
    def num_rows(self) -> int:
        return self.num_buckets * WAYS


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Slot:
    """Where a key is, or would go; leaves [B].

    Attributes:
      key: uint32 [B, 2], hashed once more, so that low bits that differ little fill different buckets.
      row: int32 [B], in [0, B * R): the row that holds the key, else the one that gives way.
      found: bool [B].
      evicts: bool [B], opening a row here would replace one of this episode.
    """

    key: Array
    row: Array
    found: Array
    evicts: Array


def init(batch_size: int, num_rows: int, num_words: int) -> Table:
    """Makes empty tables.

    Args:
      batch_size: B.
      num_rows: R, a power of two, at least 4.
      num_words: statistics per row, P * K.

    Raises:
      ValueError: for a size that is not possible.
    """
    check_rows(num_rows)
    if batch_size < 1:
        raise ValueError(f"batch_size={batch_size}: must be >= 1")
    if batch_size * num_rows >= 2**31:
        raise ValueError(f"batch_size={batch_size} x table_rows={num_rows}: must be below 2**31; take smaller tables")
    per_lane = jnp.zeros(batch_size, jnp.uint32)
    return Table(
        num_buckets=num_rows // WAYS,
        num_words=num_words,
        first_bucket=jnp.arange(batch_size, dtype=jnp.int32) * (num_rows // WAYS),
        keys=jnp.zeros((batch_size * num_rows, _KEY_WORDS), jnp.uint32),
        words=jnp.zeros((batch_size * num_rows, max(num_words, _LEAST_WORDS)), jnp.uint32),
        clock=per_lane + jnp.uint32(1),
        started=per_lane + jnp.uint32(1),
        evicted=jnp.zeros(batch_size, jnp.int32),
        stored=jnp.zeros(batch_size, jnp.int32),
    )


def check_rows(num_rows: int) -> None:
    """Raises a ValueError unless `num_rows` is a possible size of a table."""
    if num_rows < WAYS or num_rows & (num_rows - 1):
        raise ValueError(f"table_rows={num_rows}: must be a power of two, at least {WAYS}")


def row_bytes(num_words: int) -> int:
    """Bytes of one row with its key."""
    return 4 * (max(num_words, _LEAST_WORDS) + _KEY_WORDS)


def reset(table: Table, lanes: Array) -> Table:
    """Forgets everything in some lanes.

    Args:
      table: B tables.
      lanes: bool [B], those in which a new episode begins.
    """
    return dataclasses.replace(
        table,
        started=jnp.where(lanes, table.clock, table.started),
        evicted=jnp.where(lanes, 0, table.evicted),
        stored=jnp.where(lanes, 0, table.stored),
    )


def take(table: Table, lanes: Array) -> Table:
    """Gives the tables of some lanes (int32 [C]) as a batch of their own; rows stay where they are."""
    return dataclasses.replace(table, **{name: getattr(table, name)[lanes] for name in _PER_LANE})


def put_back(table: Table, part: Table, merge: Callable[[Array, Array], Array]) -> Table:
    """Puts the tables of some lanes back after work on `take(table, lanes)`.

    Args:
      table: all tables, from before.
      part: the tables of the lanes; its rows are taken as they are, so nothing else may have been written in between.
      merge: puts what belongs to the lanes [C, ...] into what belongs to all [B, ...].
    """
    fields: dict[str, Any] = {name: merge(getattr(table, name), getattr(part, name)) for name in _PER_LANE}
    return dataclasses.replace(table, keys=part.keys, words=part.words, **fields)


def find(table: Table, trees: Array, key: Array) -> Slot:
    """Looks keys up.

    Args:
      table: B tables.
      trees: int32 [L], which table.
      key: uint32 [L, 2], from `Game.state_key`.

    Returns:
      Slots, leaves [L].
    """
    mixed = hash_words((key[:, 0], key[:, 1]))
    bucket = table.first_bucket[trees] + (mixed[:, 0] & np.uint32(table.num_buckets - 1)).astype(jnp.int32)
    entries = table.keys.reshape(-1, WAYS * _KEY_WORDS)[bucket]
    started = table.started[trees]
    found, evicts, way, oldest = jnp.zeros_like(trees, bool), jnp.ones_like(trees, bool), jnp.zeros_like(trees), None
    for index in range(WAYS):
        first, second, stamp = (entries[:, index * _KEY_WORDS + i] for i in range(_KEY_WORDS))
        alive = stamp >= started
        same = alive & (first == mixed[:, 0]) & (second == mixed[:, 1])
        age = jnp.where(alive, stamp, 0)
        older = ~found & (age < oldest) if oldest is not None else jnp.zeros_like(found)
        oldest = age if oldest is None else jnp.minimum(oldest, age)
        way = jnp.where(same | older, index, way)
        found, evicts = found | same, evicts & alive
    return Slot(mixed, bucket * WAYS + way, found, evicts & ~found)


def read(table: Table, slot: Slot) -> Array:
    """Reads statistics, uint32 [L, P * K]: zeros where the key was not found."""
    words = table.words[slot.row][:, : table.num_words]
    return jnp.where(slot.found[:, None], words, 0)


def hold(table: Table, slot: Slot, use: Array) -> Table:
    """Lets rows not give way from now on; of each table one at most, for then another of its bucket can.

    Args:
      table: B tables.
      slot: leaves [B], from `find` on this very table.
      use: bool [B], lanes in which the row is held, if there is one.
    """
    return _stamped(table, slot, use, _HELD)


def release(table: Table, slot: Slot, use: Array) -> Table:
    """Lets rows give way again, as those that were visited in the last simulation; arguments as for `hold`."""
    return _stamped(table, slot, use, table.clock - 1)


def _stamped(table: Table, slot: Slot, use: Array, stamp: Array | np.uint32) -> Table:
    row = jnp.where(use & slot.found, slot.row, table.keys.shape[0])
    return dataclasses.replace(table, keys=table.keys.at[row, _KEY_WORDS - 1].set(stamp, mode="drop"))


def write(table: Table, slot: Slot, words: Array, use: Array, held: Array | bool = False) -> Table:
    """Writes one row per table, opens it where the key is new, and stamps it with the present clock.

    Args:
      table: B tables.
      slot: leaves [B], from `find` on this very table.
      words: uint32 [B, P * K], the whole row.
      use: bool [B], lanes that write.
      held: bool [B], lanes whose row is held, as by `hold`.
    """
    column, stamp = np.arange(_KEY_WORDS), jnp.where(held, _HELD, table.clock)
    entry = jnp.where(column == 0, slot.key[:, :1], jnp.where(column == 1, slot.key[:, 1:], stamp[:, None]))
    row = jnp.where(use, slot.row, table.words.shape[0])
    opened = use & ~slot.found
    words = jnp.pad(words, ((0, 0), (0, table.words.shape[1] - table.num_words)))
    return dataclasses.replace(
        table,
        keys=table.keys.at[row].set(entry, mode="drop"),
        words=table.words.at[row].set(words, mode="drop"),
        evicted=table.evicted + (opened & slot.evicts).astype(jnp.int32),
        stored=table.stored + opened.astype(jnp.int32),
    )


def tick(table: Table, lanes: Array) -> Table:
    """Lets the clocks of some lanes (bool [B]) go on by one simulation."""
    return dataclasses.replace(table, clock=table.clock + lanes.astype(jnp.uint32))


ACCESS = Access(take, put_back)
