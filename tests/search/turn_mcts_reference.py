"""Tree search over turns in plain Python: slow, and short enough to be compared with the text by eye."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames import random_bits
from search.turns.game import finish_turn, moves_of, value_for
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
        return any(self.untried.words)


@dataclasses.dataclass(eq=False)
class Edge:
    """An action and what came of it."""

    action: int
    child: Node
    visits: int = 0
    value: float = 0.0

    def mean(self) -> float:
        return self.value / max(self.visits, 1)


class Rules(NamedTuple):
    """What the search asks the game, compiled once for all lanes; states come as numpy arrays."""

    look: Callable
    best_rated: Callable
    grow: Callable
    value: Callable


@functools.cache
def rules_of(game, greediness: float) -> Rules:
    moves = moves_of(game)

    def look(state):
        return (game.state_key(state), moves.position_key(state)), moves.offered(state), game.to_play(state)

    def grow(lane, number, state, action):
        """The state after an action, and after the end of the turn where no points are left."""
        lane = random_bits.fold(lane, number)
        after = moves.advance(state, action, random_bits.fold(lane, _EXPAND))
        ended = moves.advance(after, jnp.int32(moves.end_turn), random_bits.fold(lane, _END))
        ends = (after.action_points == 0) & ~after.terminated
        return jax.tree.map(lambda one, other: jnp.where(ends, one, other), ended, after)

    def value(lane, number, state, seat):
        one = functools.partial(jax.tree.map, lambda leaf: leaf[None])
        lane = random_bits.fold(random_bits.fold(lane, number), _ROLLOUT)
        end = finish_turn(game, moves, greediness, one(lane), one(state))
        return 0.5 + 0.5 * value_for(game, jax.tree.map(lambda leaf: leaf[0], end), seat)

    def compiled(function):
        run = jax.jit(function)
        return lambda *given: jax.device_get(run(*given))

    return Rules(*map(compiled, (look, moves.best_rated, grow, value)))


class Reference:
    """The search of one lane."""

    def __init__(self, game, settings, lane, root, seat):
        self.rules, self.settings, self.lane, self.seat = rules_of(game, settings.greediness), settings, lane, seat
        self.nodes = []
        self.root = self._node(root, *self.rules.look(root))

    def run(self):
        points, phase = max(int(self.root.state.action_points), 1), 0
        for number in range(self.settings.num_simulations):
            now = number * points // self.settings.num_simulations
            if self.settings.burn_bridges and now > phase:
                self._burn(now)
            phase = now
            self._simulate(np.int32(number))
        return self

    def _node(self, state, keys, offered, mover):
        self.nodes.append(Node(state, offered, int(mover), _numbers(keys)))
        return self.nodes[-1]

    def _simulate(self, number):
        node, before, path = self.root, self.root, []
        while not node.has_untried() and any(edge.child for edge in node.edges):
            edge = max((edge for edge in node.edges if edge.child), key=lambda edge, node=node: self._score(node, edge))
            path.append((node, edge))
            before, node = node, edge.child
        leaf = node.state
        if node.has_untried() and not bool(leaf.terminated):
            grown = self._expand(number, node, before, bool(path))
            if grown:
                path.append((node, grown))
                leaf = grown.child.state
        value = np.float32(self.rules.value(self.lane, number, leaf, self.seat))
        if path:
            self.root.visits += 1
        for place, edge in path:
            edge.visits += 1
            edge.child.visits += 1
            edge.value = np.float32(edge.value + (value if place.mover == self.seat else np.float32(1) - value))

    def _score(self, node, edge):
        bonus = 2 * self.settings.exploration * math.sqrt(2 * math.log(max(node.visits, 1)) / max(edge.visits, 1))
        return edge.mean() + bonus

    def _expand(self, number, node, before, is_deep):
        action = int(self.rules.best_rated(node.state, node.untried))
        words = np.array([int(word) for word in node.untried.words], np.uint32)
        words[action // 32] &= ~np.uint32(1 << (action % 32))
        node.untried = type(node.untried)(tuple(words))
        state = self.rules.grow(self.lane, number, node.state, np.int32(action))
        found = self.rules.look(state)
        keys = _numbers(found[0])
        if keys == node.keys or (is_deep and keys[1] == before.keys[1]):
            return None
        known = [other for other in self.nodes if other.keys[0] == keys[0]]
        edge = Edge(action, known[0] if known else self._node(state, *found))
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
            node.untried = type(node.untried)(tuple(np.uint32(0) for _ in node.untried.words))
            for edge in node.edges:
                if edge is not best:
                    edge.child, edge.visits, edge.value = None, 0, 0.0


def _numbers(keys):
    return tuple(tuple(key.tolist()) for key in keys)
