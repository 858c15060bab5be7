"""The training job of networks that guess what is hidden: games, gradient steps, and how good the guesses are in other games."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import jax
from rich.console import Console

from jaxgames import checks
from jaxgames.registration import usual_opponent
from training.jobs import job
from training.jobs.job import Job, JobConfig
from training.learn.guessing import Guessing, GuessingConfig
from training.learn.learner import Learner
from training.models import guess
from training.models.guess import GuessConfig
from training.play import agents
from training.storage.weights import save_weights

_INIT = 1 << 28  # key of parameters


@dataclasses.dataclass(frozen=True)
class TrainConfig(JobConfig):
    """Trains a network to guess what is hidden from a player, from games of a bot or a search against itself.

    Searches draw their worlds by it: pc_pimc:guess=FILE,candidates=32.

    Attributes:
      who: the game and the network.
      learn: how to play and learn.
      samples: positions to learn from.
    """

    FREE = JobConfig.FREE | {"samples"}

    who: GuessConfig = GuessConfig()
    learn: GuessingConfig = GuessingConfig()
    samples: int = 1_000_000
    output: str = "output/guess"

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.at_least(1, self, "samples")


def run(config: TrainConfig, console: Console | None = None) -> dict | None:
    """Runs the job as `job.run` does; it also writes best.npz, the last parameters."""
    return job.run(GuessJob(config, console or Console()))


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class State:
    """Everything that changes: what learns."""

    learner: Learner


class GuessJob(Job):
    """Learns from games of one player against itself."""

    SHOWN: ClassVar = {
        "loss": "surprise per hidden place",
        "agreement": "hidden places guessed right",
        "samples_per_second": "samples per second",
    }
    SPEED = "samples_per_second"
    FIGURE = "guess_figure"

    def __init__(self, config: TrainConfig, console: Console) -> None:
        super().__init__(config, console)
        learn = config.learn
        self.who = guess.make(config.who)
        self.meta = self.who.meta
        player = agents.make(learn.player or usual_opponent(self.who.game), self.who.game)
        self.title = f"guessing what is hidden, {self.variant}, {config.who.network} network"
        self.total, self.unit, self.learning_rate = config.samples, "samples", learn.learning_rate
        self.programs = Guessing(learn, self.who, player, job.mesh_for(learn.lanes, learn.batch_size, learn.buffer_size))
        self.check_memory(("learn.lanes", learn.lanes, [player]))

    def start(self) -> State:
        return State(self.programs.init(self.key, self.who.init(jax.random.fold_in(self.key, _INIT))))

    def finish(self, state: State) -> dict[str, Any]:
        """Writes the parameters."""
        learner, samples = state.learner, job.samples_of(state)
        save_weights(self.folder / "best.npz", jax.device_get(learner.params), self.meta | {"samples": samples})
        return {"samples": samples, "updates": int(learner.updates)}
