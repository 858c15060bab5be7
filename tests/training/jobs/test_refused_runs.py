"""Runs that do not go on, folders in which none begins, and settings of all jobs that are refused; nothing changes by it."""

import json
import shutil
import signal

import pytest

from tests.training.jobs.runs import contents, send_signal_at
from tests.training.jobs.toy import ToyJob, ToyLearnConfig
from tests.training.jobs.toy_runs import assert_same, run
from training.jobs.job import JobConfig
from training.storage.files import output_folder


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    """The folder of a run that nothing has interrupted."""
    folder = tmp_path_factory.mktemp("straight") / "new[/a]" / "folder"
    run(folder)
    return folder


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rate_every": 9}, "rate_every=9: the run in {folder} has 10; give that, or choose another output"),
        (
            {"learn": ToyLearnConfig(decay=0.5)},
            "learn.decay=0.5: the run in {folder} has 0.9; give that, or choose another output",
        ),
    ],
)
def test_other_settings_do_not_go_on(changes, message, straight):
    before = contents(straight)
    with pytest.raises(ValueError) as error:  # noqa: PT011
        run(straight, resume=True, **changes)
    assert str(error.value) == message.format(folder=straight)
    assert contents(straight) == before


def test_a_file_that_has_changed_is_not_gone_on_with(monkeypatch, tmp_path):
    """Nothing of the run changes; when the file is as it was, it goes on."""
    monkeypatch.chdir(tmp_path)
    weights, named = tmp_path / "mine.npz", {"opponent": "network:mine.npz"}
    weights.write_bytes(b"as it was")
    run("run", total=6, **named)
    weights.write_bytes(b"learnt on")
    before = contents(tmp_path)
    with pytest.raises(ValueError) as error:  # noqa: PT011
        run("run", total=8, resume=True, **named)
    told = "what is in mine.npz has changed since the run in run read it; put that back, or choose another output"
    assert str(error.value) == f"opponent='network:mine.npz': {told}" and contents(tmp_path) == before
    weights.write_bytes(b"as it was")
    assert "going on after iteration 3" in run("run", total=8, resume=True, **named)[1]


def test_what_a_run_only_began_with_may_change(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.npz").write_bytes(b"as it was")
    run("run", total=6, start="mine.npz")
    (tmp_path / "mine.npz").write_bytes(b"learnt on")
    told = json.loads((tmp_path / "run" / "settings.json").read_text())["files"]
    assert "going on after iteration 3" in run("run", total=8, resume=True, start="mine.npz")[1]
    assert json.loads((tmp_path / "run" / "settings.json").read_text())["files"] == told, "with what it began is still told"
    with pytest.raises(ValueError, match=r"^start='': the run in run has 'mine\.npz'; give that, or choose another output$"):
        run("run", total=8, resume=True)


def test_what_was_in_a_file_before_it_was_read_is_told(monkeypatch, tmp_path):
    """A run that trains the opponent meanwhile may write it at any time."""
    monkeypatch.chdir(tmp_path)
    weights, named, make = tmp_path / "mine.npz", {"opponent": "network:mine.npz"}, ToyJob.__init__
    weights.write_bytes(b"as it was")

    def changed(self, *arguments):
        make(self, *arguments)
        weights.write_bytes(b"learnt on")

    with monkeypatch.context() as patch:
        patch.setattr(ToyJob, "__init__", changed)
        run("run", total=6, **named)
    with pytest.raises(ValueError, match=r"^opponent='network:mine\.npz': what is in mine\.npz has changed since the run in run"):
        run("run", total=8, resume=True, **named)
    weights.write_bytes(b"as it was")
    assert "going on after iteration 3" in run("run", total=8, resume=True, **named)[1]


def test_a_run_of_an_earlier_version_goes_on_whatever_is_in_its_files(monkeypatch, tmp_path):
    """From then on it is told."""
    monkeypatch.chdir(tmp_path)
    weights, named, path = tmp_path / "mine.npz", {"opponent": "network:mine.npz"}, tmp_path / "run" / "settings.json"
    weights.write_bytes(b"as it was")
    run("run", total=6, **named)
    told = json.loads(path.read_text())
    path.write_text(json.dumps({name: value for name, value in told.items() if name != "files"}))
    weights.write_bytes(b"learnt on")
    assert "going on after iteration 3" in run("run", total=8, resume=True, **named)[1]
    assert json.loads(path.read_text())["files"]["opponent"].keys() == told["files"]["opponent"].keys() == {"mine.npz"}
    assert json.loads(path.read_text())["files"] != told["files"]


def test_a_run_is_not_made_shorter_than_it_is(straight, monkeypatch, tmp_path):
    """Nothing of it changes; a run that has not come so far may be made shorter."""
    before = contents(straight)
    with pytest.raises(ValueError) as error:  # noqa: PT011
        run(straight, resume=True, total=22)
    assert str(error.value) == f"total=22: the run in {straight} has already done 24; must be >= 24"
    assert contents(straight) == before
    run(tmp_path, total=5)
    assert run(tmp_path, total=5, resume=True)[0] is not None, "six are done, as iterations are whole"
    with pytest.raises(ValueError, match=r"^total=4: the run in .* has already done 6; must be >= 5$"):
        run(tmp_path, total=4, resume=True)
    send_signal_at(monkeypatch, signal.SIGTERM, 4)
    assert run(tmp_path, total=50, resume=True)[0] is None
    with pytest.raises(ValueError, match=r"^total=7: the run in .* has already done 8; must be >= 8$"):
        run(tmp_path, total=7, resume=True)
    assert run(tmp_path, total=24, resume=True)[0] is not None
    assert_same(tmp_path, straight)


def test_a_folder_that_holds_a_run_is_refused(straight):
    before = contents(straight)
    with pytest.raises(ValueError) as error:  # noqa: PT011
        run(straight)
    assert str(error.value) == f"output={str(straight)!r}: holds a run; go on with --resume, or choose another folder"
    assert contents(straight) == before


@pytest.mark.parametrize("resume", [True, False])
@pytest.mark.parametrize(
    ("lost", "there", "told"),
    [
        ("checkpoints", ("result.json", "best.npz", "log.jsonl"), "result.json"),
        ("checkpoints", ("best.npz", "log.jsonl"), "best.npz"),
        ("checkpoints", ("log.jsonl",), "log.jsonl"),
        ("what is in it", ("result.json",), "result.json"),
        ("what is in it", ("best.npz", "log.jsonl"), "log.jsonl"),
    ],
)
def test_a_run_whose_checkpoints_were_taken_away_is_not_written_over(lost, there, told, resume, tmp_path):
    run(tmp_path, total=8)
    (tmp_path / "best.npz").write_bytes(b"learnt")
    shutil.rmtree(tmp_path / "checkpoints")
    if lost == "what is in it":
        (tmp_path / "checkpoints").mkdir()
    for name in {"result.json", "best.npz", "log.jsonl"} - set(there):
        (tmp_path / name).unlink()
    before = contents(tmp_path)
    for _ in range(2):  # it changes nothing that the next call looks at
        with pytest.raises(ValueError) as error:  # noqa: PT011
            run(tmp_path, total=8, resume=resume)
        told_now = f"holds the {told} of a run without checkpoints; give another folder, or move away what lies there"
        assert str(error.value) == f"output={str(tmp_path)!r}: {told_now}" and contents(tmp_path) == before


@pytest.mark.parametrize("resume", [True, False])
def test_a_run_that_was_stopped_before_its_first_checkpoint_begins_again(resume, tmp_path):
    """It may have written weights and as many iterations as a checkpoint takes."""
    run(tmp_path, total=6)
    shutil.rmtree(tmp_path / "checkpoints")
    (tmp_path / "checkpoints" / "unfinished-3").mkdir(parents=True)
    (tmp_path / "best.npz").write_bytes(b"learnt")
    (tmp_path / "result.json").unlink()
    result, printed = run(tmp_path, total=6, resume=resume)
    assert result is not None and (f"no run to go on with in {tmp_path}: one begins" in printed) == resume


@pytest.mark.parametrize("resume", [True, False])
@pytest.mark.parametrize(
    ("file", "found", "owner"),
    [
        ("result.json", {"job": "tournament", "settings": {}}, "tournament"),
        ("result.json", {"settings": {"planner": "", "opponent": "", "games": 3}}, "match"),
        ("result.json", {"mine": 1}, "another program"),
        ("settings.json", {"job": "write-data-sets", "seed": 3}, "write-data-sets"),
        ("settings.json", {"data_sets": 1, "samples": 9, "lanes": 2}, "write-data-sets"),
    ],
)
def test_a_folder_in_which_another_job_has_written_is_refused(resume, file, found, owner, tmp_path):
    (tmp_path / file).write_text(json.dumps(found))
    before = contents(tmp_path)
    with pytest.raises(ValueError) as error:  # noqa: PT011
        run(tmp_path, resume=resume)
    told = f"holds the {file} of {owner}; give another folder, or move away what lies there"
    assert str(error.value) == f"output={str(tmp_path)!r}: {told}" and contents(tmp_path) == before


@pytest.mark.parametrize("text", ["{", "[1]", "3"])
def test_settings_that_are_no_settings(text, tmp_path):
    (tmp_path / "settings.json").write_text(text)
    with pytest.raises(ValueError, match=r"settings\.json: ") as error:
        run(tmp_path, resume=True)
    assert "\n" not in str(error.value) and (tmp_path / "settings.json").read_text() == text


def test_a_folder_that_cannot_be_made_or_is_in_use(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"file/run': cannot be made or written"):
        run(tmp_path / "file" / "run")
    with output_folder(tmp_path / "run"), pytest.raises(OSError, match="in use by process"):
        run(tmp_path / "run")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"checkpoint_every": 0}, "checkpoint_every=0: must be >= 1"),
        ({"keep": 0}, "keep=0: must be >= 1"),
        ({"seed": -1}, "seed=-1: must be in 0..4294967295"),
        ({"seed": 2**32}, "seed=4294967296: must be in 0..4294967295"),
        ({"output": ""}, "output='': must be a folder"),
    ],
)
def test_bad_settings(values, message):
    with pytest.raises(ValueError) as error:  # noqa: PT011
        JobConfig(**values)
    assert str(error.value) == message


def test_more_than_programs_can_count(tmp_path):
    with pytest.raises(ValueError, match=r"^3000000000 rows to do: must be <= 2000000000, as programs count in 32 bits$"):
        run(tmp_path, total=3_000_000_000)
    assert not any(tmp_path.iterdir())
