"""Players of Hex and DarkHex by name, for command lines."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from jaxgames.agent import Agent
from jaxgames.hex import Hex
from jaxgames.hex.bots import BOTS
from jaxgames.specs import read_flag, read_options
from search import puct
from search.planner import as_agent
from search.puct import determinized
from search.puct.rollout import random_rollouts
from training.models import policy_value

# Agents with a search, and how they put worlds together.
_SEARCHES = {"pc_pimc": "policy", "medoid": "medoid", "pimc": "value", "pimc_value": "value", "true_sight": ""}
NAMES = (*BOTS, "network", *_SEARCHES)


_OPTIONS: dict[str, Callable[[str], Any]] = {
    "num_simulations": int,
    "num_worlds": int,
    "split": read_flag,
    "num_rollouts": int,
    "temperature": float,
    "q_veto": float,
    "q_weight": float,
    "mcts_solver": read_flag,
    "reuse": read_flag,
    "tree": str,
    "weights": str,
}


def make(spec: str, game: Hex) -> Agent:
    """Makes a player from a text such as "random" or "pc_pimc:weights=FILE,num_worlds=12,num_simulations=800".

    Args:
      spec: a name out of `NAMES`; behind a colon its settings. Without weights, a search values states by random play.
      game: what it will play.

    Raises:
      ValueError: there is no such player or setting, or the weights are of another game.
      OSError: the file cannot be read.
    """
    name, _, text = spec.partition(":")
    if name not in NAMES:
        raise ValueError(f"agent={spec!r}: must be one of {', '.join(NAMES)}, such as pc_pimc:num_worlds=6")
    options = read_options(f"agent={spec!r}", text, _OPTIONS, "num_worlds=6")
    if name in BOTS:
        if options:
            raise ValueError(f"agent={spec!r}: {name} has no settings")
        return BOTS[name](game)
    who, params = (None, None) if "weights" not in options else policy_value.read(options.pop("weights"), game)
    if name == "network":
        if who is None or options:
            raise ValueError(f"agent={spec!r}: must be network:weights=FILE")
        return who.agent(params, name=spec)
    if who and "num_rollouts" in options:
        raise ValueError(f"agent={spec!r}: a network values boards by itself: leave out num_rollouts or weights")
    evaluate = who.evaluate if who else random_rollouts(game.open_game, options.pop("num_rollouts", 1))
    outputs = who.encoder.outputs if who else None
    of_search = {key: options.pop(key) for key in ("num_simulations", "q_veto", "q_weight") if key in options}
    if name == "pimc_value" and (of_search or {"mcts_solver", "split"} & set(options)):
        raise ValueError(f"agent={spec!r}: pimc_value has no tree: it takes num_worlds, tree, temperature, weights, num_rollouts")
    if "reuse" in options and name != "true_sight":
        raise ValueError(f"agent={spec!r}: only true_sight can keep its tree from move to move: leave out reuse")
    settings = puct.Settings(mcts_solver=options.pop("mcts_solver", False), reuse=options.pop("reuse", False), **of_search)
    if who is None:  # without priors that tell cells apart, all must be looked at
        settings = dataclasses.replace(settings, first_play_urgency=None)
    if name == "true_sight":
        if options:
            raise ValueError(f"agent={spec!r}: true_sight has no setting {next(iter(options))}")
        planner = determinized.true_sight(game, evaluate, settings, outputs=outputs)
    else:
        how = determinized.Settings(combine=_SEARCHES[name], search=settings, **options)
        if name == "pimc_value":
            planner = determinized.pimc_value(game, evaluate, how)
        else:
            planner = determinized.pimc_tree(game, evaluate, how, outputs=outputs)
    return as_agent(planner)._replace(name=spec, params=params)
