"""Short trainings by the ordinary jobs, with settings that are small."""

from __future__ import annotations

import dataclasses
import io
import itertools
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from search.modelled import Models
from training.jobs import train_alphaze, train_expert, train_follower, train_guess, train_q
from training.learn.alphaze import AlphazeConfig
from training.learn.dagger import DaggerConfig
from training.learn.expert_iteration import ExpertConfig
from training.learn.guessing import GuessingConfig
from training.learn.monte_carlo import MonteCarloConfig
from training.models.guess import GuessConfig
from training.models.policy_value import PolicyValueConfig
from training.storage.logs import LOG_FILE, read_log

ENDLESS = 10**9

# A job and its settings; it is stopped when its time is over.
LEARNERS: Mapping[str, tuple[Callable[..., Any], Any]] = {
    "follower": (
        train_follower.run,
        train_follower.TrainConfig(
            learn=DaggerConfig(episodes=ENDLESS, lanes=64, steps=8, stop_rule="off"),
            oracle=train_follower.OracleConfig(num_simulations=25, table_rows=2**11),
            evaluate_every=ENDLESS,
            evaluate_games=1,
            final_games=0,
        ),
    ),
    "alphaze": (
        train_alphaze.run,
        train_alphaze.TrainConfig(
            who=PolicyValueConfig("hex", "adh-5"),
            learn=AlphazeConfig(
                num_worlds=2, num_simulations=16, lanes=64, steps=8, epoch_samples=512, updates=8, epoch_updates=16
            ),
            epochs=ENDLESS // 512,  # jobs count searches and samples
            gate_games=0,
            rate_games=0,
            final_games=0,
        ),
    ),
    "q": (
        train_q.run,
        train_q.TrainConfig(
            who=PolicyValueConfig("hex", "hex-5", network="paper"),
            learn=MonteCarloConfig(lanes=64, steps=16, updates=16),
            samples=ENDLESS,
            evaluate_every=ENDLESS,
            evaluate_games=1,
            final_games=0,
        ),
    ),
    "expert": (
        train_expert.run,
        train_expert.TrainConfig(
            learn=ExpertConfig(source="demonstrations", samples=2048, lanes=64, steps=8, updates=8, batch_size=64),
            rounds=ENDLESS // 2048,
            rate_games=0,
        ),
    ),
    "reinforcement": (
        train_expert.run,
        train_expert.TrainConfig(
            who=PolicyValueConfig("hex", "hex-5", network="small"),  # in Pommerman this search alone compiles for minutes
            learn=ExpertConfig(
                source="search",
                player="path",
                search=dataclasses.replace(ExpertConfig().search, num_simulations=16),
                models=Models(model="still", root="true"),
                samples=128,  # learnt from after a call or two
                lanes=64,
                steps=8,
                updates=8,
                batch_size=64,
            ),
            rounds=ENDLESS // 128,
            rate_games=0,
        ),
    ),
    "guess": (
        train_guess.run,
        train_guess.TrainConfig(
            who=GuessConfig("stratego", "barrage"),
            learn=GuessingConfig(lanes=64, steps=8, updates=8, batch_size=64, buffer_size=4096),
            samples=ENDLESS,
            rate_every=ENDLESS,
        ),
    ),
    "clash": (
        train_q.run,
        train_q.TrainConfig(
            learn=MonteCarloConfig(lanes=32, steps=8, updates=4),
            samples=ENDLESS,
            evaluate_every=ENDLESS,
            evaluate_games=1,
            final_games=0,
        ),
    ),
}


def train(name: str, seconds: float, folder: Path | None = None) -> list[dict[str, Any]]:
    """Trains for so many seconds, or until the first iteration is done where that takes longer.

    Args:
      name: one of `LEARNERS`.
      seconds: after which the job is asked to stop, as by SIGTERM.
      folder: of the run; None: one that is removed.

    Returns:
      A row: iterations, seconds of the first (compiling included) and of later ones, and the last loss.

    Raises:
      ValueError: as the job does, such as for a loss that is no number.
    """
    if folder is None:
        with tempfile.TemporaryDirectory() as made:
            return train(name, seconds, Path(made))
    run, config = LEARNERS[name]
    started = time.monotonic()
    log = folder / LOG_FILE
    over = threading.Event()

    def end() -> None:
        while not over.wait(0.2):
            if time.monotonic() - started > seconds and log.exists() and log.stat().st_size:
                os.kill(os.getpid(), signal.SIGTERM)
                return

    watch = threading.Thread(target=end, daemon=True)
    watch.start()
    try:
        run(_in(config, folder), Console(file=io.StringIO()))
    finally:
        over.set()
        watch.join()
    lines = read_log(log)
    later = [second["seconds"] - first["seconds"] for first, second in itertools.pairwise(lines)]
    losses = [line["loss"] for line in lines if line.get("loss") is not None]
    return [
        {
            "iterations": len(lines),
            "first_seconds": round(lines[0]["seconds"], 3),
            "later_seconds": round(min(later), 4) if later else None,
            "losses": [round(loss, 5) for loss in (losses[:1] + losses[-1:])],
        }
    ]


def _in(config: Any, folder: Path) -> Any:
    return dataclasses.replace(config, output=str(folder), checkpoint_every=ENDLESS)
