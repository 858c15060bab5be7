"""The command line of the replay: exit codes, the last line, errors in one line."""

import re
from pathlib import Path

import numpy as np
import pytest

from training.jobs import replay
from training.jobs.command_line import run_main

SAMPLES = Path(__file__).resolve().parents[2] / "data" / "pommerman"


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as stopped:
        run_main(replay.run, replay.ReplayConfig, [str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return stopped.value.code, captured.out, captured.err


def test_a_sound_recording(capsys):
    code, out, err = run(capsys, "hex", SAMPLES.parent / "hex" / "adh_3x3.npz")
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == "1033 transitions, 0 mismatches"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["chess", "x.npz"], "game='chess': must be one of pommerman"),
        (["pommerman"], "no file named"),
        (["pommerman", "missing.npz"], "missing.npz: cannot be read: No such file or directory"),
        (["pommerman", Path(__file__)], "not an npz file"),
        (["hero_academy", SAMPLES / "ffa_kick.npz"], "no recording of Hero Academy: lacks player, turn, ap"),
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


def test_hero_academys_damaged_recordings_are_told_in_one_line_each(capsys, tmp_path):
    with np.load(SAMPLES.parent / "hero_academy" / "synthetic_steps.npz") as file:
        whole = dict(file)
    damaged = {"t_source": whole["t_source"] + 150, "legal_offset": whole["legal_offset"][:-1], "t_action": whole["t_action"] / 2}
    paths = [tmp_path / f"{field}.npz" for field in damaged]
    for path, (field, array) in zip(paths, damaged.items(), strict=True):
        np.savez(path, **{**whole, field: array})
    code, out, err = run(capsys, "hero_academy", *paths)
    assert (code, out) == (2, "")
    told = (r"t_source: 150 is out of range, must be in 0\.\.149", r"legal_offset: shape \(150,\), must be \(151,\)")
    told += ("t_action: dtype float64, must be an integer type",)
    for line, path, words in zip(err.splitlines(), paths, told, strict=True):
        assert re.fullmatch(f"error: {path}: no sound recording: {words}", line)


def test_recorded_games_of_hex_in_a_wrong_order_are_told_in_one_line(capsys, tmp_path):
    with np.load(SAMPLES.parent / "hex" / "adh_3x3.npz") as file:
        arrays = dict(file)
    offsets = arrays["offsets"].astype(np.uint32)  # whose differences wrap
    offsets[[1, 2]] = offsets[[2, 1]]
    np.savez(tmp_path / "swapped.npz", **{**arrays, "offsets": offsets})
    code, out, err = run(capsys, "hex", tmp_path / "swapped.npz")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert f"offsets: must rise from 0 to the {len(arrays['action'])} rows" in err
