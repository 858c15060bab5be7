import errno
import io
import json
import os
import sys
import types

import jax.numpy as jnp
import numpy as np
import pytest

from training.storage.logs import RunLog, measured, median_of, read_log


class Writer:
    """Stands in for tensorboardX."""

    def __init__(self, folder: str, purge_step: int, filename_suffix: str):
        self.folder, self.purge_step, self.scalars, self.closed = folder, purge_step, [], False
        Writer.last = self

    def add_scalar(self, name, value, step):
        self.scalars.append((name, value, step))

    def close(self):
        self.closed = True


@pytest.fixture(autouse=True)
def tensorboard(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX", types.SimpleNamespace(SummaryWriter=Writer))


def write(folder, iterations, first=0, **values):
    with RunLog(folder, first) as log:
        for iteration in iterations:
            log.write(iteration, {"loss": 1 / (1 + iteration), **values})


def test_a_line_per_iteration(tmp_path):
    with RunLog(tmp_path / "new") as log:
        log.write(0, {"loss": 0.25, "episodes": 3, "name": "größer\n", "shares": [0.5, 1]})
        assert read_log(tmp_path / "new" / "log.jsonl") == [
            {"iteration": 0, "loss": 0.25, "episodes": 3, "name": "größer\n", "shares": [0.5, 1]}
        ]  # at once, not when the log is closed
        log.write(1, {})
    assert (tmp_path / "new" / "log.jsonl").read_bytes().count(b"\n") == 2
    assert read_log(tmp_path / "new" / "log.jsonl")[1] == {"iteration": 1}


def test_numbers_of_numpy_and_jax_and_those_that_json_has_not(tmp_path):
    values = {
        "loss": np.float32(0.5),
        "count": jnp.int32(3),
        "shares": jnp.array([0.25, jnp.nan]),
        "nan": float("nan"),
        "parts": [1.5, float("inf"), np.float32("-inf")],
        "half": jnp.bfloat16(1.5),
    }
    with RunLog(tmp_path) as log:
        log.write(np.int64(7), values)
    line = (tmp_path / "log.jsonl").read_text()
    assert json.loads(line, parse_constant=pytest.fail) == {
        "iteration": 7,
        "loss": 0.5,
        "count": 3,
        "shares": [0.25, None],
        "nan": None,
        "parts": [1.5, None, None],
        "half": 1.5,
    }


def test_a_run_that_goes_on_leaves_the_log_of_one_that_was_never_interrupted(tmp_path):
    write(tmp_path / "whole", range(6))
    for interrupted_at, resumed_at in ((4, 2), (3, 3), (4, 0), (2, 1)):
        folder = tmp_path / f"{interrupted_at}-{resumed_at}"
        write(folder, range(interrupted_at))
        write(folder, range(resumed_at, 6), resumed_at)
        assert (folder / "log.jsonl").read_bytes() == (tmp_path / "whole" / "log.jsonl").read_bytes()
        assert sorted(path.name for path in folder.iterdir()) == ["log.jsonl"]


def test_lines_that_are_lost_are_told(tmp_path, recwarn):
    """As where the machine lost its power before they were on the disk; what is there stays."""
    write(tmp_path, range(1, 4))
    write(tmp_path, [4], 4)
    assert not recwarn.list
    write(tmp_path, [11], 11)
    write(tmp_path / "none", [3], 3)
    told = "lines from iteration {} on are lost; the run goes on with iteration {}"
    assert [str(warning.message) for warning in recwarn.list] == [
        f"log {tmp_path / 'log.jsonl'}: its {told.format(5, 11)}",
        f"log {tmp_path / 'none' / 'log.jsonl'}: its {told.format(1, 3)}",
    ]
    assert [record["iteration"] for record in read_log(tmp_path / "log.jsonl")] == [1, 2, 3, 4, 11]


def test_lines_are_on_the_disk_when_asked_for(tmp_path, monkeypatch):
    with RunLog(tmp_path) as log:
        log.write(1, {"loss": 0.5})
        found = []
        monkeypatch.setattr(os, "fsync", lambda file: found.append((os.fstat(file).st_ino, os.fstat(file).st_size)))
        log.sync()
        there = (tmp_path / "log.jsonl").stat()
        assert found == [(there.st_ino, there.st_size)] and there.st_size > 0

        def fail(_):
            raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))

        monkeypatch.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match=r"log\.jsonl: cannot be written \(Disk quota exceeded\): free some space, then go on"):
            log.sync()


def test_a_torn_last_line_is_dropped_wherever_it_ends(tmp_path):
    write(tmp_path / "whole", range(4), name="größer")
    whole = (tmp_path / "whole" / "log.jsonl").read_bytes()
    lines = whole.splitlines(keepends=True)
    path = tmp_path / "log.jsonl"
    for length in range(1, len(lines[2])):
        path.write_bytes(lines[0] + lines[1] + lines[2][:length])
        is_complete = length == len(lines[2]) - 1  # all but the end of the line
        assert [record["iteration"] for record in read_log(path)] == [0, 1, 2][: 2 + is_complete]
        write(tmp_path, range(2 + is_complete, 4), 2 + is_complete, name="größer")
        assert path.read_bytes() == whole


def test_what_was_not_measured_is_passed_over():
    log = [{"loss": 2.0}, {"loss": None, "wins": 0.0}, {"loss": 1.0}]
    assert measured(log, "loss") == [2.0, 1.0] and measured(log, "wins") == [0.0] and measured(log, "draws") == []
    assert median_of(log, "loss") == 1.5 and median_of(log, "draws") is None


def test_a_new_run_begins_a_new_log(tmp_path):
    write(tmp_path, range(5))
    write(tmp_path, range(1))
    assert [record["iteration"] for record in read_log(tmp_path / "log.jsonl")] == [0]


@pytest.mark.parametrize(
    ("content", "line"),
    [(b"notes\nmore\n", 1), (b'{"iteration": 0}\n\n{"iteration": 1}\n', 2), (b'{"loss": 1}\n', 1), (b"\xff\n", 1)],
)
def test_a_foreign_file_is_an_error_and_stays(tmp_path, content, line):
    path = tmp_path / "log.jsonl"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"log\.jsonl:{line}: is no line of a log: move the file away, or choose"):
        RunLog(tmp_path)
    with pytest.raises(ValueError, match=f":{line}:"):
        read_log(path)
    assert path.read_bytes() == content


def test_bad_values_are_errors(tmp_path):
    with RunLog(tmp_path) as log:
        with pytest.raises(ValueError, match="the name is taken"):
            log.write(0, {"iteration": 1})
        with pytest.raises(TypeError):
            log.write(0, {"loss": object()})
    assert read_log(tmp_path / "log.jsonl") == []


def test_a_folder_that_is_a_file_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        RunLog(tmp_path / "file")


class Full(io.FileIO):
    """A file on a disk that has no more room than for `room` bytes."""

    room = 0

    def write(self, line):
        if not self.room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(line[: self.room])


@pytest.mark.parametrize("room", [0, 10])
def test_a_full_disk_is_an_error(tmp_path, monkeypatch, room):
    """What was written of a line is taken back."""
    write(tmp_path, range(2))
    before = (tmp_path / "log.jsonl").read_bytes()
    monkeypatch.setattr(Full, "room", room)
    with RunLog(tmp_path, 2) as log:
        log._file.close()
        monkeypatch.setattr(log, "_file", Full(tmp_path / "log.jsonl", "ab"))
        with pytest.raises(
            OSError, match=r"log\.jsonl: cannot be written \(No space left on device\): free some space, then go on"
        ):
            log.write(2, {"loss": 0.5})
        assert (tmp_path / "log.jsonl").read_bytes() == before
        monkeypatch.setattr(Full, "room", 1000)
        log.write(2, {"loss": 0.5})
    assert [record["iteration"] for record in read_log(tmp_path / "log.jsonl")] == [0, 1, 2]


def test_numbers_become_curves(tmp_path):
    with RunLog(tmp_path, 1) as log:
        log.write(1, {"loss": 0.5, "name": "x", "shares": [0.25, float("nan"), 0.75], "nan": float("nan"), "episodes": 3})
        writer = Writer.last
        assert not writer.closed
    assert writer.closed
    assert (writer.folder, writer.purge_step) == (str(tmp_path / "events"), 1)
    assert writer.scalars == [("loss", 0.5, 1), ("shares/0", 0.25, 1), ("shares/2", 0.75, 1), ("episodes", 3, 1)]


def test_without_tensorboard_there_are_no_curves(tmp_path, monkeypatch, recwarn):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    write(tmp_path, range(2))
    assert len(read_log(tmp_path / "log.jsonl")) == 2 and not recwarn.list
