"""The training job: what it writes, what it refuses, and that nothing is lost however it is stopped."""

import copy
import dataclasses
import importlib.util
import json
import random
import signal

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.training.jobs.runs import kill_at_random, log_without, newest, result_of, run_here, send_signal_at, shared_jobs
from training.jobs import train_follower
from training.jobs.command_line import run_main
from training.jobs.train_follower import OracleConfig, TrainConfig, make_oracle
from training.learn.dagger import DaggerConfig
from training.models import follower
from training.models.follower import FollowerConfig
from training.storage.checkpoints import Checkpoints
from training.storage.logs import read_log
from training.storage.weights import load_weights, save_weights

SCRIPT = "scripts/train_follower.py"
BATTLES = 4
TINY = TrainConfig(
    follower=FollowerConfig(mode="one_vs_one"),
    learn=DaggerConfig(
        episodes=BATTLES,
        lanes=2,
        steps=4,
        updates_per_step=0.75,
        batch_size=8,
        buffer_size=64,
        stop_rule="off",
        stop_without_bomb=10,
    ),
    oracle=OracleConfig(num_simulations=2, horizon=2, table_rows=64),
    seed=3,
    evaluate_every=1000,
    evaluate_games=2,
    final_games=2,
    checkpoint_every=3,
)
UCB = OracleConfig(bandit="ucb")
NO_CHANCES = "bandit='ucb': its values are no chances to win: take ts, or the paper's target, advantage_weight and network"
TIMES = ("seconds", "steps_per_second")


# --- runs --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def jobs():
    """Jobs of equal settings but for the folder share what they have compiled."""
    yield from shared_jobs(train_follower, lambda config: (config.follower, config.learn, config.oracle))


def settings(folder, **changes):
    return dataclasses.replace(TINY, output=str(folder), **changes)


def run(folder, **changes):
    """Runs in this process; returns the result, and what was printed."""
    return run_here(train_follower, settings(folder, **changes))


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
    for name in ("final.npz", "best.npz"):
        one, other = (np.load(path / name) for path in (folder, expected))
        assert one.files == other.files
        for array in one.files:
            assert one[array].tobytes() == other[array].tobytes(), (name, array)
    assert log_of(folder) == log_of(expected)
    assert result_of(folder) == result_of(expected)
    steps = [sorted(int(path.name) for path in (each / "checkpoints").iterdir()) for each in (folder, expected)]
    assert steps[0][-1] == steps[1][-1] == len(log_of(expected))


# --- a whole run -------------------------------------------------------------------------------------------------------


def test_what_a_run_writes(straight):
    folder, result = straight
    files = {"settings.json", "checkpoints", "log.jsonl", "best.npz", "final.npz", "result.json", "learning.svg"}
    files |= {"events"} if importlib.util.find_spec("tensorboardX") else set()
    assert {path.name for path in folder.iterdir()} == files
    assert json.loads((folder / "settings.json").read_text()) == dataclasses.asdict(settings(folder))
    assert json.loads((folder / "result.json").read_text()) == json.loads(json.dumps(result))
    log = read_log(folder / "log.jsonl")
    assert [line["iteration"] for line in log] == list(range(1, len(log) + 1))
    last = log[-1]
    told = (last["episodes"], last["steps"], last["updates"])
    assert (result["episodes"], result["steps"], result["updates"]) == told == (BATTLES, last["steps"], int(0.75 * last["steps"]))
    assert result["released"]["games"] == result["strict"]["games"] == 2
    assert 0 < result["mean_length"] <= 800 and result["seconds"] >= last["seconds"] > 0
    assert all(line["seconds"] > 0 and line["steps_per_second"] > 0 for line in log)
    assert [line["iteration"] for line in log if "wins" in line] == [len(log)]
    assert last["wins"] + last["draws"] + last["losses"] == 1
    assert newest(folder) == len(log) and len(list((folder / "checkpoints").iterdir())) == TINY.keep
    assert "<svg" in (folder / "learning.svg").read_text()


def test_the_weights_of_a_run(straight):
    """They are those of the follower that it was told to train; the best ones are those of the only evaluation."""
    folder, _ = straight
    who = follower.make(TINY.follower)
    shapes = jax.eval_shape(who.init, jax.random.key(0))
    final, meta = load_weights(folder / "final.npz", shapes, who.meta)
    assert meta == who.meta | {"episodes": BATTLES}
    best, meta = load_weights(folder / "best.npz", shapes, who.meta)
    assert meta == who.meta | {"episodes": BATTLES}
    jax.tree.map(np.testing.assert_array_equal, best, final)  # no running mean was asked for
    first = who.init(jax.random.key(0))
    assert not np.array_equal(final["policy"]["kernel"], first["policy"]["kernel"])


def test_same_seed_same_run(straight, tmp_path):
    run(tmp_path)
    assert_same(tmp_path, straight[0])
    run(tmp_path / "other", seed=4)
    assert log_of(tmp_path / "other") != log_of(tmp_path)


# --- going on ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def signal_at(monkeypatch):
    """`signal_at(number, *iterations)`: this process gets a signal while these iterations are logged."""

    def arrange(number, *iterations):
        send_signal_at(monkeypatch, train_follower, number, iterations)

    return arrange


def test_evaluations_on_the_way(jobs, signal_at, tmp_path):
    """As soon as so many episodes have ended since the last one, and at the end; the first of the best parameters are kept."""
    run(tmp_path / "run", evaluate_every=2)
    log = log_of(tmp_path / "run")
    rated = [(line["episodes"], line["wins"]) for line in log if "wins" in line]
    before = 0
    for line in log:
        assert ("wins" in line) == (line["episodes"] - before >= 2 or line["episodes"] == BATTLES)
        before = line["episodes"] if "wins" in line else before
    assert len(rated) >= 2 and rated[-1][0] == BATTLES
    _, meta = load_weights(tmp_path / "run" / "best.npz")
    assert meta["episodes"] == max(rated, key=lambda one: (one[1], -one[0]))[0]
    # A run that goes on remembers what was evaluated.
    signal_at(signal.SIGTERM, next(line["iteration"] for line in log if "wins" in line) + 1)
    assert run(tmp_path / "stopped", evaluate_every=2)[0] is None
    run(tmp_path / "stopped", evaluate_every=2, resume=True)
    assert_same(tmp_path / "stopped", tmp_path / "run")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_run_that_is_asked_to_stop_goes_on_as_if_nothing_had_happened(number, straight, signal_at, tmp_path):
    """Twice, at iterations that would not have been saved."""
    signal_at(number, 4, 11)
    for iteration in (4, 11):
        result, printed = run(tmp_path, resume=iteration > 4)
        assert result is None and f"stopped after iteration {iteration}, which is saved; go on with --resume" in printed
        assert newest(tmp_path) == iteration == len(log_of(tmp_path))
        assert not (tmp_path / "final.npz").exists() and not (tmp_path / "result.json").exists()
    result, printed = run(tmp_path, resume=True)
    assert "going on after iteration 11" in printed and result["episodes"] == BATTLES
    assert_same(tmp_path, straight[0])


def test_a_wish_to_stop_in_the_last_iteration_comes_too_late(straight, signal_at, tmp_path):
    signal_at(signal.SIGTERM, len(log_of(straight[0])))
    assert run(tmp_path)[0]["episodes"] == BATTLES
    assert_same(tmp_path, straight[0])


def test_a_finished_run_may_be_finished_again(straight, tmp_path):
    """With more games of its result, and with what was lost behind the last checkpoint."""
    run(tmp_path, final_games=0)
    assert "released" not in json.loads((tmp_path / "result.json").read_text())
    for name in ("final.npz", "result.json", "learning.svg"):
        (tmp_path / name).unlink()
    run(tmp_path, resume=True)
    assert_same(tmp_path, straight[0])


def test_a_run_without_a_checkpoint_begins_again(straight, tmp_path):
    """As when it was killed early: without --resume too."""
    for resume in (True, False):
        folder = tmp_path / str(resume)
        folder.mkdir()
        (folder / "settings.json").write_text(json.dumps(dataclasses.asdict(settings(folder))))
        (folder / "log.jsonl").write_text('{"iteration": 1, "loss": 7.0}\n{"iteration": 2, "lo')
        (folder / "checkpoints").mkdir()
        run(folder, resume=resume)
        assert_same(folder, straight[0])


def test_a_torn_checkpoint(straight, signal_at, tmp_path):
    """The one before takes its place, and the log is shortened to it."""
    signal_at(signal.SIGTERM, 8)
    run(tmp_path)
    largest = max(
        (path for path in (tmp_path / "checkpoints" / "8").rglob("*") if path.is_file()), key=lambda path: path.stat().st_size
    )
    largest.write_bytes(largest.read_bytes()[: largest.stat().st_size // 2])
    signal_at(signal.SIGTERM)
    with pytest.warns(UserWarning, match=r"checkpoint .*8 is damaged .*: going on from step 6"):
        _, printed = run(tmp_path, resume=True)
    assert "going on after iteration 6" in printed
    assert_same(tmp_path, straight[0])


# --- what is refused ---------------------------------------------------------------------------------------------------


def contents(folder):
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seed": 4}, "seed=4: the run in {folder} has 3; give that, or choose another output"),
        ({"evaluate_every": 7}, "evaluate_every=7: the run in {folder} has 1000; give that, or choose another output"),
        ({"learn": {"episodes": 7}}, "learn.episodes=7: the run in {folder} has 4; give that, or choose another output"),
        ({"learn": {"learning_rate": 0.5}}, "learn.learning_rate=0.5: the run in {folder} has 0.001; give that, or"),
        ({"oracle": {"horizon": 3}}, "oracle.horizon=3: the run in {folder} has 2; give that, or choose another output"),
        ({"follower": {"planes": "extended"}}, "follower.planes='extended': the run in {folder} has 'paper'; give that, or"),
    ],
)
def test_other_settings_do_not_go_on(changes, message, straight, jobs):
    folder, _ = straight
    before = contents(folder)
    changed = {
        name: dataclasses.replace(getattr(TINY, name), **value) if isinstance(value, dict) else value
        for name, value in changes.items()
    }
    with pytest.raises(ValueError) as error:  # noqa: PT011
        run(folder, resume=True, **changed)
    assert str(error.value).startswith(message.format(folder=folder)) and "\n" not in str(error.value)
    assert contents(folder) == before


def test_a_folder_that_holds_a_run_is_refused(straight):
    folder, _ = straight
    before = contents(folder)
    with pytest.raises(ValueError) as error:  # noqa: PT011
        run(folder)
    assert str(error.value) == f"output={str(folder)!r}: holds a run; go on with --resume, or choose another folder"
    assert contents(folder) == before


@pytest.mark.parametrize("text", ["{", "[1]", "3"])
def test_settings_that_are_no_settings(text, jobs, tmp_path):
    (tmp_path / "settings.json").write_text(text)
    with pytest.raises(ValueError, match=r"settings\.json: ") as error:
        run(tmp_path, resume=True)
    assert "\n" not in str(error.value) and (tmp_path / "settings.json").read_text() == text


def test_a_folder_that_cannot_be_made(jobs, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"file/run/checkpoints: cannot write checkpoints there"):
        run(tmp_path / "file" / "run")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"evaluate_every": 0}, "evaluate_every=0: must be >= 1"),
        ({"evaluate_games": 0}, "evaluate_games=0: must be >= 1"),
        ({"final_games": -1}, "final_games=-1: must be >= 0"),
        ({"checkpoint_every": 0}, "checkpoint_every=0: must be >= 1"),
        ({"keep": 0}, "keep=0: must be >= 1"),
        ({"seed": -1}, "seed=-1: must be in 0..4294967295"),
        ({"seed": 2**32}, "seed=4294967296: must be in 0..4294967295"),
        ({"oracle": UCB, "learn": DaggerConfig(target="values")}, NO_CHANCES),
        ({"oracle": UCB, "learn": DaggerConfig(advantage_weight=0.1)}, NO_CHANCES),
        ({"oracle": UCB, "follower": FollowerConfig(network="residual")}, NO_CHANCES),
    ],
)
def test_bad_settings(values, message):
    with pytest.raises(ValueError) as error:  # noqa: PT011
        TrainConfig(**values)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--learn.episodes", "0"], "episodes=0: must be >= 1"),
        (["--learn.method", "copying"], "method='copying': must be one of dagger, cloning"),
        (["--oracle.bandit", "exp3"], "bandit='exp3': must be one of ts, ucb, uniform"),
        (["--oracle.horizon", "0"], "horizon=0: must be >= 1"),
        (["--oracle.table-rows", "100"], "table_rows=100: must be a power of two"),
        (["--oracle.guide", "nothing.npz"], "nothing.npz"),
        (["--follower.mode", "duel"], "mode='duel': must be one of"),
        (["--follower.network", "vit"], "network='vit': must be one of"),
        (["--learn.buffer-size", "64"], "buffer_size=64: must hold one step of all lanes"),
        (["--learn.learning-rate", "much"], "--learn.learning-rate"),
    ],
)
def test_bad_flags(arguments, named, tmp_path, capsys):
    """One line on stderr, and nothing is written."""
    with pytest.raises(SystemExit) as stop:
        run_main(train_follower.run, TrainConfig, [*arguments, "--output", str(tmp_path / "run")])
    error = capsys.readouterr().err
    assert stop.value.code == 2 and named in error and error.count("\n") == 1
    assert not (tmp_path / "run").exists()


# --- what goes wrong ---------------------------------------------------------------------------------------------------


@pytest.fixture
def spoil(jobs, monkeypatch):
    """`spoil(iteration, how)`: `how(learner)` is given to this iteration in place of the learner."""

    def arrange(number, how):
        class Spoilt(jobs):
            def __init__(self, config, console):
                super().__init__(config, console)
                self.dagger, self.iteration = copy.copy(self.dagger), 0
                iterate = self.dagger.iterate

                def one(key, params, learner):
                    self.iteration += 1
                    return iterate(key, params, how(learner) if self.iteration == number else learner)

                self.dagger.iterate = one

        monkeypatch.setattr(train_follower, "_Job", Spoilt)

    return arrange


def test_a_loss_that_is_no_number_stops_the_run(straight, spoil, tmp_path):
    """With the iteration named; what was saved before is whole, and with the cause gone the run goes on from there."""

    def without_numbers(learner):
        return dataclasses.replace(learner, params=jax.tree.map(lambda leaf: leaf * jnp.nan, learner.params))

    spoil(8, without_numbers)
    with pytest.raises(
        ValueError, match=r"^iteration 8: the loss or its gradient is not a number; iteration 6 is saved; take "
    ) as error:
        run(tmp_path)
    assert "\n" not in str(error.value)
    assert newest(tmp_path) == 6 and len(log_of(tmp_path)) == 7
    spoil(0, without_numbers)
    run(tmp_path, resume=True)
    assert_same(tmp_path, straight[0])


def test_a_device_that_fails(straight, spoil, tmp_path):
    def fail(learner):
        raise jax.errors.JaxRuntimeError("INTERNAL: the device is gone\nand a long trace")

    spoil(5, fail)
    with pytest.raises(ValueError) as error:  # noqa: PT011
        run(tmp_path)
    assert str(error.value) == (
        "the device failed in iteration 5 (INTERNAL: the device is gone): go on with --resume, iteration 3 is saved"
    )
    spoil(0, fail)
    run(tmp_path, resume=True)
    assert_same(tmp_path, straight[0])


# --- killed ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_run_that_is_killed_twice(straight, tmp_path):
    kill_at_random(SCRIPT, settings(tmp_path / "run"), 2, random.Random(0))
    assert_same(tmp_path / "run", straight[0])


@pytest.mark.slow
def test_a_run_that_is_killed_twenty_times(jobs, tmp_path):
    """And asked to stop now and then."""
    learn = dataclasses.replace(TINY.learn, episodes=60)
    run(tmp_path / "straight", learn=learn)
    signals = (signal.SIGKILL,) * 4 + (signal.SIGTERM,)
    kill_at_random(SCRIPT, settings(tmp_path / "run", learn=learn), 20, random.Random(1), signals)
    assert_same(tmp_path / "run", tmp_path / "straight")


# --- guides ------------------------------------------------------------------------------------------------------------


def test_a_guide_must_be_of_the_same_follower(straight, tmp_path):
    folder, _ = straight
    guided = dataclasses.replace(TINY.oracle, guide=str(folder / "best.npz"))
    planner, params = make_oracle(settings(tmp_path, oracle=guided), follower.make(TINY.follower))
    assert planner.name == "guided FDTS + TS"
    jax.tree.map(np.testing.assert_array_equal, params, load_weights(folder / "best.npz", params)[0])
    for name, value in (("mode", "ffa"), ("planes", "extended"), ("network", "paper_value")):
        other = dataclasses.replace(TINY.follower, **{name: value})
        with pytest.raises(ValueError, match=f"weights .*best.npz: {name} is .* there and '{value}' is expected"):
            make_oracle(settings(tmp_path, oracle=guided), follower.make(other))


@pytest.mark.slow
def test_the_second_round(straight, jobs, tmp_path):
    """The first round's follower guides the oracle of the next one, its values included."""
    config = FollowerConfig(mode="one_vs_one", network="paper_value")
    who = follower.make(config)
    save_weights(tmp_path / "guide.npz", jax.device_get(who.init(jax.random.key(0))), who.meta)
    oracle = dataclasses.replace(TINY.oracle, guide=str(tmp_path / "guide.npz"), guide_values=True)
    result, _ = run(tmp_path / "run", follower=config, oracle=oracle)
    assert result["episodes"] == BATTLES and log_of(tmp_path / "run") != log_of(straight[0])
    assert all(np.isfinite(line["loss"]) for line in log_of(tmp_path / "run"))


@pytest.mark.slow
def test_a_learning_rate_beyond_all_bounds(jobs, tmp_path):
    learn = dataclasses.replace(TINY.learn, learning_rate=1e30)
    with pytest.raises(ValueError, match=r"^iteration 1: .*; nothing is saved yet; take a smaller learning_rate than 1e\+30$"):
        run(tmp_path, learn=learn, checkpoint_every=1)
    with Checkpoints(tmp_path / "checkpoints", follower.make(TINY.follower).meta) as checkpoints:
        assert checkpoints.steps() == []
