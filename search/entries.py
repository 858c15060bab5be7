"""What an entry of the list of planners says: a name, the settings and how they are read, and how the planner is made of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from jaxgames import checks
from jaxgames.specs import KINDS, Kind, kinds_of, with_settings
from search.bandit import bandits
from search.bandit.bandits import Bandit
from search.bandit.guide import Guide
from search.bandit.settings import Settings
from search.modelled import AUTO, check_values
from search.planner import Planner
from search.puct.rollout import check_rollouts
from search.puct.settings import ALPHAZE
from search.puct.worlds import Worlds
from search.turns import action_sequences
from search.turns.population import generations_for

NUM_EVALUATIONS = 5000  # per turn (`rolling_horizon`: per action), of every planner of turns whose budget is not given
_WITH_NETWORK = ("prior_weight", "guide_values")  # settings without effect unless there is a network
WITHOUT_NETWORK: Mapping[str, Any] = {"first_play_urgency": None, "dirichlet_fraction": 0.0}
"""What holds without a network, unless told otherwise: no prior tells arms apart, so all are tried, and noise would mislead."""
_KEPT_ROOTS: Mapping[str, Any] = {"dirichlet_fraction": 0.0, "microbatch_size": None}
"""What holds with `reuse`, unless told otherwise: a root that is kept has its priors already, and each lane has its own tree."""


@dataclasses.dataclass(frozen=True)
class WithBandit:
    """Settings of a search by bandits; checked when made.

    Attributes:
      bandit: how actions are chosen: ts (Thompson sampling), ucb (UCB1) or uniform (any, as likely).
      c: of UCB1, its weight of exploration; None: the published one.
      search: sizes.
    """

    bandit: str = "ts"
    c: float | None = None
    search: Settings = Settings()

    def __post_init__(self) -> None:
        self.rule()

    def rule(self) -> Bandit:
        """Makes the bandit."""
        return bandits.by_name(self.bandit, self.c)


@dataclasses.dataclass(frozen=True)
class WithLeafValues(WithBandit):
    """The same of a search that may value positions by hand.

    Attributes:
      values: what positions are worth where a simulation ends. heuristic: what `Game.heuristic` says; with Thompson sampling its
        sign alone, as published. prospects: the game's hand-crafted evaluation (`Game.prospects`), of which the mean counts.
        auto: prospects if the game has any, else the heuristic.
    """

    values: str = "heuristic"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_values(self.values)


@dataclasses.dataclass(frozen=True)
class WithGuide(WithLeafValues):
    """The same of a search that a network may guide.

    Attributes:
      prior_weight: with a network: its policy counts as so many simulations in the present state; 0: it is not asked for, which
        needs guide_values.
      guide_values: with a network: players still undecided at the end of a simulation get its value where their heuristic is 0.
        Not together with values=prospects; auto is heuristic then.
    """

    prior_weight: float = Guide.prior_weight
    guide_values: bool = Guide.values

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.flags(self, "guide_values")
        if self.guide_values and self.values == "prospects":
            raise ValueError("guide_values=1: takes the network's values, so values must be heuristic or auto, not 'prospects'")


@dataclasses.dataclass(frozen=True)
class WithStrings:
    """Settings of strings of actions that evolve.

    Attributes:
      strings: how.
      values: what positions are worth at the end of a string. heuristic: what `Game.heuristic` says. prospects: the game's
        hand-crafted evaluation (`Game.prospects`). auto: prospects if the game has any, else the heuristic.
    """

    strings: action_sequences.Settings = action_sequences.Settings()
    values: str = "heuristic"

    def __post_init__(self) -> None:
        check_values(self.values)


@dataclasses.dataclass(frozen=True)
class WithValues:
    """Settings of a search that asks for priors and values.

    Attributes:
      num_rollouts: without a network, random rollouts (games that are played on at random) for the value of a state.
      rollout_steps: these games end after so many moves, if not before, and are worth the game's heuristic; None: they are played
        to their end, which takes long where random games do.
      prospects: weight, 0 to 1, of the game's own heuristic value of undecided states (hand-crafted, `Game.prospects`); the rest
        of a value is the network's, or that of the rollouts.
      settings: `puct.Settings` or `determinized.Settings`.
    """

    num_rollouts: int = 1
    rollout_steps: int | None = None
    prospects: float = 0.0
    settings: Any = ALPHAZE

    def __post_init__(self) -> None:
        check_rollouts(self.num_rollouts, self.rollout_steps)
        checks.shares(self, "prospects")


@dataclasses.dataclass(frozen=True)
class WithAhead(WithValues):
    """The same of a search in determinizations that also looks ahead.

    Attributes:
      ahead_worlds: beside the search, look one action ahead in so many more determinizations, and multiply the weights of actions
        by exp(mean value / ahead_scale); values are the game's hand-crafted ones, `Game.prospects`, if it has any, else those of
        the search. 0: do not.
      ahead_scale: temperature of these values; the smaller, the more they count. None: 0.2.
    """

    ahead_worlds: int = 0
    ahead_scale: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.at_least(0, self, "ahead_worlds")
        checks.below(checks.COUNTS, self, "ahead_worlds")
        if self.ahead_scale is None:
            return
        if not self.ahead_worlds:
            raise ValueError(f"ahead_scale={self.ahead_scale}: needs ahead_worlds, such as 60")
        checks.number("ahead_scale", self.ahead_scale, positive=True)


@dataclasses.dataclass(frozen=True)
class InWorlds:
    """Settings of a planner that plans in determinizations (drawn worlds).

    Attributes:
      worlds: how they are drawn and put together.
      planner: its own.
    """

    worlds: Worlds
    planner: Any


@dataclasses.dataclass(frozen=True)
class PlannerEntry:
    """A planner by name.

    Attributes:
      name: how it is called; among those that suit a game each name is there once.
      settings: a frozen dataclass with what holds where nothing else is said; dataclasses in it count as part of it.
      build: `build(game, settings) -> Planner`; with `network`, `build(game, settings, evaluate, outputs)`, both may be None.
      suits: `suits(game) -> bool`.
      network: what a file with the weights of its network is called; "": it takes none.
      fixed: settings that its name decides, or that do not matter.
      by_hand: settings that say how states are valued without a network, which does that where there is one; "auto" among their
        values leaves it to the network. (): a network does not value states.
      budget: the setting by which it thinks for `num_evaluations` turns; "": none.
    """

    name: str
    settings: Any
    build: Callable[..., Planner] = dataclasses.field(repr=False)
    suits: Callable[[Any], bool] = dataclasses.field(repr=False)
    network: str = ""
    fixed: tuple[str, ...] = ()
    by_hand: tuple[str, ...] = ()
    budget: str = ""

    @property
    def kinds(self) -> dict[str, Kind]:
        """What may be set, and how it is read from text."""
        alias = {"num_evaluations": KINDS[int]} if self.budget else {}
        return alias | kinds_of(self.settings, self.fixed)

    def configure(self, options: Mapping[str, Any], *, with_network: bool = False) -> Any:
        """Gives its settings, changed by options.

        Raises:
          ValueError: there is no such option, or its value or the choice of options is not possible.
        """
        for name, value in options.items():
            if name not in self.kinds and name == self.network:
                read = "weights are read by training.play.agents.make_planner; give their network as evaluate"
                raise ValueError(f"{name}={value!r}: {read}")
            if name not in self.kinds:
                raise ValueError(f"{name}={value!r}: {self.name} takes {', '.join(self.kinds) or 'no settings'}")
            if name in _WITH_NETWORK and not with_network:
                raise ValueError(f"{name}={value!r}: needs a {self.network}")
            if name in self.by_hand and with_network and value != AUTO:
                raise ValueError(f"{name}={value!r}: a network values states by itself: leave out {name} or {self.network}")
        usual = {**({} if with_network else WITHOUT_NETWORK), **(_KEPT_ROOTS if options.get("reuse") else {})}
        options = {name: value for name, value in usual.items() if name in self.kinds} | dict(options)
        evaluations = options.pop("num_evaluations", None) if self.budget else None
        if not self.budget or (self.budget in options and evaluations is None):
            return with_settings(self.settings, options)
        if self.budget in options:
            raise ValueError(f"num_evaluations={evaluations}: give num_evaluations or {self.budget}, not both")
        return self._afford(NUM_EVALUATIONS if evaluations is None else evaluations, options)

    def _afford(self, evaluations: int, options: Mapping[str, Any]) -> Any:
        settings = with_settings(self.settings, options)
        inner = settings.planner if isinstance(settings, InWorlds) else settings
        try:
            if self.budget == "num_generations":
                inner = generations_for(evaluations, inner)
            else:
                inner = with_settings(inner, {self.budget: evaluations})
        except ValueError as error:  # tells the budget as it was given
            raise ValueError(str(error).replace(f"{self.budget}=", "num_evaluations=", 1)) from None
        return dataclasses.replace(settings, planner=inner) if isinstance(settings, InWorlds) else inner
