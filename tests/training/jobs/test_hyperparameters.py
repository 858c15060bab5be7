"""The random search: what it draws, how it ranks, and that it goes on where it was stopped."""

import dataclasses
import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from training.jobs import hyperparameters
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
        folder.mkdir(parents=True)
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
    ("base", SEARCHING, "base.oracle.planner='sp_mcts:root=true': horizons and simulations are drawn for FDTS; leave it out"),
])  # fmt: skip
def test_settings_are_checked(field, value, message):
    with pytest.raises(ValueError, match=message):
        SearchConfig(**{field: value})
