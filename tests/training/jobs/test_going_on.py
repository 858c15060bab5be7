"""Nothing is lost however a run is stopped: it goes on, and ends with the bits of one that nothing has interrupted."""

import io
import json
import os
import signal
import sys

import pytest
from rich.console import Console

from jaxgames import processes
from tests.processes import prepared_environment, run_python
from tests.training.jobs.killed import config_of
from tests.training.jobs.runs import as_json, log_of, run_here, send_signal_at, steps_of
from tests.training.jobs.toy import ToyConfig, ToyJob
from tests.training.jobs.toy_runs import ITERATIONS, assert_same, run, settings
from training.jobs import running
from training.jobs.command_line import run_main
from training.jobs.stopping import FIRST, StoppedByInterrupt
from training.storage.checkpoints import Checkpoints
from training.storage.logs import read_log


@pytest.fixture(autouse=True)
def not_ignored():
    """A shell starts programs in the background with the interrupt ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    """The folder of a run that nothing has interrupted."""
    folder = tmp_path_factory.mktemp("straight") / "new[/a]" / "folder"
    run(folder)
    return folder


class ImpatientAtTheEnd(ToyJob):
    """Is interrupted while it plays its final games."""

    def finish(self, state):
        raise KeyboardInterrupt


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_run_that_is_asked_to_stop_goes_on_as_if_nothing_had_happened(number, straight, monkeypatch, tmp_path):
    """Twice, at iterations that would not have been saved."""
    stops = (4, 11)
    send_signal_at(monkeypatch, number, *stops)
    for iteration in stops:
        result, printed = run(tmp_path, resume=iteration > 4)
        assert result is None if number == signal.SIGTERM else isinstance(result, StoppedByInterrupt)
        assert f"stopped after iteration {iteration}, which is saved; go on with --resume" in printed
        assert steps_of(tmp_path)[-1] == iteration == len(log_of(tmp_path))
        assert not (tmp_path / "params").exists() and not (tmp_path / "result.json").exists()
    (tmp_path / "begun").unlink()
    result, printed = run(tmp_path, resume=True)
    assert "going on after iteration 11" in printed and not (tmp_path / "begun").exists()
    seconds = [line["seconds"] for line in read_log(tmp_path / "log.jsonl")]
    assert seconds == sorted(seconds) and result["seconds"] == seconds[-1]
    assert_same(tmp_path, straight)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_command_that_is_interrupted_tells_so_by_its_exit_code(number, code, monkeypatch, tmp_path, capsys):
    """So that what stands after && does not take the run for finished."""
    send_signal_at(monkeypatch, number, 4)
    monkeypatch.setattr(processes, "end", lambda: print("parted"))
    with pytest.raises(SystemExit) as stop:
        run_main(lambda config: running.run(ToyJob(config, Console(width=200))), ToyConfig, ["--output", str(tmp_path)])
    told = capsys.readouterr()
    assert stop.value.code == code and ("interrupted\n" in told.err) == (code == 130)
    assert "stopped after iteration 4, which is saved; go on with --resume\n" in told.out and told.out.endswith("parted\n")


def test_a_training_whose_output_nobody_reads_goes_on(straight, monkeypatch, tmp_path):
    """As with `| head -1`, or with `| tee log` when the terminal has died."""
    words = ["--output", str(tmp_path), "--seed", "3"]
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        with pytest.raises(SystemExit) as stop:
            run_main(lambda config: running.run(ToyJob(config, Console(width=200))), ToyConfig, words)
    assert stop.value.code == 0
    assert_same(tmp_path, straight)


def test_an_interrupt_of_the_final_games_tells_that_all_is_saved(straight, tmp_path):
    console = Console(file=io.StringIO(), width=40)  # what reads a pipe gets whole lines
    with pytest.raises(KeyboardInterrupt):
        running.run(ImpatientAtTheEnd(settings(tmp_path), console))
    assert console.file.getvalue().endswith(
        "stopped before there is a result; all that was learnt is saved; go on with --resume\n"
    )
    run(tmp_path, resume=True)
    assert_same(tmp_path, straight)


def test_a_wish_to_stop_in_the_last_iteration_leaves_the_last_games_to_the_next_call(straight, monkeypatch, tmp_path):
    send_signal_at(monkeypatch, signal.SIGTERM, ITERATIONS)
    assert run(tmp_path)[0] is None and not (tmp_path / "result.json").exists()
    assert run(tmp_path, resume=True)[0]["games"] == 0
    assert_same(tmp_path, straight)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_wish_to_stop_while_the_last_iteration_is_saved_comes_in_time(number, straight, monkeypatch, tmp_path):
    class Late(Checkpoints):
        def save(self, iteration, *rest):
            super().save(iteration, *rest)
            if iteration == ITERATIONS:
                os.kill(os.getpid(), number)

    monkeypatch.setattr(running, "Checkpoints", Late)
    result, printed = run(tmp_path)
    assert result is None if number == signal.SIGTERM else isinstance(result, StoppedByInterrupt)
    assert (
        printed.endswith("stopped when all was learnt and saved; go on with --resume\n")
        and not (tmp_path / "result.json").exists()
    )
    monkeypatch.undo()
    run(tmp_path, resume=True)
    assert_same(tmp_path, straight)


def test_a_finished_run_may_be_finished_again(straight, tmp_path):
    """With another number of games, and with what was lost after the last checkpoint."""
    run(tmp_path, games=7)
    assert json.loads((tmp_path / "result.json").read_text())["games"] == 7
    for name in ("params", "result.json"):
        (tmp_path / name).unlink()
    run(tmp_path, resume=True)
    assert_same(tmp_path, straight)


def test_a_finished_run_that_is_made_longer_has_no_result_until_it_is_finished_again(monkeypatch, tmp_path):
    run(tmp_path, total=6)
    assert (tmp_path / "result.json").exists()
    send_signal_at(monkeypatch, signal.SIGTERM, 5)
    assert run(tmp_path, total=18, resume=True)[0] is None and steps_of(tmp_path)[-1] == 5
    assert not (tmp_path / "result.json").exists()
    assert run(tmp_path, total=18, resume=True)[0] is not None
    assert json.loads((tmp_path / "result.json").read_text())["settings"]["total"] == 18


def test_a_finished_run_has_no_result_while_it_plays_other_final_games(monkeypatch, tmp_path):
    run(tmp_path, total=6)
    there, finish = [], ToyJob.finish
    monkeypatch.setattr(
        ToyJob, "finish", lambda job, state: there.append((job.folder / "result.json").exists()) or finish(job, state)
    )
    run(tmp_path, total=6, resume=True)
    run(tmp_path, total=6, games=5, resume=True)
    assert there == [True, False]


@pytest.mark.parametrize("resume", [True, False])
@pytest.mark.parametrize("told", [("job",), ()], ids=["now", "as earlier versions wrote settings"])
def test_a_run_without_a_checkpoint_begins_again(resume, told, straight, tmp_path):
    """As when it was killed early: without --resume too."""
    found = {name: value for name, value in as_json(settings(tmp_path)).items() if name != "job" or name in told}
    (tmp_path / "settings.json").write_text(json.dumps(found))
    (tmp_path / "log.jsonl").write_text('{"iteration": 1, "loss": 7.0}\n{"iteration": 2, "lo')
    (tmp_path / "checkpoints").mkdir()
    run(tmp_path, resume=resume)
    assert (tmp_path / "begun").read_text() == "0"
    assert_same(tmp_path, straight)


def test_a_torn_checkpoint(straight, monkeypatch, tmp_path):
    """The one before takes its place, and the log is shortened to it."""
    send_signal_at(monkeypatch, signal.SIGTERM, 8)
    run(tmp_path)
    largest = max(
        (path for path in (tmp_path / "checkpoints" / "8").rglob("*") if path.is_file()), key=lambda path: path.stat().st_size
    )
    largest.write_bytes(largest.read_bytes()[: largest.stat().st_size // 2])
    monkeypatch.undo()
    with pytest.warns(UserWarning, match=r"checkpoint .*8 is damaged .*: going on from step 6"):
        _, printed = run(tmp_path, resume=True)
    assert "going on after iteration 6" in printed
    assert_same(tmp_path, straight)


@pytest.mark.slow
def test_a_run_that_is_killed_again_and_again(tmp_path):
    """It ends with the bits of one that was not; at least one kill came while a checkpoint was being written."""
    folder = tmp_path / "killed"
    done = run_python(["-m", "tests.training.jobs.killed", str(folder), "40"], prepared_environment())
    assert done.returncode == 0, done.stderr
    assert set(done.stderr.splitlines()) == {FIRST} and int(done.stdout) > 0  # of SIGTERM
    assert not list((folder / "checkpoints").glob("unfinished*"))
    total = json.loads((folder / "settings.json").read_text())["total"]
    run_here(ToyJob, config_of(tmp_path / "straight", total=total, checkpoint_every=1000))
    for name in ("settings.json", "result.json"):  # these differ in what they say of checkpoints
        text = (folder / name).read_text()
        (folder / name).write_text(text.replace('"checkpoint_every": 1,', '"checkpoint_every": 1000,'))
    assert_same(folder, tmp_path / "straight")
