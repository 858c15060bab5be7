"""Planners by name, with their published settings."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any

from jaxgames import checks, shapes
from jaxgames.abilities import has_prospects
from jaxgames.agent import Agent
from jaxgames.game import Game, hides_something, is_hidden
from jaxgames.registration import NoSettings
from jaxgames.turns import moves_at_once
from search.bandit import bandits
from search.bandit.bandits import Bandit
from search.bandit.guide import Guide
from search.bandit.makers import flat_planner, tree_planner
from search.bandit.settings import Settings
from search.by_prospects import ByProspects
from search.dynamics import Dynamics, Evaluate, Outputs
from search.entries import InWorlds, PlannerEntry, WithAhead, WithBandit, WithGuide, WithLeafValues, WithStrings, WithValues
from search.information_sets import among_information_sets
from search.modelled import (
    AUTO,
    NETWORK,
    NO_AGENTS,
    Models,
    WithModels,
    WithRival,
    modelled,
    modelled_puct,
    valued_by_own_seat,
    without_heuristic,
)
from search.planner import Planner
from search.puct import determinized
from search.puct.rollout import heuristic_values, promised_values, random_rollouts, with_prospects
from search.puct.search import puct
from search.puct.worlds import Worlds, played_in
from search.turns import action_sequences, coevolution, evolution, greedy
from search.turns import mcts as turn_mcts
from search.turns.game import has_turns
from search.weighed import weighed


def by_name(
    game: Game,
    name: str,
    *,
    evaluate: Evaluate | None = None,
    outputs: Outputs | None = None,
    agents: Mapping[str, Agent] = NO_AGENTS,
    **options: Any,
) -> Planner:
    """Makes a planner by its name.

    Args:
      game: the game.
      name: one of `planners_of(game)`.
      evaluate: a network for planners that take one, as for `puct.puct`.
      outputs: which output of it is that of an action, as for `puct.puct`.
      agents: of searches against models, others by the names that `model`, `partner` and `then` call them.
      **options: its settings, as on command lines.

    Raises:
      ValueError: for a name that does not exist or a setting that is not possible.
    """
    entry = planners_of(game).get(name)
    if entry is None:
        raise ValueError(f"planner={name!r}: {checks.one_of(name, planners_of(game))}")
    settings = entry.configure(options, with_network=evaluate is not None)
    if agents and not isinstance(settings, WithModels):
        raise ValueError(f"planner={name!r}: takes no agents, as it has no models")
    if entry.network:
        return entry.build(game, settings, evaluate, outputs, **({"agents": agents} if agents else {}))
    if evaluate:
        raise ValueError(f"planner={name!r}: takes no network")
    return entry.build(game, settings)


def planners_of(game: Game) -> Mapping[str, PlannerEntry]:
    """Gives the planners that suit a game, by name.

    Args:
      game: the game, of the variant that is to be played.

    Returns:
      By each name an entry: its kinds of settings, its budget, and `build`, which `by_name` calls.
    """
    hashable: Any = game  # a frozen config decides what suits it
    return _planners_of(hashable)


@functools.lru_cache(maxsize=64)
def _planners_of(game: Any) -> Mapping[str, PlannerEntry]:
    return {entry.name: entry for entry in PLANNERS if entry.suits(game)}


def _at_once(game: Game) -> bool:
    """As `moves_at_once`, which traces a start of the game: asked once, not for every planner."""
    hashable: Any = game
    return _moves_at_once(hashable)


_moves_at_once = functools.lru_cache(maxsize=64)(moves_at_once)


def _of_steps(game: Game) -> bool:
    return not has_turns(game)


def _in_view(game: Game) -> bool:
    """One player moves at a time, and sees everything."""
    return not hides_something(game) and not _at_once(game)


def _hidden(game: Game) -> bool:
    """One player moves at a time, in a game that tells what players know."""
    return is_hidden(game) and not has_turns(game) and not _at_once(game)


def _by_prospects(game: Game, values: str) -> bool:
    """Says whether positions are worth their prospects, or else what the heuristic says.

    Raises:
      ValueError: they are to be, and the game has none.
    """
    if values == "prospects" and not has_prospects(game):
        raise ValueError(f"values='prospects': game={game.name!r} does not say what its positions promise; take heuristic")
    return values != "heuristic" and has_prospects(game)


def _valued_game(game: Game, values: str) -> Any:
    """The game, by what its positions are worth."""
    return ByProspects(game) if _by_prospects(game, values) else game


def _bandit_for(game: Game, settings: WithLeafValues) -> Bandit:
    """The bandit that counts what positions are worth."""
    rule = settings.rule()
    return bandits.counting_means(rule) if _by_prospects(game, settings.values) else rule


def _bandits(game: Game, settings: WithLeafValues) -> Planner:
    return tree_planner(_valued_game(game, settings.values), _bandit_for(game, settings), settings.search)


def _guided(game: Game, settings: WithGuide, evaluate: Evaluate | None = None, outputs: Outputs | None = None) -> Planner:
    guide = Guide(evaluate, settings.prior_weight, settings.guide_values, outputs) if evaluate else None
    if guide and not (guide.prior_weight or guide.values):
        raise ValueError(f"prior_weight={guide.prior_weight}: must be > 0 without guide_values, or the network does nothing")
    if settings.guide_values:  # the network says what undecided positions are worth
        settings = dataclasses.replace(settings, values="heuristic")
    return tree_planner(_valued_game(game, settings.values), _bandit_for(game, settings), settings.search, guide=guide)


def _flat(game: Game, settings: WithLeafValues) -> Planner:
    return flat_planner(_valued_game(game, settings.values), _bandit_for(game, settings), settings.search)


def _strings(make: Callable[[Any, action_sequences.Settings], Planner]) -> Callable[..., Planner]:
    def build(game: Game, settings: WithStrings) -> Planner:
        return make(_valued_game(game, settings.values), settings.strings)

    return build


def _valued(make: Callable[..., Planner]) -> Callable[..., Planner]:
    """Makes `build` of a search that asks `evaluate`; without one states are valued by random play."""

    def build(game: Any, settings: WithValues, evaluate: Evaluate | None = None, outputs: Outputs | None = None) -> Planner:
        played = _played(game, settings)
        values = evaluate or random_rollouts(played, settings.num_rollouts, settings.rollout_steps)
        if settings.prospects:
            values = with_prospects(played, values, settings.prospects)
        return make(game, values, settings.settings, outputs=outputs)

    return build


def _played(game: Any, settings: WithValues) -> Any:
    """The game that is played in the tree."""
    worlds = settings.settings
    return played_in(game, worlds) if isinstance(worlds, Worlds) else getattr(game, "open_game", game)


def _look_ahead(game: Any, evaluate: Evaluate, settings: Worlds, *, outputs: Outputs | None) -> Planner:
    del outputs  # what comes after each action is valued; its logit does not matter
    return determinized.pimc_value(game, evaluate, settings)


def _and_ahead(game: Any, settings: WithAhead, evaluate: Evaluate | None = None, outputs: Outputs | None = None) -> Planner:
    """PC-PIMC, weighed by what one action leads to in more worlds."""
    planner = _valued(determinized.pimc_tree)(game, settings, evaluate, outputs)
    if not settings.ahead_worlds:
        return planner
    search: determinized.Settings = settings.settings
    count, scale = settings.ahead_worlds, _AHEAD_SCALE if settings.ahead_scale is None else settings.ahead_scale
    worlds = Worlds("value", count, search.tree, microbatch_size=search.microbatch_size)
    by_hand = promised_values(_played(game, settings)) if has_prospects(game) else evaluate
    rollouts = WithValues(settings.num_rollouts, settings.rollout_steps, settings=worlds)
    ahead = _valued(_look_ahead)(game, rollouts, by_hand, outputs)
    name, view = f"{planner.name}, looking ahead in {count} worlds", shapes.information_of(game)
    return weighed(planner, ahead, scale, temperature=search.temperature, name=name, view=view)


def _pimc(name: str, make: Callable[..., Planner], settings: Worlds, *fixed: str) -> PlannerEntry:
    return PlannerEntry(name, WithValues(settings=settings), _valued(make), _hidden, "weights", ("combine", *fixed), _ROLLOUTS)


def _pc_pimc(name: str, settings: determinized.Settings) -> PlannerEntry:
    return PlannerEntry(name, WithAhead(settings=settings), _and_ahead, _hidden, "weights", ("combine", *_WORLDS), _ROLLOUTS)


def _turn_tree(name: str, settings: turn_mcts.Settings) -> PlannerEntry:
    return PlannerEntry(name, settings, turn_mcts.turn_mcts, has_turns, budget="num_simulations")


def _information_sets(game: Any, settings: WithLeafValues) -> Planner:
    played, rule = _valued_game(game, settings.values), _bandit_for(game, settings)
    return among_information_sets(played, lambda dynamics: tree_planner(dynamics, rule, settings.search))


def _in_worlds(entry: PlannerEntry) -> PlannerEntry:
    """Enters a planner again, which plans in worlds that fit what is known.

    Not for games that are their own open game, as Clash: there each world offers other arms (a sample of tiles that follows from
    the state), and of what the worlds find by action hardly anything but waiting would be common to them.
    """

    def build(game: Any, settings: InWorlds, *network: Any) -> Planner:
        planner = entry.build(played_in(game, settings.worlds), settings.planner, *network)
        return determinized.determinized(game, planner, settings.worlds)

    def suits(game: Game) -> bool:
        return is_hidden(game) and game.open_game != game and entry.suits(game.open_game)

    planner = entry.settings
    if isinstance(planner, WithLeafValues | WithStrings):  # nobody has published these in worlds, so no default binds
        planner = dataclasses.replace(planner, values=AUTO)
    settings = InWorlds(Worlds(), planner)
    return dataclasses.replace(entry, name=f"determinized_{entry.name}", settings=settings, build=build, suits=suits)


def _many(game: Game) -> bool:
    """Many act at once: it is worth while to model some of them."""
    return not has_turns(game) and _at_once(game)


def _with_models(
    game: Game,
    settings: WithModels,
    evaluate: Evaluate | None = None,
    outputs: Outputs | None = None,
    agents: Mapping[str, Agent] = NO_AGENTS,
) -> Planner:
    by_hand = evaluate is None
    values = evaluate or (promised_values(game) if _by_prospects(game, settings.values) else heuristic_values(game))
    for name in ("model", "partner"):
        if by_hand and getattr(settings.models, name) == NETWORK:
            raise ValueError(f"{name}={NETWORK!r}: needs weights")
    return modelled_puct(game, values, settings.models, settings.search, outputs=outputs, of_own_seat=by_hand, agents=agents)


def _modelled(
    game: Game,
    settings: WithModels,
    evaluate: Evaluate | None = None,
    outputs: Outputs | None = None,
    agents: Mapping[str, Agent] = NO_AGENTS,
) -> Planner:
    """A network is a model of others here; it does not guide."""
    bandit = settings.search.rule()

    def make(dynamics: Dynamics) -> Planner:
        guide = None
        if _by_prospects(game, settings.values):
            dynamics, values = valued_by_own_seat(without_heuristic(dynamics), promised_values(game))
            guide = Guide(values, prior_weight=0.0, values=True)
        return tree_planner(dynamics, bandit, settings.search.search, guide=guide)

    return modelled(game, make, settings.models, evaluate, outputs, agents)


_TREE = ("keep_all", "rollout")
_ROLLOUTS, _VALUES = ("num_rollouts", "rollout_steps"), ("values",)
_AHEAD_SCALE = 0.2
_SIZES = Settings(keep_all=False)
_MCTS = WithLeafValues(search=_SIZES)
_WORLDS = ("reuse", "value_temperature")

_FOR_ALL = (
    PlannerEntry("fdts", WithGuide(), _guided, _of_steps, "guide", _TREE),
    PlannerEntry("mcts", _MCTS, _bandits, _of_steps, fixed=_TREE),
    PlannerEntry(
        "mcts_no_rollout", WithLeafValues(search=Settings(keep_all=False, rollout=False)), _bandits, _of_steps, fixed=_TREE
    ),
    PlannerEntry("mcs", WithLeafValues(), _flat, _of_steps, fixed=(*_TREE, "table_rows", "table_bytes")),
    PlannerEntry("oep", WithStrings(), _strings(action_sequences.oep_strings), _of_steps),
    PlannerEntry("rolling_horizon", WithStrings(), _strings(action_sequences.rolling_horizon_strings), _of_steps),
    PlannerEntry("greedy_action", NoSettings(), lambda game, settings: greedy.greedy_action(game), has_turns),
    PlannerEntry("greedy_turn", greedy.Settings(), greedy.greedy_turn, has_turns),
    _turn_tree("mcts", turn_mcts.Settings()),
    _turn_tree("mcts_non_exploring", turn_mcts.NON_EXPLORING),
    _turn_tree("mcts_bridge_burning", turn_mcts.BRIDGE_BURNING),
    PlannerEntry("oep", evolution.Settings(), evolution.oep, has_turns, budget="num_generations"),
    PlannerEntry("oep_replies", coevolution.Settings(), coevolution.coevolution, has_turns, budget="num_generations"),
    PlannerEntry("rolling_horizon", evolution.Settings(), evolution.rolling_horizon, has_turns, budget="num_generations"),
)
PLANNERS = (
    *_FOR_ALL,
    PlannerEntry("puct", WithValues(), _valued(puct), _in_view, "weights", by_hand=_ROLLOUTS),
    PlannerEntry("sp_mcts", WithModels(), _with_models, _many, "weights", ("rival",), _VALUES),
    PlannerEntry("tp_mcts", WithRival(Models(rival="closest")), _with_models, _many, "weights", by_hand=_VALUES),
    PlannerEntry("modelled_fdts", WithModels(search=WithBandit(), values="heuristic"), _modelled, _many, "weights", _TREE),
    PlannerEntry(
        "modelled_mcts", WithModels(search=WithBandit(search=_SIZES), values="heuristic"), _modelled, _many, "weights", _TREE
    ),
    _pc_pimc("pc_pimc", determinized.Settings()),
    _pc_pimc("medoid", determinized.Settings(combine="medoid")),
    _pimc("pimc", determinized.pimc_tree, determinized.Settings(combine="value"), "reuse"),
    _pimc("pimc_value", _look_ahead, Worlds(combine="value")),
    PlannerEntry("ismcts", dataclasses.replace(_MCTS, values=AUTO), _information_sets, _hidden, fixed=_TREE),
    PlannerEntry("true_sight", WithValues(), _valued(determinized.true_sight), _hidden, "weights", by_hand=_ROLLOUTS),
    *(_in_worlds(entry) for entry in _FOR_ALL),
)
