"""The tree of a PUCT search: nodes in rows, children in the order in which they were opened.

A node has candidates: all arms of its state, or the actions of the highest priors where there are thousands.

All children of a node that were never tried are worth the same, so among them the one with the highest prior is tried next.
A node therefore keeps its tried children side by side and, of the others, only the next one; choosing looks at a few
numbers instead of at every action. The priors of all actions are looked at once more when a child is opened.

What never changes of a node is written once, as one row of words at the same place in all lanes. The numbers that do change lie
in one more array: XLA's multi-output fusion cannot compile writes into several arrays that stand side by side.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames.lanes import read_at
from jaxgames.packing import Packing, packing_of
from search.reductions import first_highest

ROOT = 0
NO_ARM = -1
UNPROVEN = 2  # a result that is not certain; else 1, 0 or -1

# The words of `Tree.numbers`. Column 0 of a node is the node itself, column 1 + c its child in place c.
NUM_WORDS = 6
VISITS, TOTAL = 0, 1  # of node and child: int, float
OPENED, NEXT_ARM, NEXT_PRIOR = 2, 3, 4  # of the node: int, int, float
ARM, CHILD, PRIOR = 2, 3, 4  # of a child: int, int, float
PROVEN = 5  # of node and child, for the mover of the node: int
REPLIES = NUM_WORDS  # from here on, of a child: the numbers of the nodes after replies 1, 2, ... (CHILD: after reply 0)


# The first words of a row of `Tree.fixed`; after them the priors of all candidates, their actions if they are kept, the state.
USED, PLAYER, TERMINAL, PARENT, RAW, LEGAL, RANDOM, KEY = range(8)
_HEAD = 9


@functools.partial(
    jax.tree_util.register_dataclass,
    data_fields=("size", "fixed", "numbers"),
    meta_fields=("num_candidates", "keeps_actions", "packing"),
)
@dataclasses.dataclass(frozen=True)
class Tree:
    """Trees of B lanes with room for N nodes of K candidates each; C children at most are opened per node.

    Attributes:
      num_candidates: K.
      keeps_actions: nodes keep the actions of their candidates; else these are the arms of the state, in their order.
      packing: of a state.
      size: int32 [1], rows in use, in every lane; node 0 is the root.
      fixed: uint32 [B, N, W], per node: whether the row is used in this lane, who moves, whether the game is over, the number of
        the parent (-1 for the root), what the network or the rules say for the mover, how many arms are legal, whether chance
        plays a part in what follows, the key, the priors (0 for illegal candidates), the actions if they are kept, and the state.
      numbers: uint32 [B * N, NUM_WORDS + R - 1, 1 + C], see above; floats by their bits; R replies are kept of each child.
    """

    num_candidates: int
    keeps_actions: bool
    packing: Packing
    size: Array
    fixed: Array
    numbers: Array

    @property
    def num_nodes(self) -> int:
        return int(self.fixed.shape[1])

    @property
    def num_children(self) -> int:
        return int(self.numbers.shape[2]) - 1

    @property
    def first_word_of_state(self) -> int:
        return _HEAD + self.num_candidates * (2 if self.keeps_actions else 1)

    @property
    def used(self) -> Array:
        """bool [B, N], rows that are a node of the lane's tree."""
        return self.fixed[:, :, USED] != 0

    def lane(self, node: Array) -> Array:
        """Gives the lanes of nodes [M]: one per lane, or, where M is a multiple of B, one per lane again and again."""
        return jnp.arange(node.shape[0]) % self.fixed.shape[0]

    def of_node(self, node: Array, word: int) -> Array:
        """Reads one whole number of one node per lane (int32 [B]) that never changes, int32 [B]."""
        return self._fixed(node, word).astype(jnp.int32)

    def raw(self, node: Array) -> Array:
        """Reads what the network or the rules say of one node per lane, float32 [B]."""
        return as_real(self._fixed(node, RAW))

    def prior(self, node: Array) -> Array:
        """Reads the priors of one node per lane, float32 [B, K]."""
        return as_real(self._fixed(node)[:, _HEAD : _HEAD + self.num_candidates])

    def actions(self, node: Array) -> Array:
        """Reads the actions of the candidates of one node per lane, where they are kept: int32 [B, K]."""
        words = self._fixed(node)
        return words[:, _HEAD + self.num_candidates : self.first_word_of_state].astype(jnp.int32)

    def states(self, node: Array) -> Any:
        """Reads the state of one node per lane, State [B]."""
        return jax.vmap(self.packing.unpack)(self._fixed(node)[:, self.first_word_of_state :])

    def row(self, node: Array) -> Array:
        """Gives the rows of `numbers` for one node per lane, int32 [B]."""
        return self.lane(node) * self.num_nodes + node

    def child_by(self, row: Array, column: Array, reply: Array) -> Array:
        """Reads the node after a child's reply, int32 [M]; the root, which is nobody's child, where there is none yet."""
        words = self._numbers(row, slice(None), column).astype(jnp.int32)
        return (words * (jnp.arange(words.shape[1]) == _word_of(reply)[:, None])).sum(-1, dtype=jnp.int32)

    def whole(self, row: Array, word: int, column: Array | int = 0) -> Array:
        """Reads whole numbers, int32; row and column must be in range."""
        return self._numbers(row, word, column).astype(jnp.int32)

    def real(self, row: Array, word: int, column: Array | int = 0) -> Array:
        """Reads floating-point numbers, float32; row and column must be in range."""
        return as_real(self._numbers(row, word, column))

    def _numbers(self, row: Array, word: int | slice, column: Array | int) -> Array:
        return read_at(self.numbers, row, word, column)

    def _fixed(self, node: Array, word: int | slice = slice(None)) -> Array:
        return read_at(self.fixed, self.lane(node), node, word)


class NewNode(NamedTuple):
    """What is known of a state when its node is opened; leaves [B].

    Attributes:
      state: State.
      key: uint32 [B, 2].
      player: int32.
      value: float32, for the mover.
      terminal: bool.
      prior: float32 [B, K], 0 for illegal candidates.
      num_legal: int32, legal arms of the player.
      random: bool, what follows depends on chance.
      actions: int32 [B, K], of the candidates; None where they are the arms of the state.
    """

    state: Any
    key: Array
    player: Array
    value: Array
    terminal: Array
    prior: Array
    num_legal: Array
    random: Array
    actions: Array | None = None


def as_real(words: Array) -> Array:
    """Reads float32 out of their bits."""
    return jax.lax.bitcast_convert_type(words, jnp.float32)


def as_words(numbers: Array) -> Array:
    """Gives whole or floating-point numbers as uint32."""
    if jnp.issubdtype(numbers.dtype, jnp.floating):
        return jax.lax.bitcast_convert_type(numbers.astype(jnp.float32), jnp.uint32)
    return numbers.astype(jnp.int32).astype(jnp.uint32)


def init(
    state: Any,
    batch_size: int,
    num_nodes: int,
    num_candidates: int,
    num_children: int,
    *,
    keeps_actions: bool = False,
    replies: int = 1,
) -> Tree:
    """Makes empty trees; `state` gives the shapes of one state."""
    packing = packing_of(state)
    num_words = _HEAD + num_candidates * (2 if keeps_actions else 1) + packing.num_words
    return Tree(
        num_candidates=num_candidates,
        keeps_actions=keeps_actions,
        packing=packing,
        size=jnp.zeros(1, jnp.int32),
        fixed=jnp.zeros((batch_size, num_nodes, num_words), jnp.uint32),
        numbers=jnp.zeros((batch_size * num_nodes, NUM_WORDS + replies - 1, 1 + num_children), jnp.uint32),
    )


def reset(tree: Tree, lanes: Array) -> Tree:
    """Forgets everything in some lanes (bool [B])."""
    word = jnp.arange(tree.fixed.shape[2])
    return dataclasses.replace(tree, fixed=jnp.where(lanes[:, None, None] & (word == USED), 0, tree.fixed))


def put(tree: Tree, new: NewNode, parent: Array, use: Array, lanes: Array | None = None) -> Tree:
    """Writes what never changes of new nodes [M] into the next rows, in the lanes of `use` bool [M]; M is a multiple of B.

    The rows are used up in all `lanes` (bool [B]); the others keep what they have there. None: all lanes.
    """
    batch, _, width = tree.fixed.shape
    words = jnp.swapaxes(_fixed_words(tree, new, parent, use).reshape(-1, batch, width), 0, 1)
    count = words.shape[1]
    if lanes is not None:
        kept = jax.lax.dynamic_slice_in_dim(tree.fixed, tree.size[0], count, 1)
        words = jnp.where(lanes[:, None, None], words, kept)
    fixed = jax.lax.dynamic_update_slice_in_dim(tree.fixed, words, tree.size[0], 1)
    return dataclasses.replace(tree, size=tree.size + count, fixed=fixed)


def put_roots(tree: Tree, new: NewNode, use: Array) -> Tree:
    """Writes new nodes into row 0 of the lanes of `use` bool [B]; at least one row is in use afterwards."""
    words = _fixed_words(tree, new, jnp.full_like(new.player, -1), jnp.ones_like(use))
    words = jnp.where(use[:, None], words, tree.fixed[:, ROOT])
    fixed = jax.lax.dynamic_update_slice_in_dim(tree.fixed, words[:, None], ROOT, 1)
    return dataclasses.replace(tree, size=jnp.maximum(tree.size, 1), fixed=fixed)


def _fixed_words(tree: Tree, new: NewNode, parent: Array, use: Array) -> Array:
    flags = use, new.terminal, new.random
    used, terminal, random = (flag.astype(jnp.int32) for flag in flags)
    head = (used, new.player, terminal, parent, new.value, new.num_legal, random)
    actions = [] if new.actions is None else [as_words(new.actions)]
    state = jax.vmap(tree.packing.pack)(new.state)
    parts = [*(as_words(part)[:, None] for part in head), new.key, as_words(new.prior), *actions, state]
    return jnp.concatenate(jax.lax.optimization_barrier(parts), axis=1)


def fresh_numbers(tree: Tree, new: NewNode) -> Array:
    """Gives the column of new nodes themselves: uint32 [M, words]."""
    best, most = first_highest(new.prior)
    result = jnp.sign(new.value)
    # Nothing is proven by an end worth something between, such as that of a player who is out while its team plays on.
    proven = jnp.where(new.terminal & (new.value == result), result.astype(jnp.int32), UNPROVEN)
    next_arm = jnp.where((most > 0) & ~new.terminal, best, NO_ARM)
    zero = jnp.zeros_like(best)
    return _node_column(tree, visits=zero + 1, total=new.value, opened=zero, next_arm=next_arm, next_prior=most, proven=proven)


def opened_numbers(tree: Tree, node: Array, place: Array, child: Array, reply: Array) -> tuple[Array, Array]:
    """Gives two columns, uint32 [B, words] each, for opening a child of a node.

    Args:
      tree: B trees.
      node: int32 [B].
      place: int32 [B], among the children: the next one, or one that is open already and gets the node after another reply.
      child: int32 [B], the number of the new node.
      reply: int32 [B], after which it comes.

    Returns:
      of the node itself, and of the child.
    """
    row = tree.row(node)
    opened, arm, prior = tree.whole(row, OPENED), tree.whole(row, NEXT_ARM), tree.real(row, NEXT_PRIOR)
    all_priors = tree.prior(node)
    number = jnp.arange(all_priors.shape[-1])
    # Those after it: a smaller prior, or the same and a higher number.
    later = (all_priors < prior[:, None]) | ((all_priors == prior[:, None]) & (number > arm[:, None]))
    rest = jnp.where(later, all_priors, 0.0)
    best, most = first_highest(rest)
    room = opened + 1 < tree.num_children
    next_arm = jnp.where((most > 0) & room, best, NO_ARM)
    own = _node_column(
        tree,
        visits=tree.whole(row, VISITS),
        total=tree.real(row, TOTAL),
        opened=opened + 1,
        next_arm=next_arm,
        next_prior=most,
        proven=tree.whole(row, PROVEN),
    )
    edge = _new_child_column(tree, arm=arm, prior=prior)
    if tree.numbers.shape[1] > NUM_WORDS:
        again = (place < opened)[:, None]
        own = jnp.where(again, tree.numbers[row, :, 0], own)
        edge = jnp.where(again, tree.numbers[row, :, jnp.minimum(1 + place, tree.num_children)], edge)
    word = jnp.arange(edge.shape[1])
    return own, jnp.where(word == _word_of(reply)[:, None], child.astype(jnp.uint32)[:, None], edge)


def _word_of(reply: Array) -> Array:
    """Gives the word that names the node after a reply."""
    return jnp.where(reply > 0, REPLIES - 1 + reply, CHILD)


def write(tree: Tree, rows: Array, columns: Array, words: Array) -> Tree:
    """Writes columns uint32 [M, NUM_WORDS + replies - 1] at (rows, columns) int32 [M]; rows out of range are left out."""
    return dataclasses.replace(tree, numbers=tree.numbers.at[rows, :, columns].set(words, mode="drop"))


def _node_column(
    tree: Tree, *, visits: Array, total: Array, opened: Array, next_arm: Array, next_prior: Array, proven: Array
) -> Array:
    """Makes columns of nodes themselves, uint32 [M, words]."""
    own = {OPENED: opened, NEXT_ARM: next_arm, NEXT_PRIOR: next_prior}
    return _column(tree, {VISITS: visits, TOTAL: total, PROVEN: proven, **own})


def _new_child_column(tree: Tree, *, arm: Array, prior: Array) -> Array:
    """Makes columns of children that have not been visited and lead nowhere yet, uint32 [M, words]."""
    zero = jnp.zeros_like(arm)
    own = {ARM: arm, CHILD: zero, PRIOR: prior}
    return _column(tree, {VISITS: zero, TOTAL: zero.astype(jnp.float32), PROVEN: zero + UNPROVEN, **own})


def _column(tree: Tree, of_words: Mapping[int, Array]) -> Array:
    """Makes columns of numbers by their words; the nodes after further replies are none."""
    parts = [as_words(of_words[word]) for word in range(NUM_WORDS)]
    column = jnp.stack(jax.lax.optimization_barrier(parts), axis=-1)
    return jnp.pad(column, ((0, 0), (0, tree.numbers.shape[1] - NUM_WORDS)))


def find(tree: Tree, keys: Array) -> Array:
    """Finds the first node with a key: int32 [B], -1 where there is none (keys uint32 [B, 2])."""
    same = (tree.fixed[:, :, KEY : KEY + 2] == keys[:, None]).all(-1) & tree.used
    return jnp.where(same.any(-1), same.argmax(-1), -1).astype(jnp.int32)


def retain_subtree(tree: Tree, root: Array, room: int, active: Array) -> Tree:
    """Keeps what hangs below new roots, and nothing where that would leave too little room.

    Args:
      tree: B trees.
      root: int32 [B], the node that becomes the root; -1: keep nothing.
      room: rows that must stay free in every lane.
      active: bool [B], lanes to work on; the others stay as they are.

    Returns:
      Trees that begin at row 0; `size` is that of the largest of these lanes.
    """
    batch = root.shape[0]
    lanes = jnp.arange(batch)[:, None]
    number = jnp.arange(tree.num_nodes)
    # Ancestors by doubling: after k rounds `above` is the ancestor 2^k steps up; the new root is its own.
    parent = tree.fixed[:, :, PARENT].astype(jnp.int32)
    above = jnp.where((number == root[:, None]) | (parent < 0), number, parent)
    for _ in range(max(tree.num_nodes - 1, 1).bit_length()):
        above = jnp.take_along_axis(above, above, axis=1)
    keep = (above == root[:, None]) & tree.used & (root >= 0)[:, None]
    keep = keep & (keep.sum(-1, dtype=jnp.int32) + room <= tree.num_nodes)[:, None]
    count = keep.sum(-1, dtype=jnp.int32)
    place = jnp.where(keep, jnp.cumsum(keep, axis=1) - 1, 0).astype(jnp.int32)
    source = jnp.argsort(~keep, axis=1, stable=True)  # those kept come first, in their order

    numbers = tree.numbers.reshape(batch, tree.num_nodes, *tree.numbers.shape[1:])[lanes, source]
    children = jax.vmap(lambda places, old: places[old])(place, numbers.astype(jnp.int32))
    word, column = jnp.arange(numbers.shape[2])[:, None], jnp.arange(numbers.shape[-1])
    # Word CHILD of column 0 is the next arm, and stays.
    renumber = ((word == CHILD) | (word >= REPLIES)) & (column > 0)
    numbers = jnp.where(renumber, children.astype(jnp.uint32), numbers)
    fixed = tree.fixed[lanes, source]
    parent = jnp.take_along_axis(place, jnp.maximum(parent[lanes, source], 0), axis=1)
    parent = jnp.where(number == ROOT, -1, parent)[..., None].astype(jnp.uint32)
    here = (number < count[:, None])[..., None].astype(jnp.uint32)
    index = jnp.arange(fixed.shape[2])
    fixed = jnp.where(index == PARENT, parent, jnp.where(index == USED, here, fixed))
    changed = active[:, None, None]
    fixed = jnp.where(changed, fixed, tree.fixed)
    numbers = jnp.where(changed[..., None], numbers, tree.numbers.reshape(numbers.shape)).reshape(tree.numbers.shape)
    return dataclasses.replace(tree, size=jnp.where(active, count, 0).max(keepdims=True), fixed=fixed, numbers=numbers)
