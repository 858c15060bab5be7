"""What jobs share that play against an opponent now and then, and keep the parameters with which they won most."""

from __future__ import annotations

import abc
import dataclasses
from typing import Any, ClassVar

import jax
import numpy as np

from jaxgames.agent import Agent
from training.jobs import job
from training.jobs.job import Job
from training.learn.learner import Learner
from training.play import counting, evaluate
from training.storage.weights import save_weights

_BATCH = 128  # games of a match at a time


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class State:
    """Everything that changes.

    Attributes:
      learner: what learns.
      best: the parameters that have won most in an evaluation.
      best_wins: of that evaluation; -1: there was none yet.
      evaluated: units at the last evaluation.
    """

    learner: Learner
    best: Any
    best_wins: np.int32
    evaluated: np.int32


class RatedJob(Job):
    """A job whose parameters are chosen by games won; its config has evaluate_every, evaluate_games and final_games.

    Its unit is what the learner's progress counts under that name.

    Attributes:
      player: who plays with what is learnt.
      opponent: who plays all other seats.
    """

    INIT: ClassVar[int]  # keys of parameters, of games on the way, and of the reported ones: other boards, other seats
    CHOOSING: ClassVar[int]
    REPORTING: ClassVar[int]

    player: Agent
    opponent: Agent

    def start(self) -> State:
        params = self.who.init(jax.random.fold_in(self.key, self.INIT))
        learner = self.programs.init(self.key, params)
        return State(learner, job.copy(learner.best_params), np.int32(-1), np.int32(0))

    def units(self, state: State) -> int:
        """Returns how many units are done, which may be more than there are to do."""
        return int(state.learner.progress[self.unit])

    def done(self, state: State) -> int:
        return min(self.units(state), self.total)

    def _is_due(self, state: State) -> bool:
        return self.units(state) - int(state.evaluated) >= self.config.evaluate_every or self.is_over(state)

    def rating(self, state: State) -> str:
        return f"games against {self.opponent.name}" if self._is_due(state) else ""

    def ending(self) -> str:
        return "final games" if self.config.final_games else ""

    def rate(self, state: State) -> dict[str, float]:
        """Plays against the opponent when it is time, and keeps the parameters if they are the best so far."""
        if not self._is_due(state):
            return {}
        units = self.units(state)
        score = counting.count(self.games(state.learner.best_params, self.CHOOSING, self.config.evaluate_games))
        state.evaluated = np.int32(units)
        if score.wins > state.best_wins:
            state.best, state.best_wins = job.copy(state.learner.best_params), np.int32(score.wins)
            self._save("best.npz", state.best, units)
        return {"wins": score.wins / score.games, "draws": score.draws / score.games, "losses": score.losses / score.games}

    def matches(self) -> list[tuple[str, int, list[Agent]]]:
        """Gives the matches of the job as `check_memory` takes them."""
        names = ("evaluate_games", "final_games")
        return [(name, min(_BATCH, getattr(self.config, name)), self._players(self.player)) for name in names]

    def games(self, params: Any, which: int, num_games: int) -> evaluate.Games:
        """Plays games of what is learnt against the opponent, on the boards `which`."""
        players = self._players(self.player._replace(params=params))
        return evaluate.play(self.who.game, players, jax.random.fold_in(self.key, which), num_games, batch_size=_BATCH)

    def _players(self, player: Agent) -> list[Agent]:
        return [player, *[self.opponent] * (self.who.game.num_players - 1)]

    def finish(self, state: State) -> dict[str, Any]:
        """Writes the last parameters, and plays with the chosen ones on boards that had no part in the choice."""
        units = self.units(state)
        self._save("final.npz", state.learner.best_params, units)
        result: dict[str, Any] = {self.unit: units, "updates": int(state.learner.updates)}
        if self.config.final_games:
            games = self.games(state.best, self.REPORTING, self.config.final_games)
            score = counting.count(games)
            rates = " / ".join(f"{100 * n / score.games:.1f}" for n in (score.wins, score.draws, score.losses))
            self.console.print(f"win / draw / loss {rates} % in {score.games} games", highlight=False, soft_wrap=True)
            result |= self.reported(games)
        return result

    @abc.abstractmethod
    def reported(self, games: evaluate.Games) -> dict[str, Any]:
        """Returns what result.json tells of the reported games."""

    def _save(self, name: str, params: Any, units: int) -> None:
        save_weights(self.folder / name, jax.device_get(params), self.meta | {self.unit: units})
