"""Data sets that are torn or of another form are told in one line, and one that cannot be finished leaves nothing."""

import builtins
import json
import shutil

import numpy as np
import pytest
import zarr

import jaxgames
from jaxgames.pommerman.pommerlearn_samples import check_suits
from tests.recordings import DATA_SET
from tests.training.learn.small_expert import GAME
from training.learn import data_sets
from training.learn.data_sets import DataSet, files_of
from training.storage import zarr_folders


@pytest.fixture(scope="module")
def folder():
    return DATA_SET


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


def written_by_others(folder, path, **shards):
    """Writes the arrays again in version 3, as zarr does where nothing is said: files of the fill value alone are left out."""
    source, group = zarr.open_group(folder, mode="r"), zarr.open_group(path, mode="w", zarr_format=3)
    group.attrs.update(dict(source.attrs))
    for name in data_sets.FORMS:
        values = source[name][:]
        fill = np.nan if name == "q" else 0
        sizes = {"chunks": (100, *values.shape[1:]), "shards": (shards[name], *values.shape[1:]) if name in shards else None}
        group.create_array(name, shape=values.shape, dtype=values.dtype, fill_value=fill, **sizes)[:] = values


def test_what_others_write_in_version_3(folder, tmp_path):
    written_by_others(folder, tmp_path / "bad.zr", obs=200, pol=400)
    assert not list((tmp_path / "bad.zr" / "q").glob("c/**/*")), "zarr leaves out what is not known"
    opened, whole = DataSet(tmp_path / "bad.zr", GAME), DataSet(folder, GAME)
    found, should = opened.read(0, opened.steps), whole.read(0, whole.steps)
    np.testing.assert_array_equal(found.policy, should.policy)
    for name in ("obs/c/1/0/0/0", "pol/c/0/0"):
        (tmp_path / "bad.zr" / name).rename(tmp_path / "kept")
        with pytest.raises(ValueError, match=rf"is torn: {name} is missing$"):
            DataSet(tmp_path / "bad.zr", GAME)
        (tmp_path / "kept").rename(tmp_path / "bad.zr" / name)


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
