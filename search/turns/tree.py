"""Trees over turns as arrays: nodes by their states, edges by actions, and a hash table to find a state again."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames.bits import WORD_BITS, Bits
from jaxgames.game import Game
from jaxgames.lanes import read_at
from jaxgames.packing import Packing
from jaxgames.platforms import by_platform
from search.reductions import first_highest
from search.turns.game import Moves, without

WAYS = 4  # slots of a bucket of the hash table
NONE = -1

# Columns of `Tree.counts`, and rows of `Tree.stats`.
VISITS, LEFT, TRIED, MOVER = range(4)
EDGE_VISITS, EDGE_VALUE = range(2)

# A link is one word: the node that it leads to, and the action in the lowest bits.
_ACTION_BITS = 11
MOST_ACTIONS = 1 << _ACTION_BITS
MOST_NODES = 1 << (WORD_BITS - _ACTION_BITS)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Tree:
    """B trees of N nodes with C edges each; node 0 is the root.

    What is written together is one array: scatters of different shape side by side crash the compiler's multi-output fusion, so
    each write also has a loop of its own (`write_if`).

    Attributes:
      nodes: uint32 [B, N, F], the packed state, the set of untried actions, the keys of the state and of its position.
      counts: int32 [B, N, 4], visits, untried actions, edges that have been made, and who is to move.
      stats: float32 [B, N, 2, C], visits (0: no edge, or none any more) and sums of values of edges. All that a descent looks at
        in a node is in one piece, because in large trees it waits for nothing but memory.
      links: uint32 [B, N, C], where edges lead and their actions, see `child_of` and `action_of`.
      slots: int32 [B, H, 4], hash table from keys to nodes, -1 where free.
      size: int32 [B], nodes.
    """

    nodes: Array
    counts: Array
    stats: Array
    links: Array
    slots: Array
    size: Array


class Node(NamedTuple):
    """Nodes taken apart, one per lane; see `Tree`."""

    state: Any
    untried: Bits
    keys: Array


@dataclasses.dataclass(frozen=True)
class Rows:
    """How nodes become rows.

    Attributes:
      packing: of states.
      words: of a set of actions.
    """

    packing: Packing
    words: int

    def read(self, rows: Array) -> Node:
        """Takes rows apart, uint32 [B, F]."""
        start = self.packing.num_words
        untried = Bits(tuple(rows[:, start + i] for i in range(self.words)))
        return Node(jax.vmap(self.packing.unpack)(rows), untried, rows[:, start + self.words :])

    def write(self, node: Node) -> Array:
        """Makes rows, uint32 [B, F]."""
        untried, keys = jax.lax.optimization_barrier((node.untried.words, node.keys))
        return jnp.concatenate([jax.vmap(self.packing.pack)(node.state), jnp.stack(untried, -1), keys], -1)


def plant(game: Game, moves: Moves, rows: Rows, roots: Any, num_nodes: int, num_children: int) -> Tree:
    """Makes trees of their roots alone.

    Args:
      game: the game.
      moves: how it is played.
      rows: how nodes become rows.
      roots: State [B].
      num_nodes: room for so many nodes, the root included.
      num_children: and for so many edges of each.
    """
    batch = len(jax.tree.leaves(roots)[0])
    root = Node(roots, jax.vmap(moves.offered)(roots), keys_of(game, moves, roots))
    row = rows.write(root)
    buckets = 1 << max(1, (2 * num_nodes // WAYS - 1).bit_length())
    nothing = jnp.zeros(batch, jnp.int32)
    counts = jnp.stack([nothing, number_of(root.untried), nothing, jax.vmap(game.to_play)(roots)], -1)
    slots = jnp.full((batch, buckets, WAYS), NONE, jnp.int32)
    return Tree(
        nodes=jnp.zeros((batch, num_nodes, row.shape[1]), jnp.uint32).at[:, 0].set(row),
        counts=jnp.zeros((batch, num_nodes, 4), jnp.int32).at[:, 0].set(counts),
        stats=jnp.zeros((batch, num_nodes, 2, num_children), jnp.float32),
        links=jnp.zeros((batch, num_nodes, num_children), jnp.uint32),
        slots=slots.at[jnp.arange(batch), _bucket(root.keys, buckets), 0].set(0),
        size=jnp.ones(batch, jnp.int32),
    )


def number_of(sets_of: Bits) -> Array:
    """Counts every lane's set, int32 [B]."""
    return jax.vmap(Bits.count)(sets_of)


def write_if(write: Callable[[Array], Array], array: Array, needed: Array) -> Array:
    """Writes to an array if it is `needed`, bool [].

    On a CPU in a loop of one round or none, apart from all other code. An accelerator would ask the host whether there is a
    round, so it always writes: what is not needed must change nothing.
    """

    def in_a_loop(array: Array, needed: Array) -> Array:
        def once(carry: tuple[Array, Array]) -> tuple[Array, Array]:
            return jnp.zeros_like(needed), write(carry[1])

        return jax.lax.while_loop(lambda carry: carry[0], once, (needed, array))[1]

    return by_platform(array, needed, cpu=in_a_loop, default=lambda array, needed: write(array))


def keys_of(game: Game, moves: Moves, states: Any) -> Array:
    """Keys of states and of their positions, uint32 [B, 4]."""
    return jnp.concatenate([jax.vmap(game.state_key)(states), jax.vmap(moves.position_key)(states)], -1)


def _bucket(keys: Array, buckets: int) -> Array:
    return (keys[:, 0] & jnp.uint32(buckets - 1)).astype(jnp.int32)


def find(tree: Tree, keys: Array) -> tuple[Array, Array, Array]:
    """Looks states up by their keys, uint32 [B, 4].

    Returns:
      The node or -1, the first free slot of its bucket, int32 [B] each, and whether there is one, bool [B].
    """
    lane = jnp.arange(len(keys))
    bucket = _bucket(keys, tree.slots.shape[1])
    held = tree.slots[lane, bucket]
    theirs = tree.nodes[lane[:, None], jnp.maximum(held, 0)][..., -4:-2]
    same = (held >= 0) & (theirs == keys[:, None, :2]).all(-1)
    free = held < 0
    place = bucket * WAYS + free.argmax(1).astype(jnp.int32)
    return jnp.where(same, held, NONE).max(1), place, free.any(1)


def add(
    rows: Rows,
    tree: Tree,
    number: Array,
    node: Node,
    counts: Array,
    action: Array,
    child: Array,
    fresh: Node,
    movers: Array,
    opens: Array,
    grows: Array,
    is_new: Array,
) -> Tree:
    """Writes what an expansion has found: the action is tried, an edge leads to the child, and a new node is filled.

    Args:
      rows: how nodes become rows.
      tree: the trees.
      number: int32 [B], the node that is expanded.
      node: what it holds.
      counts: int32 [B, 4], its counts.
      action: int32 [B], tried in it.
      child: int32 [B], where that leads.
      fresh: the child.
      movers: int32 [B], who is to move there.
      opens: bool [B], an action is tried.
      grows: bool [B], it makes an edge.
      is_new: bool [B], the child is a new node.
    """
    rest = node._replace(untried=jax.vmap(without)(node.untried, action))
    nothing = jnp.zeros_like(child)
    less = jnp.stack([nothing, opens.astype(jnp.int32), -grows.astype(jnp.int32), nothing], -1)
    blank = jnp.stack([nothing, number_of(fresh.untried), nothing, movers], -1)
    link = link_to(child, action)
    written = jax.lax.optimization_barrier((rows.write(rest), rows.write(fresh), counts - less, blank, link))
    lane, total = jnp.arange(len(number)), tree.nodes.shape[1]
    from_node, to_node = jnp.where(opens, number, total), jnp.where(is_new, child, total)
    twice, places = jnp.concatenate([lane, lane]), jnp.concatenate([from_node, to_node])
    both = jax.lax.optimization_barrier((jnp.concatenate(written[:2]), jnp.concatenate(written[2:4])))
    at = jnp.where(grows, number, total), counts[:, TRIED]
    some = opens.any()
    return dataclasses.replace(
        tree,
        nodes=write_if(lambda array: array.at[twice, places].set(both[0], mode="drop"), tree.nodes, some),
        counts=write_if(lambda array: array.at[twice, places].set(both[1], mode="drop"), tree.counts, some),
        links=write_if(lambda array: array.at[lane, *at].set(written[4], mode="drop"), tree.links, some),
        size=tree.size + is_new,
    )


def link_to(child: Array, action: Array) -> Array:
    """Gives links to nodes (int32) by actions (int32), uint32."""
    return (child.astype(jnp.uint32) << _ACTION_BITS) | action.astype(jnp.uint32)


def child_of(links: Array) -> Array:
    """Gives the nodes to which links (uint32) lead, int32."""
    return (links >> _ACTION_BITS).astype(jnp.int32)


def action_of(links: Array) -> Array:
    """Gives the actions of links (uint32), int32."""
    return (links & (MOST_ACTIONS - 1)).astype(jnp.int32)


def of_nodes(array: Array, node: Array) -> Array:
    """Reads what belongs to one node per tree: of [B, N, ...] at int32 [B], [B, ...].

    Nodes must be in range. By one flat index: with two, XLA makes a pair of them for every element that it reads.
    """
    batch, total = array.shape[:2]
    return read_at(array.reshape(batch * total, *array.shape[2:]), jnp.arange(batch) * total + node)


def best_edge(tree: Tree, node: Array) -> tuple[Array, Array, Array]:
    """Gives the edge of a node (int32 [B]) with the highest mean, that mean (-inf where is none), and its link, uint32 [B]."""
    lane, stats = jnp.arange(len(node)), of_nodes(tree.stats, node)
    visits, values = (stats[:, row] for row in (EDGE_VISITS, EDGE_VALUE))
    edge, mean = first_highest(jnp.where(visits > 0, values / jnp.maximum(visits, 1), -jnp.inf))
    return edge, mean, tree.links[lane, node, edge]
