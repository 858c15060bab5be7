"""The training job of the follower: learn, show, save, evaluate, and go on where it was interrupted."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

import jax
import numpy as np
from rich.console import Console

from jaxgames import checks
from jaxgames.registration import usual_opponent
from search import presets
from search.all_seats import for_all_seats
from search.bandit import bandits
from search.bandit.guide import Guide
from search.planner import Planner, as_agent
from training.jobs import job
from training.jobs.job import Job, JobConfig
from training.learn.dagger import Dagger, DaggerConfig
from training.learn.learner import Learner
from training.models import policy_value
from training.models.policy_value import PolicyValue, PolicyValueConfig
from training.play import agents, counting, evaluate
from training.storage.weights import save_weights

# Keys for choosing a checkpoint and for the reported games: other boards, other seats.
_CHOOSING, _REPORTING = 1 << 28, (1 << 28) + 1


@dataclasses.dataclass(frozen=True)
class OracleConfig:
    """Who labels: FDTS with the settings below, or any planner; checked when made.

    Attributes:
      planner: any planner of the game that sees the state, with its settings, as `sp_mcts:root=true,num_simulations=128`, in
        place of all that follows; "": FDTS.
      bandit: ts, ucb or uniform.
      num_simulations: per plan.
      horizon: steps per simulation.
      table_rows: rows of the search table per episode, a power of two.
      guide: weights of a follower that guides the search, as a file; "": none.
      prior_weight: the guide's policy counts as much as so many simulations.
      guide_values: the guide also values the ends of simulations; slow without an accelerator.
    """

    planner: str = ""
    bandit: str = "ts"
    num_simulations: int = 100
    horizon: int = 20
    table_rows: int = 2**14
    guide: str = ""
    prior_weight: float = 4.0
    guide_values: bool = False

    def __post_init__(self) -> None:
        bandits.by_name(self.bandit)
        own = [field.name for field in dataclasses.fields(self) if getattr(self, field.name) != field.default]
        if self.planner and own != ["planner"]:
            raise ValueError(f"planner={self.planner!r}: its settings stand after its name: leave out {', '.join(own[1:])}")


@dataclasses.dataclass(frozen=True)
class TrainConfig(JobConfig):
    """Trains a follower to imitate an oracle.

    Attributes:
      follower: who learns.
      learn: how.
      oracle: who labels.
      evaluate_every: episodes between two evaluations, by which the best parameters are chosen.
      evaluate_games: games per evaluation against rule-based agents.
      final_games: games of the reported result, on other boards; 0: none.
    """

    FREE = JobConfig.FREE | {"final_games"}

    follower: PolicyValueConfig = PolicyValueConfig("pommerman", network="paper")
    learn: DaggerConfig = DaggerConfig()
    oracle: OracleConfig = OracleConfig()
    evaluate_every: int = 50
    evaluate_games: int = 100
    final_games: int = 400
    output: str = "output/follower"

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.at_least(1, self, "evaluate_every", "evaluate_games")
        checks.at_least(0, self, "final_games")
        needs_chances = self.learn.target == "values" or self.learn.advantage_weight > 0 or self.follower.network != "paper"
        if self.oracle.bandit == "ucb" and needs_chances:
            raise ValueError(
                "bandit='ucb': its values are no chances to win: take ts, or the paper's target, advantage_weight and network"
            )


def run(config: TrainConfig, console: Console | None = None) -> dict | None:
    """Runs the job as `job.run` does; it also writes best.npz and final.npz."""
    return job.run(FollowerJob(config, console or Console()))


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class State:
    """Everything that changes.

    Attributes:
      learner: what learns.
      best: the parameters that have won most in an evaluation.
      best_wins: of that evaluation; -1: there was none yet.
      evaluated: episodes at the last evaluation.
    """

    learner: Learner
    best: Any
    best_wins: np.int32
    evaluated: np.int32


class FollowerJob(Job):
    """Learns from the oracle, and plays against rule-based agents now and then."""

    SHOWN: ClassVar = {
        "steps": "steps",
        "loss": "loss",
        "agreement": "agreement with the oracle",
        "entropy": "entropy",
        "buffer": "buffer",
        "steps_per_second": "steps per second",
        "wins": "games won",
        "draws": "games drawn",
        "losses": "games lost",
    }
    SPEED = "steps_per_second"
    FIGURE = "learning_figure"

    def __init__(self, config: TrainConfig, console: Console) -> None:
        super().__init__(config, console)
        learn = config.learn
        self.who: PolicyValue = policy_value.make(config.follower)
        self.meta = self.who.meta
        self.title = f"{learn.method}, {self.variant}, {config.follower.network} network, {self.who.encoder.name} planes"
        self.total, self.unit, self.learning_rate = learn.episodes, "episodes", learn.learning_rate
        oracle, self.oracle_params = make_oracle(config, self.who)
        self.programs = Dagger(learn, self.who, oracle, job.mesh_for(learn.lanes, learn.batch_size, learn.buffer_size))
        self.player = self.who.agent(grouped=True)
        self.opponent = agents.make(usual_opponent(self.who.game), self.who.game)
        shown = f"oracle.num_simulations={config.oracle.num_simulations}"
        labels = as_agent(oracle)._replace(name=config.oracle.planner or shown)
        self.check_memory(("learn.lanes", learn.lanes, [labels]))

    def start(self) -> State:
        params = self.who.init(jax.random.fold_in(self.key, _CHOOSING))
        learner = self.programs.init(self.key, params)
        return State(learner, job.copy(learner.best_params), np.int32(-1), np.int32(0))

    def advance(self, state: State) -> dict[str, Any]:
        state.learner, metrics = self.programs.iterate(self.key, self.oracle_params, state.learner)
        values = job.plain(metrics)
        return values | {self.SPEED: values["new_steps"]}

    def done(self, state: State) -> int:
        return int(state.learner.progress["episodes"])

    def distribution(self, values: Mapping[str, Any]) -> Mapping[str, float] | None:
        names = self.who.encoder.output_names
        return dict(zip(names, values["outputs"], strict=True)) if names else None

    def rate(self, state: State) -> dict[str, float]:
        """Plays against rule-based agents when it is time, and keeps the parameters if they are the best so far."""
        ended = self.done(state)
        if ended - state.evaluated < self.config.evaluate_every and not self.is_over(state):
            return {}
        score = counting.count(self.games(state.learner.best_params, _CHOOSING, self.config.evaluate_games))
        state.evaluated = np.int32(ended)
        if score.wins > state.best_wins:
            state.best, state.best_wins = job.copy(state.learner.best_params), np.int32(score.wins)
            save_weights(self.folder / "best.npz", jax.device_get(state.best), self.meta | {"episodes": ended})
        return {"wins": score.wins / score.games, "draws": score.draws / score.games, "losses": score.losses / score.games}

    def games(self, params: Any, which: int, num_games: int) -> evaluate.Games:
        """Plays games of the follower against rule-based agents, on the boards `which`."""
        players = [self.player._replace(params=params), *[self.opponent] * (self.who.game.num_players - 1)]
        return evaluate.play(self.who.game, players, jax.random.fold_in(self.key, which), num_games, batch_size=128)

    def finish(self, state: State) -> dict[str, Any]:
        """Evaluates the chosen parameters on boards that had no part in the choice."""
        learner = state.learner
        save_weights(self.folder / "final.npz", jax.device_get(learner.params), self.meta | {"episodes": self.total})
        result: dict[str, Any] = {
            "episodes": self.done(state),
            "steps": int(learner.progress["steps"]),
            "updates": int(learner.updates),
        }
        if self.config.final_games:
            games = self.games(state.best, _REPORTING, self.config.final_games)
            released, strict = counting.count(games), counting.count(games, strict=True)
            result |= {"released": released.as_dict(), "strict": strict.as_dict(), "mean_length": float(games.lengths.mean())}
            rates = " / ".join(f"{100 * n / released.games:.1f}" for n in (released.wins, released.draws, released.losses))
            self.console.print(f"win / draw / loss {rates} % in {released.games} games", highlight=False)
        return result


def make_oracle(config: TrainConfig, who: PolicyValue) -> tuple[Planner, Any]:
    """Makes the planner that labels, and its parameters (None without a guide)."""
    oracle = config.oracle
    if oracle.planner:
        planner, params = agents.make_planner(oracle.planner, who.game)
        return for_all_seats(who.game, planner), params
    guide, params = None, None
    if oracle.guide:
        other, params = policy_value.read(oracle.guide, who.game)
        if oracle.guide_values:
            other.check_values(f"guide={oracle.guide}", "guide_values")
        guide = Guide(other.evaluate, oracle.prior_weight, oracle.guide_values, other.encoder.outputs)
    planner = presets.fdts(
        who.game,
        bandits.by_name(oracle.bandit),
        num_simulations=oracle.num_simulations,
        horizon=oracle.horizon,
        table_rows=oracle.table_rows,
        guide=guide,
    )
    return planner, params
