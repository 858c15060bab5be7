"""Files that settings name, and what several processes tell where one has others."""

import dataclasses
from pathlib import Path

import pytest

from tests.processes import prepared_environment, run_together
from training.jobs.named_files import digests


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "best.npz").write_bytes(b"weights")
    (tmp_path / "mine.py").write_text("")
    (tmp_path / "sets" / "data_0.zr").mkdir(parents=True)
    (tmp_path / "sets" / "data_0.zr" / "0.0").write_bytes(bytes(100_000))
    return tmp_path


def test_files_are_found_in_settings(here):
    given = {
        "agents": ("network:run/best.npz", "pc_pimc:guess=run,candidates=32", "python:mine.py:make", "random"),
        "learn.data_sets": ["sets"],
        "start": "missing.npz",
        "output": "run",
        "folder": Path("run"),
        "games": 3,
        "note": "x" * 5000,  # no name of a file
    }
    assert set(digests(given)) == {"file run/best.npz", "file run", "file mine.py", "file sets"}
    assert digests({"output": "run"}) == digests({"mode": ""}) == {}


@pytest.mark.parametrize(("named", "changed"), [("run", "run/best.npz"), ("sets", "sets/data_0.zr/0.0"), ("mine.py", "mine.py")])
def test_other_contents_have_other_digests(named, changed, here):
    before = digests({"any": named})
    assert before == digests({"other": (named,)}) != {}
    (here / changed).write_bytes(b"something else")
    assert digests({"any": named}).keys() == before.keys() and digests({"any": named}) != before


@dataclasses.dataclass(frozen=True)
class Named:
    """Settings that name a file."""

    agents: tuple[str, ...] = ("network:best.npz", "random")


START = """
import os
from tests.training.jobs.test_named_files import Named
from training.jobs import command_line
os.chdir(os.path.join(FOLDER, str(me)))
try:
    command_line._start_processes(together, Named())
except ValueError as error:
    os.write(1, str(error).encode())
processes.end(failed=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("theirs", [b"other", None])
def test_two_processes_with_other_files_of_one_name(theirs, tmp_path):
    for number, content in enumerate([b"weights", theirs]):
        (tmp_path / str(number)).mkdir()
        if content is not None:
            (tmp_path / str(number) / "best.npz").write_bytes(content)
    code = START.replace("FOLDER", repr(str(tmp_path)))
    ends = run_together(code, 2, prepared_environment())
    for number, (_, out, error) in enumerate(ends):
        assert f"process {1 - number} on " in out and "has file best.npz=" in out and out.endswith(": start all with the same")
        assert error == "" and ("=nothing" in out) == (theirs is None)
