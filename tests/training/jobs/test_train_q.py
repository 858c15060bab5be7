"""The training job of Q-MC: what it writes, and that it goes on where it was stopped.

What all jobs share is tested in test_job.py.
"""

import dataclasses
import signal
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

from jaxgames import runtime
from tests.training.jobs.runs import log_of, result_of, run_here, send_signal_at, sharing
from training.jobs.job import Job
from training.jobs.rated import State
from training.jobs.train_q import QJob, TrainConfig
from training.learn.learner import Learner
from training.learn.monte_carlo import MonteCarloConfig
from training.models.policy_value import PolicyValueConfig
from training.play import agents
from training.storage.logs import read_log
from training.storage.weights import load_weights

TINY = TrainConfig(
    who=PolicyValueConfig("hex", "hex-3", network="tiny"),
    learn=MonteCarloConfig(lanes=4, steps=4, updates=1, batch_size=8, buffer_size=64),
    samples=128,
    evaluate_every=64,
    evaluate_games=2,
    final_games=2,
    seed=3,
    checkpoint_every=1000,
)


@pytest.fixture(scope="module")
def make():
    return sharing(QJob)


def settings(folder, **changes):
    return dataclasses.replace(TINY, output=str(folder), **changes)


@pytest.fixture(scope="module")
def straight(make, tmp_path_factory):
    """The folder of a run that nothing has interrupted."""
    folder = tmp_path_factory.mktemp("straight") / "run"
    run_here(make, settings(folder), draws=True)
    return folder


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lanes": 10**8}, r"^learn\.lanes=100000000: the states of the run need .* take at most learn\.lanes="),
        ({"buffer_size": 10**8}, r"^learn\.buffer_size=100000000: the run needs .* take less(, or at most learn\.lanes=\d+)?$"),
        (
            {"buffer_size": 2**16, "batch_size": 2**16},
            r"^learn\.batch_size=65536: the run needs .* take less(, or at most learn\.lanes=\d+)?$",
        ),
    ],
)
def test_what_does_not_fit_into_memory_is_refused(changes, message, monkeypatch):
    monkeypatch.setattr(runtime, "free_memory", lambda: 10**7)
    learn = dataclasses.replace(TINY.learn, **{"buffer_size": 10**9} | changes)
    with pytest.raises(ValueError, match=message):
        QJob(dataclasses.replace(TINY, learn=learn), Console(quiet=True))


@pytest.mark.parametrize("name", ["evaluate_games", "final_games"])
def test_more_games_than_memory_has_room_for_are_refused_before_anything_is_learnt(name, monkeypatch):
    monkeypatch.setattr(runtime, "free_memory", lambda: 10**10)
    with pytest.raises(ValueError, match=rf"^{name}=2000000000: the run needs 28\.\d GB and 10\.0 GB are free; take less$"):
        QJob(dataclasses.replace(TINY, **{name: 2 * 10**9}), Console(quiet=True))
    with pytest.raises(ValueError, match=rf"^{name}=3000000000: must be < 2147483648$"):
        dataclasses.replace(TINY, **{name: 3 * 10**9})


def test_the_first_of_the_best_means_is_rated_and_kept(tmp_path):
    """Without games and networks: evaluations that win one game, none, one again, two and two."""
    job, wins, asked = object.__new__(QJob), iter((1, 0, 1, 2, 2, 1)), []
    Job.__init__(job, settings(tmp_path, samples=320), Console(quiet=True))
    job.meta, job.total, job.unit = {"game": "hex"}, 320, "samples"

    def games(params, which, num_games):
        asked.append(float(params["mean"]))
        return SimpleNamespace(outcomes=np.where(np.arange(num_games) < next(wins), 1, -1)[:, None] * [1, -1])

    job.games = games
    state = State(None, {"mean": np.float32(0)}, np.int32(-1), np.int32(0))
    kept = []
    for samples in (32, 64, 128, 192, 288, 320):
        last, mean = {"mean": np.float32(-samples)}, {"mean": np.float32(samples)}
        state.learner = Learner(last, None, mean, np.int32(0), {"samples": np.int32(samples)}, None, None)
        if job.rate(state):
            params, meta = load_weights(tmp_path / "best.npz")
            assert params["mean"] == state.best["mean"] == meta["samples"]
            kept.append(meta["samples"])
    assert asked == [64, 128, 192, 288, 320] and kept == [64, 64, 64, 288, 288]
    result = job.finish(state)
    assert asked[5:] == [288] and (result["games"]["wins"], result["games"]["games"]) == (1, 2)
    assert load_weights(tmp_path / "final.npz")[0]["mean"] == 320


@pytest.mark.slow
def test_what_a_run_writes(straight):
    assert {"best.npz", "final.npz", "result.json", "learning.svg"} <= {path.name for path in straight.iterdir()}
    rated = [line["samples"] for line in read_log(straight / "log.jsonl") if "wins" in line]
    assert rated == [64, 128]
    game = agents.jaxgames.make("hex", "hex-3")
    assert agents.make(f"follower:{straight / 'best.npz'}", game).params is not None


@pytest.mark.slow
def test_a_run_that_is_stopped_goes_on_as_if_nothing_had_happened(make, straight, tmp_path, monkeypatch):
    send_signal_at(monkeypatch, signal.SIGTERM, 4)
    result, _ = run_here(make, settings(tmp_path))
    assert result is None
    monkeypatch.undo()
    run_here(make, settings(tmp_path, resume=True))
    assert result_of(tmp_path) == result_of(straight)
    assert log_of(tmp_path) == log_of(straight)
    assert (tmp_path / "best.npz").read_bytes() == (straight / "best.npz").read_bytes()
