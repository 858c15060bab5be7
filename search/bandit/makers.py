"""FDTS, MCTS and MCS: searches by bandits, made of a game and settings by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from jax import Array

from jaxgames import checks
from jaxgames.game import Game
from search import arguments
from search.bandit import bandits, flat
from search.bandit.bandits import Bandit
from search.bandit.guide import Guide
from search.bandit.settings import Settings
from search.bandit.tree_search import decoupled_search
from search.dynamics import Dynamics, dynamics_of
from search.planner import Planner

StateFunction = Callable[..., Array]


def fdts(
    game: Game | Dynamics,
    bandit: Bandit | None = None,
    *,
    key: StateFunction | None = None,
    arms: Callable | None = None,
    guide: Guide | None = None,
    **settings: Any,
) -> Planner:
    """Fixed-depth tree search: every state of every simulation is kept, and the tree lives through the episode.

    Args:
      game: the game; all its players plan for themselves, with the full state.
      bandit: rule of choice; None: Thompson sampling.
      key: `key(state) -> uint32 [2]` in place of the game's `state_key`.
      arms: `arms(state) -> (int32 [P, K], bool [P, K])` in place of the game's `search_arms`.
      guide: a network whose policy and values bias the search.
      **settings: fields of `search.bandit.settings.Settings`, but for keep_all and rollout.

    Raises:
      ValueError: a setting that is not possible.
      TypeError: one that does not exist.
    """
    return tree_planner(game, bandit, _sizes(settings, keep_all=True), key, arms, guide)


def mcts(
    game: Game | Dynamics,
    bandit: Bandit | None = None,
    *,
    rollout: bool = True,
    key: StateFunction | None = None,
    arms: Callable | None = None,
    **settings: Any,
) -> Planner:
    """Monte Carlo tree search: each simulation keeps one new state.

    A simulation ends at the horizon also without rollouts, where the published code goes on to the first state that is not known;
    in Pommerman few come that far.

    Args:
      game: as for `fdts`.
      bandit: as for `fdts`.
      rollout: play uniformly at random from the new state to the horizon; else the new state itself is valued.
      key: as for `fdts`.
      arms: as for `fdts`.
      **settings: as for `fdts`.

    Raises:
      ValueError, TypeError: as `fdts`.
    """
    return tree_planner(game, bandit, _sizes(settings, keep_all=False, rollout=rollout), key, arms)


def mcs(game: Game | Dynamics, bandit: Bandit | None = None, *, arms: Callable | None = None, **settings: Any) -> Planner:
    """Flat Monte Carlo search: bandits in the present state only, random play after it.

    Args:
      game: as for `fdts`.
      bandit: as for `fdts`.
      arms: as for `fdts`.
      **settings: as for `fdts`, but for sizes of tables, as there is none.

    Raises:
      ValueError: a setting that is not possible.
      TypeError: one that does not exist.
    """
    return flat_planner(game, bandit, _sizes(settings), arms)


def tree_planner(
    game: Game | Dynamics,
    bandit: Bandit | None,
    settings: Settings,
    key: StateFunction | None = None,
    arms: Callable | None = None,
    guide: Guide | None = None,
) -> Planner:
    """Makes FDTS or MCTS, as the settings say; arguments as for `fdts`."""
    bandit = _rule(bandit)
    kind = "FDTS" if settings.keep_all else "MCTS" if settings.rollout else "MCTS (no rollouts)"
    name = f"{'guided ' if guide else ''}{kind} + {bandit.name}"
    return decoupled_search(dynamics_of(game, key=key, arms=arms), bandit, settings, name, guide)


def flat_planner(game: Game | Dynamics, bandit: Bandit | None, settings: Settings, arms: Callable | None = None) -> Planner:
    """Makes MCS; arguments as for `mcs`."""
    bandit = _rule(bandit)
    return flat.flat_search(dynamics_of(game, arms=arms), bandit, settings, f"MCS + {bandit.name}")


def _sizes(settings: Mapping[str, Any], **variant: bool) -> Settings:
    """Settings of a search by bandits: sizes by name, and its variant."""
    names = [field.name for field in dataclasses.fields(Settings) if field.name not in ("keep_all", "rollout")]
    for name in settings:
        if name not in names:
            raise TypeError(f"{name}={settings[name]!r}: no such setting; {checks.one_of(name, names)}")
    return Settings(**variant, **settings)


def _rule(bandit: Bandit | None) -> Bandit:
    """The bandit that is given, or else Thompson sampling."""
    if bandit is not None:
        arguments.of_kind("bandit", bandit, Bandit, "search.thompson(), search.ucb1() or search.uniform()")
    return bandit or bandits.thompson()
