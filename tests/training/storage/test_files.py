import contextlib
import errno
import os
import socket
import stat
import subprocess
import sys

import pytest

from tests.processes import ROOT
from training.storage import files
from training.storage.files import output_folder, write_atomically, write_together
from training.storage.shards import made_from


@pytest.mark.parametrize(("content", "stored"), [("größer\n", "größer\n".encode()), (b"\x00\xff", b"\x00\xff")])
def test_writes_text_and_bytes_into_a_new_folder(tmp_path, content, stored):
    path = tmp_path / "a" / "b" / "result.json"
    write_atomically(path, content)
    assert path.read_bytes() == stored
    assert [file.name for file in path.parent.iterdir()] == ["result.json"]


@pytest.mark.parametrize(("number", "is_told"), [(errno.EINVAL, False), (errno.ENOTSUP, False), (errno.EIO, True)])
def test_disks_that_know_no_waiting_for_folders_are_no_failure(number, is_told, tmp_path, monkeypatch):
    def fail(descriptor):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match=os.strerror(number)) if is_told else contextlib.nullcontext():
        files.sync(tmp_path)


def test_replaces_the_old_content(tmp_path):
    path = tmp_path / "result.json"
    write_atomically(path, "old and long")
    write_atomically(str(path), "new")
    assert path.read_text() == "new"


def test_permissions_are_those_of_an_ordinary_file(tmp_path):
    write_atomically(tmp_path / "ours", "x")
    (tmp_path / "theirs").write_text("x")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "theirs").stat().st_mode


def test_a_failure_leaves_the_old_content_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "result.json"
    write_atomically(path, "old")

    def fail(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["result.json"]


def test_a_folder_that_is_a_file_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        write_atomically(tmp_path / "file" / "result.json", "x")


def test_of_several_files_none_is_replaced_before_all_are_written(tmp_path):
    write_together({tmp_path / "one": "1", tmp_path / "two": b"1"})
    with pytest.raises(TypeError):
        write_together({tmp_path / "one": "2", tmp_path / "two": None})
    assert [(path.name, path.read_text()) for path in sorted(tmp_path.iterdir())] == [("one", "1"), ("two", "1")]


def test_all_of_them_are_on_the_disk_before_one_appears_and_then_their_names(tmp_path, monkeypatch):
    """Those of each folder once."""
    paths, found, folders = [tmp_path / "one", tmp_path / "two", tmp_path / "new" / "three"], [], []

    def fsync(file):
        there = os.fstat(file)
        if stat.S_ISDIR(there.st_mode):
            assert all(path.exists() for path in paths)
            folders.append(there.st_ino)
        else:
            found.append((there.st_size, any(path.exists() for path in paths)))

    monkeypatch.setattr(os, "fsync", fsync)
    write_together(dict(zip(paths, ("1", "two", "four"), strict=True)))
    assert found == [(1, False), (3, False), (4, False)]
    assert sorted(folders) == sorted(folder.stat().st_ino for folder in (tmp_path, tmp_path / "new"))


# --- folders for results -----------------------------------------------------------------------------------------------


def test_an_output_folder_is_made_and_holds_nothing_else(tmp_path):
    with output_folder(tmp_path / "new" / "run") as folder:
        assert folder == tmp_path / "new" / "run"
        (folder / "result.json").write_text("{}")
    assert [path.name for path in folder.iterdir()] == ["result.json"]
    with output_folder("") as folder:
        assert folder is None


def test_an_output_folder_that_stays_empty_is_removed_as_far_as_it_was_made(tmp_path):
    (tmp_path / "there").mkdir()
    with pytest.raises(KeyboardInterrupt), output_folder(tmp_path / "there" / "new" / "run"):
        raise KeyboardInterrupt
    with output_folder(tmp_path / "there"):
        pass
    assert [*tmp_path.rglob("*")] == [tmp_path / "there"]


@pytest.mark.parametrize(("path", "reason"), [("file", "File exists"), ("file/below/it", "Not a directory")])
def test_an_output_folder_that_cannot_be_made_is_an_error(tmp_path, path, reason):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="output") as error, output_folder(tmp_path / path):
        pass
    assert str(error.value) == f"output='{tmp_path / path}': cannot be made or written ({reason}); give another folder"


def test_one_process_at_a_time(tmp_path):
    """The folder is free as soon as the process that holds it is gone, even killed."""
    code = f"""
import time
from training.storage.files import output_folder
with output_folder({str(tmp_path / "run")!r}):
    print("in", flush=True)
    time.sleep(1000)
"""
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True) as other:
        try:
            assert other.stdout.readline() == "in\n"
            with pytest.raises(OSError, match="output") as error, output_folder(tmp_path / "run"):
                pass
            assert str(error.value) == (
                f"output='{tmp_path / 'run'}': in use by process {other.pid} on {socket.gethostname()}; give another folder"
            )
        finally:
            other.kill()
    with output_folder(tmp_path / "run"):
        pass
    assert [*(tmp_path / "run").iterdir()] == []


@pytest.mark.parametrize(("where", "name"), [(os, "stat"), (files.Path, "open")])
def test_a_lock_or_folder_that_its_last_holder_removes_meanwhile_is_made_again(tmp_path, monkeypatch, where, name):
    """The lock goes between its opening and the look at it; the folder goes before the lock is opened."""
    lock, before, opened, calls = tmp_path / "run" / files.LOCK, getattr(where, name), [], []

    def removed_at_first(path, *arguments, **named):
        if os.fspath(path) == str(lock) and not calls:
            calls.append(path)
            lock.unlink(missing_ok=True)
            if name == "open":
                lock.parent.rmdir()
        found = before(path, *arguments, **named)
        if isinstance(path, files.Path) and name == "open":
            opened.append(found)
        return found

    monkeypatch.setattr(where, name, removed_at_first)
    with output_folder(tmp_path / "run"):
        assert lock.read_text().startswith(f"process {os.getpid()} on ") and len(calls) == 1
        monkeypatch.undo()
        with pytest.raises(OSError, match="in use by process"), output_folder(tmp_path / "run"):
            pass
    assert [*tmp_path.iterdir()] == [] and all(file.closed for file in opened)


def test_a_disk_without_locks_is_no_hindrance(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(files.fcntl, "flock", refuse)
    with output_folder(tmp_path / "run") as folder:
        (folder / "result.json").write_text("{}")
    assert [path.name for path in folder.iterdir()] == ["result.json"]


def test_what_is_made_of_files_is_made_again_when_others_have_come_meanwhile(tmp_path):
    """New ones, and one that was written anew."""
    seen = []

    def make():
        seen.append({path.name: path.read_text() for path in tmp_path.glob("*.json")})
        if len(seen) == 1:
            (tmp_path / "1.json").write_text("a")
        elif len(seen) == 2:
            (tmp_path / "1.json").write_text("b")
            os.utime(tmp_path / "1.json", ns=(0, 0))  # clocks may be coarse
        (tmp_path / "table.txt").write_text(str(len(seen)))

    (tmp_path / "0.json").write_text("")
    made_from(tmp_path, "*.json", make)
    assert seen == [{"0.json": ""}, {"0.json": "", "1.json": "a"}, {"0.json": "", "1.json": "b"}]


ADDING = """
import os, sys, time
from pathlib import Path
from training.storage.files import alone_in, write_atomically
path = Path(sys.argv[1])

def add():
    for _ in range(20):
        with alone_in(path.parent):
            number = int(path.read_text())
            time.sleep(0.001)
            write_atomically(path, str(number + 1))

children = []
for _ in range(3):
    child = os.fork()  # no thread of JAX runs yet
    if not child:
        add()
        os._exit(0)
    children.append(child)
sys.exit(any(os.waitpid(child, 0)[1] for child in children))
"""


def test_processes_that_change_one_file_wait_for_each_other(tmp_path):
    path = tmp_path / "number"
    path.write_text("0")
    subprocess.run([sys.executable, "-W", "ignore", "-c", ADDING, str(path)], timeout=120, check=True)
    assert path.read_text() == "60" and [each.name for each in tmp_path.iterdir()] == ["number"]
