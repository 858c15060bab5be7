"""The training job of Q-MC: games with exploration, gradient steps, and games against a rule-based player now and then."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import jax
import numpy as np
from rich.console import Console

from jaxgames import checks
from jaxgames.registration import usual_opponent
from training.jobs import job
from training.jobs.job import Job, JobConfig
from training.learn.learner import Learner
from training.learn.monte_carlo import MonteCarlo, MonteCarloConfig
from training.models import policy_value
from training.models.policy_value import PolicyValue, PolicyValueConfig
from training.play import agents, counting, evaluate
from training.storage.weights import save_weights

# Keys of parameters, of games on the way, and of the reported ones.
_INIT, _CHOOSING, _REPORTING = range(1 << 28, (1 << 28) + 3)


@dataclasses.dataclass(frozen=True)
class TrainConfig(JobConfig):
    """Trains a network to tell what actions are worth, by how its own games end (Q-MC), without a model of the game.

    Attributes:
      who: the game and the network.
      learn: how to play and learn.
      samples: actions to learn from.
      opponent: who is played against in evaluations; "": the usual opponent of the game.
      evaluate_every: samples between two evaluations, by which the best parameters are chosen.
      evaluate_games: games per evaluation.
      final_games: games of the reported result, others than those; 0: none.
    """

    FREE = JobConfig.FREE | {"samples", "final_games"}

    who: PolicyValueConfig = PolicyValueConfig("clash", network="arena")
    learn: MonteCarloConfig = MonteCarloConfig()
    samples: int = 1_000_000
    opponent: str = ""
    evaluate_every: int = 100_000
    evaluate_games: int = 100
    final_games: int = 400
    output: str = "output/q"

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.at_least(1, self, "samples", "evaluate_every", "evaluate_games")
        checks.at_least(0, self, "final_games")


def run(config: TrainConfig, console: Console | None = None) -> dict | None:
    """Runs the job as `job.run` does; it also writes best.npz and final.npz."""
    return job.run(QJob(config, console or Console()))


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class State:
    """Everything that changes.

    Attributes:
      learner: what learns.
      best: the parameters that have won most in an evaluation.
      best_wins: of that evaluation; -1: there was none yet.
      evaluated: samples at the last evaluation.
    """

    learner: Learner
    best: Any
    best_wins: np.int32
    evaluated: np.int32


class QJob(Job):
    """Learns from its own games, and plays against a rule-based player now and then."""

    SHOWN: ClassVar = {
        "loss": "squared error",
        "value": "value of what is done",
        "mean_length": "steps per game",
        "wins": "games won",
        "draws": "games drawn",
        "losses": "games lost",
        "samples_per_second": "samples per second",
    }
    SPEED = "samples_per_second"
    FIGURE = "q_figure"

    def __init__(self, config: TrainConfig, console: Console) -> None:
        super().__init__(config, console)
        learn = config.learn
        self.who: PolicyValue = policy_value.make(config.who)
        self.meta = self.who.meta
        self.title = f"Q-MC, {self.variant}, {config.who.network} network"
        self.total, self.unit, self.learning_rate = config.samples, "samples", learn.learning_rate
        self.programs = MonteCarlo(learn, self.who, job.mesh_for(learn.lanes, learn.batch_size, learn.buffer_size))
        self.player = self.who.agent()
        self.opponent = agents.make(config.opponent or usual_opponent(self.who.game), self.who.game)
        self.check_memory(("learn.lanes", learn.lanes, [self.player]))

    def start(self) -> State:
        params = self.who.init(jax.random.fold_in(self.key, _INIT))
        learner = self.programs.init(self.key, params)
        return State(learner, job.copy(learner.best_params), np.int32(-1), np.int32(0))

    def rate(self, state: State) -> dict[str, float]:
        """Plays against the opponent when it is time, and keeps the parameters if they are the best so far."""
        samples = job.samples_of(state)
        if samples - state.evaluated < self.config.evaluate_every and not self.is_over(state):
            return {}
        score = counting.count(self.games(state.learner.best_params, _CHOOSING, self.config.evaluate_games))
        state.evaluated = np.int32(samples)
        if score.wins > state.best_wins:
            state.best, state.best_wins = job.copy(state.learner.best_params), np.int32(score.wins)
            save_weights(self.folder / "best.npz", jax.device_get(state.best), self.meta | {"samples": samples})
        return {"wins": score.wins / score.games, "draws": score.draws / score.games, "losses": score.losses / score.games}

    def games(self, params: Any, which: int, num_games: int) -> evaluate.Games:
        """Plays games of the network, without exploration, against the opponent."""
        players = [self.player._replace(params=params), *[self.opponent] * (self.who.game.num_players - 1)]
        return evaluate.play(self.who.game, players, jax.random.fold_in(self.key, which), num_games, batch_size=128)

    def finish(self, state: State) -> dict[str, Any]:
        """Evaluates the chosen parameters in games that had no part in the choice."""
        learner = state.learner
        save_weights(
            self.folder / "final.npz", jax.device_get(learner.best_params), self.meta | {"samples": job.samples_of(state)}
        )
        result: dict[str, Any] = {"samples": job.samples_of(state), "updates": int(learner.updates)}
        if self.config.final_games:
            score = counting.count(self.games(state.best, _REPORTING, self.config.final_games))
            result["games"] = score.as_dict()
            rates = " / ".join(f"{100 * n / score.games:.1f}" for n in (score.wins, score.draws, score.losses))
            self.console.print(f"win / draw / loss {rates} % in {score.games} games", highlight=False)
        return result
