"""Tree search over turns against plain Python, node by node and edge by edge."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames import random_bits
from search.turns import mcts as turn_mcts
from search.turns import tree as turn_tree
from search.turns.game import moves_of
from search.turns.tree import action_of, child_of
from tests.hoard import Hoard
from tests.search.turn_mcts_reference import Reference

GAME = Hoard(things=6, points=2, turns=4)
LANES = 2
SIMULATIONS = 100


@functools.cache
def some_roots():
    return jax.device_get(jax.jit(jax.vmap(GAME.init))(jax.random.split(jax.random.key(5), LANES)))


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(turn_mcts.Settings(), id="vanilla", marks=pytest.mark.slow),  # as below
        pytest.param(turn_mcts.NON_EXPLORING, id="non-exploring", marks=pytest.mark.slow),
        pytest.param(turn_mcts.BRIDGE_BURNING, id="bridge-burning"),
    ],
)
def test_like_plain_python(settings):
    for nodes in trees_like_plain_python(GAME, some_roots(), settings):
        assert max(len(node.edges) for node in nodes) == GAME.things
        shared = [edge.child for node in nodes for edge in node.edges if edge.child]
        assert len(shared) > len({id(child) for child in shared})  # states are met on several ways


@pytest.mark.slow  # to compile the other way of writing
def test_accelerators_write_without_loops_and_grow_the_same_tree(monkeypatch):
    for module in (turn_tree, turn_mcts):
        monkeypatch.setattr(module, "by_platform", lambda *arguments, cpu, default: default(*arguments))
    for nodes in trees_like_plain_python(GAME, some_roots(), turn_mcts.BRIDGE_BURNING):
        assert max(len(node.edges) for node in nodes) == GAME.things


def test_what_takes_the_last_action_back_is_no_edge():
    game = dataclasses.replace(GAME, points=3, puts_back=True)
    roots = dataclasses.replace(some_roots(), action_points=np.full(LANES, 3, np.int32))
    for nodes in trees_like_plain_python(game, roots, turn_mcts.Settings()):
        seconds = [(edge.action, edge.child) for edge in nodes[0].edges if len(edge.child.edges) > 1]
        assert seconds and all(action not in {edge.action for edge in child.edges} for action, child in seconds)


@pytest.mark.slow
def test_bridges_of_the_other_player_stay():
    """Things are worth less than nothing, so that the best turn ends at once; later phases find the other player."""
    game = dataclasses.replace(GAME, points=3, ends_early=True)
    roots = some_roots()
    points = np.full_like(roots.action_points, game.points)
    roots = dataclasses.replace(roots, worths=-10 - roots.worths, action_points=points)
    for nodes in trees_like_plain_python(game, roots, turn_mcts.BRIDGE_BURNING):
        (first,) = [edge for edge in nodes[0].edges if edge.child]
        assert first.action == game.end_turn
        assert sum(edge.child is not None for edge in first.child.edges) > 1


def trees_like_plain_python(game, roots, settings):
    """Searches in both ways, compares node by node, and gives the nodes of plain Python for each lane."""
    settings = dataclasses.replace(settings, num_simulations=SIMULATIONS, max_children=8)
    search = turn_mcts.tree_search(game, moves_of(game), settings)

    @jax.jit
    def grown(keys, roots):
        lanes = jax.vmap(random_bits.lane_key)(keys)
        start = search.start(lanes, roots, jnp.zeros(LANES, jnp.int32), jnp.ones(LANES, bool))
        return lanes, search.rounds_from(jnp.int32(0), SIMULATIONS, start).tree

    lanes, tree = jax.device_get(grown(jax.random.split(jax.random.key(7), LANES), roots))
    for lane in range(LANES):
        own, root = jax.tree.map(lambda leaf, lane=lane: leaf[lane], (lanes, roots))
        nodes = Reference(game, settings, own, root, np.int32(0)).run().nodes
        assert tree.size[lane] == len(nodes)
        for number, node in enumerate(nodes):
            visits, _, tried, mover = tree.counts[lane, number].tolist()
            assert (visits, tried, mover) == (node.visits, len(node.edges), node.mover)
            for place, edge in enumerate(node.edges):
                (visits, value), link = tree.stats[lane, number, :, place], tree.links[lane, number, place]
                if edge.child is None:
                    assert visits == 0
                    continue
                assert (child_of(link), action_of(link), visits) == (nodes.index(edge.child), edge.action, edge.visits)
                assert value == pytest.approx(float(edge.value), rel=1e-5)
        yield nodes


PAIRS = [(i, j) for i in range(4) for j in range(i + 1, 4)]


def test_the_best_turn_is_found():
    """In the last two lanes things are worth less than nothing, so that the best turn ends at once; its end is listed once."""
    settings = turn_mcts.Settings(num_simulations=2000, max_children=8, exploration=0.3)
    game = Hoard(things=4, points=2, turns=1, ends_early=True)
    moves = moves_of(game)

    @jax.jit
    def best_turns(keys):
        roots = jax.vmap(game.init)(keys)
        worths = jnp.where(np.arange(4)[:, None] < 2, roots.worths, -10 - roots.worths)
        run = turn_mcts.tree_search(game, moves, settings).run
        lanes, roots = jax.vmap(random_bits.lane_key)(keys), dataclasses.replace(roots, worths=worths)
        return worths, run(lanes, roots, jnp.zeros(4, jnp.int32)).actions

    worths, turns = map(np.ndarray.tolist, jax.device_get(best_turns(jax.random.split(jax.random.key(1), 4))))
    for worth, actions in zip(worths[:2], turns, strict=False):
        pairs = {frozenset(pair): sum(worth[i] for i in pair) + 10 * (pair in [(0, 1), (2, 3)]) for pair in PAIRS}
        assert pairs[frozenset(actions[:2])] == max(pairs.values())
        assert actions[2] == game.end_turn
    assert turns[2:] == [[game.end_turn, -1, -1]] * 2
