"""The random search: what it draws, how it ranks, and that it goes on where it was stopped."""

import dataclasses
import io
import json
import math
from pathlib import Path

import jax
import numpy as np
import pytest
from rich.console import Console

from jaxgames import checks
from tests.training.jobs.runs import as_json
from training.jobs import hyperparameters
from training.jobs.errors import is_bad_input
from training.jobs.hyperparameters import SearchConfig
from training.jobs.train_follower import OracleConfig, TrainConfig
from training.learn.dagger import DaggerConfig

QUIET = Console(quiet=True)
SEARCHING = TrainConfig(oracle=OracleConfig(planner="sp_mcts:root=true"))


@pytest.fixture
def trained(monkeypatch):
    """Stands in for training: a follower with deeper searches wins more."""
    done = []

    def run(config, console):
        del console
        done.append(config.output)
        if len(done) == 3:
            return None  # asked to stop
        folder = Path(config.output)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "settings.json").write_text(json.dumps(dataclasses.asdict(config)))
        counts = {"games": 100, "wins": config.oracle.horizon, "draws": 0, "losses": 100 - config.oracle.horizon}
        result = {"released": counts, "strict": counts, "seconds": 1.0}
        (folder / "result.json").write_text(json.dumps(result))
        return result

    monkeypatch.setattr(hyperparameters.train_follower, "run", run)
    return done


def test_no_two_trials_are_the_same_and_seeds_differ():
    config = SearchConfig(trials=20)
    drawn = [hyperparameters._varied(trial) for trial in config.draws()]
    assert len({tuple(one.values()) for one in drawn}) == 20
    assert drawn == [hyperparameters._varied(trial) for trial in config.draws()]
    assert drawn != [hyperparameters._varied(trial) for trial in dataclasses.replace(config, seed=1).draws()]
    assert {trial.learn.episodes for trial in config.draws()} == {50}
    assert len(SearchConfig(horizons=(5, 5, 10), trials=2).grid()) == 2 * len(SearchConfig(horizons=(5,), trials=2).grid())


def test_shares_of_the_trials_are_ranked_together(tmp_path, trained):
    one, two = (SearchConfig(trials=4, output=str(tmp_path), shard=f"{number}/2") for number in (1, 2))
    trained += [""] * 3  # nobody is asked to stop
    assert [each["trial"] for each in sorted(hyperparameters.run(two, QUIET), key=lambda each: each["trial"])] == [1, 3]
    ranked = hyperparameters.run(one, QUIET)
    assert sorted(each["trial"] for each in ranked) == [0, 1, 2, 3]
    assert [Path(folder).name for folder in trained[3:]] == ["trial1", "trial3", "trial0", "trial2"]


def test_an_interrupt_shows_the_ranking_first(tmp_path, trained, monkeypatch):
    train, console = hyperparameters.train_follower.run, Console(record=True, quiet=False, file=io.StringIO(), width=120)

    def run(config, console):
        found = train(config, console)
        if found is None:
            raise KeyboardInterrupt
        return found

    monkeypatch.setattr(hyperparameters.train_follower, "run", run)
    with pytest.raises(KeyboardInterrupt):
        hyperparameters.run(SearchConfig(trials=4, output=str(tmp_path)), console)
    assert "horizon" in console.file.getvalue().splitlines()[-6:].__str__()


def test_ranks_and_goes_on(tmp_path, trained):
    config = SearchConfig(trials=4, output=str(tmp_path))
    first = hyperparameters.run(config, QUIET)
    assert len(first) == 2 and len(trained) == 3
    second = hyperparameters.run(config, QUIET)
    assert len(second) == 4 and len(trained) == 5  # the two finished ones were not trained again
    assert [one["released"]["wins"] for one in second] == sorted((one["horizon"] for one in second), reverse=True)
    assert json.loads((tmp_path / "results.json").read_text()) == second
    path = tmp_path / f"trial{second[0]['trial']}" / "result.json"
    longer = json.loads(path.read_text())
    longer["released"]["games"] *= 100  # fewer of them are won than of the others
    path.write_text(json.dumps(longer))
    third = hyperparameters.run(config, QUIET)
    assert [one["trial"] for one in third] == [one["trial"] for one in (*second[1:], second[0])]


@pytest.fixture
def diverging(trained, monkeypatch):
    """Trials of large learning rates are refused, of others the device fails at depth 10; gives the names of those begun."""
    train, tried = hyperparameters.train_follower.run, []

    def run(config, console):
        tried.append(Path(config.output).name)
        if config.learn.learning_rate > 1:
            checks.number("loss of a test", math.nan)
        if config.oracle.horizon == 10:
            raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: out of memory\nand more")
        trained[:] = [""] * 3  # nobody is asked to stop
        return train(config, console)

    monkeypatch.setattr(hyperparameters.train_follower, "run", run)
    return tried


def searching(folder, **settings):
    given = {"trials": 2, "horizons": (5,), "num_simulations": (25,), "batch_sizes": (16,), "learning_rates": (1e30, 1e-3)}
    return SearchConfig(output=str(folder), **given | settings)


def test_a_trial_that_fails_is_ranked_last_and_not_repeated(tmp_path, diverging):
    config = searching(tmp_path, trials=4, horizons=(5, 10))
    results = hyperparameters.run(config, console := Console(file=io.StringIO(), width=200))
    assert len(diverging) == 4 and ["failed" in one for one in results] == [False, True, True, True]
    assert results[0]["learning_rate"] == 1e-3 and json.loads((tmp_path / "results.json").read_text()) == results
    told = {one["learning_rate"]: one["failed"] for one in results[1:]}
    assert told[1e30] == "loss of a test=nan: must be finite and >= 0"
    assert told[1e-3] == "the device failed (RESOURCE_EXHAUSTED: out of memory)"
    shown = console.file.getvalue()
    assert all(f"trial {one['trial']} failed: {one['failed']}\n" in shown for one in results[1:])
    assert hyperparameters.run(config, QUIET) == results and len(diverging) == 4, "nothing is repeated"
    (tmp_path / f"trial{results[-1]['trial']}" / "failed.json").unlink()
    assert hyperparameters.run(config, QUIET) == results and len(diverging) == 5


def test_a_search_of_which_all_trials_fail_ends_with_one_line(tmp_path, diverging):
    config = searching(tmp_path, learning_rates=(1e29, 1e30))
    told = "^no trial has a result, 2 trials failed; trial 0: loss of a test=nan: must be finite and >= 0; give other settings"
    for _ in range(2):
        with pytest.raises(ValueError, match=told) as error:
            hyperparameters.run(config, console := Console(file=io.StringIO(), width=200))
        assert is_bad_input(error.value) and "trial 1 failed: " in console.file.getvalue()
    assert diverging == ["trial0", "trial1"]
    hyperparameters.run(searching(tmp_path, learning_rates=(1e-4, 1e-3)), QUIET)
    assert diverging[2:] == ["trial0", "trial1"], "notes of other settings do not count"


def test_what_is_no_failure_of_a_trial_ends_the_search(tmp_path, trained, monkeypatch):
    config = searching(tmp_path, learning_rates=(1e-4, 1e-3))
    (tmp_path / "trial0").mkdir()
    other = as_json(dataclasses.replace(config.draws()[0], evaluate_games=7))
    (tmp_path / "trial0" / "settings.json").write_text(json.dumps(other))
    with pytest.raises(ValueError, match=r"evaluate_games=100: the run in .*trial0 has 7; give that, or choose"):
        hyperparameters.run(config, QUIET)
    (tmp_path / "trial0" / "settings.json").unlink()
    (tmp_path / "trial0" / "failed.json").write_text("[]")
    told = r"failed\.json: torn, or no note of a trial that failed; remove it, and the trial is tried again$"
    with pytest.raises(ValueError, match=told):
        hyperparameters.run(config, QUIET)
    (tmp_path / "trial0" / "failed.json").unlink()
    monkeypatch.setattr(hyperparameters.train_follower, "run", lambda *_: np.zeros(2).reshape(3))
    with pytest.raises(ValueError, match="cannot reshape"):
        hyperparameters.run(config, QUIET)
    assert not trained and not (tmp_path / "trial0" / "failed.json").exists()


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"released": {"games": 3}, "strict": {}, "seconds": 1.0}'])
def test_a_trial_whose_result_is_none_is_told_in_one_line(text, tmp_path, trained):
    config = SearchConfig(trials=1, output=str(tmp_path))
    hyperparameters.run(config, QUIET)
    (tmp_path / "trial0" / "result.json").write_text(text)
    told = r"trial0/result\.json: torn, or no result of a trial with final games; remove it, and the trial goes on$"
    with pytest.raises(ValueError, match=told):
        hyperparameters.run(config, QUIET)


@pytest.mark.parametrize("field, value, message", [
    ("trials", 0, "trials=0: must be >= 1"),
    ("horizons", (), "horizons: give at least one value"),
    ("horizons", (5, -1), "horizons: horizon=-1: must be >= 1"),
    ("num_simulations", (-1, 25), "num_simulations: num_simulations=-1: must be >= 1"),
    ("batch_sizes", (0, 16), "batch_sizes: batch_size=0: must be >= 1"),
    ("learning_rates", (float("nan"),), "learning_rates: learning_rate=nan: must be finite and > 0"),
    ("output", "", "output='': must be a folder"),
    ("seed", -1, "seed=-1: must be in 0..4294967295"),
    ("shard", "3/2", "shard='3/2': must be I/N"),
    ("trials", 10_000, "trials=10000: there are 240 different settings"),
    ("base", TrainConfig(learn=DaggerConfig(episodes=600)), "base.learn.episodes=600: takes no effect, as episodes replaces it"),
    ("base", TrainConfig(learn=DaggerConfig(batch_size=256)), "base.learn.batch_size=256: .* as batch_sizes replaces it; leave"),
    ("base", TrainConfig(learn=DaggerConfig(learning_rate=0.1)), "base.learn.learning_rate=0.1: .* as learning_rates replaces"),
    ("base", TrainConfig(oracle=OracleConfig(horizon=40)), "base.oracle.horizon=40: .* as horizons replaces it; leave it out"),
    ("base", TrainConfig(oracle=OracleConfig(num_simulations=9)), "base.oracle.num_simulations=9: .* as num_simulations repl"),
    ("base", TrainConfig(output="mine"), "base.output='mine': takes no effect, as output replaces it; leave it out"),
    ("base", TrainConfig(resume=True), "base.resume=True: takes no effect, as going on with what is in the folder replaces it"),
    ("base", SEARCHING, "base.oracle.planner='sp_mcts:root=true': horizons and simulations are drawn for FDTS; leave it out"),
])  # fmt: skip
def test_settings_are_checked(field, value, message):
    with pytest.raises(ValueError, match=message):
        SearchConfig(**{field: value})
