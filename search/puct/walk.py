"""Walks down the trees of a PUCT search: the rule of choice, extra exploration, and several walks of one tree at once.

Walks of one wave follow one another down the same tree before any of their leaves is valued. What is on its way is counted as
a visit without a result ("virtual visit": in n and N, not in Q), in the high bits of the visits; a walk that meets a node still
waiting for its value is lost. (Source: the engine of PommerLearn, CrazyAra.)
"""

from __future__ import annotations

import dataclasses
import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames import random_bits
from jaxgames.platforms import by_platform
from jaxgames.random_bits import LaneKey
from search.puct import tree as puct_tree
from search.puct.settings import MAX_IN_WAVES, Settings
from search.puct.tree import (
    CHILD,
    NEXT_ARM,
    NEXT_PRIOR,
    NO_ARM,
    OPENED,
    PRIOR,
    PROVEN,
    RANDOM,
    TERMINAL,
    TOTAL,
    UNPROVEN,
    VISITS,
    Tree,
)
from search.reductions import first_highest

BLOCK = 32  # children looked at together
LEVELS = 16  # of a path, which are worked on together
_FLIGHT = np.uint32(MAX_IN_WAVES)
_FLIGHT_BITS = MAX_IN_WAVES.bit_length() - 1
_MAX_LEVELS = 1 << 30
_EXPLORES, _DEPTH = range(2)  # draws of a walk
_PLACE, _REPLY = range(2)  # and of each of its levels
# How far a walk follows the most visited line, by a draw of 1 to 100: each level is the last in half of the cases, and the
# highest draw follows the line to its end.
_LINE_DEPTHS = np.array([max(0, math.ceil(-math.log2(1 - i / 100) - 1)) for i in range(1, 100)] + [_MAX_LEVELS], np.int32)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Walk:
    """A walk per lane; leaves [B], with a leading axis for several.

    Attributes:
      started: bool, there was somewhere to go.
      going: bool, and its end is valued: it met no node that waits.
      opens: bool, it opens a node; else its end was known, and is final.
      last: int32, the last node before the end.
      place: int32, of the end among the children of that.
      reply: int32, which reply led there.
      node: int32, the end where it was known, else `last`.
      first: int32, the level from which on the result counts.
      depth: int32, levels.
      path: int32 [limit, B], per level the node and the place of the child; beyond `depth` any number.
    """

    started: Array
    going: Array
    opens: Array
    last: Array
    place: Array
    reply: Array
    node: Array
    first: Array
    depth: Array
    path: Array


def walk_down(settings: Settings, tree: Tree, active: Array, chance: LaneKey | None, flying: Array) -> Walk:
    """Walks from the roots to something new or final.

    Args:
      settings: of the search.
      tree: B trees.
      active: bool [B], lanes that walk.
      chance: fresh, leaves [B], where the settings need some.
      flying: int32 [], rows from here on wait for their values.
    """
    batch, limit = active.shape[0], -(-tree.num_nodes // LEVELS) * LEVELS
    lanes, zero = jnp.arange(batch), jnp.zeros(batch, jnp.int32)
    target, first = _starting_levels(settings, chance, batch, limit)

    def step(carry):
        level, going, node, first, depth, before, lost, path = carry
        row = tree.row(node)
        draws = random_bits.fold(chance, 1 + level) if chance else None
        chosen, reply = choose(settings, tree, node), before
        if settings.replies > 1 and draws:
            reply = random_bits.below(random_bits.bits(draws, _REPLY), settings.replies).astype(jnp.int32)
            reply = jnp.where(tree.of_node(node, RANDOM) != 0, reply, 0)
        if settings.random_starts and draws:
            chosen, first = _explored(settings, tree, row, level, target, first, chosen, reply, draws, flying)
        opened = chosen < tree.whole(row, OPENED)
        child = _child(settings, tree, row, jnp.minimum(1 + chosen, tree.num_children), reply)
        opens = ~opened | (child == puct_tree.ROOT)  # the root is nobody's child
        waits = ~opens & (child >= flying)
        ends = opens | waits | _is_final(settings, tree, child)
        # One word per step: the node and the place of its child; what lies beyond a lane's depth does not count.
        word = node * (tree.num_children + 1) + chosen
        path = jax.lax.dynamic_update_slice_in_dim(path, word[None], level, 0)
        here = jnp.where(going & ~opens & ~waits, child, node)
        lost = lost | (going & waits)
        return level + 1, going & ~ends, here, first, depth + going, jnp.where(going, reply, before), lost, path

    root = tree.row(zero)
    started = active & ((tree.whole(root, OPENED) > 0) | (tree.whole(root, NEXT_ARM) != NO_ARM))
    start = (jnp.int32(0), started, zero, first, zero, zero, zero < 0, jnp.zeros((limit, batch), jnp.int32))
    _, _, node, first, depth, reply, lost, path = jax.lax.while_loop(lambda carry: carry[1].any(), step, start)
    last, place = jnp.divmod(path[jnp.maximum(depth - 1, 0), lanes], tree.num_children + 1)
    row = tree.row(last)
    is_new = place >= tree.whole(row, OPENED)
    if settings.replies > 1:
        is_new = is_new | (tree.child_by(row, jnp.minimum(1 + place, tree.num_children), reply) == puct_tree.ROOT)
    going = started & ~lost
    return Walk(started, going, going & is_new, last, place, reply, node, first, depth, path)


def choose(settings: Settings, tree: Tree, node: Array) -> Array:
    """Chooses among the children of a node and its next arm: the place of a child, their number for the next arm."""
    few = functools.partial(_choose, settings, min(BLOCK, tree.num_children))
    # Accelerators look at all places, also those that no lane has opened: they would ask the host how far to go.
    return by_platform(tree, node, cpu=few, default=functools.partial(_choose, settings, tree.num_children))


def _choose(settings: Settings, block: int, tree: Tree, node: Array) -> Array:
    """Does so, looking at `block` places at a time."""
    row = tree.row(node)
    opened, next_prior = tree.whole(row, OPENED), tree.real(row, NEXT_PRIOR)
    visits, real_visits = _counts(settings, tree.whole(row, VISITS))
    own = tree.real(row, TOTAL) / jnp.maximum(real_visits, 1)
    count = visits if settings.count_self else visits - 1
    rate = (jnp.log((count + settings.c_base + 1) / settings.c_base) + settings.c_init) * jnp.sqrt(count)

    def read(index: Array) -> tuple[Array, Array, Array, Array, Array]:
        place = index * block + jnp.arange(block)
        column = jnp.minimum(1 + place, tree.num_children)
        here = place < opened[:, None]
        count, real = _counts(settings, tree.whole(row[:, None], VISITS, column))
        value = tree.real(row[:, None], TOTAL, column) / jnp.maximum(real, 1)
        return here, column, count, real > 0, value

    def over_blocks(body, carry):
        if block == tree.num_children:
            return body(jnp.int32(0), carry)
        return jax.lax.fori_loop(0, -(-jnp.max(opened) // block), body, carry)

    low = high = own
    if settings.normalize_q:

        def bounds(index: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
            here, _, _, tried, value = read(index)
            value = jnp.where(here & tried, value, own[:, None])
            return jnp.minimum(carry[0], value.min(-1)), jnp.maximum(carry[1], value.max(-1))

        low, high = over_blocks(bounds, (low, high))
    width = jnp.maximum(high - low, 1e-8)
    untried = (
        low
        if settings.normalize_q
        else own
        if settings.first_play_urgency is None
        else jnp.full_like(own, settings.first_play_urgency)
    )

    def scale(value: Array) -> Array:
        return (value - low[:, None]) / width[:, None] if settings.normalize_q else value

    def better(index: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        best, place = carry
        here, column, count, tried, value = read(index)
        value = scale(jnp.where(tried, value, untried[:, None]))
        score = value + rate[:, None] * tree.real(row[:, None], PRIOR, column) / (count + 1)
        if settings.mcts_solver:  # what is won is taken, what is lost avoided
            proven = tree.whole(row[:, None], PROVEN, column)
            score = jnp.where(proven == 1, 1e9, jnp.where(proven == -1, -1e9, score))
        score = jnp.where(here, score, -jnp.inf)
        spot, most = first_highest(score)
        return jnp.maximum(best, most), jnp.where(most > best, index * block + spot, place)

    best, place = over_blocks(better, (jnp.full_like(own, -jnp.inf), jnp.zeros_like(node)))
    next_score = scale(untried[:, None])[:, 0] + rate * next_prior
    take_next = (tree.whole(row, NEXT_ARM) != NO_ARM) & (next_score > best)
    return jnp.where(take_next, opened, place)


def _counts(settings: Settings, visits: Array) -> tuple[Array, Array]:
    """Splits visits into all of them, those on their way included, and those with a result; float32."""
    if settings.leaf_parallelism == 1:
        real = visits.astype(jnp.float32)
        return real, real
    real = (visits & (_FLIGHT - 1).astype(np.int32)).astype(jnp.float32)
    return real + (visits >> _FLIGHT_BITS).astype(jnp.float32), real


def _starting_levels(settings: Settings, chance: LaneKey | None, batch: int, limit: int) -> tuple[Array, Array]:
    """Draws how far each walk follows the most visited line before it takes a child at random, int32 [B]; -1: it does not.

    Returns:
      that; and from which level on its result counts: 0, or `limit` while that is open.
    """
    if not settings.random_starts or chance is None:
        return jnp.full(batch, -1, jnp.int32), jnp.zeros(batch, jnp.int32)
    explores = random_bits.uniform(random_bits.bits(chance, _EXPLORES)) < settings.random_starts
    depth = jnp.asarray(_LINE_DEPTHS)[random_bits.below(random_bits.bits(chance, _DEPTH), len(_LINE_DEPTHS))]
    return jnp.where(explores, depth, -1), jnp.where(explores, limit, 0)


def _child(settings: Settings, tree: Tree, row: Array, column: Array, reply: Array) -> Array:
    return tree.child_by(row, column, reply) if settings.replies > 1 else tree.whole(row, CHILD, column)


def _is_final(settings: Settings, tree: Tree, node: Array) -> Array:
    """Says where nothing is to be learnt below a node, bool [B]: its game is over, or its value is proven."""
    over = tree.of_node(node, TERMINAL) != 0
    return over | (tree.whole(tree.row(node), PROVEN) != UNPROVEN) if settings.mcts_solver else over


def _explored(
    settings: Settings,
    tree: Tree,
    row: Array,
    level: Array,
    target: Array,
    first: Array,
    chosen: Array,
    reply: Array,
    draws: LaneKey,
    flying: Array,
) -> tuple[Array, Array]:
    """Replaces what is chosen in walks that explore: down the most visited line, there a child at random, which may be new.

    Returns:
      places int32 [B]; and `first` of the walks, set where the child was drawn.
    """
    column = 1 + jnp.arange(tree.num_children)
    opened = tree.whole(row, OPENED)
    visits = tree.whole(row[:, None], VISITS, column) & (_FLIGHT - 1).astype(np.int32)
    visits = jnp.where(column <= opened[:, None], visits, 0)
    favourite = visits.argmax(-1).astype(jnp.int32)
    child = _child(settings, tree, row, 1 + favourite, reply)
    on_line = (visits.max(-1) > 0) & (child != puct_tree.ROOT) & (child < flying) & ~_is_final(settings, tree, child)
    explores = (target >= 0) & (first > level)
    follows = explores & (level < target) & on_line
    count = opened + (tree.whole(row, NEXT_ARM) != NO_ARM)
    drawn = random_bits.below(random_bits.bits(draws, _PLACE), jnp.maximum(count, 1)).astype(jnp.int32)
    place = jnp.where(follows, favourite, jnp.where(explores, drawn, chosen))
    return place, jnp.where(explores & ~follows, level, first)


def take_off(settings: Settings, tree: Tree, walk: Walk, child: Array) -> Tree:
    """Opens the arm at the end of a walk as the node `child` (int32 []), and counts visits whose result is not yet known."""
    row, outside = tree.row(walk.last), tree.numbers.shape[0]
    own, edge = puct_tree.opened_numbers(tree, walk.last, walk.place, jnp.full_like(walk.last, child), walk.reply)
    rows = jnp.where(walk.opens, row, outside)
    columns = jnp.concatenate([jnp.zeros_like(row), 1 + walk.place])
    tree = puct_tree.write(tree, jnp.concatenate([rows, rows]), columns, jnp.concatenate([own, edge]))
    return tree if settings.leaf_parallelism == 1 else _fly(tree, walk, _FLIGHT)


def land(tree: Tree, walk: Walk) -> Tree:
    """Takes back the visits without result that `take_off` counted."""
    return _fly(tree, walk, np.uint32((1 << 32) - int(_FLIGHT)))


def _fly(tree: Tree, walk: Walk, amount: np.uint32) -> Tree:
    batch = walk.started.shape[0]
    lane = jnp.tile(jnp.arange(batch), LEVELS)

    def levels(carry: tuple[Array, Tree]) -> tuple[Array, Tree]:
        level, tree = carry
        node, place, here = levels_of(tree, walk, walk.started, level)
        row = jnp.where(here, lane * tree.num_nodes + node, tree.numbers.shape[0])
        rows, columns = jnp.concatenate([row, row]), jnp.concatenate([jnp.zeros_like(place), 1 + place])
        words = tree.numbers[rows, :, columns]
        added = jnp.where(jnp.arange(words.shape[1]) == VISITS, amount, np.uint32(0))
        return level + LEVELS, puct_tree.write(tree, rows, columns, words + added)

    deepest = walk.depth.max()
    return jax.lax.while_loop(lambda carry: carry[0] < deepest, levels, (jnp.int32(0), tree))[1]


def levels_of(tree: Tree, walk: Walk, lanes: Array, level: Array) -> tuple[Array, Array, Array]:
    """Gives nodes and places of `LEVELS` levels of the walks of `lanes` bool [B], and which of them count: [LEVELS * B] each."""
    words = jax.lax.dynamic_slice_in_dim(walk.path, level, LEVELS, 0).reshape(-1)
    node, place = jnp.divmod(words, tree.num_children + 1)
    number = level + jnp.arange(LEVELS)[:, None]
    return node, place, (lanes & (number >= walk.first) & (number < walk.depth)).reshape(-1)
