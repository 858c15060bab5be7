"""The training job of AlphaZe**: epochs of playing, learning and a match against the best so far; saved and taken up again."""

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
from jaxgames.agent import Agent
from search.planner import as_agent, size_in_bytes
from training.jobs import job
from training.jobs.display import Display
from training.jobs.stopping import StopRequest
from training.learn.alphaze import Alphaze, AlphazeConfig, make_player
from training.learn.learner import Learner
from training.models import policy_value
from training.models.policy_value import PolicyValue, PolicyValueConfig
from training.play import agents, elo, memory
from training.play.tournament import BATCH, play_pair, round_robin
from training.storage.checkpoints import Checkpoints
from training.storage.files import write_atomically
from training.storage.logs import RunLog
from training.storage.weights import load_weights, save_weights

# Keys of matches, beside those of self-play.
_GATE, _RATE, _REPORT, _INIT = range(1 << 28, (1 << 28) + 4)
_FREE = job.FREE | {"final_games", "epochs"}


@dataclasses.dataclass(frozen=True)
class TrainConfig:
    """Trains a network by AlphaZe**: search in drawn worlds, self-play, and matches that decide which network plays.

    Attributes:
      who: the game and the network.
      learn: how to play and learn.
      epochs: of playing, learning and a match.
      seed: of everything.
      gate_games: games of the match after each epoch, colours swapped half-way; the newest network takes over if it makes more
        than half of the points; 0: it always does.
      gate_temperature: of the choice of actions in that match, by the search's policy.
      rate_games: games against a random player after each epoch; 0: none.
      final_games: games of each pair in the tournament of some epochs and a random player at the end; 0: none.
      final_entries: epochs in that tournament, evenly chosen, the last one included.
      checkpoint_every: calls of the compiled programs between two checkpoints; there is one after each epoch anyhow.
      keep: checkpoints kept.
      output: folder of the run.
      resume: go on with the run in that folder; without one there, begin.
    """

    who: PolicyValueConfig = PolicyValueConfig()
    learn: AlphazeConfig = AlphazeConfig()
    epochs: int = 10
    seed: int = 0
    gate_games: int = 100
    gate_temperature: float = 0.6
    rate_games: int = 100
    final_games: int = 100
    final_entries: int = 5
    checkpoint_every: int = 50
    keep: int = 2
    output: str = "output/alphaze"
    resume: bool = False

    def __post_init__(self) -> None:
        checks.at_least(1, self, "epochs", "checkpoint_every", "keep", "final_entries")
        checks.at_least(0, self, "gate_games", "rate_games", "final_games", "gate_temperature")
        for name in ("gate_games", "rate_games", "final_games"):
            if getattr(self, name) % 2:
                raise ValueError(f"{name}={getattr(self, name)}: must be even, because colours are swapped half-way")
        checks.seed(self)


def run(config: TrainConfig, console: Console | None = None) -> dict | None:
    """Runs the job to its end, or until SIGTERM or an interrupt.

    Writes into the output folder: settings.json, checkpoints/, log.jsonl, events/, epoch-NNN.npz (the network that plays after
    each epoch), best.npz (the last of these), result.json and learning.svg.

    Returns:
      What result.json holds; None if it was stopped before the end.

    Raises:
      ValueError: settings that are not possible, or other ones than those of the run to resume; a loss that is no number.
      OSError: the output folder cannot be written, or the disk is full.
    """
    return job.main(_Job(config, console or Console()), config.keep)


@dataclasses.dataclass
class _Run:
    """What a checkpoint holds."""

    learner: Learner
    best_params: Any  # the parameters that play
    rating: np.float32  # of these, by the paper's updates
    epoch: np.int32
    iteration: int
    seconds: float

    def tree(self) -> dict[str, Any]:
        return {
            "learner": self.learner,
            "best_params": self.best_params,
            "rating": self.rating,
            "epoch": self.epoch,
            "seconds": np.float32(self.seconds),
        }


class _Job:
    """Everything of a run that does not change."""

    def __init__(self, config: TrainConfig, console: Console) -> None:
        self.config, self.console = config, console
        self.folder = Path(config.output)
        self.who: PolicyValue = policy_value.make(config.who)
        learn = config.learn
        self.programs = Alphaze(learn, self.who, job.mesh_for(learn.lanes, learn.batch_size, learn.buffer_size))
        self.key = jax.random.key(config.seed)
        gate = make_player(config.learn, self.who, temperature=config.gate_temperature)
        # Two agents of one planner: they are asked apart, because they differ in parameters.
        self.contender, self.champion = as_agent(gate), as_agent(gate)
        self.player: Agent = as_agent(make_player(config.learn, self.who))
        self.random = agents.make("random", self.who.game)
        self._check_memory()

    def _check_memory(self) -> None:
        """Raises a ValueError when self-play or a match cannot fit into memory beside the learner."""
        config, learn, who = self.config, self.config.learn, self.who
        params = jax.eval_shape(who.init, self.key)
        other = size_in_bytes(jax.eval_shape(self.programs.init, self.key, params))
        kinds = {self.programs.kind(epoch) for epoch in range(config.epochs)}
        for setting, lanes, players in (
            *(("learn.lanes", learn.lanes, [as_agent(self.programs.players[kind])]) for kind in kinds),
            ("gate_games", min(BATCH, config.gate_games), [self.contender, self.champion]),
            ("rate_games", min(BATCH, config.rate_games), [self.player]),
            ("final_games", min(BATCH, config.final_games), [self.player, self.contender]),
        ):
            if not lanes:
                continue
            named = [player._replace(name=f"learn.num_simulations={learn.num_simulations}") for player in players]
            memory.check(
                who.game,
                named,
                lanes,
                other=(other, f"a smaller learn.buffer_size than {learn.buffer_size}"),
                setting=setting,
                what="the run",
            )

    def start_or_resume(self, checkpoints: Checkpoints) -> _Run:
        """Begins a run, or takes up the one in the folder."""
        config = self.config
        job.begin(config, self.folder, checkpoints, _FREE)
        params = self.who.init(jax.random.fold_in(self.key, _INIT))
        learner = self.programs.init(self.key, params)
        state = _Run(learner, job.copy(learner.params), np.float32(0), np.int32(0), 0, 0.0)
        found = checkpoints.restore(state.tree()) if config.resume else None
        if found is None:
            self._save(state.best_params, 0)
            return state
        iteration, tree = found
        self.console.print(f"going on after iteration {iteration}, in epoch {int(tree['epoch']) + 1}", highlight=False)
        rating, epoch = np.float32(tree["rating"]), np.int32(tree["epoch"])
        return _Run(tree["learner"], tree["best_params"], rating, epoch, iteration, float(tree["seconds"]))

    def learn(self, run: _Run, checkpoints: Checkpoints, stop: StopRequest) -> bool:
        """Plays and learns until all epochs are over; False if asked to stop before."""
        config = self.config
        goal = config.epochs * config.learn.epoch_samples
        title = f"AlphaZe**, {config.who.game} {config.who.mode}, {config.learn.method}, {config.who.network} network"
        begun = time.monotonic() - run.seconds
        saved = run.iteration
        shown: dict[str, str | float] = {}
        with (
            RunLog(self.folder, run.iteration + 1 if run.iteration else 0) as log,
            Display(title, goal, start=min(_searches(run), goal), unit="searches", console=self.console) as display,
        ):
            while run.epoch < config.epochs:
                started = time.monotonic()
                with job.iteration(run.iteration + 1, saved):
                    values = self._advance(run)
                run.iteration += 1
                job.check_finite(values.pop("finite", True), run.iteration, saved, config.learn.learning_rate)
                if "games" in values:
                    searches = config.learn.lanes * config.learn.steps
                    values["searches_per_second"] = searches / (time.monotonic() - started)
                ended = self._epoch_is_over(run)
                if ended:
                    with job.iteration(run.iteration, saved):
                        values |= self._end_epoch(run)
                run.seconds = time.monotonic() - begun
                values |= {"epoch": int(run.epoch), "seconds": run.seconds}
                log.write(run.iteration, values)
                shown |= _shown(values)
                display.update(min(_searches(run), goal), shown)
                if stop.requested or ended or run.iteration % config.checkpoint_every == 0:
                    with job.iteration(run.iteration, saved):
                        checkpoints.save(run.iteration, run.tree())
                    saved = run.iteration
                if stop.requested and run.epoch < config.epochs:
                    display.note(f"stopped after iteration {run.iteration}, which is saved; go on with --resume")
                    return False
        return True

    def _advance(self, run: _Run) -> dict[str, Any]:
        """One call of a compiled program: games while the epoch lacks samples, else gradient steps."""
        learn, epoch = self.config.learn, int(run.epoch)
        if _searches(run) < (epoch + 1) * learn.epoch_samples:
            run.learner, metrics = self.programs.play[self.programs.kind(epoch)](self.key, run.best_params, run.learner)
        else:
            run.learner, metrics = self.programs.learn(self.key, run.learner)
        return job.plain(metrics)

    def _epoch_is_over(self, run: _Run) -> bool:
        learn, epochs = self.config.learn, int(run.epoch) + 1
        return _searches(run) >= epochs * learn.epoch_samples and int(run.learner.updates) >= epochs * learn.epoch_updates

    def _end_epoch(self, run: _Run) -> dict[str, Any]:
        """Lets the newest network play against the one that plays so far, and takes it if it is better."""
        config = self.config
        values: dict[str, Any] = {}
        points = 1.0
        if config.gate_games:
            pair = (self.contender._replace(params=run.learner.params), self.champion._replace(params=run.best_params))
            result = play_pair(self.who.game, pair, self._key(_GATE, int(run.epoch)), config.gate_games)
            points = float(result.mean())
            rating = other = float(run.rating)
            for score in result.reshape(2, -1).T.reshape(-1):  # seats in turn: the first wins more
                rating, other = elo.updated(rating, other, float(score))
            values["gate_score"] = points
            if points > 0.5:
                run.rating = np.float32(rating)
        if points > 0.5:
            run.best_params = job.copy(run.learner.params)
        run.epoch = np.int32(run.epoch + 1)
        self._save(run.best_params, int(run.epoch))
        write_atomically(self.folder / "best.npz", self._weights(int(run.epoch)).read_bytes())
        if run.epoch == config.learn.pretrain_epochs:
            run.learner = self.programs.restart(self.key, run.learner)
        if config.rate_games:
            values["score_against_random"] = self.rate(run.best_params, int(run.epoch))
        return values | {"replaced": int(points > 0.5), "rating": float(run.rating)}

    def rate(self, params: Any, epoch: int) -> float:
        """Plays against a random player and gives the share of points."""
        pair = (self.player._replace(params=params), self.random)
        return float(play_pair(self.who.game, pair, self._key(_RATE, epoch), self.config.rate_games).mean())

    def finish(self, run: _Run) -> dict:
        """Lets some epochs and a random player meet, and writes what remains."""
        config = self.config
        result: dict[str, Any] = {
            "settings": dataclasses.asdict(config),
            "searches": _searches(run),
            "games": self._games(run),
            "updates": int(run.learner.updates),
            "seconds": run.seconds,
            "rating": float(run.rating),
            "device": f"{jax.device_count()} x {jax.devices()[0].device_kind}",
        }
        if config.final_games:
            result["tournament"] = self._tournament()
        write_atomically(self.folder / "result.json", json.dumps(result, indent=2) + "\n")
        job.plot_curves(self.folder, self.console, "alphaze_figure")
        self.console.print(f"results in {self.folder}", markup=False, highlight=False)
        return result

    def _games(self, run: _Run) -> int:
        """Games that were played to their end: those begun, but for what is at work and what a restart gave up."""
        restarts = int(0 < self.config.learn.pretrain_epochs <= int(run.epoch))
        lanes, devices = run.learner.games.lanes, len(run.learner.games.lanes.next_number)
        begun = int((np.asarray(lanes.next_number) // devices).sum())
        return begun - (1 + restarts) * self.config.learn.lanes

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
        save_weights(self._weights(epoch), jax.device_get(params), self.who.meta | {"epoch": epoch})


def _searches(run: _Run) -> int:
    return int(run.learner.progress["samples"])


_SHOWN = {
    "epoch": "epochs done",
    "policy_entropy": "policy entropy",
    "mean_length": "steps per game",
    "loss": "loss",
    "value_error": "value error",
    "agreement": "agreement with the search",
    "gate_score": "points in the last match",
    "rating": "Elo, by matches",
    "score_against_random": "points against random",
    "searches_per_second": "searches per second",
}


def _shown(values: dict[str, Any]) -> dict[str, str | float]:
    return {title: values[name] for name, title in _SHOWN.items() if name in values}
