"""The training job of AlphaZe**: epochs of playing, learning and a match against the best so far; saved and taken up again."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, ClassVar

import jax
import numpy as np
from rich.console import Console

from jaxgames import checks
from jaxgames.agent import Agent
from jaxgames.game import hides_something
from search.dynamics import check_turns
from search.planner import as_agent
from training.jobs import job, running
from training.jobs.job import Job, JobConfig
from training.learn.alphaze import Alphaze, AlphazeConfig, make_player
from training.learn.learner import Learner
from training.models import policy_value
from training.models.policy_value import PolicyValue, PolicyValueConfig
from training.play import agents, elo
from training.play.tournament import BATCH, play_pair, round_robin
from training.storage.named_files import FileName
from training.storage.weights import load_weights, save_weights

# Keys of matches, beside those of self-play.
_GATE, _RATE, _REPORT, _INIT = range(1 << 28, (1 << 28) + 4)


@dataclasses.dataclass(frozen=True)
class TrainConfig(JobConfig):
    """Trains a network by AlphaZe**: search in determinizations, self-play, and matches that decide which network plays.

    An iteration is one call of a compiled program, of games or of gradient steps; there is a checkpoint after each epoch.

    Attributes:
      who: the game and the network.
      learn: how to play and learn.
      start: weights to begin with; "": drawn.
      epochs: of playing, learning and a match.
      gate_games: games of the match after each epoch, colours swapped half-way; the newest network takes over if it makes more
        than half of the points; 0: it always does.
      gate_temperature: of the choice of actions in that match, by the search's policy.
      rate_games: games against a random player after each epoch; 0: none.
      final_games: games of each pair in the tournament of some epochs and a random player at the end; 0: none.
      final_entries: epochs in that tournament, evenly chosen, the last one included.
    """

    JOB = "train-alphaze"
    FREE = JobConfig.FREE | {"final_games", "final_entries", "epochs"}
    READ_AT_START = frozenset({"start"})

    who: PolicyValueConfig = PolicyValueConfig()
    learn: AlphazeConfig = AlphazeConfig()
    start: FileName = ""
    epochs: int = 10
    gate_games: int = 100
    gate_temperature: float = 0.6
    rate_games: int = 100
    final_games: int = 100
    final_entries: int = 5
    checkpoint_every: int = 50
    output: str = "output/alphaze"

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.at_least(1, self, "epochs", "final_entries")
        checks.at_least(0, self, "gate_games", "rate_games", "final_games")
        checks.below(checks.COUNTS, self, "gate_games", "rate_games", "final_games")
        checks.numbers(self, "gate_temperature")
        for name in ("gate_games", "rate_games", "final_games"):
            if getattr(self, name) % 2:
                raise ValueError(f"{name}={getattr(self, name)}: must be even, because colours are swapped half-way")


def run(config: TrainConfig, console: Console | None = None) -> dict | None:
    """Runs the job as `running.run` does; it also writes epoch-NNN.npz (the network that plays after each epoch) and best.npz."""
    return running.run(AlphazeJob(config, console or Console()))


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class State:
    """Everything that changes.

    Attributes:
      learner: what learns.
      best_params: the parameters that play.
      rating: of these, by the paper's updates.
      epoch: how many are over.
    """

    learner: Learner
    best_params: Any
    rating: np.float32
    epoch: np.int32


class AlphazeJob(Job):
    """Lets the best network so far play, the newest one learn from that, and both meet at the end of each epoch."""

    SHOWN: ClassVar = {
        "epoch": "epochs done",
        "policy_entropy": "policy entropy",
        "mean_length": "steps per game",
        "loss": "loss",
        "value_error": "value error",
        "agreement": "agreement with the search",
        "gate_score": "points in the last match",
        "rating": "rating by matches (Elo with K = 1)",
        "score_against_random": "points against random",
        "searches_per_second": "searches per second",
    }
    SPEED = "searches_per_second"
    FIGURE = "alphaze_figure"
    LENGTH = "epochs"

    def __init__(self, config: TrainConfig, console: Console) -> None:
        super().__init__(config, console)
        learn = config.learn
        check_turns(policy_value.game_of(config.who), "PUCT")  # a game that is not possible is told before a network
        self.who: PolicyValue = policy_value.make(config.who)
        self.who.check_values("who", "self-play")
        self.meta = self.who.meta
        self._first_params()  # before anything is compiled
        method = f"{learn.method}, " if hides_something(self.who.game) else ""  # which differ in the worlds that they draw
        self.title = f"AlphaZe**, {self.variant}, {method}{config.who.network} network"
        self.total, self.unit, self.learning_rate = config.epochs * learn.epoch_samples, "searches", learn.learning_rate
        self.programs = Alphaze(learn, self.who, self.make_mesh(learn))
        gate = make_player(learn, self.who, temperature=config.gate_temperature)
        # Two agents of one planner: they are asked apart, because they differ in parameters.
        self.contender, self.champion = as_agent(gate), as_agent(gate)
        self.player: Agent = as_agent(make_player(learn, self.who))
        self.random = agents.make("random", self.who.game)

        def named(*players: Agent) -> list[Agent]:
            """Gives the players named by what makes their searches larger."""
            simulations, worlds = f"learn.num_simulations={learn.num_simulations}", f"learn.num_worlds={learn.num_worlds}"
            in_worlds = worlds if learn.method == "pimc_value" else f"{worlds} and {simulations}"
            return [player._replace(name=simulations if player.sees_state else in_worlds) for player in players]

        kinds = self.programs.kinds(config.epochs)
        self.check_memory(
            *(("learn.lanes", learn.lanes, named(as_agent(self.programs.players[kind]))) for kind in kinds),
            ("gate_games", min(BATCH, config.gate_games), named(self.contender, self.champion)),
            ("rate_games", min(BATCH, config.rate_games), named(self.player)),
            ("final_games", min(BATCH, config.final_games), named(self.player, self.contender)),
        )

    def start(self) -> State:
        learner = self.programs.init(self.key, self._first_params())
        return State(learner, job.copy(learner.params), np.float32(0), np.int32(0))

    def _first_params(self) -> Any:
        """Gives the parameters to begin with; a run that goes on has its own."""
        if self.config.start and not self.goes_on():
            return policy_value.first_params(self.who, self.config.start)
        return self.who.init(jax.random.fold_in(self.key, _INIT))

    def begin(self, state: State) -> None:
        self._save(state.best_params, 0)

    def _lacks_samples(self, state: State) -> bool:
        return job.samples_of(state) < (int(state.epoch) + 1) * self.config.learn.epoch_samples

    def _epoch_ends(self, state: State) -> bool:
        updates = (int(state.epoch) + 1) * self.config.learn.epoch_updates
        return not self._lacks_samples(state) and int(state.learner.updates) >= updates

    def doing(self, state: State) -> str:
        if not self._lacks_samples(state):
            return "learning"
        kind = self.programs.kind(int(state.epoch))
        return "playing" if kind == "fair" else f"playing ({kind})"

    def rating(self, state: State) -> str:
        return "match" if (self.config.gate_games or self.config.rate_games) and self._epoch_ends(state) else ""

    def ending(self) -> str:
        return "final tournament" if self.config.final_games else ""

    def advance(self, state: State) -> dict[str, Any]:
        """Calls one compiled program: games while the epoch lacks samples, else gradient steps."""
        learn, epoch = self.config.learn, int(state.epoch)
        if self._lacks_samples(state):
            play = self.programs.play[self.programs.kind(epoch)]
            state.learner, metrics = play(self.key, state.best_params, state.learner)
            return job.plain(metrics) | {self.SPEED: learn.lanes * learn.steps, "epoch": epoch}
        state.learner, metrics = self.programs.learn(self.key, state.learner)
        return job.plain(metrics) | {"epoch": epoch}

    def length(self, state: State) -> int:
        return int(state.epoch)

    def is_over(self, state: State) -> bool:
        return int(state.epoch) >= self.config.epochs

    def rate(self, state: State) -> dict[str, Any]:
        """Ends the epoch if it is over: lets the newest network play against the best so far, and takes it if it is better."""
        config, learn, learner = self.config, self.config.learn, state.learner
        if not self._epoch_ends(state):
            return {}
        epochs = int(state.epoch) + 1
        values: dict[str, Any] = {}
        points = 1.0
        if config.gate_games:
            pair = (self.contender._replace(params=learner.params), self.champion._replace(params=state.best_params))
            result = play_pair(self.who.game, pair, self._key(_GATE, int(state.epoch)), config.gate_games)
            points = float(result.mean())
            rating = other = float(state.rating)
            for score in result.reshape(2, -1).T.reshape(-1):  # seats in turn: the first wins more
                rating, other = elo.updated(rating, other, float(score))
            values["gate_score"] = points
            if points > 0.5:
                state.rating = np.float32(rating)
        if points > 0.5:
            state.best_params = job.copy(learner.params)
        state.epoch = np.int32(epochs)
        self._save(state.best_params, epochs)
        if epochs == learn.pretrain_epochs:
            state.learner = self.programs.restart(self.key, learner)
        if config.rate_games:
            pair = (self.player._replace(params=state.best_params), self.random)
            scores = play_pair(self.who.game, pair, self._key(_RATE, epochs), config.rate_games)
            values["score_against_random"] = float(scores.mean())
        return values | {"epoch": epochs, "replaced": int(points > 0.5), "rating": float(state.rating)}

    def finish(self, state: State) -> dict[str, Any]:
        """Lets some epochs and a random player meet."""
        learner = state.learner
        result: dict[str, Any] = {
            "searches": job.samples_of(state),
            "games": int(learner.progress["games"]),
            "updates": int(learner.updates),
            "rating": float(state.rating),
        }
        if self.config.final_games:
            result["tournament"] = self._tournament()
        return result

    def _tournament(self) -> dict[str, Any]:
        config = self.config
        count = min(config.final_entries, config.epochs)
        epochs = sorted({round(config.epochs * (number + 1) / count) for number in range(count)})
        shapes = jax.eval_shape(self.who.init, jax.random.key(0))
        entries = {"random": self.random}
        for epoch in epochs:
            params, _ = load_weights(self._weights(epoch), shapes, self.who.meta)
            entries[f"epoch {epoch}"] = self.player._replace(params=params)
        table = round_robin(self.who.game, entries, self._key(_REPORT, 0), config.final_games)
        self.console.print(table.shown())
        return table.as_dict()

    def _key(self, which: int, number: int) -> jax.Array:
        return jax.random.fold_in(jax.random.fold_in(self.key, which), int(number))

    def _weights(self, epoch: int) -> Path:
        return self.folder / f"epoch-{epoch:03d}.npz"

    def _save(self, params: Any, epoch: int) -> None:
        found = jax.device_get(params)
        for path in (self._weights(epoch), *([self.folder / "best.npz"] if epoch else [])):
            save_weights(path, found, self.who.meta | {"epoch": epoch})
