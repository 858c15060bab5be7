"""Agents by name, for command lines: rule-based ones, planners, and followers out of files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from jaxgames.agent import Agent
from jaxgames.game import Game, is_hidden
from jaxgames.hero_academy import HeroAcademy
from jaxgames.hex import Hex
from jaxgames.pommerman import Pommerman, bots
from jaxgames.specs import read_flag, read_options
from search import presets
from search.bandit import bandits
from search.bandit.guide import Guide
from search.planner import as_agent
from training.models import policy_value
from training.play import hero_agents, hex_agents

TRAINED = Path(__file__).parents[1] / "trained"
BUNDLED = TRAINED / "pommerman_follower.npz"

_BOTS = {"simple": bots.simple_agent, "random": bots.random_agent, "careful": bots.careful_agent}
NAMES = (*_BOTS, *presets.PLANNERS, *presets.EVOLUTIONS, "follower")


class Defaults(NamedTuple):
    """What is played in a game where nothing else is said.

    Attributes:
      mode: its variant.
      planner, opponent: of a match.
      contest: agents, one per player.
      pairs_mode: the variant of tournaments, which is for two players.
      tournament: agents.
    """

    mode: str
    planner: str
    opponent: str
    contest: tuple[str, ...]
    pairs_mode: str
    tournament: tuple[str, ...]


_PIMC = "pimc:num_simulations=100"
DEFAULTS = {
    "pommerman": Defaults(
        "ffa", "fdts", "simple", ("follower", "simple", "simple", "simple"), "one_vs_one", ("random", "simple", "fdts")
    ),
    "hex": Defaults("adh-5", "pc_pimc", "random", (f"pc_{_PIMC}", "random"), "adh-5", ("random", "path", _PIMC, f"pc_{_PIMC}")),
    "hero_academy": Defaults(
        "standard", "oep", "greedy_action", ("oep", "greedy_action"), "standard", ("random", "greedy_action", "oep")
    ),
}


def defaults_of(game: str) -> Defaults:
    """Looks up what is played in a game by default.

    Raises:
      ValueError: there is no such game.
    """
    if game not in DEFAULTS:
        raise ValueError(f"game={game!r}: must be one of {', '.join(DEFAULTS)}")
    return DEFAULTS[game]


def make(spec: str, game: Game) -> Agent:
    """Makes an agent from a text such as "simple", "fdts:bandit=ucb,num_simulations=50" or "follower:output/best.npz".

    Args:
      spec: of Pommerman, a name out of `NAMES`; behind a colon, settings of a planner, or the weights of a follower: a file or
        the folder of a training run. A follower without a file is the one that comes with this package.
      game: what it will play. Players of other games: see `hex_agents.make` and `hero_agents.make`.

    Returns:
      The agent; its name tells its settings.

    Raises:
      ValueError: there is no such agent or setting, or the weights are of another game.
      OSError: the file cannot be read.
    """
    if isinstance(game, Hex):
        return hex_agents.make(spec, game)
    if isinstance(game, HeroAcademy):
        return hero_agents.make(spec, game)
    if not isinstance(game, Pommerman):
        raise ValueError(f"agent={spec!r}: there are no agents for {game.name}")
    name, _, options = spec.partition(":")
    if name not in NAMES:
        raise ValueError(f"agent={spec!r}: must be one of {', '.join(NAMES)}, such as fdts:bandit=ucb or follower:FILE")
    if name == "follower":
        who, params = policy_value.read(options or BUNDLED, game)
        return who.agent(params, name=spec)
    if name in _BOTS:
        if options:
            raise ValueError(f"agent={spec!r}: {name} has no settings")
        return _BOTS[name](game)
    if name in presets.EVOLUTIONS:
        found = read_options(f"agent={spec!r}", options, _EVOLUTION_KINDS, "num_simulations=200")
        return as_agent(presets.EVOLUTIONS[name](game, **found))._replace(name=spec)
    settings = read_options(f"agent={spec!r}", options, _KINDS, "horizon=10")
    if "guide" not in settings:
        for option in ("prior_weight", "guide_values"):
            if option in settings:
                raise ValueError(f"agent={spec!r}: {option} needs a guide")
        return as_agent(presets.by_name(game, name, **settings))._replace(name=spec)
    if name != "fdts":
        raise ValueError(f"agent={spec!r}: only fdts takes a guide")
    who, params = policy_value.read(settings.pop("guide"), game)
    weight, values = settings.pop("prior_weight", Guide.prior_weight), settings.pop("guide_values", False)
    guide = Guide(who.evaluate, weight, values, who.encoder.outputs)
    bandit = bandits.by_name(settings.pop("bandit", "ts"))
    return as_agent(presets.fdts(game, bandit, guide=guide, **settings))._replace(name=spec, params=params)


def shown(agent: Agent, game: Game) -> str:
    """Gives an agent's name for tables, marked if it makes use of what its seat does not see."""
    hides = not is_hidden(game) or game.open_game != game
    return f"{agent.name} (sees all)" if agent.sees_state and agent.uses_hidden and hides else agent.name


_KINDS: dict[str, Callable[[str], Any]] = {
    "bandit": str,
    "guide": str,
    "num_simulations": int,
    "horizon": int,
    "leaf_parallelism": int,
    "table_rows": int,
    "prior_weight": float,
    "guide_values": read_flag,
}
_EVOLUTION_KINDS = {"num_simulations": int, "horizon": int, "population": int, "survivors": float, "mutation": float}
