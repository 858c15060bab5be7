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
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import checks, random_bits
from jaxgames.fusion import boundary
from jaxgames.game import Game
from jaxgames.lanes import where_lanes
from jaxgames.packing import packing_of
from jaxgames.platforms import by_platform
from jaxgames.random_bits import LaneKey
from search.arguments import settings_of, state_of
from search.dynamics import check_turns
from search.planner import Planner
from search.reductions import first_highest
from search.turns.game import Moves, finish_turn, moves_of, value_for, with_end
from search.turns.planner import MICROBATCH_SIZE, TurnPlan, TurnSearch, never, turn_planner
from search.turns.tree import (
    EDGE_VALUE,
    EDGE_VISITS,
    LEFT,
    MOST_ACTIONS,
    MOST_NODES,
    MOVER,
    NONE,
    TRIED,
    VISITS,
    WAYS,
    Node,
    Rows,
    Tree,
    action_of,
    add,
    best_edge,
    child_of,
    find,
    keys_of,
    of_nodes,
    plant,
    write_if,
)

# Counters and children of the key of one simulation.
_EXPAND, _END, _ROLLOUT = range(3)
_LEVELS_AT_ONCE = 16  # of a path when values go back


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
      microbatch_size: games that think together.
    """

    num_simulations: int = 2000
    exploration: float = 1 / math.sqrt(2)
    greediness: float = 0.5
    burn_bridges: bool = False
    max_children: int = 96
    max_depth: int = 100
    microbatch_size: int = MICROBATCH_SIZE

    def __post_init__(self) -> None:
        checks.at_least(1, self, "num_simulations", "max_children", "max_depth", "microbatch_size")
        checks.below(MOST_NODES, self, "num_simulations")  # visits, which are float32, are exact up to here too
        checks.below(checks.COUNTS, self, "max_children", "max_depth", "microbatch_size")
        checks.flags(self, "burn_bridges")
        checks.numbers(self, "exploration")
        checks.finite("exploration", self.exploration)
        checks.shares(self, "greediness")


NON_EXPLORING = Settings(exploration=0.0, greediness=1.0)
BRIDGE_BURNING = Settings(burn_bridges=True)


def turn_mcts(game: Game, settings: Settings | None = None) -> Planner:
    """Monte Carlo tree search over turns; the published variants are `Settings()`, `NON_EXPLORING` and `BRIDGE_BURNING`.

    Args:
      game: a game of turns (see `search.turns.game.moves_of`), of which the planner sees what the player to move knows.
      settings: None: the vanilla one.
    """
    settings = settings_of(Settings, settings)
    moves = moves_of(game)
    variants = {"non-exploring": settings.exploration == 0, "bridge-burning": settings.burn_bridges}
    name = " ".join([*(variant for variant, holds in variants.items() if holds), "MCTS"])
    return turn_planner(game, moves, name, tree_search(game, moves, settings), microbatch_size=settings.microbatch_size)


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
      outcomes: int32 [B], states after the own turn that were met.
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

    Raises:
      ValueError: more than two players move in turn, or the game has more actions than links of trees can hold.
    """
    check_turns(game, "a tree over turns")
    if game.num_actions > MOST_ACTIONS:
        raise ValueError(f"game={game.name!r}: has {game.num_actions} actions, a tree over turns holds {MOST_ACTIONS} at most")
    state = state_of(game)
    rows = Rows(packing_of(state), len(jax.eval_shape(moves.offered, state).words))

    def start(lanes: LaneKey, states: Any, seats: Array, active: Array) -> Searching:
        points = jnp.maximum(states.action_points.astype(jnp.int32), 1)
        zero = jnp.zeros_like(seats)
        tree = plant(game, moves, rows, states, settings.num_simulations + 1, settings.max_children)
        return Searching(lanes, seats, active, points, tree, zero, zero, zero)

    def simulation(number: Array, now: Searching) -> Searching:
        tree, burnt = now.tree, now.burnt
        if settings.burn_bridges:
            begins = (number * now.points) // settings.num_simulations > burnt
            tree, burnt = _burn(tree, now.seats, burnt, begins), burnt + begins
        lanes = random_bits.fold(now.lanes, number)
        tree, depth, ended = _simulate(game, moves, settings, rows, now.seats, now.active, lanes, tree)
        deepest, outcomes = jnp.maximum(now.deepest, depth), now.outcomes + ended
        return dataclasses.replace(now, tree=tree, deepest=deepest, outcomes=outcomes, burnt=burnt)

    def finish(now: Searching) -> TurnPlan:
        actions, value = _read_plan(moves, now.tree, now.seats)
        metrics = {"nodes": now.tree.size, "depth": now.deepest, "outcomes": now.outcomes}
        return TurnPlan(actions, value, metrics)

    return TurnSearch(start, simulation, finish, never, settings.num_simulations)


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
      The trees, the depth that each reached, and whether a state after the own turn was met for the first time, int32 [B] each.
    """
    lane = jnp.arange(len(seats))
    number, before, depth, path = _descend(settings, tree, active)
    row, counts = of_nodes(tree.nodes, number), of_nodes(tree.counts, number)
    node = rows.read(row)
    opens = active & (counts[:, LEFT] > 0) & ~node.state.terminated
    opens = opens & (counts[:, TRIED] < settings.max_children) & (depth < settings.max_depth)

    action = boundary(jax.vmap(moves.best_rated)(node.state, node.untried))
    after = boundary(_played(moves, lanes, node.state, action))
    fresh = boundary(Node(after, jax.vmap(moves.offered)(after), keys_of(game, moves, after)))
    # What costs nothing or takes the last action back is not worth an edge.
    last = of_nodes(tree.nodes, before)[:, -2:]
    back = (fresh.keys[:, 2:] == last).all(-1) & (depth > 0)
    useless = back | (fresh.keys == node.keys).all(-1)
    grows = opens & ~useless

    found, place, has_room = find(tree, fresh.keys)
    is_new = grows & (found < 0)
    child = jnp.where(found >= 0, found, tree.size)
    edge = counts[:, TRIED]
    movers = jax.vmap(game.to_play)(after)
    tree = add(rows, tree, number, node, counts, action, child, fresh, movers, opens, grows, is_new)
    slot = jnp.where(is_new & has_room, place, tree.slots.shape[1] * WAYS)
    flat = tree.slots.reshape(len(seats), -1)
    slots = write_if(lambda array: array.at[lane, slot].set(child, mode="drop"), flat, is_new.any())
    tree = dataclasses.replace(tree, slots=slots.reshape(tree.slots.shape))
    at = jnp.where(grows, depth, path.shape[1])
    path = path.at[lane, at].set(jnp.stack([number, edge, counts[:, MOVER]], -1), mode="drop")
    length = jnp.where(active, depth + grows, 0)

    leaf = where_lanes(grows, after, node.state)
    ends = finish_turn(game, moves, settings.greediness, random_bits.fold(lanes, _ROLLOUT), leaf)
    value = boundary(0.5 + 0.5 * jax.vmap(functools.partial(value_for, game))(ends, seats))
    tree = _back_up(tree, seats, path, length, jnp.where(grows, child, number), value)
    ended = is_new & (counts[:, MOVER] == seats) & ((movers != seats) | after.terminated)
    return tree, length, ended.astype(jnp.int32)


def _played(moves: Moves, lanes: LaneKey, states: Any, action: Array) -> Any:
    """Plays an action, and ends the turn if it does so, or where no action is left."""
    ends = action == moves.end_turn
    after = boundary(where_lanes(ends, states, jax.vmap(moves.act)(states, action)))
    over = ends | ((after.action_points == 0) & ~after.terminated)
    keys = random_bits.fold(lanes, jnp.where(ends, _EXPAND, _END))
    return with_end(moves, over, keys, after)


def _descend(settings: Settings, tree: Tree, active: Array) -> tuple[Array, Array, Array, Array]:
    """Walks by UCB to a node with untried actions, or an end.

    Returns:
      The node, the one before it, the depth, int32 [B] each, and the path: nodes, edges and who chose them, int32 [B, D, 3].
    """
    batch = len(active)
    lane = jnp.arange(batch)
    levels = -(-settings.max_depth // _LEVELS_AT_ONCE) * _LEVELS_AT_ONCE
    path = jnp.zeros((batch, levels, 3), jnp.int32)

    def step(carry: tuple[Array, Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array, Array]:
        walking, node, before, depth, path = carry
        counts, stats = of_nodes(tree.counts, node), of_nodes(tree.stats, node)
        visits = stats[:, EDGE_VISITS]
        score = stats[:, EDGE_VALUE] / jnp.maximum(visits, 1)
        if settings.exploration:
            total = jnp.maximum(counts[:, VISITS], 1).astype(jnp.float32)[:, None]
            score += 2 * settings.exploration * jnp.sqrt(2 * jnp.log(total) / jnp.maximum(visits, 1))
        edge, highest = first_highest(jnp.where(visits > 0, score, -jnp.inf))
        full = (counts[:, LEFT] == 0) | (counts[:, TRIED] >= settings.max_children)
        walking = walking & full & (highest > -jnp.inf) & (depth < settings.max_depth)
        at = jnp.where(walking, depth, levels)
        path = path.at[lane, at].set(jnp.stack([node, edge, counts[:, MOVER]], -1), mode="drop")
        to = child_of(tree.links[lane, node, edge])
        return walking, jnp.where(walking, to, node), jnp.where(walking, node, before), depth + walking, path

    zero = jnp.zeros(batch, jnp.int32)
    found = jax.lax.while_loop(lambda carry: carry[0].any(), step, (active, zero, zero, zero, path))
    return found[1], found[2], found[3], found[4]


def _back_up(tree: Tree, seats: Array, path: Array, length: Array, leaf: Array, value: Array) -> Tree:
    """Adds a value to every edge of the path, from the view of who chose it, and a visit to every node.

    Args:
      tree: the trees.
      seats: int32 [B], for whom the value is.
      path: int32 [B, D, 3], see `_descend`.
      length: int32 [B], edges of it.
      leaf: int32 [B], the node after it.
      value: float32 [B].
    """
    lane, total = jnp.arange(len(seats))[:, None], tree.counts.shape[1]

    def along_path(add: Callable[[Array, Array, Array], Array], array: Array) -> Array:
        """Goes along the path: `add(array, part, within)`. On a CPU many levels at a time, as far as paths go."""

        def in_parts(array: Array) -> Array:
            def part(carry: tuple[Array, Array]) -> tuple[Array, Array]:
                first, array = carry
                levels = jax.lax.dynamic_slice_in_dim(path, first, _LEVELS_AT_ONCE, axis=1)
                within = first + jnp.arange(_LEVELS_AT_ONCE) < length[:, None]
                return first + _LEVELS_AT_ONCE, add(array, levels, within)

            return jax.lax.while_loop(lambda carry: (carry[0] < length).any(), part, (jnp.int32(0), array))[1]

        def at_once(array: Array) -> Array:
            return add(array, path, jnp.arange(path.shape[1]) < length[:, None])

        return by_platform(array, cpu=in_parts, default=at_once)

    def to_edges(stats: Array, levels: Array, within: Array) -> Array:
        node, edge, mover = (levels[..., column] for column in range(3))
        gain = jnp.where(mover == seats[:, None], value[:, None], 1 - value[:, None])
        added = jnp.stack([jnp.ones_like(gain), gain], -1)
        at = jnp.where(within, node, total)[..., None]
        return stats.at[lane[..., None], at, jnp.arange(2), edge[..., None]].add(added, mode="drop")

    def to_nodes(counts: Array, levels: Array, within: Array) -> Array:
        return counts.at[lane, jnp.where(within, levels[..., 0], total), VISITS].add(1, mode="drop")

    stats, counts = along_path(to_edges, tree.stats), along_path(to_nodes, tree.counts)
    last = jnp.where(length > 0, leaf, total)
    counts = write_if(lambda array: array.at[lane[:, 0], last, VISITS].add(1, mode="drop"), counts, (length > 0).any())
    return dataclasses.replace(tree, stats=stats, counts=counts)


def _burn(tree: Tree, seats: Array, level: Array, begins: Array) -> Tree:
    """Leaves the node at a level of the best path only its best edge; the other player's nodes keep theirs.

    Args:
      tree: the trees.
      seats: int32 [B], whose turns are planned.
      level: int32 [B].
      begins: bool [B], the trees in which a phase begins.
    """
    lane = jnp.arange(len(level))

    def down(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        number, node, depth = carry
        mean, link = best_edge(tree, node)[1:]
        on = (mean > -jnp.inf) & (depth < level)
        return number + 1, jnp.where(on, child_of(link), node), depth + on

    zero = jnp.zeros_like(level)
    levels = jnp.where(begins, level, 0).max()
    _, node, _ = jax.lax.while_loop(lambda carry: carry[0] < levels, down, (jnp.int32(0), zero, zero))
    edge, mean, _ = best_edge(tree, node)
    # A turn may have ended early: nodes of the other player keep theirs.
    cuts = begins & (mean > -jnp.inf) & (of_nodes(tree.counts, node)[:, MOVER] == seats)
    keeps = jnp.arange(tree.stats.shape[3]) == edge[:, None]
    at = jnp.where(cuts, node, tree.counts.shape[1])
    kept = jax.lax.optimization_barrier(jnp.where(keeps[:, None], of_nodes(tree.stats, node), 0.0))
    return dataclasses.replace(
        tree,
        stats=write_if(lambda array: array.at[lane, at].set(kept, mode="drop"), tree.stats, cuts.any()),
        counts=write_if(lambda array: array.at[lane, at, LEFT].set(0, mode="drop"), tree.counts, cuts.any()),
    )


def _read_plan(moves: Moves, tree: Tree, seats: Array) -> tuple[Array, Array]:
    """Follows the best edges to the end of the turn. Returns int32 [B, L], and the mean of the first edge, float32 [B]."""

    def step(carry: tuple[Array, Array, Array], _: None) -> tuple[tuple[Array, Array, Array], Array]:
        node, on, ended = carry
        mean, link = best_edge(tree, node)[1:]
        on = on & (mean > -jnp.inf) & (of_nodes(tree.counts, node)[:, MOVER] == seats)
        action = jnp.where(on, action_of(link), jnp.where(ended, NONE, moves.end_turn))
        return (jnp.where(on, child_of(link), node), on, ended | ~on | (action == moves.end_turn)), action

    yes = jnp.ones_like(seats, bool)
    _, actions = jax.lax.scan(step, (jnp.zeros_like(seats), yes, ~yes), None, length=moves.turn_length)
    _, mean, _ = best_edge(tree, jnp.zeros_like(seats))
    return actions.T, jnp.where(mean > -jnp.inf, 2 * mean - 1, 0.0)
