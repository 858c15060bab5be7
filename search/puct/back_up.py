"""Takes the value of a leaf of a PUCT tree up to all that lies on the way to it, with proofs or without."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from search.puct import tree as puct_tree
from search.puct.settings import Settings
from search.puct.tree import LEGAL, OPENED, PLAYER, PROVEN, TOTAL, UNPROVEN, VISITS, Tree, as_words
from search.puct.walk import LEVELS, Walk, land, levels_of


def back_up_all(settings: Settings, tree: Tree, walks: Walk, leaf: Array, value: Array) -> Tree:
    """Takes the values of one or more walks up, one after the other.

    Args:
      settings: of the search.
      tree: B trees.
      walks: leaves [W, ...].
      leaf: int32 [W, B], where they ended.
      value: float32 [W, B], for the mover there.
    """

    def one(tree: Tree, entry: tuple[Walk, Array, Array]) -> tuple[Tree, None]:
        walk, leaf, value = entry
        return back_up(settings, land(tree, walk) if settings.leaf_parallelism > 1 else tree, walk, leaf, value), None

    if settings.leaf_parallelism == 1:
        return one(tree, jax.tree.map(lambda rows: rows[0], (walks, leaf, value)))[0]
    return jax.lax.scan(one, tree, (walks, leaf, value))[0]


def back_up(settings: Settings, tree: Tree, walk: Walk, leaf: Array, value: Array) -> Tree:
    """Adds the value of the node `leaf` (int32 [B]) to all that lies on the way to it."""
    # A final state that was met again is counted too; a new one has been when it was opened.
    row, zero = tree.row(leaf), jnp.zeros_like(leaf)
    again = jnp.where(walk.going & ~walk.opens, row, tree.numbers.shape[0])
    tree = puct_tree.write(tree, again, zero, _added(tree, row, zero, value, None))
    return (_back_up_proofs if settings.mcts_solver else _back_up_levels)(tree, walk, leaf, value)


def _back_up_levels(tree: Tree, walk: Walk, leaf: Array, value: Array) -> Tree:
    """Many levels at a time: nodes on a way differ, and a value is the same for all who have the player of the leaf."""
    lane = jnp.tile(jnp.arange(leaf.shape[0]), LEVELS)
    player, value = tree.of_node(leaf, PLAYER)[lane], value[lane]

    def levels(carry: tuple[Array, Tree]) -> tuple[Array, Tree]:
        first, tree = carry
        node, place, here = levels_of(tree, walk, walk.going, first)
        turned = tree.fixed[lane, node, PLAYER].astype(jnp.int32) != player
        signed = jnp.where(turned, -value, value)
        row, zero = lane * tree.num_nodes + node, jnp.zeros_like(node)
        rows, columns = jnp.concatenate([row, row]), jnp.concatenate([zero, 1 + place])
        changed = _added(tree, rows, columns, jnp.concatenate([signed, signed]), None)
        rows = jnp.where(jnp.concatenate([here, here]), rows, tree.numbers.shape[0])
        return first + LEVELS, puct_tree.write(tree, rows, columns, changed)

    deepest = walk.depth.max()
    return jax.lax.while_loop(lambda carry: carry[0] < deepest, levels, (jnp.int32(0), tree))[1]


def _back_up_proofs(tree: Tree, walk: Walk, leaf: Array, value: Array) -> Tree:
    """Level by level, because what is certain of a node depends on what has just become certain below it."""

    def step(carry: tuple[Array, Array, Array, Tree]) -> tuple[Array, Array, Array, Tree]:
        level, below, value, tree = carry
        here = walk.going & (level >= walk.first) & (level < walk.depth)
        node, place = jnp.divmod(walk.path[level], tree.num_children + 1)
        turned = tree.of_node(node, PLAYER) != tree.of_node(below, PLAYER)
        value = jnp.where(here & turned, -value, value)
        row, zero = tree.row(node), jnp.zeros_like(node)
        edge_proof = turned_proof(tree.whole(tree.row(below), PROVEN), turned)
        own_proof = _proof(tree, node, place, edge_proof)
        edge = _added(tree, row, 1 + place, value, edge_proof)
        value = jnp.where(here, certain_value(own_proof, value), value)
        words = jnp.concatenate([_added(tree, row, zero, value, own_proof), edge])
        rows = jnp.where(here, row, tree.numbers.shape[0])
        tree = puct_tree.write(tree, jnp.concatenate([rows, rows]), jnp.concatenate([zero, 1 + place]), words)
        return level - 1, jnp.where(here, node, below), value, tree

    return jax.lax.while_loop(lambda carry: carry[0] >= 0, step, (walk.depth.max() - 1, leaf, value, tree))[3]


def _proof(tree: Tree, node: Array, place: Array, newest: Array) -> Array:
    """What is certain of a node for its mover: won if a child is, else the best of all once all are certain.

    `newest` is what is certain of the child in `place`, which the node may not know yet.
    """
    row = tree.row(node)
    number = jnp.arange(tree.num_children)
    opened = number < tree.whole(row, OPENED)[:, None]
    known = tree.whole(row[:, None], PROVEN, 1 + number)
    known = jnp.where(number == place[:, None], newest[:, None], known)
    certain = known != UNPROVEN
    best = jnp.where(opened & certain, known, -UNPROVEN).max(-1)
    complete = (opened.sum(-1) == tree.of_node(node, LEGAL)) & (~opened | certain).all(-1) & opened.any(-1)
    before = tree.whole(row, PROVEN)
    return jnp.where(before != UNPROVEN, before, jnp.where((best == 1) | complete, best, UNPROVEN))


def _added(tree: Tree, row: Array, column: Array, value: Array, proven: Array | None) -> Array:
    """Gives columns of numbers with one more visit of this value, uint32 [M, words]; with a proof, that is noted too."""
    words = tree.numbers[row, :, column]
    visits, total = words[:, VISITS] + 1, as_words(puct_tree.as_real(words[:, TOTAL]) + value)
    number = jnp.arange(words.shape[1])
    words = jnp.where(number == VISITS, visits[:, None], jnp.where(number == TOTAL, total[:, None], words))
    return words if proven is None else jnp.where(number == PROVEN, as_words(proven)[:, None], words)


def certain_value(proven: Array, value: Array) -> Array:
    """Gives what is certain of a node where something is, else `value`."""
    return jnp.where(proven != UNPROVEN, proven.astype(jnp.float32), value)


def turned_proof(proven: Array, turned: Array) -> Array:
    """Turns what is certain for one player into what is for the other, where `turned`."""
    return jnp.where(turned & (proven != UNPROVEN), -proven, proven)
