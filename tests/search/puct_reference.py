"""PUCT of AlphaZe** in plain Python, one game at a time: slow, and nothing shared with ours but the game."""

from __future__ import annotations

import math

import numpy as np


class Node:
    """A node of the slow search."""

    def __init__(self, state, prior, value, terminal, player):
        self.state, self.prior, self.value, self.terminal, self.player = state, prior, value, terminal, player
        self.visits = np.zeros(len(prior), int)
        self.total = np.zeros(len(prior))
        self.children = {}


def search(open_node, play, root_state, simulations, c_init=2.5, c_base=19652.0, first_play_urgency=-1.0):
    """Gives visits and mean values of the root's arms.

    Args:
      open_node: `open_node(state) -> Node`.
      play: `play(state, arm) -> state`.
      root_state: where to search.
      simulations: how many.
      c_init, c_base, first_play_urgency: of the rule of choice.
    """
    root = open_node(root_state)
    for _ in range(simulations):
        node, path = root, []
        while True:
            total = node.visits.sum()
            rate = (math.log((total + c_base + 1) / c_base) + c_init) * math.sqrt(total)
            best, arm = -np.inf, None
            untried = [k for k in np.argsort(-node.prior, kind="stable") if node.prior[k] > 0 and not node.visits[k]]
            for k in sorted([k for k in range(len(node.prior)) if node.visits[k]], key=lambda k: k) + untried[:1]:
                q = node.total[k] / node.visits[k] if node.visits[k] else first_play_urgency
                score = q + rate * node.prior[k] / (1 + node.visits[k])
                if score > best + 1e-9:
                    best, arm = score, k
            path.append((node, arm))
            if arm not in node.children:
                node.children[arm] = open_node(play(node.state, arm))
                node = node.children[arm]
                break
            node = node.children[arm]
            if node.terminal:
                break
        value, below = node.value, node
        for parent, arm in reversed(path):
            if parent.player != below.player:
                value = -value
            parent.visits[arm] += 1
            parent.total[arm] += value
            below = parent
    return root.visits, root.total / np.maximum(root.visits, 1)
