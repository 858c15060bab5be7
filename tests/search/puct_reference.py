"""PUCT of AlphaZe** in plain Python, one game at a time: slow, and nothing shared with ours but the game."""

from __future__ import annotations

import itertools
import math

import numpy as np


class Node:
    """A node of the slow search."""

    def __init__(self, state, prior, value, terminal, player):
        self.state, self.prior, self.value, self.terminal, self.player = state, prior, value, terminal, player
        self.by_prior = [int(arm) for arm in np.argsort(-prior, kind="stable") if prior[arm] > 0]
        self.visits = np.zeros(len(prior), int)
        self.total = np.zeros(len(prior))
        self.children = {}


def search(open_node, play, root_state, simulations, c_init=2.5, c_base=19652.0, first_play_urgency=-1.0, offered=1):
    """Gives visits and mean values of the root's arms.

    Args:
      open_node: `open_node(state) -> Node`.
      play: `play(state, arm) -> state`.
      root_state: where to search.
      simulations: how many.
      c_init, c_base, first_play_urgency: of the rule of choice.
      offered: arms never tried that are looked at, in the order of their priors.
    """
    root = open_node(root_state)
    for _ in range(simulations):
        node, path = root, []
        while True:
            total = node.visits.sum()
            rate = (math.log((total + c_base + 1) / c_base) + c_init) * math.sqrt(total)
            best, arm = -np.inf, None
            untried = itertools.islice((k for k in node.by_prior if not node.visits[k]), offered)
            for k in (*np.flatnonzero(node.visits).tolist(), *untried):
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


def search_in_waves(open_node, play, root_state, simulations, wave, c_init=2.5, c_base=19652.0, first_play_urgency=-1.0):
    """The same, with `wave` walks at once: their leaves are valued together, and until then count as visits without a result.

    Without a `first_play_urgency` an arm never tried is worth what its node is: the mean of all results there, its own included.
    """
    root, walked = open_node(root_state), 0
    flying = {}  # (node, arm) -> walks on their way

    def choose(node):
        away = np.array([flying.get((id(node), arm), 0) for arm in range(len(node.prior))])
        count = node.visits + away
        rate = (math.log((count.sum() + c_base + 1) / c_base) + c_init) * math.sqrt(count.sum())
        untried = itertools.islice((arm for arm in node.by_prior if arm not in node.children), 1)
        best, found = -np.inf, None
        mean = (node.value + node.total.sum()) / (1 + node.visits.sum())
        urgency = mean if first_play_urgency is None else first_play_urgency
        for arm in (*sorted(node.children), *untried):
            q = node.total[arm] / node.visits[arm] if node.visits[arm] else urgency
            score = q + rate * node.prior[arm] / (1 + count[arm])
            if score > best + 1e-9:
                best, found = score, arm
        return found

    lost = 0
    while walked < simulations:
        landings = []
        for _ in range(min(wave, simulations - walked)):
            node, path, walked = root, [], walked + 1
            while node is not None and not (path and node.terminal):
                arm = choose(node)
                path.append((node, arm))
                if arm not in node.children:
                    node.children[arm] = None
                    landings.append(path)
                    break
                node = node.children[arm]
            else:
                if node is None:
                    lost += 1
                else:
                    landings.append(path)
            for parent, arm in path:
                flying[id(parent), arm] = flying.get((id(parent), arm), 0) + 1
        flying.clear()
        for path in landings:
            parent, arm = path[-1]
            if parent.children[arm] is None:
                parent.children[arm] = open_node(play(parent.state, arm))
        for path in landings:
            below = path[-1][0].children[path[-1][1]]
            value = below.value
            for parent, arm in reversed(path):
                value = -value if parent.player != below.player else value
                parent.visits[arm] += 1
                parent.total[arm] += value
                below = parent
    return root.visits, root.total / np.maximum(root.visits, 1), lost
