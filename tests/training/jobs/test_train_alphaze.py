"""The training job of AlphaZe**: what it writes, what it refuses, and that nothing is lost when it is stopped."""

import copy
import dataclasses
import importlib.util
import itertools
import json
import random
import signal

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from tests.training.jobs.runs import kill_at_random, log_without, newest, result_of, run_here, send_signal_at, shared_jobs
from training.jobs import job, train_alphaze
from training.jobs.command_line import run_main
from training.jobs.train_alphaze import TrainConfig
from training.learn.alphaze import AlphazeConfig
from training.models.policy_value import PolicyValueConfig
from training.play import agents, elo
from training.play.tournament import CrossTable
from training.storage.logs import read_log
from training.storage.weights import load_weights

# Four iterations an epoch: two of games, with TrueSight in the first epoch, and two of gradient steps.
TINY = TrainConfig(
    who=PolicyValueConfig(mode="adh-3", network="tiny"),
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
    checkpoint_every=3,
)
EPOCH = 4
ITERATIONS = EPOCH * TINY.epochs
TIMES = ("seconds", "searches_per_second")


# --- runs --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", autouse=True)
def jobs():
    """Jobs of equal settings but for the folder share what they have compiled."""
    yield from shared_jobs(train_alphaze, lambda config: (config.who, config.learn, config.gate_temperature))


def settings(folder, **changes):
    return dataclasses.replace(TINY, output=str(folder), **changes)


def run(folder, **changes):
    """Runs in this process; returns the result, and what was printed."""
    return run_here(train_alphaze, settings(folder, **changes))


@pytest.fixture(scope="module")
def straight(jobs, tmp_path_factory):
    """The folder of a run that nothing has interrupted, and its result."""
    folder = tmp_path_factory.mktemp("straight") / "new" / "folder"
    return folder, run(folder)[0]


def log_of(folder):
    """The log without times."""
    return log_without(folder, TIMES)


def assert_same(folder, expected):
    """Two runs have ended with the same bits."""
    for name in ("best.npz", *(f"epoch-{epoch:03d}.npz" for epoch in range(TINY.epochs + 1))):
        assert (folder / name).read_bytes() == (expected / name).read_bytes(), name
    assert log_of(folder) == log_of(expected)
    assert result_of(folder) == result_of(expected)


# --- a whole run -------------------------------------------------------------------------------------------------------


def test_what_a_run_writes(straight):
    folder, result = straight
    files = {"settings.json", "checkpoints", "log.jsonl", "best.npz", "result.json", "learning.svg"}
    files |= {f"epoch-{epoch:03d}.npz" for epoch in range(TINY.epochs + 1)}
    files |= {"events"} if importlib.util.find_spec("tensorboardX") else set()
    assert {path.name for path in folder.iterdir()} == files
    assert json.loads((folder / "settings.json").read_text()) == json.loads(json.dumps(dataclasses.asdict(settings(folder))))
    assert json.loads((folder / "result.json").read_text()) == json.loads(json.dumps(result))
    assert (result["searches"], result["updates"]) == (80 * TINY.epochs, 4 * TINY.epochs)
    assert result["tournament"]["names"] == ["random", "epoch 3"]
    assert np.array(result["tournament"]["games"]).tolist() == [[0, 4], [4, 0]]
    assert "<svg" in (folder / "learning.svg").read_text()
    assert newest(folder) == ITERATIONS and len(list((folder / "checkpoints").iterdir())) == TINY.keep


def test_what_a_run_logs(straight):
    """Games and gradient steps by turns; at the end of each epoch a match, and the score against a random player."""
    folder, result = straight
    log = read_log(folder / "log.jsonl")
    assert [line["iteration"] for line in log] == list(range(1, ITERATIONS + 1))
    assert [line["epoch"] for line in log] == [number // EPOCH for number in range(1, ITERATIONS + 1)]
    for number, line in enumerate(log):
        assert ("games" in line) == (number % EPOCH < 2) != ("loss" in line)
        assert ("gate_score" in line) == ("score_against_random" in line) == (number % EPOCH == EPOCH - 1)
        assert line["seconds"] > 0 and line.get("searches_per_second", 1) > 0
    rating = 0.0
    for line in log[EPOCH - 1 :: EPOCH]:
        assert line["replaced"] == (line["gate_score"] > 0.5) and line["gate_score"] * 6 % 0.5 == 0
        assert 0 <= line["score_against_random"] <= 1
        assert (line["rating"] > rating) == bool(line["replaced"])
        rating = line["rating"]
    assert result["rating"] == rating
    games = sum(line.get("games", 0) for line in log)
    assert result["games"] == games > 0


def test_only_a_network_that_makes_more_than_half_of_the_points_takes_over(tmp_path, monkeypatch):
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
    run(tmp_path, final_entries=2)
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
    kernels = [params["stem"]["kernel"] for params, _ in files]
    same = [np.array_equal(one, other) for one, other in itertools.pairwise(kernels)]
    assert same == [True, False, True]
    assert (tmp_path / "best.npz").read_bytes() == (tmp_path / "epoch-003.npz").read_bytes()


def test_the_open_game_comes_first_and_then_new_games_are_begun(jobs, monkeypatch, tmp_path):
    """Then TrueSight, then fair games; the program of TrueSight stands in for that of the open game."""
    called = []

    def noted(name, program):
        def call(*arguments):
            called.append(name)
            return program(*arguments)

        return call

    class Watched(jobs):
        def __init__(self, config, console):
            super().__init__(dataclasses.replace(config, learn=TINY.learn), console)
            self.config, self.programs = config, copy.copy(self.programs)
            play = self.programs.play | {"open": self.programs.play["true_sight"]}
            self.programs.config = config.learn
            self.programs.play = {kind: noted(kind, program) for kind, program in play.items()}
            self.programs.restart = noted("restart", self.programs.restart)

    monkeypatch.setattr(train_alphaze, "_Job", Watched)
    result, _ = run(tmp_path, learn=dataclasses.replace(TINY.learn, pretrain_epochs=1), final_games=0)
    assert called == ["open", "open", "restart", "true_sight", "true_sight", "fair", "fair"]
    ended = sum(line.get("games", 0) for line in log_of(tmp_path))
    assert result["games"] == ended > 0  # without those given up


def test_the_weights_of_a_run_play(straight):
    folder, _ = straight
    for spec in (f"network:weights={folder}", f"pimc_value:weights={folder / 'best.npz'},num_worlds=2"):
        agent = agents.make(spec, jaxgames.make("hex", "adh-3"))
        assert agent.name == spec and not agent.sees_state
        jax.tree.map(np.testing.assert_array_equal, agent.params, load_weights(folder / "best.npz", agent.params)[0])
    with pytest.raises(ValueError) as error:  # noqa: PT011
        agents.make(f"pc_pimc:weights={folder}", jaxgames.make("hex", "adh-5"))
    assert str(error.value) == f"weights {folder / 'best.npz'}: of a board with 3 x 3 cells, and this one has 5 x 5"


# --- going on ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def signal_at(monkeypatch):
    """`signal_at(*iterations)`: this process gets SIGTERM while these iterations are logged."""

    def arrange(*iterations):
        send_signal_at(monkeypatch, train_alphaze, signal.SIGTERM, iterations)

    return arrange


def test_a_run_that_is_asked_to_stop_goes_on_as_if_nothing_had_happened(straight, signal_at, tmp_path):
    """Among games, between two gradient steps, and at the end of an epoch."""
    stops = (1, EPOCH + 3, 2 * EPOCH)
    signal_at(*stops)
    for iteration in stops:
        result, printed = run(tmp_path, resume=iteration > 1)
        assert result is None and f"stopped after iteration {iteration}, which is saved; go on with --resume" in printed
        assert newest(tmp_path) == iteration == len(log_of(tmp_path))
        assert (tmp_path / "best.npz").exists() == (iteration >= EPOCH) and not (tmp_path / "result.json").exists()
    result, printed = run(tmp_path, resume=True)
    assert f"going on after iteration {2 * EPOCH}, in epoch 3" in printed and result["updates"] == 4 * TINY.epochs
    assert_same(tmp_path, straight[0])


def test_a_finished_run_may_be_finished_again_or_go_on(straight, tmp_path):
    run(tmp_path, epochs=1, final_games=0)
    assert "tournament" not in json.loads((tmp_path / "result.json").read_text())
    run(tmp_path, resume=True)
    assert_same(tmp_path, straight[0])


def test_another_seed_is_another_run(straight, tmp_path):
    run(tmp_path, seed=4, epochs=1, final_games=0)
    assert log_of(tmp_path) != log_of(straight[0])[:EPOCH]
    assert (tmp_path / "epoch-000.npz").read_bytes() != (straight[0] / "epoch-000.npz").read_bytes()


# --- what is refused ---------------------------------------------------------------------------------------------------


def contents(folder):
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seed": 4}, "seed=4: the run in {folder} has 3; give that, or choose another output"),
        ({"gate_games": 8}, "gate_games=8: the run in {folder} has 6; give that, or choose another output"),
        (
            {"learn": dataclasses.replace(TINY.learn, learning_rate=0.5)},
            "learn.learning_rate=0.5: the run in {folder} has 0.002; give that, or choose another output",
        ),
    ],
)
def test_other_settings_do_not_go_on(changes, message, straight):
    folder, _ = straight
    before = contents(folder)
    with pytest.raises(ValueError) as error:  # noqa: PT011
        run(folder, resume=True, **changes)
    assert str(error.value) == message.format(folder=folder)
    assert contents(folder) == before


def test_a_folder_that_holds_a_run_is_refused(straight):
    folder, _ = straight
    before = contents(folder)
    with pytest.raises(ValueError) as error:  # noqa: PT011
        run(folder)
    assert str(error.value) == f"output={str(folder)!r}: holds a run; go on with --resume, or choose another folder"
    assert contents(folder) == before


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"epochs": 0}, "epochs=0: must be >= 1"),
        ({"checkpoint_every": 0}, "checkpoint_every=0: must be >= 1"),
        ({"keep": 0}, "keep=0: must be >= 1"),
        ({"final_entries": 0}, "final_entries=0: must be >= 1"),
        ({"rate_games": -1}, "rate_games=-1: must be >= 0"),
        ({"gate_temperature": -0.5}, "gate_temperature=-0.5: must be >= 0"),
        ({"gate_games": 5}, "gate_games=5: must be even, because colours are swapped half-way"),
        ({"final_games": 1}, "final_games=1: must be even, because colours are swapped half-way"),
        ({"seed": 2**32}, "seed=4294967296: must be in 0..4294967295"),
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
        (["--who.game", "pommerman", "--who.mode", "ffa"], "game='pommerman': has no input_planes"),
        (["--who.network", "vit"], "network='vit': must be one of tiny, small, medium, rise, rise_bf16"),
        (["--learn.learning-rate", "nan"], "learning_rate=nan: must be > 0"),
        (["--gate-games", "many"], "--gate-games"),
        (
            ["--who.mode", "adh-19", "--learn.num-simulations", "2000000"],
            "a smaller search than learn.num_simulations=2000000",
        ),
        (["--learn.num-simulations", "3000000000"], "num_simulations=3000000000: must be < 2147483648"),
        (["--learn.buffer-size", "100000000000"], "take a smaller learn.buffer_size than 100000000000"),
    ],
)
def test_bad_flags(arguments, named, tmp_path, capsys):
    """One line on stderr, and nothing is written."""
    with pytest.raises(SystemExit) as stop:
        run_main(train_alphaze.run, TrainConfig, [*arguments, "--output", str(tmp_path / "run")])
    error = capsys.readouterr().err
    assert stop.value.code == 2 and named in error and error.count("\n") == 1
    assert not (tmp_path / "run").exists()


# --- what goes wrong ---------------------------------------------------------------------------------------------------


@pytest.fixture
def spoil(jobs, monkeypatch):
    """`spoil(number, how)`: `how(learner)` is given to this call of the learning program in place of the learner."""

    def arrange(number, how):
        class Spoilt(jobs):
            def __init__(self, config, console):
                super().__init__(config, console)
                self.programs, self.calls = copy.copy(self.programs), 0
                learn = self.programs.learn

                def one(key, learner):
                    self.calls += 1
                    return learn(key, how(learner) if self.calls == number else learner)

                self.programs.learn = one

        monkeypatch.setattr(train_alphaze, "_Job", Spoilt)

    return arrange


def test_a_loss_that_is_no_number_stops_the_run(straight, spoil, tmp_path):
    """With the iteration named; what was saved before is whole, and with the cause gone the run goes on from there."""

    def without_numbers(learner):
        return dataclasses.replace(learner, params=jax.tree.map(lambda leaf: leaf * jnp.nan, learner.params))

    spoil(4, without_numbers)
    with pytest.raises(ValueError) as error:  # noqa: PT011
        run(tmp_path)
    told = "iteration 8: the loss or its gradient is not a number; iteration 6 is saved; take a smaller learning_rate than 0.002"
    assert str(error.value) == told
    assert newest(tmp_path) == 6 and len(log_of(tmp_path)) == 7
    spoil(0, without_numbers)
    run(tmp_path, resume=True)
    assert_same(tmp_path, straight[0])


def test_a_device_that_fails(straight, spoil, tmp_path):
    def fail(learner):
        raise jax.errors.JaxRuntimeError("INTERNAL: the device is gone\nand a long trace")

    spoil(3, fail)
    with pytest.raises(ValueError) as error:  # noqa: PT011
        run(tmp_path)
    assert str(error.value) == (
        "the device failed in iteration 7 (INTERNAL: the device is gone): go on with --resume, iteration 6 is saved"
    )
    spoil(0, fail)
    run(tmp_path, resume=True)
    assert_same(tmp_path, straight[0])


def test_a_device_that_fails_in_a_match(straight, jobs, monkeypatch, tmp_path):
    def fail(self, params, epoch):
        raise jax.errors.JaxRuntimeError("INTERNAL: the device is gone")

    with monkeypatch.context() as patch:
        patch.setattr(jobs, "rate", fail)
        with pytest.raises(ValueError, match=r"the device failed in iteration 4 .*: go on with --resume, iteration 3 is saved"):
            run(tmp_path)
    run(tmp_path, resume=True)
    assert_same(tmp_path, straight[0])


def test_a_device_that_fails_at_once():
    with (
        pytest.raises(ValueError, match=r"^the device failed in iteration 1 \(gone\): nothing is saved yet$"),
        job.iteration(1, 0),
    ):
        raise jax.errors.JaxRuntimeError("gone")


@pytest.mark.slow
def test_a_run_that_is_killed_ten_times(straight, tmp_path):
    signals = (signal.SIGKILL,) * 4 + (signal.SIGTERM,)
    kill_at_random("scripts/train_alphaze.py", settings(tmp_path / "run"), 10, random.Random(0), signals)
    assert_same(tmp_path / "run", straight[0])
