"""The training job of searches against models: what it writes and logs, and that it goes on where it was stopped.

What all jobs share is tested in test_job.py. A game of signals takes the place of Pommerman.
"""

import dataclasses
import json
import signal

import jax
import numpy as np
import pytest
from rich.console import Console

from search.modelled import Models
from search.puct.settings import Settings
from tests.signals import NUM_SIGNALS, Signals
from tests.training.jobs.runs import as_json, log_of, result_of, run_here, send_signal_at, sharing, stepped, steps_of
from tests.training.signal_players import knowing, network
from training.jobs import train_expert
from training.jobs.flags import parse
from training.jobs.train_expert import ExpertJob, TrainConfig
from training.learn.expert_iteration import ExpertConfig, make_search
from training.storage.logs import read_log
from training.storage.weights import load_weights

META = {"kind": "policy_value", "game": "signals", "mode": "", "encoder": "signal", "network": "tiny", "version": 1}
# A round plays once; the first learns once, the second, of what both have played, twice.
TINY = TrainConfig(
    learn=ExpertConfig(
        source="demonstrations",
        player="knowing",
        search=Settings(num_simulations=4, dirichlet_fraction=0.25, dirichlet_alpha=0.2),
        models=Models(model="still", root="true"),
        samples=32,
        kept=2,
        epochs=1,
        lanes=8,
        steps=2,
        updates=2,
        batch_size=16,
        learning_rate=0.03,
    ),
    rounds=2,
    rate_games=4,
    seed=3,
    checkpoint_every=1000,
)
ENDS = (2, 5)  # iterations after which rounds are over


@pytest.fixture(scope="module", autouse=True)
def signals():
    """Jobs play the game of signals, against a player who always answers right."""
    with pytest.MonkeyPatch.context() as patch:
        who = network(Signals())._replace(meta=META)
        names = tuple(f"signal {number}" for number in range(NUM_SIGNALS))
        who = who._replace(encoder=who.encoder._replace(output_names=names))
        patch.setattr(train_expert.policy_value, "make", lambda config: who)
        patch.setattr(train_expert.agents, "make", lambda name, game: knowing(game))
        yield


def job_without_programs(config, console):
    """A job that compiles nothing to play and to learn: samples are counted, and gradient steps are noise."""
    job, learn = ExpertJob(config, console), config.learn

    def play(key, learner):
        done = {"samples": 2 * learn.lanes * learn.steps, "games": learn.lanes}
        progress = {name: np.int32(learner.progress[name] + number) for name, number in done.items()}
        told = {"samples": progress["samples"], "games": np.int32(learn.lanes), "mean_length": np.float32(2)}
        shares = np.full(NUM_SIGNALS, 1 / NUM_SIGNALS, np.float32)
        return dataclasses.replace(learner, progress=progress), told | {"action_shares": shares}

    def step(key, learner):
        updates = np.int32(learner.updates + learn.updates)
        told = dict.fromkeys(("loss", "value_error", "cross_entropy", "agreement"), np.float32(1 / updates))
        learner = dataclasses.replace(learner, params=stepped(learner.params, updates), updates=updates)
        return learner, told | {"updates": updates, "finite": np.bool_(True)}

    job.programs.play, job.programs.learn = play, step
    return job


@pytest.fixture(scope="module", params=[job_without_programs, pytest.param(ExpertJob, marks=pytest.mark.slow)])
def make(request):
    return sharing(request.param)


def settings(folder, **changes):
    return dataclasses.replace(TINY, output=str(folder), **changes)


def test_the_reported_games_are_those_of_the_search_that_is_learnt_from(tmp_path, monkeypatch):
    searches = []
    monkeypatch.setattr(
        train_expert, "make_search", lambda who, models, search: searches.append(search) or make_search(who, models, search)
    )
    ExpertJob(settings(tmp_path, final_games=2), Console(quiet=True))
    assert searches == [TINY.learn.search]


@pytest.fixture(scope="module")
def straight(make, tmp_path_factory):
    """The folder of a run that nothing has interrupted, and its result."""
    folder = tmp_path_factory.mktemp("straight") / "run"
    return folder, run_here(make, settings(folder), draws=True)[0]


def test_what_a_run_writes(straight):
    folder, result = straight
    weights = {f"round-{number:03d}.npz" for number in range(3)}
    assert {"settings.json", "checkpoints", "log.jsonl", "best.npz", "result.json", "learning.svg", *weights} <= {
        path.name for path in folder.iterdir()
    }
    assert json.loads((folder / "settings.json").read_text()) == as_json(settings(folder))
    assert (result["samples"], result["updates"]) == (64, 6)
    assert steps_of(folder) == list(ENDS)
    assert (folder / "best.npz").read_bytes() == (folder / "round-002.npz").read_bytes()
    files = [load_weights(folder / name) for name in sorted(weights)]
    assert [meta for _, meta in files] == [META | {"round": number} for number in range(3)]
    leaves = [np.concatenate([leaf.ravel() for leaf in jax.tree.leaves(params)]) for params, _ in files]
    assert not np.array_equal(leaves[0], leaves[1]) and not np.array_equal(leaves[1], leaves[2])


def test_what_a_run_logs(straight):
    """Games, and then the gradient steps that belong to them; at the end of a round the network plays alone."""
    log = read_log(straight[0] / "log.jsonl")
    assert ["loss" in line for line in log] == [False, True, False, True, True]
    assert ["samples_per_second" in line for line in log] == [True, False, True, False, False]
    assert [number for number, line in enumerate(log, 1) if "wins_alone" in line] == list(ENDS)
    assert [line["round"] for line in log] == [0, 1, 1, 1, 2]
    assert [line["samples"] for line in log if "samples" in line] == [32, 64]
    assert [sum(line["action_shares"]) for line in log if "samples" in line] == pytest.approx([1, 1])


def test_a_run_that_is_stopped_goes_on_as_if_nothing_had_happened(straight, make, monkeypatch, tmp_path):
    """After games, and between two calls of gradient steps."""
    stops = (1, 4)
    send_signal_at(monkeypatch, signal.SIGTERM, *stops)
    for iteration in stops:
        result, _ = run_here(make, settings(tmp_path, resume=iteration > 1))
        assert result is None and steps_of(tmp_path)[-1] == iteration
    run_here(make, settings(tmp_path, resume=True))
    for name in ("best.npz", *(f"round-{number:03d}.npz" for number in range(3))):
        assert (tmp_path / name).read_bytes() == (straight[0] / name).read_bytes(), name
    assert log_of(tmp_path) == log_of(straight[0]) and result_of(tmp_path) == result_of(straight[0])


def test_a_run_begins_with_the_weights_that_are_named(straight, make, monkeypatch, tmp_path):
    send_signal_at(monkeypatch, signal.SIGTERM, 1)
    run_here(make, settings(tmp_path, start=str(straight[0])))
    first, best = (load_weights(path)[0] for path in (tmp_path / "round-000.npz", straight[0] / "best.npz"))
    jax.tree.map(np.testing.assert_array_equal, first, best)
    monkeypatch.setitem(META, "network", "small")
    with pytest.raises(ValueError, match=r"best\.npz: network is 'tiny' there and 'small' is expected"):
        run_here(ExpertJob, settings(tmp_path / "other", start=str(straight[0])))


def test_a_run_goes_on_without_the_weights_that_it_began_with(straight, make, monkeypatch, tmp_path):
    """They are read where there is no checkpoint alone."""
    start = tmp_path / "start.npz"
    start.write_bytes((straight[0] / "best.npz").read_bytes())
    named = settings(tmp_path / "run", start=str(start))
    with monkeypatch.context() as patch:
        send_signal_at(patch, signal.SIGTERM, 1)
        run_here(make, named)
    start.unlink()
    _, printed = run_here(make, dataclasses.replace(named, resume=True))
    assert "going on after iteration 1" in printed and len(log_of(tmp_path / "run")) == ENDS[-1]
    with pytest.raises(OSError, match=r"start\.npz"):
        run_here(make, dataclasses.replace(named, resume=True, output=str(tmp_path / "other")))


@pytest.mark.slow
def test_its_own_search_is_learnt_from(tmp_path):
    """One seat searches, the other answers right and cannot be beaten."""
    learn = dataclasses.replace(TINY.learn, source="search", samples=16)
    result, _ = run_here(ExpertJob, settings(tmp_path, learn=learn, rounds=1, final_games=4))
    (line,) = [line for line in read_log(tmp_path / "log.jsonl") if "games" in line]
    assert result["samples"] == 16 and line["games"] == 8 and line["wins"] == 0
    assert result["wins"] == 0 and 0 <= result["draws"] <= 1


@pytest.mark.parametrize(("values", "message"), [
    ({"rounds": 0}, "rounds=0: must be >= 1"),
    ({"rate_games": -1}, "rate_games=-1: must be >= 0"),
    ({"final_games": -1}, "final_games=-1: must be >= 0"),
    ({"rate_games": 2**31}, "rate_games=2147483648: must be < 2147483648"),
])  # fmt: skip
def test_bad_settings(values, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        TrainConfig(**values)


def test_models_that_there_are_not_are_told_where_nobody_searches(tmp_path):
    """Those that nobody has named may be of no use in the game."""
    learn = dataclasses.replace(TINY.learn, models=Models(model="nosuch", root="true"))
    with pytest.raises(ValueError, match=r"^model='nosuch': must be one of "):
        ExpertJob(settings(tmp_path, learn=learn), Console())
    ExpertJob(settings(tmp_path, learn=dataclasses.replace(TINY.learn, models=ExpertConfig.models)), Console())


def test_a_search_needs_values(monkeypatch, tmp_path):
    """Demonstrations alone can be learnt by a network without."""
    plain = train_expert.policy_value.make(None)
    without = plain._replace(network=plain.network._replace(has_value=False))
    monkeypatch.setattr(train_expert.policy_value, "make", lambda config: without)
    searched = dataclasses.replace(TINY.learn, source="search")
    for learn, games in ((searched, 0), (TINY.learn, 4)):
        with pytest.raises(ValueError, match=r"^who: its network 'tiny' gives no values of states, which its search needs$"):
            ExpertJob(settings(tmp_path, learn=learn, final_games=games), Console(quiet=True))
    ExpertJob(settings(tmp_path, final_games=0), Console(quiet=True))


def test_the_help_tells_rounds_from_iterations(capsys):
    with pytest.raises(SystemExit):
        parse(TrainConfig, ["--help"])
    printed = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "per round" in printed and "newest rounds" in printed and "each round goes over" in printed
    assert not any(words in printed for words in ("per iteration", "newest iterations", "each iteration"))
