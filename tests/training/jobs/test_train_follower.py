"""The training job of the follower: what it writes and evaluates, that it goes on where it was stopped, what it refuses.

What all jobs share is tested in test_job.py.
"""

import dataclasses
import json
import signal

import jax
import numpy as np
import pytest
from rich.console import Console

import jaxgames
from jaxgames.registration import usual_opponent
from tests.training.jobs.runs import as_json, log_of, result_of, run_here, send_signal_at, sharing, stepped, steps_of
from tests.training.tiny import drawing_oracle
from training.jobs import train_follower
from training.jobs.command_line import run_main
from training.jobs.train_follower import FollowerJob, OracleConfig, TrainConfig, make_oracle
from training.learn.dagger import DaggerConfig
from training.models import policy_value
from training.models.networks import presets
from training.models.networks.follower import NetworkConfig
from training.models.policy_value import PolicyValueConfig
from training.play import evaluate
from training.storage.checkpoints import Checkpoints
from training.storage.logs import read_log
from training.storage.weights import load_weights, save_weights

EPISODES = 4
TINY = TrainConfig(
    follower=PolicyValueConfig("hex", "hex-3", network="paper"),
    learn=DaggerConfig(
        episodes=EPISODES,
        lanes=2,
        steps=4,
        updates_per_step=0.75,
        batch_size=8,
        buffer_size=64,
        averaging=0.5,
        stop_rule="off",
    ),
    oracle=OracleConfig(num_simulations=2, horizon=2, table_rows=64),
    seed=3,
    evaluate_every=2,
    evaluate_games=2,
    final_games=2,
    checkpoint_every=1000,
)
QUIET = Console(quiet=True)


# --- runs --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", autouse=True)
def narrow():
    """The paper's network has one narrow convolution."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(presets.PRESETS, "paper", NetworkConfig(width=4, layers=1))
        yield


def job_without_search(config, console):
    """A job whose oracle draws its values, which takes less to compile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train_follower, "make_oracle", lambda config, who: (drawing_oracle(who.game), None))
        return FollowerJob(config, console)


def job_without_programs(config, console):
    """A job that compiles nothing to play and to learn: an episode ends in each iteration, and gradient steps are noise."""
    job = job_without_search(config, console)

    def iterate(key, oracle_params, learner):
        progress = {name: np.int32(learner.progress[name] + number) for name, number in (("steps", 8), ("episodes", 1))}
        updates = np.int32(0.75 * progress["steps"])
        params = stepped(learner.params, updates)
        mean = jax.tree.map(lambda old, new: (np.asarray(old) + new) / 2, learner.averaged, params)
        told = dict.fromkeys(("loss", "cross_entropy", "agreement", "entropy"), np.float32(1 / updates))
        told |= {**progress, "updates": updates, "new_steps": np.int32(8), "finite": np.bool_(True)}
        progress = learner.progress | progress
        return dataclasses.replace(learner, params=params, averaged=mean, updates=updates, progress=progress), told

    job.programs.iterate = iterate
    return job


def made_up_games(game, agents, key, num_games, **settings):
    """Games whose results follow from the key and the parameters that play."""
    draw = np.random.default_rng([*np.asarray(jax.random.key_data(key)), int(1e6 * agents[0].params["policy"]["kernel"].std())])
    outcomes = draw.integers(-1, 2, (num_games, 1)).astype(np.int8) * np.array([1, -1], np.int8)
    lengths = np.full(num_games, game.max_steps, np.int32)
    return evaluate.Games(outcomes, outcomes >= 0, np.tile([0, 1], (num_games, 1)), lengths, lengths.sum(), np.zeros((0, 9, 2)))


@pytest.fixture(scope="module", params=[job_without_programs, pytest.param(job_without_search, marks=pytest.mark.slow)])
def make(request):
    with pytest.MonkeyPatch.context() as patch:
        if request.param is job_without_programs:
            patch.setattr(evaluate, "play", made_up_games)
        yield sharing(request.param)


def settings(folder, **changes):
    return dataclasses.replace(TINY, output=str(folder), **changes)


@pytest.fixture(scope="module")
def straight(make, tmp_path_factory):
    """The folder of a run that nothing has interrupted, its result, and the keys and parameters of the games that were played."""
    folder, played = tmp_path_factory.mktemp("straight") / "run", []
    really_play = evaluate.play

    def play(game, agents, key, *arguments, **options):
        played.append((tuple(jax.random.key_data(key).tolist()), np.asarray(agents[0].params["policy"]["kernel"])))
        return really_play(game, agents, key, *arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluate, "play", play)
        result, _ = run_here(make, settings(folder), draws=True)
    return folder, result, played


def assert_same(folder, expected):
    """Two runs have ended with the same bits."""
    for name in ("final.npz", "best.npz"):
        assert (folder / name).read_bytes() == (expected / name).read_bytes()
    assert log_of(folder) == log_of(expected)
    assert result_of(folder) == result_of(expected)


# --- a whole run -------------------------------------------------------------------------------------------------------


def test_what_a_run_writes(straight):
    folder, result, _ = straight
    files = {"settings.json", "checkpoints", "log.jsonl", "best.npz", "final.npz", "result.json", "learning.svg"}
    assert files <= {path.name for path in folder.iterdir()}
    assert json.loads((folder / "settings.json").read_text()) == as_json(settings(folder))
    log = read_log(folder / "log.jsonl")
    last = log[-1]
    told = [last[name] for name in ("episodes", "steps", "updates")]
    assert [result[name] for name in ("episodes", "steps", "updates")] == told == [EPISODES, told[1], int(0.75 * told[1])]
    assert result["released"]["games"] == result["strict"]["games"] == 2
    assert 0 < result["mean_length"] <= 9
    assert log[0]["steps_per_second"] is None, "most of the first iteration is compiling"
    assert all(line["new_steps"] / line["seconds"] < line["steps_per_second"] for line in log[1:])
    assert last["wins"] + last["draws"] + last["losses"] == 1


def test_evaluations_on_the_way(straight):
    """As soon as so many episodes have ended since the last one, and at the end; the first of the best parameters are kept."""
    folder = straight[0]
    log = log_of(folder)
    rated = [(line["episodes"], line["wins"]) for line in log if "wins" in line]
    before = 0
    for line in log:
        assert ("wins" in line) == (line["episodes"] - before >= 2 or line["episodes"] == EPISODES)
        before = line["episodes"] if "wins" in line else before
    assert len(rated) >= 2 and rated[-1][0] == EPISODES
    _, meta = load_weights(folder / "best.npz")
    assert meta["episodes"] == max(rated, key=lambda one: (one[1], -one[0]))[0]


def test_the_reported_games_are_others_than_those_of_choosing(straight):
    *choosing, reported = [key for key, _ in straight[2]]
    assert len(choosing) >= 2 and len(set(choosing)) == 1 and reported not in choosing


def test_the_weights_of_a_run(straight, make):
    """They are those of the follower that it was told to train: of the running mean the last ones, and those that won most."""
    folder = straight[0]
    job = make(settings(folder), None)
    with Checkpoints(folder / "checkpoints", job.meta) as checkpoints:
        _, saved = checkpoints.restore({"state": job.start(), "seconds": np.float64(0)})
    learner = saved["state"].learner
    for name, expected in (("final.npz", learner.averaged), ("best.npz", saved["state"].best)):
        found, meta = load_weights(folder / name, expected, job.meta)
        jax.tree.map(np.testing.assert_array_equal, found, expected)
        assert meta.keys() == job.meta.keys() | {"episodes"}
    mean, last = (np.asarray(params["policy"]["kernel"]) for params in (learner.averaged, learner.params))
    assert not np.array_equal(mean, last) and not np.array_equal(last, job.start().learner.params["policy"]["kernel"])
    if load_weights(folder / "best.npz")[1]["episodes"] == EPISODES:
        np.testing.assert_array_equal(saved["state"].best["policy"]["kernel"], mean)
    *rated, (_, reported) = straight[2]  # the running mean is what plays, and what is kept of it is one that has played
    np.testing.assert_array_equal(rated[-1][1], mean)
    np.testing.assert_array_equal(reported, saved["state"].best["policy"]["kernel"])
    assert any(np.array_equal(reported, chosen) for _, chosen in rated)


def test_who_is_met_in_episodes_is_met_in_evaluations(tmp_path):
    """Else the game's usual opponent."""
    learn = dataclasses.replace(TINY.learn, opponent="path")
    names = [FollowerJob(settings(tmp_path, **changes), QUIET).opponent.name for changes in ({"learn": learn}, {})]
    assert names == ["path", usual_opponent(jaxgames.make("hex", "hex-3"))] and names[1] != "path"


def test_a_run_that_is_stopped_goes_on_as_if_nothing_had_happened(straight, make, monkeypatch, tmp_path):
    """It remembers what was evaluated."""
    stop = 1 + next(line["iteration"] for line in log_of(straight[0]) if "wins" in line)
    send_signal_at(monkeypatch, signal.SIGTERM, stop)
    result, printed = run_here(make, settings(tmp_path))
    assert result is None and f"stopped after iteration {stop}" in printed and steps_of(tmp_path)[-1] == stop
    run_here(make, settings(tmp_path, resume=True))
    assert_same(tmp_path, straight[0])


# --- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"evaluate_every": 0}, "evaluate_every=0: must be >= 1"),
        ({"evaluate_games": 0}, "evaluate_games=0: must be >= 1"),
        ({"final_games": -1}, "final_games=-1: must be >= 0"),
        ({"keep": 0}, "keep=0: must be >= 1"),
    ],
)
def test_bad_settings(values, message):
    with pytest.raises(ValueError) as error:  # noqa: PT011
        TrainConfig(**values)
    assert str(error.value) == message


@pytest.mark.parametrize(("name", "wrong"), [("num_simulations", 0), ("horizon", 0), ("table_rows", 3)])
def test_bad_oracles(name, wrong):
    with pytest.raises(ValueError, match=f"^{name}={wrong}: must be"):
        OracleConfig(**{name: wrong})


@pytest.mark.parametrize("oracle", [OracleConfig(bandit="ucb"), OracleConfig(planner="fdts:bandit=ucb")])
def test_values_of_ucb_are_learnt_however_it_is_named(oracle, tmp_path):
    """They count as chances to win, as those of every planner."""
    learn = dataclasses.replace(TINY.learn, target="values", advantage_weight=0.1)
    job = FollowerJob(settings(tmp_path, oracle=oracle, learn=learn), QUIET)
    assert (job.programs.lost, job.programs.width) == (-1, 2)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--learn.episodes", "0"], "episodes=0: must be >= 1"),
        (["--learn.method", "copying"], "method='copying': must be one of dagger, cloning"),
        (["--oracle.bandit", "exp3"], "bandit='exp3': must be one of ts, ucb, uniform"),
        (["--oracle.horizon", "0"], "horizon=0: must be >= 1"),
        (["--oracle.table-rows", "100"], "table_rows=100: must be a power of two"),
        (["--oracle.guide", "nothing.npz"], "nothing.npz"),
        (["--oracle.planner", "oracle"], "planner='oracle': must be one of fdts, "),
        (["--oracle.planner", "sp_mcts:weights=none"], "must see the state, as with root=true"),
        (
            ["--oracle.planner", "mcts", "--oracle.horizon", "9"],
            "planner='mcts': its settings stand after its name: leave out horizon",
        ),
        (["--oracle.guide-values"], "guide_values=True: needs a guide"),
        (["--oracle.prior-weight", "2"], "prior_weight=2.0: needs a guide"),
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


# --- guides ------------------------------------------------------------------------------------------------------------


def test_a_guide_may_be_another_network_on_the_same_board(tmp_path):
    follower = PolicyValueConfig("pommerman", "one_vs_one", network="paper")
    who = policy_value.make(follower)
    weights = jax.device_get(jax.jit(who.init)(jax.random.key(0)))
    save_weights(tmp_path / "guide.npz", weights, who.meta)
    guided = dataclasses.replace(TINY.oracle, guide=str(tmp_path / "guide.npz"))
    planner, params = make_oracle(settings(tmp_path, oracle=guided, follower=follower), who)
    assert planner.name == "guided FDTS + TS"
    jax.tree.map(np.testing.assert_array_equal, params, weights)
    other = policy_value.make(dataclasses.replace(follower, encoder="extended", network="paper_value"))
    _, again = make_oracle(settings(tmp_path, oracle=guided), other)
    jax.tree.map(np.testing.assert_array_equal, again, params)
    larger = policy_value.make(dataclasses.replace(follower, mode="ffa"))
    with pytest.raises(ValueError, match="of mode 'one_vs_one' with planes 8 x 8 x 14, and here they are 11 x 11 x 14"):
        make_oracle(settings(tmp_path, oracle=guided), larger)


@pytest.mark.slow
def test_the_second_round(straight, tmp_path):
    """The first round's follower guides the oracle of the next one, its values included."""
    config = dataclasses.replace(TINY.follower, network="paper_value")
    who = policy_value.make(config)
    save_weights(tmp_path / "guide.npz", jax.device_get(who.init(jax.random.key(0))), who.meta)
    oracle = dataclasses.replace(TINY.oracle, guide=str(tmp_path / "guide.npz"), guide_values=True)
    result, _ = run_here(FollowerJob, settings(tmp_path / "run", follower=config, oracle=oracle))
    assert result["episodes"] == EPISODES and log_of(tmp_path / "run") != log_of(straight[0])
    learnt = 0
    for line in log_of(tmp_path / "run"):  # the last iteration may have no gradient step, and then no loss
        assert np.isfinite(line["loss"]) if line["updates"] > learnt else line["loss"] is None
        learnt = line["updates"]
    assert learnt > 0
