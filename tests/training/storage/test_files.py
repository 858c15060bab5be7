import os

import pytest

from training.storage.files import check_folder, write_atomically, write_together


@pytest.mark.parametrize(("content", "stored"), [("größer\n", "größer\n".encode()), (b"\x00\xff", b"\x00\xff")])
def test_writes_text_and_bytes_into_a_new_folder(tmp_path, content, stored):
    path = tmp_path / "a" / "b" / "result.json"
    write_atomically(path, content)
    assert path.read_bytes() == stored
    assert [file.name for file in path.parent.iterdir()] == ["result.json"]


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


def test_a_folder_is_checked_without_a_trace(tmp_path):
    check_folder(tmp_path / "new")
    assert list((tmp_path / "new").iterdir()) == []
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        check_folder(tmp_path / "file")
