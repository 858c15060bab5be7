"""Checkpoints that are damaged, of another format, or on a disk that is full or cannot be written: told, and nothing is lost."""

import errno
import os
import random
import resource
import shutil
import warnings
from pathlib import Path

import jax
import numpy as np
import orbax.checkpoint as ocp
import pytest

from tests.training.storage.small_checkpoints import META, assert_same, small_tree, two_checkpoints
from training.storage import checkpoints, record
from training.storage.checkpoints import Checkpoints
from training.storage.record import RECORD

# --- damaged ones ----------------------------------------------------------------------------------------------------------


def files_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def assert_falls_back(folder: Path, template: dict, expected: dict) -> None:
    """From step 20 to step 10, with one warning; puts step 20 back."""
    with warnings.catch_warnings(record=True) as warned, Checkpoints(folder, META) as saved:
        warnings.simplefilter("always")
        step, tree = saved.restore(template)
        assert step == 10 and saved.steps() == [10]
    assert_same(tree, expected)
    (message,) = [str(warning.message) for warning in warned]
    assert message.startswith(f"checkpoint {folder / '20'} is damaged (")
    assert message.endswith("): going on from step 10") and "\n" not in message
    (folder / "damaged-20").rename(folder / "20")


def test_any_flipped_bit_falls_back(tmp_path, monkeypatch, capfd):
    """Wherever it is; orbax, which tells of a damaged file on pages, is not asked to read one."""

    def tree(seed: int) -> dict:
        draw = np.random.default_rng(seed)
        return {"key": jax.random.key(seed), "words": draw.integers(0, 256, 3000, dtype=np.uint8), "count": np.int32(seed)}

    with Checkpoints(tmp_path, META) as saved:
        saved.save(10, tree(1))
        saved.save(20, tree(2))
    read = {}

    def restore(self, directory, *arguments):
        assert Path(directory).parent.name == "10"
        if not read:
            read[0] = really_restore(self, directory, *arguments)
        return read[0]

    really_restore = ocp.Checkpointer.restore
    monkeypatch.setattr(ocp.Checkpointer, "restore", restore)
    draw = random.Random(0)
    for path in files_of(tmp_path / "20"):
        content = path.read_bytes()
        places = [draw.randrange(8 * len(content)) for _ in range(10)]
        if path.name == RECORD:
            places += range(0, 8 * len(content), 197)
        for place in places:
            flipped = bytearray(content)
            flipped[place // 8] ^= 1 << place % 8
            path.write_bytes(flipped)
            assert_falls_back(tmp_path, tree(0), tree(1))
        path.write_bytes(content)
    assert capfd.readouterr().err == ""
    monkeypatch.undo()
    with Checkpoints(tmp_path, META) as saved:
        step, restored = saved.restore(tree(0))
    assert step == 20
    assert_same(restored, tree(2))


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def empty(path: Path) -> None:
    os.truncate(path, 0)


def lengthen(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\0")


SLOW = [pytest.param(damage, marks=pytest.mark.slow) for damage in (empty, lengthen)]


@pytest.mark.parametrize("damage", [truncate, *SLOW, Path.unlink, "no arrays", "empty folder"])
def test_a_damaged_checkpoint_falls_back_and_its_step_may_be_saved_again(tmp_path, damage, capfd):
    two_checkpoints(tmp_path / "whole")
    whole = tmp_path / "whole" / "20"
    names = [path.relative_to(whole) for path in files_of(whole)] if callable(damage) else [Path()]
    for name in names:
        folder = tmp_path / "copy"
        shutil.copytree(tmp_path / "whole", folder)
        if callable(damage):
            damage(folder / "20" / name)
        else:
            shutil.rmtree(folder / "20" / (checkpoints.ARRAYS if damage == "no arrays" else ""))
            (folder / "20").mkdir(exist_ok=True)
        assert_falls_back(folder, small_tree(), small_tree(1))
        if name == names[0]:
            with Checkpoints(folder, META) as saved:
                with pytest.warns(UserWarning, match="20 is damaged"):
                    saved.restore(small_tree())
                saved.save(20, small_tree(5))
                assert sorted(path.name for path in folder.iterdir()) == ["10", "20"]
                assert_same(saved.restore(small_tree())[1], small_tree(5))
        shutil.rmtree(folder)
    assert capfd.readouterr().err == ""


def test_values_that_orbax_reads_wrong_are_damaged(tmp_path, monkeypatch):
    two_checkpoints(tmp_path)
    monkeypatch.setattr(checkpoints, "crc32", lambda array: 0)
    with Checkpoints(tmp_path, META) as saved, pytest.raises(ValueError, match=r"step 20: leaf \S+ has another checksum"):
        saved.restore(small_tree())


def test_nothing_but_damaged_ones_is_an_error_and_they_stay(tmp_path):
    two_checkpoints(tmp_path)
    for step in ("10", "20"):
        (tmp_path / step / RECORD).unlink()
    for _ in range(2):
        with Checkpoints(tmp_path, META) as saved, pytest.raises(ValueError, match="all 2 checkpoints are damaged") as raised:
            saved.restore(small_tree())
        assert str(raised.value) == (
            f"{tmp_path}: all 2 checkpoints are damaged (step 20: record.json: No such file or directory); start again in "
            "another output folder"
        )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["10", "20"]


def test_another_format_is_an_error(tmp_path, monkeypatch):
    two_checkpoints(tmp_path)
    monkeypatch.setattr(checkpoints, "FORMAT", 1000)
    with Checkpoints(tmp_path, META) as saved, pytest.raises(ValueError, match=r"20: format \d there, 1000 here: resume with"):
        saved.restore(small_tree())


# --- those that cannot be read at the moment --------------------------------------------------------------------------------


def one_leaf(step: int = 0) -> dict:
    return {"step": np.full(3, step, np.int32)}


@pytest.fixture(scope="module")
def saved_twice(tmp_path_factory):
    """A folder of two checkpoints, to be copied."""
    folder = tmp_path_factory.mktemp("twice")
    with Checkpoints(folder, META) as saved:
        for step in (10, 20):
            saved.save(step, one_leaf(step))
    return folder


@pytest.fixture
def twice(saved_twice, tmp_path):
    """A folder of two checkpoints."""
    return Path(shutil.copytree(saved_twice, tmp_path / "twice"))


def of_system(number: int) -> OSError:
    return OSError(number, os.strerror(number))


def of_orbax(number: int) -> ValueError:
    told = "UNKNOWN: Error reading local file: Failed to open"
    return ValueError(f"{told}: {os.strerror(number)} [os_error_code='{number}'] [tensorstore_spec=...]")


def fail_once(patch, where, name: str, error: Exception) -> None:
    """Lets a function fail when it is called for the first time."""
    really, calls = getattr(where, name), []

    def call(*arguments, **named):
        calls.append(arguments)
        if len(calls) == 1:
            raise error
        return really(*arguments, **named)

    patch.setattr(where, name, call)


PLACES = [  # where a checkpoint is read: the function, the error that it raises, and what the message then names
    (Path, "read_bytes", of_system, RECORD),
    (record, "crc32_of", of_system, "arrays/_CHECKPOINT_METADATA"),
    (ocp.Checkpointer, "restore", of_system, checkpoints.ARRAYS),
    (ocp.Checkpointer, "restore", of_orbax, checkpoints.ARRAYS),
]


@pytest.mark.parametrize(("where", "name", "error", "told"), PLACES)
def test_what_cannot_be_read_at_the_moment_is_no_damage(twice, monkeypatch, where, name, error, told):
    with Checkpoints(twice, META) as saved:
        for number in (errno.EMFILE, errno.EACCES, errno.ESTALE, errno.ETIMEDOUT, errno.ENOMEM):
            with monkeypatch.context() as patch:
                fail_once(patch, where, name, error(number))
                with pytest.raises(OSError, match="cannot be read") as raised:
                    saved.restore(one_leaf())
            assert str(raised.value) == (
                f"checkpoint {twice / '20'}: {told} cannot be read at the moment ({os.strerror(number)}); all stays as it is: "
                "go on with --resume when it can be"
            )
            assert saved.steps() == [10, 20]
        assert saved.restore(one_leaf())[0] == 20


@pytest.mark.parametrize("number", [errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EIO])
@pytest.mark.parametrize(("where", "name", "error", "told"), PLACES)
def test_what_is_lost_or_spoilt_is_damage(twice, monkeypatch, number, where, name, error, told):
    fail_once(monkeypatch, where, name, error(number))
    with (
        Checkpoints(twice, META) as saved,
        pytest.warns(UserWarning, match=rf"20 is damaged \({told}: .*\): going on from step 10"),
    ):
        assert saved.restore(one_leaf())[0] == 10


@pytest.mark.parametrize("becomes", ["link to itself", "folder"])
def test_errors_of_the_library_that_reads_arrays_are_known(twice, monkeypatch, becomes):
    """A file that was whole when checksums were compared is another thing when it is read."""
    really_read = checkpoints.read_record

    def read_record(folder):
        found = really_read(folder)
        for path in (folder / checkpoints.ARRAYS / "d").iterdir() if folder.name == "20" else ():
            path.unlink()
            path.mkdir() if becomes == "folder" else path.symlink_to(path)
        return found

    monkeypatch.setattr(checkpoints, "read_record", read_record)
    with Checkpoints(twice, META) as saved:
        if becomes == "folder":
            with pytest.warns(UserWarning, match=r"20 is damaged \(arrays: No such file or directory\): going on from step 10"):
                assert saved.restore(one_leaf())[0] == 10
        else:
            with pytest.raises(OSError, match=r"20: arrays cannot be read at the moment \(Too many levels of symbolic links\)"):
                saved.restore(one_leaf())
            assert saved.steps() == [10, 20]


# --- disks -----------------------------------------------------------------------------------------------------------------


def test_a_folder_that_is_a_file_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"file: cannot write checkpoints there \(File exists\); choose another output folder"):
        Checkpoints(tmp_path / "file", META)


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path, monkeypatch):
    def refuse(**_):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(checkpoints.tempfile, "TemporaryFile", refuse)
    with pytest.raises(OSError, match=r"cannot write checkpoints there \(Read-only file system\)"):
        Checkpoints(tmp_path, META)


def refuse_to_save(error: Exception):
    """Gives a `save` that has written half when the disk is full."""

    def save(_, directory, *__):
        directory.mkdir()
        (directory / "values").write_bytes(b"half")
        raise error

    return save


FULL = (
    OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
    ValueError("RESOURCE_EXHAUSTED: Failed to write 5 bytes to file 11: No space left on device [os_error_code='28']"),
)


@pytest.mark.parametrize("error", FULL)
def test_a_full_disk_is_an_error_and_the_earlier_ones_stay(tmp_path, monkeypatch, error):
    two_checkpoints(tmp_path)
    with Checkpoints(tmp_path, META) as saved:
        with monkeypatch.context() as patch:
            patch.setattr(ocp.Checkpointer, "save", refuse_to_save(error))
            with pytest.raises(OSError, match=r"step 30 could not be saved \(No space left on device\); the earlier") as raised:
                saved.save(30, small_tree(3))
        assert str(raised.value).endswith("free some space, then go on with --resume") and "\n" not in str(raised.value)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["10", "20"]
        assert_same(saved.restore(small_tree())[1], small_tree(2))
        saved.save(30, small_tree(3))
        assert_same(saved.restore(small_tree())[1], small_tree(3))


def test_too_little_room_is_found_before_orbax_writes(tmp_path, capfd):
    large = {"large": np.random.default_rng(0).integers(0, 256, 1_000_000, dtype=np.uint8)}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Checkpoints(tmp_path, META) as saved:
        saved.save(1, large)
        resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, limits[1]))
        try:
            with pytest.raises(OSError, match=r"step 2 could not be saved \(File too large\)"):
                saved.save(2, large)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert [path.name for path in tmp_path.iterdir()] == ["1"] and capfd.readouterr().err == ""
        saved.save(2, large)
        assert_same(saved.restore(large)[1], large)


def test_other_errors_are_not_hidden(tmp_path, monkeypatch):
    with Checkpoints(tmp_path, META) as saved:
        monkeypatch.setattr(ocp.Checkpointer, "save", refuse_to_save(TypeError("a bug")))
        with pytest.raises(TypeError, match="a bug"):
            saved.save(1, small_tree())
    assert list(tmp_path.iterdir()) == []
