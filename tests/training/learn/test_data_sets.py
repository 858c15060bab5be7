"""Samples written as data sets and read again: the format, round trips, what is refused, and that it is learnt from."""

import json
import shutil

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import zarr

from jaxgames import runtime
from jaxgames.pommerman.bots import random_agent
from tests.recordings import DATA_SET
from tests.training.learn.small_expert import ENCODER, GAME, KEY, WHO
from tests.training.tiny import drawing_oracle
from training.jobs.write_data_sets import write_recording
from training.learn import data_sets
from training.learn.data_sets import DataSet
from training.learn.expert_iteration import shown_moves
from training.learn.recording import Recorder
from training.learn.self_play import UNFINISHED, SelfPlay
from training.learn.targets import Targets
from training.play.lanes import START, Pool

SAMPLES = 300


def recorded(planner, partner):
    games = SelfPlay(Pool(GAME, 4), Targets(ENCODER), remembered=4, partner=partner)
    return Recorder(games, planner, runtime.data_mesh(1)).record(KEY, None, SAMPLES)


@pytest.fixture(scope="module")
def shown():
    """Moves of random players, who soon blow each other up."""
    return recorded(shown_moves(random_agent(GAME), GAME), None)


@pytest.fixture(scope="module")
def written(shown, tmp_path_factory):
    path = tmp_path_factory.mktemp("sets") / "data_0.zr"
    write_recording(path, shown, WHO)
    return path


@pytest.fixture(scope="module")
def folder():
    """What was written once, and is kept: playing the games takes longer than all tests of what was written."""
    return DATA_SET


@pytest.mark.slow
def test_what_is_kept_is_still_written(folder, written):
    kept, now = (zarr.open_group(path, mode="r") for path in (folder, written))
    assert dict(kept.attrs) | {"AllFilesWritten": True} == dict(now.attrs)  # was kept before there was that
    for name in data_sets.FORMS:
        np.testing.assert_array_equal(kept[name][:], now[name][:], name)


def test_the_format(folder):
    group = zarr.open_group(folder, mode="r")
    count = group.attrs["Steps"]
    assert SAMPLES <= count < SAMPLES + 800
    assert group["obs"].shape == (count, 23, 11, 11) and group["q"].shape == group["pol"].shape == (count, 6)
    for name in ("obs", "act", "pol", "q", "val"):
        about = json.loads((folder / name / ".zarray").read_text())
        assert about["zarr_format"] == 2 and about["chunks"][0] == 1000
        assert about["compressor"] == {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0}
        assert about["dtype"] == ("|i1" if name == "act" else "<f4")
    assert np.isnan(group["q"][:]).all() and not group["val"][:].any()
    np.testing.assert_array_equal(group["pol"][:].argmax(1), group["act"][:], "what is taught is what was done")


@pytest.mark.slow
def test_attributes_tell_the_games(folder):
    """Played again from the start state that is told, every game ends as told."""
    about = dict(zarr.open_group(folder, mode="r").attrs)
    init, step = jax.jit(GAME.init), jax.jit(GAME.step)
    episodes = len(about["EpisodeSteps"])
    for number in range(min(episodes, 3)):
        state = init(jax.random.fold_in(jax.random.fold_in(KEY, number), START))
        board = about["EpisodeInitialState"][number]
        assert len(board) == 121 and board[12] == "A" and board[9 * 11 + 1] == "B" and board[1 * 11 + 9] == "D"
        assert sum(board.count(sign) for sign in "2345") == 36 and sum(board.count(sign) for sign in "345") == 20
        assert board.count("1") == 36
        acts, lived = about["EpisodeActions"][number], []
        for clock in range(about["EpisodeSteps"][number]):
            assert not state.terminated
            lived.append(np.asarray(state.alive))
            state = step(state, jnp.array([row[clock] if clock < len(row) else 0 for row in acts]))
        alive = np.asarray(state.alive)
        assert [len(row) for row in acts] == np.sum(lived, 0).tolist()
        assert about["EpisodeDead"][number] == (~alive).tolist()
        assert about["EpisodeDraw"][number] == (not alive.any()) and about["EpisodeDone"][number] == (alive.sum() <= 1)
        assert about["EpisodeWinner"][number] == (int(alive.argmax()) if alive.sum() == 1 else -1)
    steps = dict(zip(zip(about["AgentEpisode"], about["AgentIds"], strict=True), about["AgentSteps"], strict=True))
    assert list(steps) == sorted(steps) and len(steps) == 4 * episodes
    assert all(steps[game, seat] == len(about["EpisodeActions"][game][seat]) for game, seat in steps)


@pytest.mark.slow
def test_what_is_read_is_what_was_written(written, shown):
    found = DataSet(written, GAME).read(0, len(shown.actions))
    for (path, leaf), again in zip(
        jax.tree_util.tree_leaves_with_path(shown.samples.view), jax.tree.leaves(found.view), strict=True
    ):
        np.testing.assert_array_equal(again, leaf, jax.tree_util.keystr(path))
        assert again.dtype == leaf.dtype
    np.testing.assert_array_equal(found.policy, shown.samples.policy)
    about, first = shown.attributes, 0
    for seat, episode, length in zip(about["AgentIds"], about["AgentEpisode"], about["AgentSteps"], strict=True):
        part, first = slice(first, first + length), first + length
        won, dead = about["EpisodeWinner"][episode] == seat, about["EpisodeDead"][episode][seat]
        drawn = about["EpisodeDraw"][episode] and length == about["EpisodeSteps"][episode]
        assert set(found.result[part].tolist()) == {1 if won else 0 if drawn or not dead else -1}
        np.testing.assert_array_equal(found.left[part], length - np.arange(length))


@pytest.mark.slow
def test_a_search_tells_its_values(tmp_path):
    found = recorded(drawing_oracle(GAME), random_agent(GAME))
    known = np.isfinite(found.qvalues)
    assert known.any(1).all() and not known.all() and found.qvalues[known].min() >= 0.1 - 1e-6
    np.testing.assert_allclose(np.nanmax(found.qvalues, 1), found.samples.value, atol=1e-3)
    seats = np.array(found.attributes["AgentIds"])
    np.testing.assert_array_equal(seats, np.array(found.attributes["AgentEpisode"]) % 4, "one learner per game")
    write_recording(tmp_path / "one.zr", found, WHO)
    again = DataSet(tmp_path / "one.zr", GAME).read(0, len(found.actions))
    np.testing.assert_array_equal(again.value, found.samples.value.astype(np.float32))


def test_a_full_data_set_cuts_its_last_episode(folder, tmp_path):
    """Arrays may be longer than the samples, and the last episode of an agent may go on beyond them."""
    copied = shutil.copytree(folder, tmp_path / "copied.zr")
    group = zarr.open_group(copied, mode="r+")
    steps = group.attrs["Steps"] - 2
    group.attrs["Steps"] = steps
    opened = DataSet(copied, GAME)
    assert opened.steps == steps and opened.read(steps - 1, steps).left.tolist() == [3]


def test_agents_of_a_game_that_the_data_set_before_has_told_teach_no_values(folder, tmp_path):
    """As PommerLearn begins a data set, where it has filled the last one in the middle of a game."""
    copied = shutil.copytree(folder, tmp_path / "copied.zr")
    attributes = dict(zarr.open_group(copied, mode="r").attrs)
    rows, agents = sum(attributes["AgentSteps"][:3]), attributes["AgentEpisode"]
    assert agents[:5] == [0, 0, 0, 0, 1]
    zarr.open_group(copied, mode="r+").attrs["AgentEpisode"] = [-1] * 3 + agents[3:]
    opened, whole = DataSet(copied, GAME), DataSet(folder, GAME)
    found, should = opened.read(0, opened.steps), whole.read(0, whole.steps)
    assert set(should.result[:rows].tolist()) == {-1} and set(found.result[:rows].tolist()) == {UNFINISHED}
    np.testing.assert_array_equal(found.result[rows:], should.result[rows:])
    np.testing.assert_array_equal(found.left, should.left)
    np.testing.assert_array_equal(found.policy, should.policy)
    assert (opened.agents, opened.wins, opened.draws) == (whole.agents, whole.wins, whole.draws)


def test_a_data_set_may_hold_such_agents_alone_and_need_not_tell_the_mode(folder, tmp_path):
    copied = shutil.copytree(folder, tmp_path / "copied.zr")
    attributes = json.loads((copied / ".zattrs").read_text())
    attributes |= {name: values[:2] for name, values in attributes.items() if name.startswith("Agent")}
    attributes |= {name: [] for name in attributes if name.startswith("Episode")}
    del attributes["EpisodeGameMode"]
    steps = sum(attributes["AgentSteps"])
    (copied / ".zattrs").write_text(json.dumps(attributes | {"AgentEpisode": [-1, -1], "Steps": steps}))
    opened = DataSet(copied, GAME)
    assert set(opened.read(0, steps).result.tolist()) == {UNFINISHED} and (opened.wins, opened.draws) == (0, 0)
