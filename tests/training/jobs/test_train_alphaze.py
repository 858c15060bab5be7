"""The training job of AlphaZe**: what it writes and logs, that it goes on where it was stopped, what it refuses.

What all jobs share is tested in test_job.py.
"""

import copy
import dataclasses
import itertools
import json
import signal

import jax
import numpy as np
import pytest
from rich.console import Console

import jaxgames
from tests.training import tiny_alphaze
from tests.training.jobs.runs import as_json, contents, log_of, result_of, run_here, send_signal_at, sharing, stepped, steps_of
from training.jobs import train_alphaze
from training.jobs.command_line import run_main
from training.jobs.train_alphaze import AlphazeJob, TrainConfig
from training.learn.alphaze import AlphazeConfig
from training.models.networks import presets
from training.models.policy_value import PolicyValueConfig
from training.play import agents, elo, tournament
from training.play.cross_table import CrossTable
from training.storage.logs import read_log
from training.storage.weights import load_weights

# Four iterations an epoch: two of games, with TrueSight in the first epoch, and two of gradient steps.
TINY = TrainConfig(
    who=PolicyValueConfig(mode="adh-3", network="compact"),
    learn=AlphazeConfig(
        method="pimc_value",
        true_sight_epochs=1,
        num_worlds=2,
        num_simulations=4,
        lanes=4,
        steps=10,
        epoch_samples=80,
        buffer_size=128,
        epoch_updates=4,
        updates=2,
        batch_size=16,
    ),
    epochs=3,
    seed=3,
    gate_games=6,
    rate_games=4,
    final_games=4,
    final_entries=1,
    checkpoint_every=1000,
)
EPOCH = 4
ITERATIONS = EPOCH * TINY.epochs


# --- runs --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", autouse=True)
def gates():
    """Matches have results drawn from their keys, also those of the tournament in the end; networks are narrow."""

    def points(key, num_games):
        return np.random.default_rng(np.asarray(jax.random.key_data(key))).integers(0, 3, num_games) / 2

    def play(game, pair, key, num_games):
        assert pair[0].params is not pair[1].params
        assert num_games == (TINY.rate_games if pair[1].name == "random" else TINY.gate_games)
        return points(key, num_games)

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(presets.PRESETS, "compact", tiny_alphaze.NETWORK)
        patch.setattr(train_alphaze, "play_pair", play)
        patch.setattr(tournament, "play_pair", lambda game, pair, key, num_games, batch_size: points(key, num_games))
        yield


def job_with_one_game(config, console):
    """A job in which all games are played by the program of those with TrueSight, so that only that is compiled."""
    job = AlphazeJob(config, console)
    job.programs.play = dict.fromkeys(job.programs.play, job.programs.play["true_sight"])
    return job


def job_without_programs(config, console):
    """A job that compiles nothing to play and to learn: games are counted, and gradient steps are noise."""
    job, learn = AlphazeJob(config, console), config.learn

    def play(key, params, learner):
        done = {"samples": learn.lanes * learn.steps, "games": 5}
        progress = {name: np.int32(learner.progress[name] + number) for name, number in done.items()}
        told = {"samples": progress["samples"], "games": np.int32(5), "mean_length": np.float32(8)}
        return dataclasses.replace(learner, progress=progress), told

    def step(key, learner):
        updates = np.int32(learner.updates + learn.updates)
        told = dict.fromkeys(("loss", "value_error", "cross_entropy", "agreement"), np.float32(1 / updates))
        learner = dataclasses.replace(learner, params=stepped(learner.params, updates), updates=updates)
        return learner, told | {"updates": updates, "finite": np.bool_(True)}

    job.programs.play, job.programs.learn = dict.fromkeys(job.programs.play, play), step
    return job


@pytest.fixture(scope="module", params=[job_without_programs, pytest.param(job_with_one_game, marks=pytest.mark.slow)])
def make(request):
    return sharing(request.param)


def settings(folder, **changes):
    return dataclasses.replace(TINY, output=str(folder), **changes)


@pytest.fixture(scope="module")
def straight(make, tmp_path_factory):
    """The folder of a run that nothing has interrupted, its result, and the keys of the matches that were played."""
    folder, keys = tmp_path_factory.mktemp("straight") / "run", []

    def noted(play):
        def call(game, players, key, *arguments, **options):
            keys.append(tuple(jax.random.key_data(key).tolist()))
            return play(game, players, key, *arguments, **options)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in ("play_pair", "round_robin"):
            patch.setattr(train_alphaze, name, noted(getattr(train_alphaze, name)))
        result, _ = run_here(make, settings(folder), draws=True)
    return folder, result, keys


def assert_same(folder, expected):
    """Two runs have ended with the same bits."""
    for name in ("best.npz", *(f"epoch-{epoch:03d}.npz" for epoch in range(TINY.epochs + 1))):
        assert (folder / name).read_bytes() == (expected / name).read_bytes(), name
    assert log_of(folder) == log_of(expected)
    assert result_of(folder) == result_of(expected)


# --- a whole run -------------------------------------------------------------------------------------------------------


def test_what_a_run_writes(straight):
    folder, result, keys = straight
    files = {"settings.json", "checkpoints", "log.jsonl", "best.npz", "result.json", "learning.svg"}
    assert files | {f"epoch-{epoch:03d}.npz" for epoch in range(TINY.epochs + 1)} <= {path.name for path in folder.iterdir()}
    assert json.loads((folder / "settings.json").read_text()) == as_json(settings(folder))
    assert (result["searches"], result["updates"]) == (80 * TINY.epochs, 4 * TINY.epochs)
    assert result["tournament"]["names"] == ["random", "epoch 3"]
    assert np.array(result["tournament"]["games"]).tolist() == [[0, 4], [4, 0]]
    assert steps_of(folder) == [2 * EPOCH, ITERATIONS]  # after each epoch
    assert len(keys) == len(set(keys)) == 2 * TINY.epochs + 1  # no match is played on the boards of another


def test_what_a_run_logs(straight):
    """Games and gradient steps by turns; at the end of each epoch a match, and the score against a random player."""
    folder, result, _ = straight
    log = read_log(folder / "log.jsonl")
    assert [line["iteration"] for line in log] == list(range(1, ITERATIONS + 1))
    assert [line["epoch"] for line in log] == [number // EPOCH for number in range(1, ITERATIONS + 1)]
    for number, line in enumerate(log):
        assert ("games" in line) == (number % EPOCH < 2) != ("loss" in line)
        assert ("gate_score" in line) == ("score_against_random" in line) == (number % EPOCH == EPOCH - 1)
        assert line["seconds"] > 0 and (line.get("searches_per_second") or 1) > 0
    assert log[0]["searches_per_second"] is None and log[1]["searches_per_second"] > 0, "the first was compiled"
    rating = 0.0
    for line in log[EPOCH - 1 :: EPOCH]:
        assert line["replaced"] == (line["gate_score"] > 0.5) and line["gate_score"] * 6 % 0.5 == 0
        assert 0 <= line["score_against_random"] <= 1
        assert (line["rating"] > rating) == bool(line["replaced"])
        rating = line["rating"]
    assert result["rating"] == rating
    games = sum(line.get("games", 0) for line in log)
    assert result["games"] == games > 0


def test_only_a_network_that_makes_more_than_half_of_the_points_takes_over(make, tmp_path, monkeypatch):
    """Matches with results made up: half of the points, more, and less; and who meets in the end."""
    gates, met = iter([[0, 1, 0, 1, 0.5, 0.5], [1, 1, 0, 1, 0, 1], [0] * 6]), []

    def matches(game, pair, key, num_games):
        assert pair[0] is not pair[1]
        return np.array(next(gates) if num_games == TINY.gate_games else [1, 1, 1, 0], float)

    def everybody(game, players, key, num_games):
        met.append((list(players), num_games))
        return CrossTable(("one", "other"), np.array([[0, 1], [1, 0]]), np.array([[0, 2], [2, 0]]), *[np.zeros((2, 2), int)] * 2)

    monkeypatch.setattr(train_alphaze, "play_pair", matches)
    monkeypatch.setattr(train_alphaze, "round_robin", everybody)
    run_here(make, settings(tmp_path, final_entries=2))
    assert met == [(["random", "epoch 2", "epoch 3"], 4)]
    ends = log_of(tmp_path)[EPOCH - 1 :: EPOCH]
    assert [line["gate_score"] for line in ends] == pytest.approx([0.5, 4 / 6, 0])
    assert [line["replaced"] for line in ends] == [0, 1, 0]
    assert [line["score_against_random"] for line in ends] == [0.75] * 3
    rating = other = 0.0
    for score in (1, 1, 1, 0, 0, 1):  # the first game in the first seat, the first in the second, and so on
        rating, other = elo.updated(rating, other, score)
    assert [line["rating"] for line in ends] == pytest.approx([0, rating, rating], rel=1e-6)
    files = [load_weights(tmp_path / f"epoch-{epoch:03d}.npz") for epoch in range(TINY.epochs + 1)]
    assert [meta["epoch"] for _, meta in files] == [0, 1, 2, 3]
    kernels = [params["policy"]["kernel"] for params, _ in files]
    same = [np.array_equal(one, other) for one, other in itertools.pairwise(kernels)]
    assert same == [True, False, True]
    assert (tmp_path / "best.npz").read_bytes() == (tmp_path / "epoch-003.npz").read_bytes()


def test_the_open_game_comes_first_and_then_new_games_are_begun(make, tmp_path):
    """Then TrueSight, then fair games; one program stands in for all."""
    called = []

    def noted(name, program):
        def call(*arguments):
            called.append(name)
            return program(*arguments)

        return call

    def watched(config, console):
        job = make(config, console)
        job.programs = copy.copy(job.programs)
        job.programs.config = config.learn
        job.programs.play = {kind: noted(kind, program) for kind, program in job.programs.play.items()}
        job.programs.restart = noted("restart", job.programs.restart)
        return job

    learn = dataclasses.replace(TINY.learn, pretrain_epochs=1)
    result, _ = run_here(watched, settings(tmp_path, learn=learn, final_games=0))
    assert called == ["open", "open", "restart", "true_sight", "true_sight", "fair", "fair"]
    ended = sum(line.get("games", 0) for line in log_of(tmp_path))
    assert result["games"] == ended > 0  # without those given up


def test_the_weights_of_a_run_play(straight):
    folder = straight[0]
    for spec in (f"network:weights={folder}", f"pimc_value:weights={folder / 'best.npz'},num_worlds=2"):
        agent = agents.make(spec, jaxgames.make("hex", "adh-3"))
        assert agent.name == spec and not agent.sees_state
        jax.tree.map(np.testing.assert_array_equal, agent.params, load_weights(folder / "best.npz", agent.params)[0])
    with pytest.raises(ValueError) as error:  # noqa: PT011
        agents.make(f"pc_pimc:weights={folder}", jaxgames.make("hex", "adh-5"))
    assert (
        str(error.value) == f"weights {folder / 'best.npz'}: of mode 'adh-3' with planes 3 x 3 x 8, and here they are 5 x 5 x 8"
    )


def test_a_run_begins_with_given_weights(straight, tmp_path):
    folder, *_ = straight
    job = AlphazeJob(settings(tmp_path, start=str(folder)), Console())
    begun = job._first_params()
    given, _ = load_weights(folder / "best.npz", begun)
    assert jax.tree.all(jax.tree.map(np.array_equal, begun, given))
    with pytest.raises(ValueError, match="network is 'compact' there and 'paper_value' is expected"):
        AlphazeJob(settings(tmp_path, start=str(folder), who=PolicyValueConfig(mode="adh-3", network="paper_value")), Console())


def test_a_run_goes_on_without_the_weights_that_it_began_with(tmp_path):
    config = settings(tmp_path, start=str(tmp_path / "gone.npz"), resume=True)
    with pytest.raises(OSError, match=r"gone\.npz"):
        AlphazeJob(config, Console())
    (tmp_path / "checkpoints" / "4").mkdir(parents=True)
    drawn = AlphazeJob(dataclasses.replace(config, start=""), Console())._first_params()
    assert jax.tree.all(jax.tree.map(np.array_equal, AlphazeJob(config, Console())._first_params(), drawn))


def test_a_run_that_is_stopped_goes_on_as_if_nothing_had_happened(straight, make, monkeypatch, tmp_path):
    """Among games, between two gradient steps, and at the end of an epoch; at first it was to take fewer epochs."""
    stops = (1, EPOCH + 3, 2 * EPOCH)
    send_signal_at(monkeypatch, signal.SIGTERM, *stops)
    for iteration in stops:
        epochs = 2 if iteration < 2 * EPOCH else 3
        result, _ = run_here(make, settings(tmp_path, resume=iteration > 1, epochs=epochs))
        assert result is None and steps_of(tmp_path)[-1] == iteration
        assert (tmp_path / "best.npz").exists() == (iteration >= EPOCH)
    run_here(make, settings(tmp_path, resume=True))
    assert_same(tmp_path, straight[0])


# --- what is refused ---------------------------------------------------------------------------------------------------


def test_epochs_that_are_done_are_not_undone(straight, make):
    folder = straight[0]
    before = contents(folder)
    with pytest.raises(ValueError, match=r"^epochs=2: the run in .* has already done 3; must be >= 3$"):
        run_here(make, settings(folder, resume=True, epochs=2))
    assert contents(folder) == before


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"epochs": 0}, "epochs=0: must be >= 1"),
        ({"keep": 0}, "keep=0: must be >= 1"),
        ({"final_entries": 0}, "final_entries=0: must be >= 1"),
        ({"rate_games": -1}, "rate_games=-1: must be >= 0"),
        ({"gate_temperature": -0.5}, "gate_temperature=-0.5: must be >= 0"),
        ({"gate_games": 5}, "gate_games=5: must be even, because colours are swapped half-way"),
        ({"gate_games": 2**31}, "gate_games=2147483648: must be < 2147483648"),
        ({"final_games": 1}, "final_games=1: must be even, because colours are swapped half-way"),
    ],
)
def test_bad_settings(values, message):
    with pytest.raises(ValueError) as error:  # noqa: PT011
        TrainConfig(**values)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--learn.method", "guess"], "method='guess': must be one of pc_pimc, medoid, pimc, pimc_value"),
        (["--who.mode", "adh-1"], "board_size=1: must be in 2..19"),
        (
            ["--who.game", "pommerman", "--who.mode", "ffa"],
            "game='pommerman': all its players move at once; PUCT needs one who is to move",
        ),
        (
            ["--who.network", "vit"],
            "network='vit': must be one of paper, paper_value, compact, residual, tiny, small, ",
        ),
        (["--who.network", "paper"], "who: its network 'paper' gives no values of states, which self-play needs"),
        (["--learn.learning-rate", "nan"], "learning_rate=nan: must be finite and > 0"),
        (["--gate-games", "many"], "--gate-games"),
        (
            ["--who.mode", "adh-19", "--who.network", "compact", "--learn.num-simulations", "2000000"],
            "error: learn.num_worlds=6 and learn.num_simulations=2000000: the run needs",
        ),
        (
            ["--who.mode", "adh-3", "--who.network", "compact", "--learn.num-worlds", "2000000000"],
            "error: learn.num_worlds=2000000000 and learn.num_simulations=32: the run needs",
        ),
        (
            ["--who.mode", "hex-19", "--who.network", "compact", "--learn.num-simulations", "2000000"],
            "error: learn.num_simulations=2000000: the run needs",
        ),
        (["--learn.num-simulations", "3000000000"], "num_simulations=3000000000: must be < 2147483648"),
        (["--final-games", "2000000000"], "error: final_games=2000000000: the run needs"),
        (["--learn.buffer-size", "100000000000"], "error: learn.buffer_size=100000000000: the run needs"),
        (["--epochs", "1000000000"], "error: 16384000000000 searches to do: must be <= "),
    ],
)
def test_bad_flags(arguments, named, tmp_path, capsys):
    """One line on stderr, and nothing is written."""
    with pytest.raises(SystemExit) as stop:
        run_main(train_alphaze.run, TrainConfig, [*arguments, "--output", str(tmp_path / "run")])
    error = capsys.readouterr().err
    assert stop.value.code == 2 and named in error and error.count("\n") == 1
    assert not (tmp_path / "run").exists()
