"""The training job of Q-MC: games with exploration, gradient steps, and games against a rule-based player now and then."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

from rich.console import Console

from jaxgames import checks
from jaxgames.registration import usual_opponent
from training.jobs import running
from training.jobs.job import JobConfig
from training.jobs.rated import RatedJob
from training.learn.monte_carlo import MonteCarlo, MonteCarloConfig
from training.models import policy_value
from training.models.policy_value import PolicyValue, PolicyValueConfig
from training.play import agents, counting, evaluate


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

    JOB = "train-q"
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
        checks.below(checks.COUNTS, self, "evaluate_games", "final_games")


def run(config: TrainConfig, console: Console | None = None) -> dict | None:
    """Runs the job as `running.run` does; it also writes best.npz and final.npz."""
    return running.run(QJob(config, console or Console()))


class QJob(RatedJob):
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
    LENGTH = "samples"
    INIT, CHOOSING, REPORTING = range(1 << 28, (1 << 28) + 3)

    def __init__(self, config: TrainConfig, console: Console) -> None:
        super().__init__(config, console)
        learn = config.learn
        self.who: PolicyValue = policy_value.make(config.who)
        self.meta = self.who.meta
        self.title = f"Q-MC, {self.variant}, {config.who.network} network"
        self.total, self.unit, self.learning_rate = config.samples, "samples", learn.learning_rate
        self.programs = MonteCarlo(learn, self.who, self.make_mesh(learn))
        self.player = self.who.agent()
        self.opponent = agents.make(config.opponent or usual_opponent(self.who.game), self.who.game)
        self.check_memory(("learn.lanes", learn.lanes, [self.player]), *self.matches())

    def reported(self, games: evaluate.Games) -> dict[str, Any]:
        return {"games": counting.count(games).as_dict()}
