"""What all training jobs share, tested on a toy: what a run writes and tells, and what it does where something goes wrong."""

import dataclasses
import importlib.util
import itertools
import json
import sys

import jax
import jax.numpy as jnp
import pytest

from tests.training.jobs.runs import as_json, log_of, run_here, steps_of
from tests.training.jobs.toy import ToyJob
from tests.training.jobs.toy_runs import ITERATIONS, assert_same, run, settings
from training.jobs import train_alphaze, train_follower, train_guess, train_q
from training.jobs.flags import parse
from training.jobs.train_follower import TrainConfig
from training.models.policy_value import PolicyValueConfig
from training.storage.checkpoints import Checkpoints
from training.storage.logs import RunLog, read_log


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    """The folder of a run that nothing has interrupted, its result, and what was printed."""
    folder = tmp_path_factory.mktemp("straight") / "new[/a]" / "folder"
    return folder, *run(folder, draws=True)


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


def test_without_matplotlib_there_is_no_picture(straight, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "training.jobs.curves", None)
    _, printed = run(tmp_path, draws=True)
    assert printed.endswith("; no plots: pip install '.[viz]' in a checkout\n") and not (tmp_path / "learning.svg").exists()
    assert (tmp_path / "result.json").exists()


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


def test_the_log_is_on_the_disk_before_a_checkpoint_is_saved(tmp_path, monkeypatch):
    """Else a run that goes on after a loss of power would have a log with a gap."""
    done = []
    monkeypatch.setattr(RunLog, "sync", lambda _: done.append(("log", len(log_of(tmp_path)))))
    monkeypatch.setattr(Checkpoints, "save", lambda _, step, tree: done.append(("checkpoint", step)))
    run(tmp_path, total=12)
    assert done == [(what, step) for step in (3, 5, 6) for what in ("log", "checkpoint")]


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


def test_nothing_is_left_of_a_run_interrupted_before_its_first_iteration(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "new" / "run", Impatient)
    assert not any(tmp_path.iterdir())
    (tmp_path / "mine").write_text("")
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, Impatient)
    assert (tmp_path / "mine").exists() and (tmp_path / "settings.json").exists()


# --- settings ----------------------------------------------------------------------------------------------------------


def test_a_run_names_the_usual_variant_of_its_game():
    """So that a run goes on whether its variant was named or not, and its settings tell which it is."""
    assert train_guess.TrainConfig().who.mode == "barrage"
    assert train_q.TrainConfig(who=PolicyValueConfig("hex", network="tiny")).who.mode == "adh-5"
    follower = train_follower.TrainConfig(follower=PolicyValueConfig("pommerman-team-v1", network="paper")).follower
    assert (follower.game, follower.mode) == ("pommerman", "team")
    named = train_alphaze.TrainConfig(who=PolicyValueConfig("hex", "adh-5"))
    assert train_alphaze.TrainConfig(who=PolicyValueConfig("hex-adh-5-v1")) == train_alphaze.TrainConfig() == named


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
