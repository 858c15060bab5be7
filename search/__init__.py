"""Planners: which action to take, given a game.

`fdts`, `mcts` and `mcs` make planners for games of simultaneous moves; `search.presets.by_name` makes all planners by name. Trees
that a network guides and determinizations are in `search.puct`, whole turns in `search.turns`. Importing this starts no JAX
backend.
"""

from search import presets as presets  # `search.presets.by_name` wants no import of its own
from search.bandit.bandits import thompson, ucb1, uniform
from search.bandit.makers import fdts, mcs, mcts
from search.check import check_planner
from search.planner import Plan, Planner, as_agent
from search.policy import policy_targets

__all__ = [
    "Plan",
    "Planner",
    "as_agent",
    "check_planner",
    "fdts",
    "mcs",
    "mcts",
    "policy_targets",
    "thompson",
    "ucb1",
    "uniform",
]
