"""The training job of networks that guess what is hidden: games, gradient steps, and how good the guesses are in other games."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import jax
import numpy as np
from rich.console import Console

from jaxgames import checks
from jaxgames.registration import usual_opponent
from training.jobs import job, running
from training.jobs.job import Job, JobConfig
from training.learn.guessing import Guessing, GuessingConfig
from training.learn.learner import Learner
from training.models import guess
from training.models.guess import GuessConfig
from training.play import agents
from training.storage.weights import save_weights

# Keys of parameters, and of the games in which they are rated.
_INIT, _RATING = range(1 << 28, (1 << 28) + 2)


@dataclasses.dataclass(frozen=True)
class TrainConfig(JobConfig):
    """Trains a network to guess what is hidden from a player, from games of a bot or a search against itself.

    Searches draw their worlds by it: pc_pimc:guess=FILE,candidates=32.

    Attributes:
      who: the game and the network.
      learn: how to play and learn.
      samples: positions to learn from.
      rate_every: samples between two ratings in other games, as many as there are lanes, by which the best parameters are chosen.
    """

    JOB = "train-guess"
    FREE = JobConfig.FREE | {"samples"}

    who: GuessConfig = GuessConfig()
    learn: GuessingConfig = GuessingConfig()
    samples: int = 1_000_000
    rate_every: int = 200_000
    output: str = "output/guess"

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.at_least(1, self, "samples", "rate_every")


def run(config: TrainConfig, console: Console | None = None) -> dict | None:
    """Runs the job as `running.run` does; it also writes best.npz and final.npz."""
    return running.run(GuessJob(config, console or Console()))


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class State:
    """Everything that changes.

    Attributes:
      learner: what learns.
      best: the parameters of the lowest cross-entropy in a rating.
      least_cross_entropy: of that rating; infinite: there was none yet.
      rated: samples at the last rating.
    """

    learner: Learner
    best: Any
    least_cross_entropy: np.float32
    rated: np.int32


class GuessJob(Job):
    """Learns from games of one player against itself, and guesses in others of them now and then."""

    SHOWN: ClassVar = {
        "loss": "cross-entropy per hidden place",
        "agreement": "hidden places guessed right",
        "cross_entropy": "cross-entropy in other games",
        "guessed": "guessed right there",
        "samples_per_second": "samples per second",
    }
    SPEED = "samples_per_second"
    FIGURE = "guess_figure"
    LENGTH = "samples"

    def __init__(self, config: TrainConfig, console: Console) -> None:
        super().__init__(config, console)
        learn = config.learn
        self.who = guess.make(config.who)
        self.meta = self.who.meta
        player = agents.make(learn.player or usual_opponent(self.who.game), self.who.game)
        self.title = f"guessing what is hidden, {self.variant}, {config.who.network} network"
        self.total, self.unit, self.learning_rate = config.samples, "samples", learn.learning_rate
        self.programs = Guessing(learn, self.who, player, self.make_mesh(learn))
        playing = ("learn.lanes", learn.lanes, [player] * self.programs.seats_asked)
        self.check_memory(playing, playing)  # games that are rated are others, beside those that are learnt from

    def start(self) -> State:
        learner = self.programs.init(self.key, self.who.init(jax.random.fold_in(self.key, _INIT)))
        return State(learner, job.copy(learner.params), np.float32(np.inf), np.int32(0))

    def _is_due(self, state: State) -> bool:
        return job.samples_of(state) - int(state.rated) >= self.config.rate_every or self.is_over(state)

    def rating(self, state: State) -> str:
        return "guessing in other games" if self._is_due(state) else ""

    def rate(self, state: State) -> dict[str, float]:
        """Guesses in other games when it is time, and keeps the parameters if they are the best so far."""
        if not self._is_due(state):
            return {}
        samples = job.samples_of(state)
        told = job.plain(self.programs.rate(jax.random.fold_in(self.key, _RATING), state.learner.params))
        state.rated = np.int32(samples)
        if not told["cross_entropy"] >= state.least_cross_entropy:  # where nothing was hidden it is no number
            state.best, state.least_cross_entropy = job.copy(state.learner.params), np.float32(told["cross_entropy"])
            self._save("best.npz", state.best, samples)
        return told

    def finish(self, state: State) -> dict[str, Any]:
        """Writes the last parameters."""
        learner, samples = state.learner, job.samples_of(state)
        self._save("final.npz", learner.params, samples)
        return {"samples": samples, "updates": int(learner.updates), "cross_entropy": float(state.least_cross_entropy)}

    def _save(self, name: str, params: Any, samples: int) -> None:
        save_weights(self.folder / name, jax.device_get(params), self.meta | {"samples": samples})
