"""Planners by name, with their published settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jax import Array

from jaxgames.game import Game
from search.bandit import bandits
from search.bandit.bandits import Bandit
from search.bandit.flat import flat_search
from search.bandit.guide import Guide
from search.bandit.tree_search import MICROBATCH_SIZE, Settings, decoupled_search
from search.dynamics import Dynamics, dynamics_of
from search.planner import Planner
from search.turns import action_sequences, evolution
from search.turns.game import has_turns

StateFunction = Callable[..., Array]


def fdts(
    game: Game | Dynamics,
    bandit: Bandit | None = None,
    *,
    num_simulations: int = 100,
    horizon: int = 20,
    leaf_parallelism: int = 1,
    table_rows: int = 2**16,
    microbatch_size: int = MICROBATCH_SIZE,
    key: StateFunction | None = None,
    arms: Callable | None = None,
    guide: Guide | None = None,
) -> Planner:
    """Fixed-depth tree search: every state of every simulation is kept, and the tree lives through the episode.

    Args:
      game: the game; all its players plan for themselves, with the full state.
      bandit: rule of choice; None: Thompson sampling.
      num_simulations: simulations per plan.
      horizon: steps per simulation.
      leaf_parallelism: simulations of one tree that run at once on the same statistics. This suits Thompson sampling, whose walks
        differ by their draws; by UCB1 all of them go the same way until they meet chance.
      table_rows: rows of the search table per game, a power of two; 108 bytes each in Pommerman.
      microbatch_size: lanes that are worked on together, see `microbatch.in_microbatches`; fewer where most lanes need no plan.
      key: `key(state) -> uint32 [2]` in place of the game's `state_key`.
      arms: `arms(state) -> (int32 [P, K], bool [P, K])` in place of the game's `search_arms`.
      guide: a network whose policy and values bias the search.
    """
    bandit = bandit or bandits.thompson()
    settings = Settings(
        num_simulations, horizon, True, leaf_parallelism=leaf_parallelism, table_rows=table_rows, microbatch_size=microbatch_size
    )
    name = f"{'guided ' if guide else ''}FDTS + {bandit.name}"
    return decoupled_search(dynamics_of(game, key=key, arms=arms), bandit, settings, name, guide)


def mcts(
    game: Game | Dynamics,
    bandit: Bandit | None = None,
    *,
    num_simulations: int = 100,
    horizon: int = 20,
    rollout: bool = True,
    leaf_parallelism: int = 1,
    table_rows: int = 2**16,
    microbatch_size: int = MICROBATCH_SIZE,
    key: StateFunction | None = None,
    arms: Callable | None = None,
) -> Planner:
    """Monte Carlo tree search: each simulation keeps one new state.

    A simulation ends at the horizon also without rollouts, where the published code goes on to the first state that is not known;
    in Pommerman few come that far.

    Args:
      game: the game; all its players plan for themselves, with the full state.
      bandit: rule of choice; None: Thompson sampling.
      num_simulations: simulations per plan.
      horizon: steps per simulation, at most.
      rollout: play uniformly at random from the new state to the horizon; else the new state itself is valued.
      leaf_parallelism: simulations of one tree that run at once on the same statistics, as in `fdts`.
      table_rows: rows of the search table per game, a power of two.
      microbatch_size: as in `fdts`.
      key: in place of the game's `state_key`, as in `fdts`.
      arms: in place of the game's `search_arms`, as in `fdts`.
    """
    bandit = bandit or bandits.thompson()
    settings = Settings(num_simulations, horizon, False, rollout, leaf_parallelism, table_rows, microbatch_size)
    name = f"MCTS{'' if rollout else ' (no rollouts)'} + {bandit.name}"
    return decoupled_search(dynamics_of(game, key=key, arms=arms), bandit, settings, name)


def mcs(
    game: Game | Dynamics,
    bandit: Bandit | None = None,
    *,
    num_simulations: int = 100,
    horizon: int = 20,
    leaf_parallelism: int = 1,
    microbatch_size: int = MICROBATCH_SIZE,
    arms: Callable | None = None,
) -> Planner:
    """Flat Monte Carlo search: bandits in the present state only, random play behind it. Arguments as in `fdts`."""
    bandit = bandit or bandits.thompson()
    settings = Settings(num_simulations, horizon, leaf_parallelism=leaf_parallelism, microbatch_size=microbatch_size)
    return flat_search(dynamics_of(game, arms=arms), bandit, settings, f"MCS + {bandit.name}")


def oep(game: Game, **settings: Any) -> Planner:
    """Online evolutionary planning: of turns, or in a game of simultaneous moves of strings of actions.

    Args:
      game: the game.
      **settings: fields of `evolution.Settings` (turns) or `action_sequences.Settings`.
    """
    if has_turns(game):
        return evolution.oep(game, evolution.Settings(**settings))
    return action_sequences.oep_strings(game, action_sequences.Settings(**settings))


def rolling_horizon(game: Game, **settings: Any) -> Planner:
    """Rolling Horizon Evolution; arguments as for `oep`."""
    if has_turns(game):
        return evolution.rolling_horizon(game, evolution.Settings(**settings))
    return action_sequences.rolling_horizon_strings(game, action_sequences.Settings(**settings))


PLANNERS = ("fdts", "mcts", "mcts_no_rollout", "mcs")  # of Boney et al.
EVOLUTIONS = {"oep": oep, "rolling_horizon": rolling_horizon}


def by_name(game: Game, planner: str, bandit: str = "ts", *, table_rows: int = 2**16, **settings) -> Planner:
    """Makes a planner by its short name.

    Args:
      game: the game.
      planner: one of `PLANNERS` or `EVOLUTIONS`.
      bandit: one of `bandits.BANDITS`; ignored by evolution, which has none.
      table_rows: ignored by planners without a table.
      **settings: `num_simulations`, `horizon`, `leaf_parallelism`, `microbatch_size`, ...

    Raises:
      ValueError: for a name that does not exist or a setting that is not possible.
    """
    if planner in EVOLUTIONS:
        if settings.pop("leaf_parallelism", 1) != 1:
            raise ValueError(f"planner={planner!r}: has no waves")
        return EVOLUTIONS[planner](game, **settings)
    rule = bandits.by_name(bandit)
    if planner == "fdts":
        return fdts(game, rule, table_rows=table_rows, **settings)
    if planner in ("mcts", "mcts_no_rollout"):
        return mcts(game, rule, rollout=planner == "mcts", table_rows=table_rows, **settings)
    if planner == "mcs":
        return mcs(game, rule, **settings)
    raise ValueError(f"planner={planner!r}: must be one of {', '.join((*PLANNERS, *EVOLUTIONS))}")
