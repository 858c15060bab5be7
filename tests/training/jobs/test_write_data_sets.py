"""The job that writes data sets: what it leaves, that it goes on where it was stopped, and what it refuses.

What a data set holds is tested in tests/training/learn/test_data_sets.py.
"""

import dataclasses
import io
import json
import shutil
import types
import uuid

import jax
import pytest
from rich.console import Console

import jaxgames
from jaxgames import runtime
from jaxgames.pommerman.bots import random_agent
from tests.recordings import DATA_SET
from tests.training.jobs.runs import as_json, contents
from training.jobs import write_data_sets
from training.jobs.train_q import TrainConfig
from training.jobs.write_data_sets import WriteConfig
from training.learn.data_sets import DataSet, files_of
from training.learn.expert_iteration import shown_moves

GAME = jaxgames.make("pommerman", "ffa")
TINY = WriteConfig(player="random", samples=40, data_sets=2, lanes=2, seed=5)


def write(folder, **changes):
    """Runs the job; returns the data sets and what was printed."""
    console = Console(file=io.StringIO(), width=200)
    paths = write_data_sets.run(dataclasses.replace(TINY, output=str(folder), **changes), console)
    return paths, console.file.getvalue()


@pytest.fixture
def played(monkeypatch):
    """No game is played: a data set that is kept is copied. Gives the keys of those that were recorded."""
    keys = []

    def make(config, who, mesh):
        def record(key, params, samples, report):
            assert params is None and samples == config.samples
            keys.append(jax.random.key_data(key).tolist())
            report(samples)
            return types.SimpleNamespace(actions=range(samples), attributes={"EpisodeSteps": [10]})

        return types.SimpleNamespace(planner=shown_moves(random_agent(who.game), who.game), record=record), None

    monkeypatch.setattr(runtime, "free_memory", lambda: None)  # what games take up need not be traced
    monkeypatch.setattr(write_data_sets, "make_recorder", make)
    monkeypatch.setattr(write_data_sets, "write_recording", lambda path, found, who: shutil.copytree(DATA_SET, path))
    return keys


def test_what_a_run_writes(played, tmp_path):
    paths, printed = write(tmp_path / "sets")
    assert paths == files_of([str(tmp_path / "sets")]) == [tmp_path / "sets" / f"data_{number}.zr" for number in range(2)]
    assert json.loads((tmp_path / "sets" / "settings.json").read_text())["player"] == "random"
    assert "data_1.zr: 40 samples of 1 games" in printed
    own = [jax.random.key_data(jax.random.fold_in(jax.random.key(TINY.seed), number)).tolist() for number in range(2)]
    assert played == own, "each data set has games of its own"


def test_called_again_it_writes_what_is_missing(played, tmp_path):
    write(tmp_path, data_sets=1)
    before = contents(tmp_path / "data_0.zr")
    paths, printed = write(tmp_path, data_sets=3)
    assert [path.name for path in paths] == ["data_0.zr", "data_1.zr", "data_2.zr"] and len(played) == 3
    assert contents(tmp_path / "data_0.zr") == before and "data_0.zr is there" in printed
    with pytest.raises(ValueError, match=r"^samples=50: the run in .* has 40; give that, or choose another output$"):
        write(tmp_path, samples=50)


def test_what_was_killed_half_way_is_removed_and_nothing_else(played, tmp_path):
    others = [tmp_path / name for name in (".notes.zr.old", ".git")]
    half = tmp_path / f".data_0.zr.{uuid.uuid4().hex}"
    for path in (half, *others):
        (path / "obs").mkdir(parents=True)
    write(tmp_path)
    assert not half.exists() and all(path.is_dir() for path in others)


def test_a_network_that_has_learnt_on_is_another_one(played, monkeypatch, tmp_path):
    """Such as the best so far of a run that goes on."""
    write(tmp_path, data_sets=1, planner="sp_mcts")
    write(tmp_path, data_sets=1, planner="sp_mcts")
    monkeypatch.setattr(write_data_sets.agents, "digest", lambda spec, game: "later")
    with pytest.raises(ValueError, match=r"^planner='sp_mcts': its network has changed since it wrote into .*; choose another"):
        write(tmp_path, planner="sp_mcts")
    assert len(played) == 1


def test_another_player_in_a_file_of_one_name_is_refused(played, monkeypatch, tmp_path):
    """What was in the file when the games began is what counts: it changes while they are played."""
    mine = tmp_path / "mine.py"
    mine.write_text("one")
    make = write_data_sets.make_recorder

    def changed(*arguments):
        mine.write_text("another")
        return make(*arguments)

    monkeypatch.setattr(write_data_sets, "make_recorder", changed)
    write(tmp_path / "sets", data_sets=1, player=f"python:{mine}:make")
    with pytest.raises(ValueError, match=rf"^player='python:.*': what is in {mine} has changed since the run in .* read it; "):
        write(tmp_path / "sets", player=f"python:{mine}:make")
    assert len(played) == 1


def test_a_folder_in_which_another_job_has_written_is_refused(played, tmp_path):
    for file, found in (("settings.json", as_json(TrainConfig())), ("result.json", {"job": "train-q", "settings": {}})):
        (tmp_path / file).write_text(json.dumps(found))
        with pytest.raises(ValueError, match=rf"^output='{tmp_path}': holds the {file} of train-q; give another folder, or move"):
            write(tmp_path)
        assert [path.name for path in tmp_path.iterdir()] == [file] and json.loads((tmp_path / file).read_text()) == found
        (tmp_path / file).unlink()
    assert played == []


def test_a_folder_of_an_earlier_version_is_gone_on_with(played, tmp_path):
    """Settings did not tell whose they are."""
    write(tmp_path, data_sets=1)
    found = json.loads((tmp_path / "settings.json").read_text())
    assert found.pop("job") == "write-data-sets"
    (tmp_path / "settings.json").write_text(json.dumps(found))
    paths, printed = write(tmp_path)
    assert len(paths) == 2 and "data_0.zr is there" in printed


@pytest.mark.parametrize("when", ["record", "write"])
def test_a_run_that_is_stopped_before_its_first_data_set_binds_nobody(played, monkeypatch, tmp_path, when):
    """While games are played nothing is there; while samples are written, settings are, and other ones may follow."""

    def stop(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        if when == "write":
            patch.setattr(write_data_sets, "write_recording", stop)
        else:
            patch.setattr(write_data_sets, "_show", stop)
        with pytest.raises(KeyboardInterrupt):
            write(tmp_path / "sets")
    assert (tmp_path / "sets").exists() == (when == "write")
    paths, _ = write(tmp_path / "sets", samples=50, player="careful")
    assert len(paths) == 2 and json.loads((tmp_path / "sets" / "settings.json").read_text())["samples"] == 50


@pytest.mark.slow
def test_real_games_go_on_bit_for_bit(tmp_path):
    straight, _ = write(tmp_path / "straight")
    write(tmp_path / "stopped", data_sets=1)
    again, _ = write(tmp_path / "stopped")
    for one, other in zip(straight, again, strict=True):
        files = [
            {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()} for root in (one, other)
        ]
        assert files[0] == files[1] and files[0]
    first, second = (DataSet(path, GAME) for path in straight)
    assert first.steps >= 40 and second.steps >= 40
    assert (straight[0] / "act" / "0").read_bytes() != (straight[1] / "act" / "0").read_bytes()


@pytest.mark.parametrize(("values", "message"), [
    ({"samples": 0}, "samples=0: must be >= 1"),
    ({"data_sets": 0}, "data_sets=0: must be >= 1"),
    ({"lanes": 0}, "lanes=0: must be >= 1"),
    ({"seed": -1}, r"seed=-1: must be in 0\.\.\d+"),
])  # fmt: skip
def test_bad_settings(values, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        WriteConfig(**values)
