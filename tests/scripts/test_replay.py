"""The command line of the replay: exit codes, the last line, errors in one line."""

import subprocess
import sys
from pathlib import Path

import pytest

from scripts import _common, make_test_samples, replay

SAMPLES = Path(__file__).resolve().parents[1] / "data" / "pommerman"
SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "replay.py"


def run(capsys, *arguments, script=replay):
    with pytest.raises(SystemExit) as stopped:
        _common.run_main(script.main, script.Config, [str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return stopped.value.code, captured.out, captured.err


def test_a_sound_recording(capsys):
    code, out, err = run(capsys, "pommerman", SAMPLES / "ffa_kick.npz")
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == "120 transitions, 0 mismatches"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["chess", "x.npz"], "game='chess': must be one of pommerman"),
        (["pommerman"], "no file named"),
        (["pommerman", "missing.npz"], "missing.npz: cannot be read: No such file or directory"),
        (["pommerman", SCRIPT], "not an npz file"),
        (["pommerman", "x.npz", "--shown", "-3"], "shown=-3: must be >= 0"),
        (["pommerman", "x.npz", "--loud"], "--loud"),
        ([], "Which game"),
    ],
)
def test_bad_input_is_told_in_one_line(capsys, arguments, told):
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert told in err


def test_it_starts_as_a_file_from_anywhere(tmp_path):
    done = subprocess.run(
        [sys.executable, SCRIPT, "pommerman", "nothing.npz"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: nothing.npz: cannot be read: No such file or directory\n"


def test_samples_need_the_whole_recordings_and_leave_nothing_half_written(capsys, tmp_path):
    target = tmp_path / "samples"
    code, out, err = run(capsys, SAMPLES.parent, "--target", target, script=make_test_samples)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert not target.exists()
    code, out, _ = run(capsys, SAMPLES, "--target", target, script=make_test_samples)
    assert code in (0, None)
    assert sorted(path.name for path in target.iterdir()) == sorted(path.name for path in SAMPLES.iterdir())
