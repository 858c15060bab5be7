"""The training job of the follower: learn, show, save, evaluate, and go on where it was interrupted."""

from __future__ import annotations

import dataclasses
import json
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np
from rich.console import Console

from jaxgames import checks
from jaxgames.pommerman import bots
from jaxgames.pommerman.constants import Move
from search import presets
from search.bandit import bandits
from search.bandit.guide import Guide
from search.planner import Planner
from training.jobs import job
from training.jobs.display import Display
from training.jobs.stopping import StopRequest
from training.learn.dagger import Dagger, DaggerConfig
from training.learn.learner import Learner
from training.models import policy_value
from training.models.policy_value import PolicyValue, PolicyValueConfig
from training.play import counting, evaluate
from training.play.counting import Count
from training.storage.checkpoints import Checkpoints
from training.storage.files import write_atomically
from training.storage.logs import RunLog
from training.storage.weights import save_weights

# Keys for choosing a checkpoint and for the reported games: other boards, other seats.
_CHOOSING, _REPORTING = 1 << 28, (1 << 28) + 1
_FREE = job.FREE | {"final_games"}  # settings that may change when a run goes on


@dataclasses.dataclass(frozen=True)
class OracleConfig:
    """Who labels; checked when made.

    Attributes:
      bandit: ts, ucb or uniform.
      num_simulations: per plan.
      horizon: steps per simulation.
      table_rows: rows of the search table per episode, a power of two.
      guide: weights of a follower that guides the search, as a file; "": none.
      prior_weight: the guide's policy counts as much as so many simulations.
      guide_values: the guide also values the ends of simulations; slow without an accelerator.
    """

    bandit: str = "ts"
    num_simulations: int = 100
    horizon: int = 20
    table_rows: int = 2**14
    guide: str = ""
    prior_weight: float = 4.0
    guide_values: bool = False

    def __post_init__(self) -> None:
        bandits.by_name(self.bandit)


@dataclasses.dataclass(frozen=True)
class TrainConfig:
    """Trains a follower to imitate an oracle.

    Attributes:
      follower: who learns.
      learn: how.
      oracle: who labels.
      seed: of everything.
      evaluate_every: episodes between two evaluations, by which the best parameters are chosen.
      evaluate_games: games per evaluation against rule-based agents.
      final_games: games of the reported result, on other boards; 0: none.
      checkpoint_every: iterations between two checkpoints.
      keep: checkpoints kept.
      output: folder of the run.
      resume: go on with the run in that folder; without one there, begin.
    """

    follower: PolicyValueConfig = PolicyValueConfig("pommerman", "ffa", "paper", "paper")
    learn: DaggerConfig = DaggerConfig()
    oracle: OracleConfig = OracleConfig()
    seed: int = 0
    evaluate_every: int = 50
    evaluate_games: int = 100
    final_games: int = 400
    checkpoint_every: int = 20
    keep: int = 2
    output: str = "output/follower"
    resume: bool = False

    def __post_init__(self) -> None:
        checks.at_least(1, self, "evaluate_every", "evaluate_games", "checkpoint_every", "keep")
        checks.at_least(0, self, "final_games")
        checks.seed(self)
        needs_chances = self.learn.target == "values" or self.learn.advantage_weight > 0 or self.follower.network != "paper"
        if self.oracle.bandit == "ucb" and needs_chances:
            raise ValueError(
                "bandit='ucb': its values are no chances to win: take ts, or the paper's target, advantage_weight and network"
            )


def run(config: TrainConfig, console: Console | None = None) -> dict | None:
    """Runs the job to its end, or until SIGTERM or an interrupt.

    Writes into the output folder: settings.json, checkpoints/, log.jsonl, events/, best.npz, final.npz, result.json and plots.

    Returns:
      What result.json holds; None if it was stopped before the end.

    Raises:
      ValueError: settings that are not possible, or other ones than those of the run to resume; a loss that is no number.
      OSError: the output folder cannot be written, or the disk is full.
    """
    return job.main(_Job(config, console or Console()), config.keep)


@dataclasses.dataclass
class _Run:
    """What a checkpoint holds beside the learner."""

    learner: Learner
    best: Any  # parameters
    best_wins: np.int32  # of the evaluation by which they were chosen; -1: none yet
    evaluated: np.int32  # episodes at the last evaluation
    iteration: int
    seconds: float

    def tree(self) -> dict[str, Any]:
        return {
            "learner": self.learner,
            "best": self.best,
            "best_wins": self.best_wins,
            "evaluated": self.evaluated,
            "seconds": np.float32(self.seconds),
        }


class _Job:
    """Everything of a run that does not change."""

    def __init__(self, config: TrainConfig, console: Console) -> None:
        self.config, self.console = config, console
        self.folder = Path(config.output)
        self.who: PolicyValue = policy_value.make(config.follower)
        oracle, self.oracle_params = make_oracle(config, self.who)
        learn = config.learn
        self.dagger = Dagger(learn, self.who, oracle, job.mesh_for(learn.lanes, learn.batch_size, learn.buffer_size))
        self.key = jax.random.key(config.seed)
        self.player = self.who.agent()
        self.opponent = bots.simple_agent(self.who.game)

    def start_or_resume(self, checkpoints: Checkpoints) -> _Run:
        """Begins a run, or takes up the one in the folder."""
        config = self.config
        job.begin(config, self.folder, checkpoints, _FREE)
        params = self.who.init(jax.random.fold_in(self.key, _CHOOSING))
        learner = self.dagger.init(self.key, params)
        state = _Run(learner, job.copy(learner.best_params), np.int32(-1), np.int32(0), 0, 0.0)
        found = checkpoints.restore(state.tree()) if config.resume else None
        if found is None:
            return state
        iteration, tree = found
        self.console.print(f"going on after iteration {iteration}", highlight=False)
        best_wins, evaluated = (np.int32(tree[name]) for name in ("best_wins", "evaluated"))
        return _Run(tree["learner"], tree["best"], best_wins, evaluated, iteration, float(tree["seconds"]))

    def learn(self, run: _Run, checkpoints: Checkpoints, stop: StopRequest) -> bool:
        """Iterates until all episodes are over; False if asked to stop before."""
        config, saved = self.config, run.iteration
        title = f"{config.learn.method}, {config.follower.network} network, {self.who.encoder.name} planes"
        total = config.learn.episodes
        begun = time.monotonic() - run.seconds
        ended = int(run.learner.progress["episodes"])
        last_result: dict[str, Any] = {}
        with (
            RunLog(self.folder, run.iteration + 1 if run.iteration else 0) as log,
            Display(title, total, start=ended, unit="episodes", console=self.console) as display,
        ):
            while ended < total:
                started = time.monotonic()
                with job.iteration(run.iteration + 1, saved):
                    run.learner, metrics = self.dagger.iterate(self.key, self.oracle_params, run.learner)
                    metrics = jax.device_get(metrics)
                run.iteration += 1
                run.seconds = time.monotonic() - begun
                job.check_finite(metrics.pop("finite"), run.iteration, saved, config.learn.learning_rate)
                ended = int(metrics["episodes"])
                values = job.plain(metrics) | {"seconds": run.seconds}
                values["steps_per_second"] = int(metrics["new_steps"]) / (time.monotonic() - started)
                if ended - run.evaluated >= config.evaluate_every or ended >= total:
                    with job.iteration(run.iteration, saved):
                        last_result = self.rate(run, ended)
                    values |= last_result
                log.write(run.iteration, values)
                display.update(ended, _shown(values | last_result), _moves(metrics["outputs"]))
                if stop.requested or run.iteration % config.checkpoint_every == 0 or ended >= total:
                    with job.iteration(run.iteration, saved):
                        checkpoints.save(run.iteration, run.tree())
                    saved = run.iteration
                if stop.requested and ended < total:
                    display.note(f"stopped after iteration {run.iteration}, which is saved; go on with --resume")
                    return False
        return True

    def rate(self, run: _Run, ended: int) -> dict[str, float]:
        """Plays against rule-based agents and keeps the parameters if they are the best so far."""
        score = self.play(run.learner.best_params, _CHOOSING, self.config.evaluate_games)
        run.evaluated = np.int32(ended)
        if score.wins > run.best_wins:
            run.best, run.best_wins = job.copy(run.learner.best_params), np.int32(score.wins)
            save_weights(self.folder / "best.npz", jax.device_get(run.best), self.who.meta | {"episodes": ended})
        return {"wins": score.wins / score.games, "draws": score.draws / score.games, "losses": score.losses / score.games}

    def play(self, params: Any, which: int, num_games: int, strict: bool = False) -> Count:
        """Plays games of the follower against rule-based agents, on the boards `which`."""
        return counting.count(self.games(params, which, num_games), strict=strict)

    def games(self, params: Any, which: int, num_games: int, record: int = 0) -> evaluate.Games:
        agents = [self.player._replace(params=params), *[self.opponent] * (self.who.game.num_players - 1)]
        key = jax.random.fold_in(self.key, which)
        return evaluate.play(self.who.game, agents, key, num_games, batch_size=128, record=record)

    def finish(self, run: _Run) -> dict:
        """Evaluates the chosen parameters on boards that had no part in the choice, and writes what remains."""
        config = self.config
        save_weights(
            self.folder / "final.npz", jax.device_get(run.learner.params), self.who.meta | {"episodes": config.learn.episodes}
        )
        result: dict[str, Any] = {
            "settings": dataclasses.asdict(config),
            "episodes": int(run.learner.progress["episodes"]),
            "steps": int(run.learner.progress["steps"]),
            "updates": int(run.learner.updates),
            "seconds": run.seconds,
            "device": f"{jax.device_count()} x {jax.devices()[0].device_kind}",
        }
        if config.final_games:
            games = self.games(run.best, _REPORTING, config.final_games)
            released, strict = counting.count(games), counting.count(games, strict=True)
            result |= {"released": released.as_dict(), "strict": strict.as_dict(), "mean_length": float(games.lengths.mean())}
            rates = " / ".join(f"{100 * n / released.games:.1f}" for n in (released.wins, released.draws, released.losses))
            self.console.print(f"win / draw / loss {rates} % in {released.games} games", highlight=False)
        write_atomically(self.folder / "result.json", json.dumps(result, indent=2) + "\n")
        job.plot_curves(self.folder, self.console, "learning_figure")
        self.console.print(f"results in {self.folder}", markup=False, highlight=False)
        return result


def make_oracle(config: TrainConfig, who: PolicyValue) -> tuple[Planner, Any]:
    """Makes the planner that labels, and its parameters (None without a guide)."""
    oracle = config.oracle
    guide, params = None, None
    if oracle.guide:
        other, params = policy_value.read(oracle.guide, who.game)
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


def check_settings(config: TrainConfig, path: Path) -> None:
    """Raises a ValueError if the run in the folder has other settings, but for how far it goes and what is kept."""
    job.check_settings(config, path, _FREE)


def _moves(shares: np.ndarray) -> dict[str, float]:
    return {move.name.lower(): float(share) for move, share in zip(Move, shares, strict=True)}


def _shown(values: dict[str, Any]) -> dict[str, str | float]:
    shown = {"steps": values["steps"], "loss": values["loss"], "agreement with the oracle": values["agreement"]}
    shown |= {"entropy": values["entropy"], "buffer": values["buffer"], "steps per second": values["steps_per_second"]}
    if "wins" in values:
        shown["win / draw / loss"] = " / ".join(f"{100 * values[name]:.0f}" for name in ("wins", "draws", "losses"))
    return shown
