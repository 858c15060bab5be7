"""Players of Hero Academy by name, for command lines."""

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections.abc import Callable, Iterator
from typing import Any

from jaxgames.agent import Agent
from jaxgames.hero_academy import HeroAcademy
from jaxgames.hero_academy.bots import BOTS
from jaxgames.specs import read_flag, read_options
from search.planner import Planner, as_agent
from search.turns import coevolution, evolution, greedy
from search.turns import mcts as turn_mcts
from search.turns.population import generations_for

NUM_EVALUATIONS = 5000  # per turn, of every planner whose budget is not given
_BUDGETS = ("num_evaluations", "num_generations", "num_simulations")

# Names, the settings behind them, and what each may be given.
_TREES = {
    "mcts": turn_mcts.Settings(),
    "mcts_non_exploring": turn_mcts.NON_EXPLORING,
    "mcts_bridge_burning": turn_mcts.BRIDGE_BURNING,
}
_EVOLUTIONS: dict[str, tuple[Callable[..., Planner], Callable[[], Any]]] = {
    "oep": (evolution.oep, evolution.Settings),
    "oep_replies": (coevolution.coevolution, coevolution.Settings),
    "rolling_horizon": (evolution.rolling_horizon, evolution.Settings),
}
PLANNERS = ("greedy_action", "greedy_turn", *_TREES, *_EVOLUTIONS)
NAMES = (*BOTS, *PLANNERS)
_KINDS: dict[str, Callable[[str], Any]] = {
    "num_evaluations": int,
    "num_generations": int,
    "num_simulations": int,
    "population": int,
    "survivors": float,
    "mutation": float,
    "replies": int,
    "judges": int,
    "trial": float,
    "rollouts": int,
    "niches": read_flag,
    "restart_after": int,
    "islands": int,
    "migrate_every": int,
    "exploration": float,
    "greediness": float,
    "microbatch_size": int,
}


def make(spec: str, game: HeroAcademy) -> Agent:
    """Makes a player from a text such as "greedy_action" or "oep:num_evaluations=20000,mutation=0.3".

    Args:
      spec: a name out of `NAMES`; behind a colon its settings. The budget of all planners may be given as `num_evaluations`;
        without one they have the same, `NUM_EVALUATIONS` (rolling_horizon per action).
      game: what it will play.

    Raises:
      ValueError: there is no such player or setting.
    """
    name, _, text = spec.partition(":")
    if name not in NAMES:
        raise ValueError(f"agent={spec!r}: must be one of {', '.join(NAMES)}, such as oep:num_evaluations=20000")
    options = read_options(f"agent={spec!r}", text, _KINDS, "num_evaluations=5000")
    if name in BOTS or name == "greedy_action":
        if options:
            raise ValueError(f"agent={spec!r}: {name} has no settings")
        return BOTS[name](game) if name in BOTS else as_agent(greedy.greedy_action(game))._replace(name=spec)
    if not any(budget in options for budget in _BUDGETS):
        options["num_evaluations"] = NUM_EVALUATIONS
    return as_agent(_planner(name, spec, game, options))._replace(name=spec)


def _planner(name: str, spec: str, game: HeroAcademy, options: dict[str, Any]) -> Planner:
    if name == "greedy_turn":
        return greedy.greedy_turn(game, _with(spec, greedy.Settings(), options))
    if name in _TREES:
        if {"num_evaluations", "num_simulations"} <= set(options):
            raise ValueError(f"agent={spec!r}: give num_evaluations or num_simulations, not both")
        if "num_evaluations" not in options:
            return turn_mcts.turn_mcts(game, _with(spec, _TREES[name], options))
        options["num_simulations"] = options.pop("num_evaluations")
        with _told_as_evaluations("num_simulations="):
            return turn_mcts.turn_mcts(game, _with(spec, _TREES[name], options))
    evaluations = options.pop("num_evaluations", None)
    if evaluations is not None and "num_generations" in options:
        raise ValueError(f"agent={spec!r}: give num_evaluations or num_generations, not both")
    make_planner, make_settings = _EVOLUTIONS[name]
    settings = _with(spec, make_settings(), options)
    if evaluations is not None:
        with _told_as_evaluations("evaluations="):
            settings = generations_for(evaluations, settings)
    return make_planner(game, settings)


@contextlib.contextmanager
def _told_as_evaluations(name: str) -> Iterator[None]:
    """Lets errors name the budget as it was given."""
    try:
        yield
    except ValueError as error:
        raise ValueError(re.sub(f"^{name}", "num_evaluations=", str(error))) from None


def _with(spec: str, settings: Any, options: dict[str, Any]) -> Any:
    known = [field.name for field in dataclasses.fields(settings)]
    for option in options:
        if option not in known:
            raise ValueError(f"agent={spec!r}: has no setting {option}; it takes {', '.join(known)}")
    return dataclasses.replace(settings, **options)
