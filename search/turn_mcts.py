"""Monte Carlo tree search over turns of several actions: vanilla, non-exploring and bridge-burning.

A node is a state, an edge an action; End Turn is played along with the last action of a turn. A state that is reached again is
the same node, so statistics stand on edges and go back along the path that was walked. Actions are tried in the order of their
rating; UCB chooses when all have been tried. A new node is valued by a rollout to the end of the turn that it is in.

(Source: Justesen et al., section IV, and the released program.)
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import checks, random_bits
from jaxgames.bitboard import Bits
from jaxgames.game import Game
from jaxgames.packing import Packing, packing_of
from jaxgames.random_bits import LaneKey
from search.moves import Moves, finish_turn, moves_of, value_for, without
from search.planner import Planner, of_arm, where_lanes
from search.turns import LANES_AT_ONCE, TurnPlan, TurnSearch, never, turn_planner

_WAYS = 4
_NONE = -1
# Counters and children of the key of one simulation.
_EXPAND, _END, _ROLLOUT = range(3)


@dataclasses.dataclass(frozen=True)
class Settings:
    """How a tree over turns is searched; checked when made.

    Attributes:
      num_simulations: simulations per turn.
      exploration: C of UCB.
      greediness: chance that a rollout takes the highest rated action.
      burn_bridges: the simulations are split into as many phases as there are actions left; after each phase only the best edge
        remains, one level deeper every time.
      max_children: actions tried per node, the best rated first.
      max_depth: longest path.
      lanes_at_once: games that think together.
    """

    num_simulations: int = 2000
    exploration: float = 1 / math.sqrt(2)
    greediness: float = 0.5
    burn_bridges: bool = False
    max_children: int = 96
    max_depth: int = 100
    lanes_at_once: int = LANES_AT_ONCE

    def __post_init__(self) -> None:
        checks.at_least(1, self, "num_simulations", "max_children", "max_depth", "lanes_at_once")
        if self.exploration < 0:
            raise ValueError(f"exploration={self.exploration}: must be >= 0")
        if not 0 <= self.greediness <= 1:
            raise ValueError(f"greediness={self.greediness}: must be in 0..1")


NON_EXPLORING = Settings(exploration=0.0, greediness=1.0)
BRIDGE_BURNING = Settings(burn_bridges=True)


# Columns of `Tree.counts` and `Tree.edges`.
_VISITS, _LEFT, _TRIED, _MOVER = range(4)
_CHILD, _ACTION, _EDGE_VISITS, _EDGE_VALUE = range(4)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Tree:
    """B trees of N nodes with C edges each; node 0 is the root.

    What is written together is one array: scatters of different shape side by side crash the compiler's multi-output fusion, so
    each write also has a loop of its own (`_alone`).

    Attributes:
      nodes: uint32 [B, N, F], the packed state, the set of untried actions, the keys of the state and of its position.
      counts: int32 [B, N, 4], visits, untried actions, edges that have been made, and who is to move.
      edges: float32 [B, N, C, 4], child + 1 (0: no edge, or none any more), action, visits, sum of values.
      slots: int32 [B, H, 4], hash table from keys to nodes, -1 where free.
      size: int32 [B], nodes.
    """

    nodes: Array
    counts: Array
    edges: Array
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


def turn_mcts(game: Game, settings: Settings | None = None) -> Planner:
    """Monte Carlo tree search over turns; see `Settings` for its three published variants.

    Args:
      game: a game of turns (see `moves.moves_of`), of which the planner sees the full state.
      settings: None: the vanilla one.
    """
    settings = settings or Settings()
    moves = moves_of(game)
    name = "MCTS"
    if settings.exploration == 0:
        name = "non-exploring MCTS"
    elif settings.burn_bridges:
        name = "bridge-burning MCTS"

    return turn_planner(game, moves, name, tree_search(game, moves, settings), lanes_at_once=settings.lanes_at_once)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Searching:
    """A search on its way. All with leading axis B.

    Attributes:
      lanes: uint32 [B] each, keys.
      seats: int32 [B], who is to move.
      active: bool [B], lanes to search.
      points: int32 [B], actions left at the root.
      tree: the trees.
      deepest: int32 [B], the longest path.
      outcomes: int32 [B], states behind the own turn that were met.
      burnt: int32 [B], levels of the tree at which bridges have been burnt.
    """

    lanes: LaneKey
    seats: Array
    active: Array
    points: Array
    tree: Tree
    deepest: Array
    outcomes: Array
    burnt: Array


def tree_search(game: Game, moves: Moves, settings: Settings) -> TurnSearch:
    """Makes the search for a turn: a round is a simulation.

    Args:
      game: the game.
      moves: how it is played.
      settings: see `Settings`.
    """
    state = jax.eval_shape(game.init, jax.random.key(0))
    rows = Rows(packing_of(state), len(jax.eval_shape(moves.offered, state).words))

    def start(lanes: LaneKey, states: Any, seats: Array, active: Array) -> Searching:
        points = jnp.maximum(states.action_points.astype(jnp.int32), 1)
        zero = jnp.zeros_like(seats)
        return Searching(lanes, seats, active, points, _plant(game, moves, settings, rows, states), zero, zero, zero)

    def simulation(number: Array, now: Searching) -> Searching:
        tree, burnt = now.tree, now.burnt
        if settings.burn_bridges:
            begins = (number * now.points) // settings.num_simulations > burnt
            tree, burnt = _burn(tree, burnt, begins), burnt + begins
        lanes = random_bits.fold(now.lanes, number)
        tree, depth, ended = _simulate(game, moves, settings, rows, now.seats, now.active, lanes, tree)
        deepest, outcomes = jnp.maximum(now.deepest, depth), now.outcomes + ended
        return dataclasses.replace(now, tree=tree, deepest=deepest, outcomes=outcomes, burnt=burnt)

    def finish(now: Searching) -> TurnPlan:
        actions, value = _read_plan(moves, now.tree, now.seats)
        metrics = {"nodes": now.tree.size, "depth": now.deepest, "outcomes": now.outcomes}
        return TurnPlan(actions, value, metrics)

    return TurnSearch(start, simulation, finish, never, settings.num_simulations)


def _plant(game: Game, moves: Moves, settings: Settings, rows: Rows, roots: Any) -> Tree:
    """Makes trees of their roots alone."""
    batch = len(jax.tree.leaves(roots)[0])
    total = settings.num_simulations + 1
    root = Node(roots, jax.vmap(moves.offered)(roots), _keys(game, moves, roots))
    row = rows.write(root)
    buckets = 1 << max(1, (2 * total // _WAYS - 1).bit_length())
    nothing = jnp.zeros(batch, jnp.int32)
    counts = jnp.stack([nothing, _number(root.untried), nothing, jax.vmap(game.to_play)(roots)], -1)
    slots = jnp.full((batch, buckets, _WAYS), _NONE, jnp.int32)
    return Tree(
        nodes=jnp.zeros((batch, total, row.shape[1]), jnp.uint32).at[:, 0].set(row),
        counts=jnp.zeros((batch, total, 4), jnp.int32).at[:, 0].set(counts),
        edges=jnp.zeros((batch, total, settings.max_children, 4), jnp.float32),
        slots=slots.at[jnp.arange(batch), _bucket(root.keys, buckets), 0].set(0),
        size=jnp.ones(batch, jnp.int32),
    )


def _number(sets_of: Bits) -> Array:
    """Counts every lane's set, int32 [B]."""
    return jax.vmap(Bits.count)(sets_of)


def _alone(write: Callable[[Array], Array], array: Array, needed: Array) -> Array:
    """Writes to an array in a loop of one round (none if `needed`, bool [], is False), apart from all other code."""

    def once(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        return jnp.zeros_like(needed), write(carry[1])

    return jax.lax.while_loop(lambda carry: carry[0], once, (needed, array))[1]


def _keys(game: Game, moves: Moves, states: Any) -> Array:
    """Keys of states and of their positions, uint32 [B, 4]."""
    return jnp.concatenate([jax.vmap(game.state_key)(states), jax.vmap(moves.position_key)(states)], -1)


def _bucket(keys: Array, buckets: int) -> Array:
    return (keys[:, 0] & jnp.uint32(buckets - 1)).astype(jnp.int32)


def _simulate(
    game: Game,
    moves: Moves,
    settings: Settings,
    rows: Rows,
    seats: Array,
    active: Array,
    lanes: LaneKey,
    tree: Tree,
) -> tuple[Tree, Array, Array]:
    """One simulation in every tree.

    Returns:
      The trees, the depth that each reached, and whether a state behind the own turn was met for the first time, int32 [B] each.
    """
    lane = jnp.arange(len(seats))
    number, before, depth, path = _descend(settings, tree, active)
    row, counts = tree.nodes[lane, number], tree.counts[lane, number]
    node = rows.read(row)
    opens = active & (counts[:, _LEFT] > 0) & ~node.state.terminated
    opens = opens & (counts[:, _TRIED] < settings.max_children) & (depth < settings.max_depth)

    action = jax.vmap(moves.best_rated)(node.state, node.untried)
    after = jax.vmap(moves.advance)(node.state, action, random_bits.fold(lanes, _EXPAND))
    after = _with_end(moves, lanes, after)
    fresh = Node(after, jax.vmap(moves.offered)(after), _keys(game, moves, after))
    # What costs nothing or takes the last action back is not worth an edge.
    last = tree.nodes[lane, before][:, -2:]
    back = (fresh.keys[:, 2:] == last).all(-1) & (depth > 0)
    useless = back | (fresh.keys == node.keys).all(-1)
    grows = opens & ~useless

    found, place, has_room = _find(tree, fresh.keys)
    is_new = grows & (found < 0)
    child = jnp.where(found >= 0, found, tree.size)
    edge = counts[:, _TRIED]
    movers = jax.vmap(game.to_play)(after)
    tree = _add(rows, tree, number, node, counts, action, child, fresh, movers, opens, grows, is_new)
    slot = jnp.where(is_new & has_room, place, tree.slots.shape[1] * _WAYS)
    flat = tree.slots.reshape(len(seats), -1)
    slots = _alone(lambda array: array.at[lane, slot].set(child, mode="drop"), flat, is_new.any())
    tree = dataclasses.replace(tree, slots=slots.reshape(tree.slots.shape))
    at = jnp.where(grows, depth, settings.max_depth)
    path = path.at[lane, at].set(jnp.stack([number, edge], -1), mode="drop")
    length = jnp.where(active, depth + grows, 0)

    leaf = where_lanes(grows, after, node.state)
    ends = finish_turn(game, moves, settings.greediness, random_bits.fold(lanes, _ROLLOUT), leaf)
    value = 0.5 + 0.5 * jax.vmap(functools.partial(value_for, game))(ends, seats)
    tree = _back_up(tree, seats, path, length, value)
    ended = is_new & (counts[:, _MOVER] == seats) & ((movers != seats) | after.terminated)
    return tree, length, ended.astype(jnp.int32)


def _with_end(moves: Moves, lanes: LaneKey, states: Any) -> Any:
    """Ends the turn where no action is left."""
    over = (states.action_points == 0) & ~states.terminated
    ended = jax.vmap(lambda state, key: moves.advance(state, jnp.int32(moves.end_turn), key))(
        states, random_bits.fold(lanes, _END)
    )
    return where_lanes(over, ended, states)


def _descend(settings: Settings, tree: Tree, active: Array) -> tuple[Array, Array, Array, Array]:
    """Walks by UCB to a node with untried actions, or an end.

    Returns:
      The node, the one before it, the depth, int32 [B] each, and the path: nodes and edges, int32 [B, D, 2].
    """
    batch = len(active)
    lane = jnp.arange(batch)
    path = jnp.zeros((batch, settings.max_depth, 2), jnp.int32)

    def step(carry: tuple[Array, Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array, Array]:
        walking, node, before, depth, path = carry
        counts, edges = tree.counts[lane, node], tree.edges[lane, node]
        visits = edges[..., _EDGE_VISITS]
        mean = edges[..., _EDGE_VALUE] / jnp.maximum(visits, 1)
        total = jnp.maximum(counts[:, _VISITS], 1).astype(jnp.float32)[:, None]
        bonus = 2 * settings.exploration * jnp.sqrt(2 * jnp.log(total) / jnp.maximum(visits, 1))
        children = edges[..., _CHILD].astype(jnp.int32) - 1
        edge = jnp.where(children >= 0, mean + bonus, -jnp.inf).argmax(1).astype(jnp.int32)
        to = of_arm(children, edge)
        full = (counts[:, _LEFT] == 0) | (counts[:, _TRIED] >= settings.max_children)
        walking = walking & full & (to >= 0) & (depth < settings.max_depth)
        at = jnp.where(walking, depth, settings.max_depth)
        path = path.at[lane, at].set(jnp.stack([node, edge], -1), mode="drop")
        return walking, jnp.where(walking, to, node), jnp.where(walking, node, before), depth + walking, path

    zero = jnp.zeros(batch, jnp.int32)
    found = jax.lax.while_loop(lambda carry: carry[0].any(), step, (active, zero, zero, zero, path))
    return found[1], found[2], found[3], found[4]


def _find(tree: Tree, keys: Array) -> tuple[Array, Array, Array]:
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
    place = bucket * _WAYS + free.argmax(1).astype(jnp.int32)
    return jnp.where(same, held, _NONE).max(1), place, free.any(1)


def _add(
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
    blank = jnp.stack([nothing, _number(fresh.untried), nothing, movers], -1)
    edge = jnp.stack([child + 1, action, nothing, nothing], -1).astype(jnp.float32)
    written = jax.lax.optimization_barrier((rows.write(rest), rows.write(fresh), counts - less, blank, edge))
    lane, total = jnp.arange(len(number)), tree.nodes.shape[1]
    from_node, to_node = jnp.where(opens, number, total), jnp.where(is_new, child, total)
    twice, places = jnp.concatenate([lane, lane]), jnp.concatenate([from_node, to_node])
    both = jax.lax.optimization_barrier((jnp.concatenate(written[:2]), jnp.concatenate(written[2:4])))
    at = jnp.where(grows, number, total), counts[:, _TRIED]
    some = opens.any()
    return dataclasses.replace(
        tree,
        nodes=_alone(lambda array: array.at[twice, places].set(both[0], mode="drop"), tree.nodes, some),
        counts=_alone(lambda array: array.at[twice, places].set(both[1], mode="drop"), tree.counts, some),
        edges=_alone(lambda array: array.at[lane, *at].set(written[4], mode="drop"), tree.edges, some),
        size=tree.size + is_new,
    )


def _back_up(tree: Tree, seats: Array, path: Array, length: Array, value: Array) -> Tree:
    """Adds a value to every edge of the path, from the view of who chose it, and a visit to every node."""
    lane, total = jnp.arange(len(seats)), tree.counts.shape[1]

    def unfinished(carry: tuple[Array, Array]) -> Array:
        return (carry[0] < length).any()

    def to_edges(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        depth, edges = carry
        node, edge = path[:, depth, 0], path[:, depth, 1]
        gain = jnp.where(tree.counts[lane, node, _MOVER] == seats, value, 1 - value)
        zero = jnp.zeros_like(gain)
        added = jnp.stack([zero, zero, zero + 1, gain], -1)
        return depth + 1, edges.at[lane, jnp.where(depth < length, node, total), edge].add(added, mode="drop")

    _, edges = jax.lax.while_loop(unfinished, to_edges, (jnp.int32(0), tree.edges))

    def to_nodes(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        depth, counts = carry
        # The root stands before all edges; then the nodes behind them. (Read from the new edges: else the old are copied.)
        node, edge = path[:, jnp.maximum(depth, 0), 0], path[:, jnp.maximum(depth, 0), 1]
        child = edges[lane, node, edge, _CHILD].astype(jnp.int32) - 1
        to = jnp.where(depth < 0, 0, child)
        at = jnp.where((depth < length) & (length > 0), to, total)
        return depth + 1, counts.at[lane, at, _VISITS].add(1, mode="drop")

    _, counts = jax.lax.while_loop(unfinished, to_nodes, (jnp.int32(-1), tree.counts))
    return dataclasses.replace(tree, edges=edges, counts=counts)


def _best_edge(tree: Tree, node: Array) -> tuple[Array, Array, Array]:
    """Gives the edge of a node (int32 [B]) with the highest mean, that mean (-inf where is no edge) and the row, [B, C, 4]."""
    edges = tree.edges[jnp.arange(len(node)), node]
    mean = edges[..., _EDGE_VALUE] / jnp.maximum(edges[..., _EDGE_VISITS], 1)
    score = jnp.where(edges[..., _CHILD] > 0, mean, -jnp.inf)
    return score.argmax(1).astype(jnp.int32), score.max(1), edges


def _child(edges: Array, edge: Array) -> Array:
    """Where an edge leads, int32 [B]."""
    return of_arm(edges[..., _CHILD].astype(jnp.int32), edge) - 1


def _burn(tree: Tree, level: Array, begins: Array) -> Tree:
    """Leaves the node at a level of the best path only its best edge.

    Args:
      tree: the trees.
      level: int32 [B].
      begins: bool [B], the trees in which a phase begins.
    """
    lane = jnp.arange(len(level))

    def down(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        number, node, depth = carry
        edge, mean, edges = _best_edge(tree, node)
        on = (mean > -jnp.inf) & (depth < level)
        return number + 1, jnp.where(on, _child(edges, edge), node), depth + on

    zero = jnp.zeros_like(level)
    levels = jnp.where(begins, level, 0).max()
    _, node, _ = jax.lax.while_loop(lambda carry: carry[0] < levels, down, (jnp.int32(0), zero, zero))
    edge, mean, edges = _best_edge(tree, node)
    cuts = begins & (mean > -jnp.inf)
    keeps = (jnp.arange(edges.shape[1]) == edge[:, None])[..., None]
    at = jnp.where(cuts, node, tree.counts.shape[1])
    kept = jax.lax.optimization_barrier(jnp.where(keeps, edges, 0.0))
    return dataclasses.replace(
        tree,
        edges=_alone(lambda array: array.at[lane, at].set(kept, mode="drop"), tree.edges, cuts.any()),
        counts=_alone(lambda array: array.at[lane, at, _LEFT].set(0, mode="drop"), tree.counts, cuts.any()),
    )


def _read_plan(moves: Moves, tree: Tree, seats: Array) -> tuple[Array, Array]:
    """Follows the best edges to the end of the turn. Returns int32 [B, L], and the mean of the first edge, float32 [B]."""
    lane = jnp.arange(len(seats))

    def step(carry: tuple[Array, Array, Array], _: None) -> tuple[tuple[Array, Array, Array], Array]:
        node, on, ended = carry
        edge, mean, edges = _best_edge(tree, node)
        on = on & (mean > -jnp.inf) & (tree.counts[lane, node, _MOVER] == seats)
        chosen = of_arm(edges[..., _ACTION].astype(jnp.int32), edge)
        action = jnp.where(on, chosen, jnp.where(ended, _NONE, moves.end_turn))
        return (jnp.where(on, _child(edges, edge), node), on, ended | ~on), action

    yes = jnp.ones_like(seats, bool)
    _, actions = jax.lax.scan(step, (jnp.zeros_like(seats), yes, ~yes), None, length=moves.turn_length)
    _, mean, _ = _best_edge(tree, jnp.zeros_like(seats))
    return actions.T, jnp.where(mean > -jnp.inf, 2 * mean - 1, 0.0)
