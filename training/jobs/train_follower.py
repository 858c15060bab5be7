"""The training job of the follower: learn, show, save, evaluate, and go on where it was interrupted."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

from rich.console import Console

from jaxgames import checks
from jaxgames.registration import usual_opponent
from search import fdts
from search.all_seats import for_all_seats
from search.bandit import bandits
from search.bandit.guide import Guide
from search.bandit.settings import Settings
from search.planner import Planner, as_agent
from training.jobs import job, running
from training.jobs.job import JobConfig
from training.jobs.rated import RatedJob, State
from training.learn.dagger import Dagger, DaggerConfig
from training.models import policy_value
from training.models.policy_value import PolicyValue, PolicyValueConfig
from training.play import agents, counting, evaluate
from training.storage.named_files import FileName


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
    guide: FileName = ""
    prior_weight: float = 4.0
    guide_values: bool = False

    def __post_init__(self) -> None:
        bandits.by_name(self.bandit)
        Settings(num_simulations=self.num_simulations, horizon=self.horizon, table_rows=self.table_rows)  # checks them
        own = [field.name for field in dataclasses.fields(self) if getattr(self, field.name) != field.default]
        if self.planner and own != ["planner"]:
            raise ValueError(f"planner={self.planner!r}: its settings stand after its name: leave out {', '.join(own[1:])}")
        guided = [name for name in own if name in ("prior_weight", "guide_values")]
        if guided and not self.guide:
            raise ValueError(f"{guided[0]}={getattr(self, guided[0])}: needs a guide")


@dataclasses.dataclass(frozen=True)
class TrainConfig(JobConfig):
    """Trains a follower to imitate an oracle.

    Attributes:
      follower: who learns.
      learn: how.
      oracle: who labels.
      evaluate_every: episodes between two evaluations, by which the best parameters are chosen.
      evaluate_games: games per evaluation, against the opponent of --learn.opponent, else the game's usual one.
      final_games: games of the reported result, on other boards; 0: none.
    """

    JOB = "train-follower"
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
        checks.below(checks.COUNTS, self, "evaluate_games", "final_games")


def run(config: TrainConfig, console: Console | None = None) -> dict | None:
    """Runs the job as `running.run` does; it also writes best.npz and final.npz."""
    return running.run(FollowerJob(config, console or Console()))


class FollowerJob(RatedJob):
    """Learns from the oracle, and plays now and then against those whom the follower will meet."""

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
    INIT, REPORTING, CHOOSING = range(1 << 28, (1 << 28) + 3)

    def __init__(self, config: TrainConfig, console: Console) -> None:
        super().__init__(config, console)
        learn = config.learn
        self.who: PolicyValue = policy_value.make(config.follower)
        self.meta = self.who.meta
        self.title = f"{learn.method}, {self.variant}, {config.follower.network} network, {self.who.encoder.name} planes"
        self.total, self.unit, self.learning_rate = learn.episodes, "episodes", learn.learning_rate
        oracle, self.oracle_params = make_oracle(config, self.who)
        self.programs = Dagger(learn, self.who, oracle, self.make_mesh(learn))
        self.player = self.who.agent(grouped=True)
        self.opponent = agents.make(learn.opponent or usual_opponent(self.who.game), self.who.game)
        shown = f"oracle.num_simulations={config.oracle.num_simulations}"
        labels = as_agent(oracle)._replace(name=config.oracle.planner or shown)
        self.check_memory(("learn.lanes", learn.lanes, [labels]), *self.matches())

    def advance(self, state: State) -> dict[str, Any]:
        state.learner, metrics = self.programs.iterate(self.key, self.oracle_params, state.learner)
        values = job.plain(metrics)
        return values | {self.SPEED: values["new_steps"]}

    def distribution(self, values: Mapping[str, Any]) -> Mapping[str, float] | None:
        names, shares = self.who.encoder.output_names, values.get("outputs")
        return dict(zip(names, shares, strict=True)) if names and shares is not None else None

    def finish(self, state: State) -> dict[str, Any]:
        return super().finish(state) | {"steps": int(state.learner.progress["steps"])}

    def reported(self, games: evaluate.Games) -> dict[str, Any]:
        released, strict = counting.count(games), counting.count(games, strict=True)
        return {"released": released.as_dict(), "strict": strict.as_dict(), "mean_length": float(games.lengths.mean())}


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
    planner = fdts(
        who.game,
        bandits.by_name(oracle.bandit),
        num_simulations=oracle.num_simulations,
        horizon=oracle.horizon,
        table_rows=oracle.table_rows,
        guide=guide,
    )
    return planner, params
