"""Searches in which models play for other seats, by their names: SP-MCTS and TP-MCTS, and searches by bandits.

(Source: PommerLearn, Weil et al.)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import checks, shapes
from jaxgames.abilities import has_rivals, keeps_beliefs
from jaxgames.agent import Agent, memoryless
from jaxgames.game import Game, is_hidden
from jaxgames.others import bots_of
from jaxgames.registration import usual_opponent
from search import arguments
from search.believed import believed
from search.dynamics import Dynamics, Evaluate, Outputs, answer, arm_logits
from search.opponents import single_player, switching, two_player
from search.planner import Planner, of_seat
from search.puct.search import puct
from search.puct.settings import Settings
from search.rivals import Rival, most_dangerous

RIVALS = ("none", "closest", "dangerous")
ROOTS = ("believed", "worst", "visible", "true")
AUTO = "auto"
VALUES = (AUTO, "heuristic", "prospects")
NETWORK, STILL = "network", "still"  # models beside the game's own agents
NO_AGENTS: Mapping[str, Agent] = MappingProxyType({})

POMMERLEARN = Settings(
    num_simulations=250,
    q_veto=0.4,
    q_weight=1.0,
    dirichlet_fraction=0.25,
    dirichlet_alpha=0.2,
    leaf_parallelism=8,
    microbatch_size=32,
)
"""Of both searches in the paper's evaluations, with a network; there a thread, of four, walks eight times at once.

Noise at the root corrects networks that are too sure of themselves; where states are valued by hand, it is best left out.
Lanes think in parts, as those whose player is out would take as long as all others."""


@dataclasses.dataclass(frozen=True)
class Models:
    """Who plays for the other seats in a search; checked when made.

    Attributes:
      model: an agent of the game without settings; "network": the one that guides the search, its best action; "still": all pass;
        "network:FILE" or "follower:FILE": another network. "": the opponent that the game names as usual.
      partner: the same for teammates, in a game of teams; "": as the others.
      switch_after: so many steps below the root "then" takes over from the model, which is named; None: never. Not with reuse.
      then: the model that takes over, not the network that guides; "": the opponent that the game names as usual.
      rival: closest: the closest enemy is searched too. dangerous: that one does whose next action can cost the own seat most,
        see `most_dangerous`. none: all are models.
      root: the state from which is planned. believed: what the player believes, from its observations alone. worst: the same, but
        whatever it does not see of others is taken for the worst. visible: the true one without what nobody has seen, which is
        nearly what is believed on a board in full view. true: as it is (an oracle).
      talks: where actions carry words, tell teammates what is seen, and believe what they tell. Games to learn from are silent.
    """

    model: str = ""
    partner: str = ""
    switch_after: int | None = None
    then: str = ""
    rival: str = "none"
    root: str = "believed"
    talks: bool = False

    def __post_init__(self) -> None:
        if self.switch_after is not None:
            checks.at_least(0, self, "switch_after")
        checks.flags(self, "talks")
        for name, choices in (("rival", RIVALS), ("root", ROOTS)):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name}={getattr(self, name)!r}: {checks.one_of(getattr(self, name), choices)}")
        if self.switch_after is not None and not self.model:
            raise ValueError(f"switch_after={self.switch_after}: needs the model before it, such as model=network")
        if self.then and self.switch_after is None:
            raise ValueError(f"then={self.then!r}: needs switch_after, the number of steps before it")
        if self.talks and self.root not in ("believed", "worst"):
            raise ValueError(f"talks=True: needs root=believed or worst, not {self.root!r}, which has nothing to be told")
        if self.then == NETWORK:
            raise ValueError(f"then={self.then!r}: must be an agent without a network, which plays the steps before it already")


@dataclasses.dataclass(frozen=True)
class WithModels:
    """Settings of a search against models.

    Attributes:
      models: who plays for the others.
      search: of the search itself.
      values: without a network, what undecided positions are worth. heuristic: what `Game.heuristic` says.
        prospects: the game's hand-crafted evaluation of them (`Game.prospects`). auto: prospects if the game has any, else the
        heuristic.
    """

    models: Models = Models()
    search: Any = POMMERLEARN
    values: str = AUTO

    def __post_init__(self) -> None:
        check_values(self.values)


def check_values(values: str) -> None:
    """Raises unless this says how positions are valued."""
    if values not in VALUES:
        raise ValueError(f"values={values!r}: {checks.one_of(values, VALUES)}")


@dataclasses.dataclass(frozen=True)
class WithRival(WithModels):
    """The same of a search in which a rival chooses too."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.models.rival == "none":
            raise ValueError(f"rival='none': must be one of {', '.join(RIVALS[1:])}; a search without a rival is sp_mcts")


def modelled_puct(
    game: Game,
    evaluate: Evaluate,
    models: Models = Models(),
    settings: Settings | None = None,
    *,
    outputs: Outputs | None = None,
    of_own_seat: bool = False,
    agents: Mapping[str, Agent] = NO_AGENTS,
) -> Planner:
    """Makes SP-MCTS, or with a rival TP-MCTS: PUCT in which the own seat, or it and its rival by turns, choose.

    Args:
      game: any game.
      evaluate: the network, asked for the own seat and the rival's; its parameters are the planner's, and those of a model that
        is the network.
      models: who plays for the others.
      settings: of the search; None: `POMMERLEARN`, without noise where `evaluate` has no policy.
      outputs: which logit is that of an action, as `Encoder.outputs`; None: that of its number.
      of_own_seat: `evaluate` has no policy, and values are asked for the own seat alone: the rival's are the opposite.
      agents: other models by the names that `models` calls them; their parameters are their own, and part of the program.

    Raises:
      ValueError: a model, a rival or a belief that the game does not have; or one model is to follow another in trees that are
        kept from move to move, where steps count from the root at which a tree was begun.
    """
    arguments.a_game(game)
    arguments.of_kind("models", models, Models)
    if settings is None:
        settings = dataclasses.replace(POMMERLEARN, dirichlet_fraction=0.0) if of_own_seat else POMMERLEARN
    arguments.of_kind("settings", settings, Settings)
    if settings.reuse and models.switch_after is not None:
        raise ValueError(f"switch_after={models.switch_after}: must be None with reuse: steps count from where a kept tree began")
    kind = "SP-MCTS" if models.rival == "none" else "TP-MCTS"
    dynamics = dynamics_for(game, models, evaluate, outputs, shared_answers=True, in_turn=True, agents=agents)
    if of_own_seat:
        dynamics, evaluate = valued_by_own_seat(dynamics, evaluate)
    planner = puct(dynamics, evaluate, settings, outputs=outputs, name=f"{kind} against {_name(game, models)}")
    return _finished(game, planner, models)


def modelled(
    game: Game,
    make: Callable[[Dynamics], Planner],
    models: Models,
    evaluate: Evaluate | None = None,
    outputs: Outputs | None = None,
    agents: Mapping[str, Agent] = NO_AGENTS,
) -> Planner:
    """Makes a search by bandits of which other seats are models, and the rival, if there is one, chooses at once with the own.

    Args:
      game: any game.
      make: `make(dynamics) -> Planner`.
      models: who plays for the others.
      evaluate: of a model that is a network.
      outputs: of it, as for `modelled_puct`.
      agents: as for `modelled_puct`.

    Raises:
      ValueError: as for `modelled_puct`; or a network is given, and no model is one.
    """
    arguments.a_game(game)
    arguments.of_kind("models", models, Models)
    if evaluate is not None and NETWORK not in (models.model, models.partner):
        raise ValueError(f"weights: need model={NETWORK} or partner={NETWORK}; searches by bandits ask networks as models alone")
    planner = make(dynamics_for(game, models, evaluate, outputs, shared_answers=False, in_turn=False, agents=agents))
    return _finished(game, planner._replace(name=f"{planner.name} against {_name(game, models)}"), models)


def model_of(
    game: Game,
    name: str,
    evaluate: Evaluate | None = None,
    outputs: Outputs | None = None,
    *,
    setting: str = "model",
    agents: Mapping[str, Agent] = NO_AGENTS,
) -> Agent:
    """Makes a model of other players by its name.

    Args:
      game: the game.
      name: see `Models.model`.
      evaluate: of a network, for the model "network".
      outputs: of that network.
      setting: which one names it, as messages call it.
      agents: models of one's own by name, which come first.

    Raises:
      ValueError: there is none of this name, it needs a network, or it does not see the state in a game that tells what its
        players know.
    """
    if name in agents:
        arguments.of_kind(f"agents[{name!r}]", agents[name], Agent)
        return _seeing(game, setting, name, _with_own_params(agents[name]))
    if name == NETWORK:
        if evaluate is None:
            raise ValueError(f"{setting}={name!r}: needs weights")
        return _by_network(game, evaluate, outputs)
    if name == STILL:
        return memoryless(
            STILL, lambda params, keys, views, seats: jnp.full_like(seats, game.pass_action), sees_state=True, draws=False
        )
    entries = bots_of(game)
    if name not in entries:
        others = (STILL,) if setting == "then" else (STILL, NETWORK)  # a network does not take over
        raise ValueError(f"{setting}={name!r}: {checks.one_of(name, (*entries, *agents, *others))}")
    return _seeing(game, setting, name, _with_own_params(entries[name].build(game, entries[name].settings())))


def _seeing(game: Game, setting: str, name: str, model: Agent) -> Agent:
    """Gives a model; raises where it plays by information that is collected over a game, which a search does not carry along."""
    if is_hidden(game) and not model.sees_state:
        told = "plays by what its seat has seen so far; take one that sees the state"
        raise ValueError(f"{setting}={name!r}: {told}, such as {STILL}")
    return model


def _name(game: Game, models: Models) -> str:
    return models.model or usual_opponent(game)


def dynamics_for(
    game: Game,
    models: Models,
    evaluate: Evaluate | None,
    outputs: Outputs | None,
    *,
    shared_answers: bool,
    in_turn: bool,
    agents: Mapping[str, Agent] = NO_AGENTS,
) -> Dynamics:
    """Makes what a search against models walks in; arguments as for `modelled` and `opponents.two_player`."""
    for name in agents:
        if name in (NETWORK, STILL) or name not in (models.model, models.partner, models.then):
            raise ValueError(f"agents={name!r}: must be named by model, partner or then, and not be {NETWORK} or {STILL}")
    model = model_of(game, _name(game, models), evaluate, outputs, agents=agents)
    if models.switch_after is not None:
        then = model_of(game, models.then or usual_opponent(game), setting="then", agents=agents)
        model = switching(model, then, models.switch_after)
    partner = model_of(game, models.partner, evaluate, outputs, setting="partner", agents=agents) if models.partner else None
    arms = None
    if shared_answers and has_rivals(game):  # PommerLearn's action filter; and the time limit ends no simulation
        game = game.endless
        arms = game.possible_arms
    if models.rival == "none":
        return single_player(game, model, arms=arms, shared_answers=shared_answers, partner=partner)
    rival = _rival(game, models.rival)
    return two_player(game, model, rival, arms=arms, shared_answers=shared_answers, in_turn=in_turn, partner=partner)


def _rival(game: Game, kind: str) -> Rival:
    if game.num_players == 2:
        return lambda state, seat: 1 - seat
    if not has_rivals(game):
        raise ValueError(f"rival={kind!r}: game={game.name!r} does not say who is close; take rival=none")
    return game.closest_enemy if kind == "closest" else most_dangerous(game)


def valued_by_own_seat(dynamics: Dynamics, evaluate: Evaluate) -> tuple[Dynamics, Evaluate]:
    """Asks for values of the own seat, whoever is to choose, and turns them for the rival."""

    def asked(nodes: Any, players: Array) -> tuple[Any, Array]:
        states, _ = dynamics.asked(nodes, jnp.zeros_like(players))
        return (states, players == 1), nodes.seat

    def turned(params: Any, states: Any, seats: Array) -> tuple[Array, Array]:
        states, is_rival = states
        logits, value = evaluate(params, states, seats)
        return logits, jnp.where(is_rival, -value, value)

    return dynamics._replace(asked=asked), turned


def without_heuristic(dynamics: Dynamics) -> Dynamics:
    """The same, in which players who are undecided have 0, so that a guide of values says what they are worth."""

    def decided(nodes: Any) -> Array:
        return jnp.where(dynamics.undecided(nodes), 0.0, dynamics.heuristic(nodes))

    return dynamics._replace(heuristic=decided)


def _finished(game: Game, planner: Planner, models: Models) -> Planner:
    """Gives a planner one network's parameters for all that asks for some, and lets it play fair."""

    def plan(params: Any, keys: Array, memory: Any, views: Any, seats: Array, active: Array) -> tuple[Any, Any]:
        return planner.plan({"own": params, "opponents": params}, keys, memory, views, seats, active)

    found, view = planner._replace(plan=plan), arguments.state_of(game)
    if models.root == "true":
        return arguments.checked(found, view, game.num_players)  # under its new name
    if not keeps_beliefs(game):
        raise ValueError(
            f"root={models.root!r}: game={game.name!r} does not say what its players believe; take root=true, an oracle"
        )
    if models.root in ("believed", "worst"):
        return believed(game, found, worst_case=models.root == "worst", talks=models.talks)
    visible = jax.vmap(game.visible_state)
    try:
        shapes.shapes_of(game, "visible_state", view)
    except ValueError as error:  # fog is told now, not when it is compiled
        raise ValueError(f"root={models.root!r}: {str(error).splitlines()[0]}; take believed or true") from None

    def plan_visible(params: Any, keys: Array, memory: Any, views: Any, seats: Array, active: Array) -> tuple[Any, Any]:
        return plan(params, keys, memory, visible(views), seats, active)

    return arguments.checked(found._replace(plan=plan_visible, uses_hidden=False), view, game.num_players)


def _with_own_params(agent: Agent) -> Agent:
    """Lets an agent play by its own parameters, whatever it is given: a search has none for it."""

    def with_own(ask: Callable[..., Any]) -> Callable[..., Any]:
        return lambda params, *asked: ask(agent.params, *asked)

    return agent._replace(act=with_own(agent.act), act_seats=agent.act_seats and with_own(agent.act_seats))


def _by_network(game: Game, evaluate: Evaluate, outputs: Outputs | None) -> Agent:
    """A model that takes the action a network prefers."""
    offers = game.possible_arms if has_rivals(game) else game.search_arms

    def choose(params: Any, keys: Array, views: Any, seats: Array) -> Array:
        del keys
        logits, _ = answer(evaluate, params, views, seats)
        if logits.shape[1] == 1:
            raise ValueError(f"model={NETWORK!r}: evaluate gave one logit for all actions, so it prefers none")
        arms, legal = (of_seat(rows, seats) for rows in jax.vmap(offers)(views))
        scores = jnp.where(legal, arm_logits(logits, arms, seats, outputs), -jnp.inf)
        best = jnp.argmax(scores, -1, keepdims=True)
        return jnp.take_along_axis(arms, best, axis=1)[:, 0]

    return memoryless(NETWORK, choose, sees_state=True, draws=False)
