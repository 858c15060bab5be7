"""The training job of searches against modelled opponents: iterations of playing and learning, saved and taken up again."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

import jax
import numpy as np
from rich.console import Console

from jaxgames import checks
from jaxgames.agent import Agent
from jaxgames.registration import usual_opponent
from search.planner import as_agent
from training.jobs import job, running
from training.jobs.job import Job, JobConfig
from training.learn.expert_iteration import DATA_SETS, SEARCH, ExpertConfig, ExpertIteration, make_search
from training.learn.from_data_sets import DataSetLearning
from training.learn.learner import Learner
from training.models import policy_value
from training.models.policy_value import PolicyValue, PolicyValueConfig
from training.play import agents, evaluate
from training.storage.named_files import FileName
from training.storage.weights import save_weights

# Keys of matches, beside those of games to learn from.
_RATE, _REPORT, _INIT = range(1 << 28, (1 << 28) + 3)
_BATCH = 64  # games of a match at a time


@dataclasses.dataclass(frozen=True)
class TrainConfig(JobConfig):
    """Trains a network for SP-MCTS and TP-MCTS: from the moves of rule-based players, or from its own search against them.

    Samples that have been written down may take the place of games. An iteration here is one call of a compiled program, of games
    or of gradient steps; a round is what the paper calls an iteration, samples and then learning, and ends with a checkpoint.

    Attributes:
      who: the game and the network.
      learn: how to play and learn.
      start: weights to begin with; "": drawn.
      rounds: of playing and learning.
      rate_games: games of the network alone against the rule-based players after each round; 0: none.
      final_games: games of the search against them at the end; 0: none.
    """

    JOB = "train-expert"
    FREE = JobConfig.FREE | {"rounds", "final_games"}
    READ_AT_START = frozenset({"start"})

    who: PolicyValueConfig = PolicyValueConfig(game="pommerman", encoder="pommerlearn_centred", network="pyramid")
    learn: ExpertConfig = ExpertConfig()
    start: FileName = ""
    rounds: int = 10
    rate_games: int = 200
    final_games: int = 0
    checkpoint_every: int = 200
    output: str = "output/expert"

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.at_least(1, self, "rounds")
        checks.at_least(0, self, "rate_games", "final_games")
        checks.below(checks.COUNTS, self, "rate_games", "final_games")


def run(config: TrainConfig, console: Console | None = None) -> dict | None:
    """Runs the job as `running.run` does; it also writes round-NNN.npz and best.npz, the networks of each and the last round."""
    return running.run(ExpertJob(config, console or Console()))


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class State:
    """Everything that changes.

    Attributes:
      learner: what learns.
      round: how many are over.
    """

    learner: Learner
    round: np.int32


class ExpertJob(Job):
    """Plays until a round has its samples, makes the gradient steps that belong to them, and plays on."""

    SHOWN: ClassVar = {
        "round": "rounds done",
        "wins": "games won by who is learnt from",
        "mean_length": "steps per game",
        "policy_entropy": "policy entropy",
        "loss": "loss",
        "value_error": "value error",
        "agreement": "agreement with what is learnt",
        "wins_alone": "wins of the network alone",
        "samples_per_second": "samples per second",
    }
    SPEED = "samples_per_second"
    FIGURE = "expert_figure"
    LENGTH = "rounds"

    def __init__(self, config: TrainConfig, console: Console) -> None:
        super().__init__(config, console)
        learn = config.learn
        self.who: PolicyValue = policy_value.make(config.who)
        if learn.source == SEARCH or config.final_games:
            self.who.check_values("who", "its search")
        self.meta = self.who.meta
        self._first_params()  # before anything is compiled
        self.title = f"learning from {learn.source}, {self.variant}, {config.who.network} network"
        self.total, self.unit, self.learning_rate = config.rounds * learn.samples, "samples", learn.learning_rate
        mesh = self.make_mesh(learn)
        self.programs: ExpertIteration | DataSetLearning
        if learn.source == DATA_SETS:
            self.programs = DataSetLearning(learn, self.who, mesh, config.rounds)
        else:
            self.programs = ExpertIteration(learn, self.who, mesh)
        self.opponent: Agent = agents.make(learn.player or usual_opponent(self.who.game), self.who.game)
        self.alone: Agent = self.who.agent()
        # In fog a network is taught by demonstrations alone: there is no search to learn from.
        self.searching: Agent | None = None
        if config.final_games:
            self.searching = as_agent(make_search(self.who, learn.models, learn.search))
        elif learn.source != SEARCH and learn.models != ExpertConfig.models:
            # Nobody searches, from whatever root, but models that there are not are told.
            make_search(self.who, dataclasses.replace(learn.models, root="true", talks=False), learn.search)
        players, lanes = [], 1  # data sets are read, not played
        if isinstance(self.programs, ExpertIteration):
            search = f"learn.search.num_simulations={learn.search.num_simulations}"
            players, lanes = [as_agent(self.programs.planner)._replace(name=search)], learn.lanes
        matches = [("rate_games", config.rate_games, self.alone)]
        if self.searching is not None:
            matches.append(("final_games", config.final_games, self.searching))
        others = [self.opponent] * (self.who.game.num_players - 1)
        playing = [(name, min(_BATCH, games), [player, *others]) for name, games, player in matches]
        self.check_memory(("learn.lanes", lanes, players), *playing, buffer="learn.samples")

    def start(self) -> State:
        return State(self.programs.init(self.key, self._first_params()), np.int32(0))

    def _first_params(self) -> Any:
        """Gives the parameters to begin with; a run that goes on has its own."""
        if self.config.start and not self.goes_on():
            return policy_value.first_params(self.who, self.config.start)
        return self.who.init(jax.random.fold_in(self.key, _INIT))

    def begin(self, state: State) -> None:
        self._save(state)

    def _lacks_samples(self, state: State) -> bool:
        return job.samples_of(state) < (int(state.round) + 1) * self.config.learn.samples

    def _round_ends(self, state: State) -> bool:
        updates = self.config.learn.updates_after(int(state.round) + 1)
        return not self._lacks_samples(state) and int(state.learner.updates) >= updates

    def doing(self, state: State) -> str:
        if not self._lacks_samples(state):
            return "learning"
        return "reading" if self.config.learn.source == DATA_SETS else "playing"

    def rating(self, state: State) -> str:
        return "games of the network alone" if self.config.rate_games and self._round_ends(state) else ""

    def ending(self) -> str:
        return "final games" if self.config.final_games else ""

    def advance(self, state: State) -> dict[str, Any]:
        """Calls one compiled program: games while the round lacks samples, else gradient steps."""
        number, before = int(state.round), job.samples_of(state)
        if self._lacks_samples(state):
            state.learner, metrics = self.programs.play(self.key, state.learner)
            return job.plain(metrics) | {self.SPEED: job.samples_of(state) - before, "round": number}
        state.learner, metrics = self.programs.learn(self.key, state.learner)
        return job.plain(metrics) | {"round": number}

    def length(self, state: State) -> int:
        return int(state.round)

    def is_over(self, state: State) -> bool:
        return int(state.round) >= self.config.rounds

    def distribution(self, values: Mapping[str, Any]) -> Mapping[str, float] | None:
        names = self.who.encoder.output_names
        shares = values.get("action_shares")
        return dict(zip(names, shares, strict=True)) if names and shares is not None else None

    def rate(self, state: State) -> dict[str, Any]:
        """Ends the round if it is over: the network plays alone."""
        if not self._round_ends(state):
            return {}
        number = int(state.round) + 1
        state.round = np.int32(number)
        self._save(state)
        values: dict[str, Any] = {"round": number}
        if self.config.rate_games:
            games = self._match(self.alone, state, _RATE, number, self.config.rate_games)
            values |= {"wins_alone": float((games > 0).mean()), "draws_alone": float((games == 0).mean())}
        return values

    def finish(self, state: State) -> dict[str, Any]:
        """Lets the search play against the rule-based players."""
        result: dict[str, Any] = {"samples": job.samples_of(state), "updates": int(state.learner.updates)}
        if self.searching is not None:
            games = self._match(self.searching, state, _REPORT, 0, self.config.final_games)
            result |= {"wins": float((games > 0).mean()), "draws": float((games == 0).mean())}
        return result

    def _match(self, agent: Agent, state: State, which: int, number: int, count: int) -> np.ndarray:
        """Outcomes of games against copies of the rule-based player: int8 [count]."""
        key = jax.random.fold_in(jax.random.fold_in(self.key, which), number)
        others = [self.opponent] * (self.who.game.num_players - 1)
        players = [agent._replace(params=state.learner.params), *others]
        games = evaluate.play(self.who.game, players, key, count, batch_size=_BATCH)
        return np.asarray(games.outcomes)[:, 0]

    def _save(self, state: State) -> None:
        number, params = int(state.round), jax.device_get(state.learner.params)
        # That of the newest round is what the folder stands for; nothing has been learnt before the first.
        for name in (f"round-{number:03d}.npz", *(["best.npz"] if number else [])):
            save_weights(self.folder / name, params, self.who.meta | {"round": number})
