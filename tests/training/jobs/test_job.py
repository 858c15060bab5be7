"""What all training jobs share, tested on a toy: files, refusals, and that nothing is lost however a run is stopped."""

import dataclasses
import importlib.util
import io
import itertools
import json
import os
import signal
import sys

import jax
import jax.numpy as jnp
import pytest
from rich.console import Console

from jaxgames import processes
from tests.processes import prepared_environment, run_python
from tests.training.jobs.killed import config_of
from tests.training.jobs.runs import as_json, contents, log_of, result_of, run_here, send_signal_at, steps_of
from tests.training.jobs.toy import ToyConfig, ToyJob, ToyLearnConfig
from training.jobs import running, train_alphaze, train_follower, train_guess, train_q
from training.jobs.command_line import run_main
from training.jobs.flags import parse
from training.jobs.job import JobConfig
from training.jobs.stopping import FIRST, StoppedByInterrupt
from training.jobs.train_follower import TrainConfig
from training.models.policy_value import PolicyValueConfig
from training.storage.checkpoints import Checkpoints
from training.storage.files import output_folder
from training.storage.logs import read_log

ITERATIONS = 12


@pytest.fixture(autouse=True)
def not_ignored():
    """A shell starts programs in the background with the interrupt ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def settings(folder, **changes):
    return ToyConfig(seed=3, output=str(folder), **changes)


def run(folder, make=ToyJob, *, draws=False, **changes):
    """Runs in this process; returns the result, and what was printed."""
    return run_here(make, settings(folder, **changes), draws=draws)


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    """The folder of a run that nothing has interrupted, its result, and what was printed."""
    folder = tmp_path_factory.mktemp("straight") / "new[/a]" / "folder"
    return folder, *run(folder, draws=True)


def assert_same(folder, expected):
    """Two runs have ended with the same bits."""
    assert (folder / "params").read_bytes() == (expected / "params").read_bytes()
    assert log_of(folder) == log_of(expected)
    assert result_of(folder) == result_of(expected)
    assert steps_of(folder)[-1] == steps_of(expected)[-1] == len(log_of(expected))


# --- a whole run -------------------------------------------------------------------------------------------------------


def test_what_a_run_writes(straight):
    folder, result, printed = straight
    files = {"settings.json", "checkpoints", "log.jsonl", "begun", "params", "result.json", "learning.svg"}
    files |= {"events"} if importlib.util.find_spec("tensorboardX") else set()
    assert {path.name for path in folder.iterdir()} == files
    assert json.loads((folder / "settings.json").read_text()) == as_json(settings(folder))
    assert json.loads((folder / "result.json").read_text()) == json.loads(json.dumps(result))
    assert result["settings"] == dataclasses.asdict(settings(folder)) and result["device"]
    log = read_log(folder / "log.jsonl")
    assert [line["iteration"] for line in log] == list(range(1, ITERATIONS + 1))
    assert all(0 < one["seconds"] < other["seconds"] for one, other in itertools.pairwise(log))
    assert result["seconds"] == log[-1]["seconds"]
    assert log[0]["rows_per_second"] is None, "most of the first iteration is compiling"
    assert (
        0 < sum(2 / line["rows_per_second"] for line in log[1:]) < result["seconds"]
    )  # two rows in a part of an iteration's time
    assert [line["iteration"] for line in log if "score" in line] == [5, 10] and not any("finite" in line for line in log)
    assert steps_of(folder) == [10, 12]
    assert "<svg" in (folder / "learning.svg").read_text()
    assert "toy: 24/24 rows" in printed and "the score" in printed and "a 17% b 33% c 50%" in printed
    assert printed.endswith(f"results in {folder}\n")


class Telling(ToyJob):
    """Does two things by turns, rates after the second and plays at the end."""

    def doing(self, state):
        return "learning" if int(state.count) % 2 else "playing"

    def rating(self, state):
        return "" if int(state.count) % 2 else "match"

    def ending(self):
        return "final games"


def test_what_is_being_done_is_told(tmp_path):
    lines = run(tmp_path, Telling, total=8)[1].splitlines()
    told = [f"toy: compiling, then {what}" for what in ("playing", "learning", "match")]
    assert [lines[0], *lines[2:4]] == told and lines[-2] == "final games"
    assert lines[1].startswith("toy: 2/8 rows, ") and "left, learning |" in lines[1]
    assert lines[4].startswith("toy: 8/8 rows, ") and ", ? left |" in lines[4]


class Gap(ToyJob):
    """Measures in its first iteration alone."""

    def advance(self, state):
        nothing = {"loss": float("nan"), "cross_entropy": float("nan"), "shares": [float("nan")] * 3}
        return super().advance(state) | ({} if int(state.count) == 1 else nothing)

    def distribution(self, values):
        return super().distribution(values) if "shares" in values else None


def test_what_was_not_measured_is_null_in_the_log_and_not_shown(straight, tmp_path):
    _, printed = run(tmp_path, Gap, draws=True)
    first, *others = read_log(tmp_path / "log.jsonl")
    before = read_log(straight[0] / "log.jsonl")[0]
    assert first["loss"] == before["loss"] and all(line["loss"] is None and line["shares"] == [None] * 3 for line in others)
    assert "nan" not in printed and printed.count(f"loss {first['loss']:.0f}") == 2, "what was measured last stays"
    assert "<svg" in (tmp_path / "learning.svg").read_text()


class Unmeasured(ToyJob):
    """Has nothing to tell at the end."""

    def finish(self, state):
        return {"best": float("inf"), "shares": [0.5, float("nan")], "ends": {"won": (float("-inf"), 1)}, "name": "inf"}


def test_a_result_has_null_for_numbers_that_are_not_finite(tmp_path):
    result, _ = run(tmp_path, Unmeasured, total=2)
    found = json.loads((tmp_path / "result.json").read_text(), parse_constant=pytest.fail)
    assert (found["best"], found["shares"], found["ends"], found["name"]) == (None, [0.5, None], {"won": [None, 1]}, "inf")
    assert json.loads(json.dumps(result)) == found


def test_checkpoints_are_saved_now_and_then_after_what_was_rated_and_at_the_end(tmp_path):
    run(tmp_path, keep=100, total=22)
    assert steps_of(tmp_path) == [3, 5, 6, 9, 10, 11]


def test_same_seed_same_run(straight, tmp_path):
    run(tmp_path)
    assert_same(tmp_path, straight[0])
    run(tmp_path / "other", rate_every=9)
    assert (tmp_path / "other" / "params").read_bytes() == (tmp_path / "params").read_bytes()
    run_here(ToyJob, dataclasses.replace(settings(tmp_path / "seed"), seed=4))
    assert (tmp_path / "seed" / "params").read_bytes() != (tmp_path / "params").read_bytes()


class Impatient(ToyJob):
    """Is interrupted as while it compiles, by a user who does not wait."""

    def advance(self, state):
        raise KeyboardInterrupt


class ImpatientAtTheEnd(ToyJob):
    """Is interrupted while it plays its final games."""

    def finish(self, state):
        raise KeyboardInterrupt


def test_nothing_is_left_of_a_run_interrupted_before_its_first_iteration(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "new" / "run", Impatient)
    assert not any(tmp_path.iterdir())
    (tmp_path / "mine").write_text("")
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, Impatient)
    assert (tmp_path / "mine").exists() and (tmp_path / "settings.json").exists()


# --- going on ----------------------------------------------------------------------------------------------------------


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
    assert_same(tmp_path, straight[0])


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


def test_an_interrupt_of_the_final_games_tells_that_all_is_saved(straight, tmp_path):
    console = Console(file=io.StringIO(), width=40)  # what reads a pipe gets whole lines
    with pytest.raises(KeyboardInterrupt):
        running.run(ImpatientAtTheEnd(settings(tmp_path), console))
    assert console.file.getvalue().endswith(
        "stopped before there is a result; all that was learnt is saved; go on with --resume\n"
    )
    run(tmp_path, resume=True)
    assert_same(tmp_path, straight[0])


def test_a_wish_to_stop_in_the_last_iteration_leaves_the_last_games_to_the_next_call(straight, monkeypatch, tmp_path):
    send_signal_at(monkeypatch, signal.SIGTERM, ITERATIONS)
    assert run(tmp_path)[0] is None and not (tmp_path / "result.json").exists()
    assert run(tmp_path, resume=True)[0]["games"] == 0
    assert_same(tmp_path, straight[0])


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
    assert_same(tmp_path, straight[0])


def test_without_matplotlib_there_is_no_picture(straight, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "training.jobs.curves", None)
    _, printed = run(tmp_path, draws=True)
    assert printed.endswith("; no plots: pip install '.[viz]' in a checkout\n") and not (tmp_path / "learning.svg").exists()
    assert (tmp_path / "result.json").exists()


def test_more_than_programs_can_count(tmp_path):
    with pytest.raises(ValueError, match=r"^3000000000 rows to do: must be <= 2000000000, as programs count in 32 bits$"):
        run(tmp_path, total=3_000_000_000)
    assert not any(tmp_path.iterdir())


def test_a_finished_run_may_be_finished_again(straight, tmp_path):
    """With another number of games, and with what was lost after the last checkpoint."""
    run(tmp_path, games=7)
    assert json.loads((tmp_path / "result.json").read_text())["games"] == 7
    for name in ("params", "result.json"):
        (tmp_path / name).unlink()
    run(tmp_path, resume=True)
    assert_same(tmp_path, straight[0])


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
    assert_same(tmp_path, straight[0])


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
    assert_same(tmp_path, straight[0])


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


# --- what is refused ---------------------------------------------------------------------------------------------------


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
    folder = straight[0]
    before = contents(folder)
    with pytest.raises(ValueError) as error:  # noqa: PT011
        run(folder, resume=True, **changes)
    assert str(error.value) == message.format(folder=folder)
    assert contents(folder) == before


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
    assert "going on after iteration 3" in run("run", total=8, resume=True, start="mine.npz")[1]
    with pytest.raises(ValueError, match=r"^start='': the run in run has 'mine\.npz'; give that, or choose another output$"):
        run("run", total=8, resume=True)


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
    folder = straight[0]
    before = contents(folder)
    with pytest.raises(ValueError) as error:  # noqa: PT011
        run(folder, resume=True, total=22)
    assert str(error.value) == f"total=22: the run in {folder} has already done 24; must be >= 24"
    assert contents(folder) == before
    run(tmp_path, total=5)
    assert run(tmp_path, total=5, resume=True)[0] is not None, "six are done, as iterations are whole"
    with pytest.raises(ValueError, match=r"^total=4: the run in .* has already done 6; must be >= 5$"):
        run(tmp_path, total=4, resume=True)
    send_signal_at(monkeypatch, signal.SIGTERM, 4)
    assert run(tmp_path, total=50, resume=True)[0] is None
    with pytest.raises(ValueError, match=r"^total=7: the run in .* has already done 8; must be >= 8$"):
        run(tmp_path, total=7, resume=True)
    assert run(tmp_path, total=24, resume=True)[0] is not None
    assert_same(tmp_path, folder)


def test_a_folder_that_holds_a_run_is_refused(straight):
    folder = straight[0]
    before = contents(folder)
    with pytest.raises(ValueError) as error:  # noqa: PT011
        run(folder)
    assert str(error.value) == f"output={str(folder)!r}: holds a run; go on with --resume, or choose another folder"
    assert contents(folder) == before


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


def test_flags_of_all_jobs_have_their_meaning_in_the_help(capsys):
    with pytest.raises(SystemExit):
        parse(TrainConfig, ["--help"])
    printed = " ".join(capsys.readouterr().out.split())
    assert "iterations between two checkpoints" in printed and "games of the reported result" in printed


# --- what goes wrong ---------------------------------------------------------------------------------------------------


def spoilt(method, number, how):
    """Gives a job of which one method does `how(state)` before its call of this number."""

    class Spoilt(ToyJob):
        calls = 0

        def spoilt_method(self, state):
            self.calls += 1
            if self.calls == number:
                how(state)
            return getattr(ToyJob, method)(self, state)

    setattr(Spoilt, method, Spoilt.spoilt_method)
    return Spoilt


def without_numbers(state):
    state.params *= jnp.nan


def fail(state):
    raise jax.errors.JaxRuntimeError("INTERNAL: the device is gone\nand a long trace")


GONE = "the device failed in iteration {} (INTERNAL: the device is gone): "


@pytest.mark.parametrize(
    ("method", "call", "how", "saved", "message"),
    [
        (
            "advance",
            8,
            without_numbers,
            6,
            "iteration 8: the loss or its gradient is not a number; iteration 6 is saved; take a smaller learning_rate than 0.9",
        ),
        pytest.param(
            "advance",
            2,
            without_numbers,
            0,
            "iteration 2: the loss or its gradient is not a number; nothing is saved yet; take a smaller learning_rate than 0.9",
            marks=pytest.mark.slow,
        ),
        ("advance", 5, fail, 3, GONE.format(5) + "go on with --resume, iteration 3 is saved"),
        ("rate", 11, fail, 10, GONE.format(11) + "go on with --resume, iteration 10 is saved"),
        ("advance", 1, fail, 0, GONE.format(1) + "nothing is saved yet"),
    ],
)
def test_an_iteration_that_fails(method, call, how, saved, message, straight, tmp_path):
    """It is named; what was saved before is whole, and with the cause gone the run goes on from there."""
    with pytest.raises(ValueError) as error:  # noqa: PT011
        run(tmp_path, spoilt(method, call, how))
    assert str(error.value) == message
    assert steps_of(tmp_path)[-1:] == [saved][:saved] and len(log_of(tmp_path)) == call - 1
    run(tmp_path, resume=True)
    assert_same(tmp_path, straight[0])


def test_a_run_names_the_usual_variant_of_its_game():
    """So that a run goes on whether its variant was named or not, and its settings tell which it is."""
    assert train_guess.TrainConfig().who.mode == "barrage"
    assert train_q.TrainConfig(who=PolicyValueConfig("hex", network="tiny")).who.mode == "adh-5"
    follower = train_follower.TrainConfig(follower=PolicyValueConfig("pommerman-team-v1", network="paper")).follower
    assert (follower.game, follower.mode) == ("pommerman", "team")
    named = train_alphaze.TrainConfig(who=PolicyValueConfig("hex", "adh-5"))
    assert train_alphaze.TrainConfig(who=PolicyValueConfig("hex-adh-5-v1")) == train_alphaze.TrainConfig() == named
