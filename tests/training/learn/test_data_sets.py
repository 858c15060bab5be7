"""Samples written as data sets and read again: the format, round trips, what is refused, and that it is learnt from."""

import builtins
import dataclasses
import json
import shutil
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import zarr

import jaxgames
from jaxgames import runtime
from jaxgames.pommerman.bots import random_agent
from jaxgames.pommerman.pommerlearn_samples import check_suits
from search.planner import size_in_bytes
from tests.recordings import DATA_SET
from tests.training.tiny import drawing_oracle, on_one_device
from training.jobs.write_data_sets import write_recording
from training.learn import data_sets
from training.learn.data_sets import DataSet, files_of
from training.learn.expert_iteration import ExpertConfig, shown_moves
from training.learn.from_data_sets import DataSetLearning
from training.learn.learner import Learner
from training.learn.recording import Recorder
from training.learn.self_play import UNFINISHED, SelfPlay
from training.learn.targets import Targets
from training.models.networks import follower as networks
from training.models.networks.follower import NetworkConfig
from training.models.policy_value import PolicyValue
from training.play.lanes import START, Pool
from training.storage import zarr_folders

GAME = jaxgames.make("pommerman", "ffa")
ENCODER = jaxgames.encoder_of(GAME, "pommerlearn")
WHO = PolicyValue(
    GAME, ENCODER, networks.make(NetworkConfig(width=4, layers=1, value_head=True), ENCODER.shape, ENCODER.num_outputs), {}
)
KEY, SAMPLES = jax.random.key(5), 300


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
    copied = copy_of(folder, tmp_path)
    group = zarr.open_group(copied, mode="r+")
    steps = group.attrs["Steps"] - 2
    group.attrs["Steps"] = steps
    opened = DataSet(copied, GAME)
    assert opened.steps == steps and opened.read(steps - 1, steps).left.tolist() == [3]


def test_agents_of_a_game_that_the_data_set_before_has_told_teach_no_values(folder, tmp_path):
    """As PommerLearn begins a data set, where it has filled the last one in the middle of a game."""
    copied = copy_of(folder, tmp_path)
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
    copied = copy_of(folder, tmp_path)
    attributes = json.loads((copied / ".zattrs").read_text())
    attributes |= {name: values[:2] for name, values in attributes.items() if name.startswith("Agent")}
    attributes |= {name: [] for name in attributes if name.startswith("Episode")}
    del attributes["EpisodeGameMode"]
    steps = sum(attributes["AgentSteps"])
    (copied / ".zattrs").write_text(json.dumps(attributes | {"AgentEpisode": [-1, -1], "Steps": steps}))
    opened = DataSet(copied, GAME)
    assert set(opened.read(0, steps).result.tolist()) == {UNFINISHED} and (opened.wins, opened.draws) == (0, 0)


# --- what is refused ---------------------------------------------------------------------------------------------------


def copy_of(folder, tmp_path):
    return shutil.copytree(folder, tmp_path / "bad.zr")


def values(name, index, value):
    def change(path):
        zarr.open_group(path, mode="r+")[name][index] = value

    return change


def attribute(name, change_value):
    def change(path):
        attributes = json.loads((path / ".zattrs").read_text())
        attributes[name] = change_value(attributes[name])
        (path / ".zattrs").write_text(json.dumps({key: value for key, value in attributes.items() if value is not None}))

    return change


def about(name, **changes):
    """Tells other things of an array than are so."""

    def change(path):
        file = path / name / ".zarray"
        file.write_text(json.dumps(json.loads(file.read_text()) | changes))

    return change


def of_rows(count):
    """Tells of so many rows, everywhere."""

    def change(path):
        for file in sorted(path.glob("*/.zarray")):
            about(file.parent.name, shape=[count, *json.loads(file.read_text())["shape"][1:]])(path)
        attribute("Steps", lambda value: count)(path)

    return change


def as_folder(name):
    def change(path):
        (path / name).unlink()
        (path / name).mkdir()

    return change


def without(name):
    def change(path):
        shutil.rmtree(path / name) if (path / name).is_dir() else (path / name).unlink()

    return change


def cut(name):
    def change(path):
        (path / name).write_bytes((path / name).read_bytes()[:100])

    return change


def of_form(shape, dtype="f4"):
    def change(path):
        shutil.rmtree(path / "obs")
        zarr.open_group(path, mode="r+").create_array("obs", shape=shape, chunks=shape, dtype=dtype)

    return change


@pytest.mark.parametrize(("change", "message"), [
    (without("obs/0.0.0.0"), r"is torn: obs/0\.0\.0\.0 is missing$"),
    (without("pol/0.0"), r"is torn: pol/0\.0 is missing$"),
    (attribute("EpisodeWinner", lambda value: [7, *value[1:]]), r"EpisodeWinner: must be in -1\.\.3, and one is 7$"),
    (attribute("EpisodeDraw", lambda value: [5, *value[1:]]), r"EpisodeDraw: must be in 0\.\.1, and one is 5$"),
    (attribute("EpisodeSteps", lambda value: [1] * len(value)), r"AgentSteps: entry 0 is \d+, and by EpisodeSteps its"),
    (cut("obs/0.0.0.0"), r"is torn: obs, rows 0 to \d+ \("),
    (without("pol"), "the array pol is missing$"),
    (of_rows(10**15), r"is torn: obs/\d+\.0\.0\.0 is missing$"),
    (without(".zgroup"), "is no zarr group"),
    (cut("obs/.zarray"), "is no zarr group"),
    (of_form((300, 18, 11, 11)), r"obs is float32 of shape \(300, 18, 11, 11\): must be float32 of shape \(rows, 23, 11, 11\)$"),
    (of_form((300, 23, 11, 11), "f8"), r"obs is float64 of shape \(300, 23, 11, 11\): must be float32"),
    (of_form((10, 23, 11, 11)), r"arrays have different numbers of rows: obs 10, act \d+, pol \d+, q \d+, val \d+$"),
    (about("act", shape=[10**15]), r"arrays have different numbers of rows: obs \d+, act 1000000000000000, pol"),
    (about("obs", chunks=[0, 23, 11, 11]), r"obs has chunks=\[0, 23, 11, 11\]: must be >= 1 each$"),
    (about("val", chunks=[0]), r"val has chunks=\[0\]: must be >= 1 each$"),
    (as_folder("val/0"), "is torn: val/0 is no file$"),
    (as_folder("obs/0.0.0.0"), r"is torn: obs/0\.0\.0\.0 is no file$"),
    (attribute("Steps", lambda value: value + 1), r"has \d+ samples by its attribute Steps, and obs has \d+ rows$"),
    (attribute("Steps", lambda value: 0), "Steps=0: must be a whole number >= 1$"),
    (attribute("Steps", lambda value: None), "the attribute Steps is missing$"),
    (attribute("AgentSteps", lambda value: value[:-1]), r"attributes of different lengths: AgentIds \d+, AgentSteps \d+, "),
    (attribute("AgentSteps", lambda value: [1] * len(value)), r"has \d+ samples by its attribute Steps, and its AgentSteps"),
    (attribute("AgentSteps", lambda value: [0, *value[1:]]), "AgentSteps: must be >= 1, and one is 0$"),
    (attribute("AgentSteps", lambda value: [*value[:-1], 10**13]), "AgentSteps: must be <= 800, .* and one is 10000000000000$"),
    (attribute("AgentSteps", lambda value: [*value[:-1], 801]), "AgentSteps: must be <= 800, as the game's max_steps, and one"),
    (attribute("AgentIds", lambda value: [4, *value[1:]]), r"AgentIds: must be in 0\.\.3, and one is 4$"),
    (attribute("AgentEpisode", lambda value: ["first", *value[1:]]), "AgentEpisode: must be a list with a whole number per"),
    (attribute("AgentSteps", lambda value: [1.5, *value[1:]]), "AgentSteps: must be a list with a whole number per"),
    (attribute("EpisodeWinner", lambda value: [None, *value[1:]]), "EpisodeWinner: must be a list with a whole number per"),
    (attribute("AgentIds", lambda value: [[each] for each in value]), "AgentIds: must be a list with a whole number per entry$"),
    (attribute("EpisodeDead", lambda value: [[each] for each in value]), "EpisodeDead: must be a list with 4 flags per entry$"),
    (attribute("EpisodeGameMode", lambda value: [*value[:-1], 1]), "EpisodeGameMode: must be 0, free-for-all, and one is 1$"),
    (attribute("EpisodeGameMode", lambda value: value[:-1]), r"attributes of different lengths: .*, EpisodeGameMode \d+$"),
    (attribute("AgentEpisode", lambda value: [4, *value[1:]]), r"AgentEpisode: must be in 0\.\.3, and one is 4$"),
    (attribute("AgentEpisode", lambda value: [*value[:5], -1, *value[6:]]),
     r"AgentEpisode: must be in 0\.\.3, and one is -1 \(-1 may stand for the first 4 alone\)$"),
    (attribute("AgentEpisode", lambda value: [-1] * 5 + value[5:]), r"AgentEpisode: must be in 0\.\.3, and one is -1 \("),
    (attribute("EpisodeDead", lambda value: [True] * len(value)), "EpisodeDead: must be a list with 4 flags per entry$"),
    (values("pol", (7, 2), np.nan), "sample 7: pol is no number$"),
    (values("obs", (3, 9, 1, 1), np.inf), "sample 3: obs is no number$"),
    (values("val", 5, np.nan), "sample 5: val is no number$"),
    (values("val", 5, 3.0), r"sample 5: val is outside -1\.\.1$"),
    (values("act", 4, 6), r"sample 4: act is outside 0\.\.5$"),
    (values("pol", 9, 0.5), "sample 9: pol is no distribution$"),
    (values("obs", (2, 5, 3, 4), 0.37), r"sample 2: the plane 'bomb time' has 0\.37 at \(3, 4\): these are no planes"),
    (values("obs", (2, 10), 1.0), "sample 2: the plane 'own position' has 1 at"),
])  # fmt: skip
def test_a_bad_data_set_is_told_in_one_line(folder, tmp_path, change, message):
    bad = copy_of(folder, tmp_path)
    change(bad)

    def read_all():
        opened = DataSet(bad, GAME)
        opened.read(0, opened.steps)

    with pytest.raises(ValueError, match=rf"^data set {bad}: {message}"):
        read_all()


def test_files_of_zeros_alone_may_be_left_out(folder, tmp_path):
    """As z5 leaves them out, with which PommerLearn writes."""
    sparse = copy_of(folder, tmp_path)
    without("val/0")(sparse)
    without("act/0")(sparse)
    opened, whole = DataSet(sparse, GAME), DataSet(folder, GAME)
    found, should = opened.read(0, opened.steps), whole.read(0, whole.steps)
    assert not found.value.any()
    np.testing.assert_array_equal(found.policy, should.policy)
    zarr.open_group(sparse, mode="r+").attrs["AllFilesWritten"] = True  # as ours says of those that it writes
    with pytest.raises(ValueError, match=r"is torn: act/0 is missing$"):
        DataSet(sparse, GAME)


def test_folders_are_looked_up(folder, tmp_path):
    assert files_of([str(folder.parent), str(folder)]) == [folder, folder]
    with pytest.raises(ValueError, match="there is no such folder"):
        files_of([str(tmp_path / "none")])
    with pytest.raises(ValueError, match=r"is no zarr group, and no folder with data sets \(\*\.zr\) in it$"):
        files_of([str(tmp_path)])


def test_a_data_set_that_cannot_be_finished_leaves_nothing(tmp_path):
    def fails(start, stop):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        zarr_folders.write(tmp_path / "half.zr", data_sets.FORMS, 5, fails, {})
    assert list(tmp_path.iterdir()) == []


def test_a_data_set_is_on_the_disk_before_it_appears_and_its_folder_after(tmp_path, monkeypatch):
    synced, path = [], tmp_path / "data_0.zr"

    def sync(each):
        synced.append((each.name, path.exists()))

    def read(start, stop):
        return {name: np.zeros((stop - start, *form.shape), form.dtype) for name, form in data_sets.FORMS.items()}

    monkeypatch.setattr(zarr_folders, "sync", sync)
    zarr_folders.write(path, data_sets.FORMS, 5, read, {"Steps": 5})
    *inside, outside = synced
    assert sorted(name for name, _ in inside[:-1]) == sorted(each.name for each in path.rglob("*"))
    assert inside[-1][0].startswith(".data_0.zr.") and not any(there for _, there in inside)
    assert outside == (tmp_path.name, True)


def test_without_zarr_it_says_what_to_install(monkeypatch, folder):
    found = builtins.__import__

    def importing(name, *arguments, **options):
        if name == "zarr":
            raise ImportError(name)
        return found(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", importing)
    with pytest.raises(
        ValueError, match=r"^zarr is not installed, and data sets need it: pip install '\.\[zarr\]' in a checkout$"
    ):
        DataSet(folder, GAME)


@pytest.mark.parametrize(("mode", "name"), [("ffa", "extended"), ("team", "pommerlearn")])
def test_other_games_and_planes_are_refused(mode, name):
    check_suits(GAME, jaxgames.encoder_of(GAME, "pommerlearn_centred"))  # the same views, shown in another way
    game = jaxgames.make("pommerman", mode)
    with pytest.raises(ValueError, match="data sets hold "):
        check_suits(game, jaxgames.encoder_of(game, name))


# --- learning ----------------------------------------------------------------------------------------------------------


def learning(folder, rounds=2, **changes):
    settings = {"samples": 140, "kept": 2, "epochs": 1, "lanes": 4, "updates": 4, "batch_size": 35} | changes
    config = ExpertConfig(source="data_sets", data_sets=(str(folder),), **settings)
    return DataSetLearning(config, WHO, runtime.data_mesh(1), rounds)


def test_samples_come_in_their_order(folder):
    """Each once; the last ones of a round are fewer."""
    programs, stored = learning(folder), []
    programs.rows, have = 100, 0
    programs._store = lambda samples, use, learner: stored.append((jax.device_get(samples), np.asarray(use))) or (learner, {})
    for count in (100, 40, 100, 40):
        programs.play(KEY, types.SimpleNamespace(progress={"samples": have}))
        have += count
        assert stored[-1][1].sum() == count
    policies = np.concatenate([samples.policy[use] for samples, use in stored])
    np.testing.assert_array_equal(policies, zarr.open_group(folder, mode="r")["pol"][:280])


def test_games_are_counted_where_their_end_is_told(folder):
    programs = learning(folder)
    programs.updates = types.SimpleNamespace(store=lambda ring, samples, use: ring)
    learner = Learner(params=(), optimizer_state=(), averaged=None, updates=0, progress={"samples": 0}, ring=(), games=())
    samples = jax.tree.map(lambda leaf: leaf[[0] * 6], programs.read(0, 1))
    samples = samples._replace(
        result=np.array([1, -1, 0, UNFINISHED, UNFINISHED, 1], np.int8), left=np.array([1, 1, 1, 1, 5, 2], np.int16)
    )
    told = on_one_device(lambda samples, use: programs._add(samples, use, learner)[1])(samples, np.ones(6, bool))
    assert (told["samples"], told["games"]) == (6, 3)
    np.testing.assert_allclose([told["wins"], told["draws"]], 1 / 3)


@pytest.mark.slow  # to compile
def test_samples_are_learnt_from_in_their_order(folder):
    programs = learning(folder)
    learner = programs.init(KEY, jax.jit(WHO.init)(KEY))
    learner, told = programs.play(KEY, learner)
    assert told["samples"] == 140 and told["action_shares"].sum() == pytest.approx(1)
    learner, told = programs.play(KEY, learner)
    assert told["samples"] == 280
    assert size_in_bytes(learner.ring.rows) == 280 * 4 * programs.updates.packing.num_words
    held = jax.jit(jax.vmap(programs.updates.packing.unpack))(learner.ring.rows)
    np.testing.assert_array_equal(held.policy, zarr.open_group(folder, mode="r")["pol"][:280])
    first, learnt = None, None
    for _ in range(8):
        learner, learnt = programs.learn(KEY, learner)
        first = first or float(learnt["loss"])
    assert learnt["finite"] and learnt["loss"] < first


def test_more_samples_than_there_are_and_wrong_settings(folder):
    with pytest.raises(ValueError, match=r"^samples=140: 9 rounds of so many: 1260 are needed, and \d+ are in 1 data set$"):
        learning(folder, rounds=9)
    with pytest.raises(ValueError, match=r"^source=data_sets: needs .*: give --learn.data-sets FOLDER \.\.\.$"):
        ExpertConfig(source="data_sets")
    with pytest.raises(ValueError, match=r"^data_sets=here: are read with --learn.source data_sets alone, and source=search$"):
        dataclasses.replace(ExpertConfig(), data_sets=("here",))
