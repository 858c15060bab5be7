"""Tree search over turns in plain Python: slow, and short enough to be compared with the text by eye."""

from __future__ import annotations

import dataclasses
import functools
import math

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames import random_bits
from search.turns.game import finish_turn, value_for
from search.turns.mcts import _END, _EXPAND, _ROLLOUT


@dataclasses.dataclass(eq=False)
class Node:
    """A state, the actions still to be tried in it, and its edges."""

    state: object
    untried: object
    mover: int
    keys: tuple
    visits: int = 0
    edges: list = dataclasses.field(default_factory=list)

    def has_untried(self) -> bool:
        return bool(self.untried.any())


@dataclasses.dataclass(eq=False)
class Edge:
    """An action and what came of it."""

    action: int
    child: Node
    visits: int = 0
    value: float = 0.0

    def mean(self) -> float:
        return self.value / max(self.visits, 1)


class Reference:
    """The search of one lane."""

    def __init__(self, game, moves, settings, lane, root, seat):
        self.game, self.moves, self.settings, self.lane, self.seat = game, moves, settings, lane, seat
        self.advance = jax.jit(moves.advance)
        self.offered = jax.jit(moves.offered)
        self.best_rated = jax.jit(moves.best_rated)
        self.keys = jax.jit(lambda state: (game.state_key(state), moves.position_key(state)))
        self.value = jax.jit(functools.partial(self._value, settings.greediness))
        self.nodes = []
        self.root = self._node(root)

    def run(self):
        points, phase = max(int(self.root.state.action_points), 1), 0
        for number in range(self.settings.num_simulations):
            now = number * points // self.settings.num_simulations
            if self.settings.burn_bridges and now > phase:
                self._burn(now)
            phase = now
            self._simulate(random_bits.fold(self.lane, number))
        return self

    def _value(self, greediness, lane, state, seat):
        one = functools.partial(jax.tree.map, lambda leaf: leaf[None])
        end = finish_turn(self.game, self.moves, greediness, one(lane), one(state))
        return 0.5 + 0.5 * value_for(self.game, jax.tree.map(lambda leaf: leaf[0], end), seat)

    def _node(self, state):
        keys = tuple(tuple(np.asarray(key).tolist()) for key in self.keys(state))
        node = Node(state, self.offered(state), int(self.game.to_play(state)), keys)
        self.nodes.append(node)
        return node

    def _simulate(self, lane):
        node, before, path = self.root, self.root, []
        while not node.has_untried() and any(edge.child for edge in node.edges):
            edge = max((edge for edge in node.edges if edge.child), key=lambda edge, node=node: self._score(node, edge))
            path.append((node, edge))
            before, node = node, edge.child
        leaf = node.state
        if node.has_untried() and not bool(leaf.terminated):
            grown = self._expand(lane, node, before, bool(path))
            if grown:
                path.append((node, grown))
                leaf = grown.child.state
        value = np.float32(self.value(random_bits.fold(lane, _ROLLOUT), leaf, self.seat))
        if path:
            self.root.visits += 1
        for place, edge in path:
            edge.visits += 1
            edge.child.visits += 1
            edge.value = np.float32(edge.value + (value if place.mover == self.seat else np.float32(1) - value))

    def _score(self, node, edge):
        bonus = 2 * self.settings.exploration * math.sqrt(2 * math.log(max(node.visits, 1)) / max(edge.visits, 1))
        return edge.mean() + bonus

    def _expand(self, lane, node, before, is_deep):
        action = int(self.best_rated(node.state, node.untried))
        words = np.array([int(word) for word in node.untried.words], np.uint32)
        words[action // 32] &= ~np.uint32(1 << (action % 32))
        node.untried = type(node.untried)(tuple(jnp.uint32(word) for word in words))
        state = self.advance(node.state, jnp.int32(action), random_bits.fold(lane, _EXPAND))
        if int(state.action_points) == 0 and not bool(state.terminated):
            state = self.advance(state, jnp.int32(self.moves.end_turn), random_bits.fold(lane, _END))
        keys = tuple(tuple(np.asarray(key).tolist()) for key in self.keys(state))
        if keys == node.keys or (is_deep and keys[1] == before.keys[1]):
            return None
        known = [other for other in self.nodes if other.keys[0] == keys[0]]
        edge = Edge(action, known[0] if known else self._node(state))
        node.edges.append(edge)
        return edge

    def _burn(self, phase):
        """Leaves the node at depth `phase` - 1 of the best path its best edge alone, if it is an own one."""
        node = self.root
        for _ in range(phase - 1):
            if not any(edge.child for edge in node.edges):
                return
            node = max((edge for edge in node.edges if edge.child), key=Edge.mean).child
        if node.mover == self.seat and any(edge.child for edge in node.edges):
            best = max((edge for edge in node.edges if edge.child), key=Edge.mean)
            node.untried = type(node.untried)(tuple(jnp.uint32(0) for _ in node.untried.words))
            for edge in node.edges:
                if edge is not best:
                    edge.child, edge.visits, edge.value = None, 0, 0.0
