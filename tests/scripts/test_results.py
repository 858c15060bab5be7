"""The command line of the results pages: what it refuses."""

from pathlib import Path

import pytest

from experiments.papers import pommerman
from scripts import results
from training.jobs.command_line import ROOT, run_main


def leave(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        run_main(results.main, results.Config, arguments)
    return stop.value.code or 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["chess"], "page='chess': must be one of pommerman, follower"),
        (["--scale", "0"], "scale=0.0: must be > 0"),
        (["--scale", "0.01"], "scale=0.01: would overwrite the page"),
        (["--scale", "2", "--folder", str(ROOT / "docs" / "results")], "scale=2.0: would overwrite the page"),
    ],
)
def test_bad_input_is_one_line(arguments, told, capsys, monkeypatch):
    monkeypatch.setattr(pommerman, "make", lambda plan: pytest.fail("played"))
    assert leave(*arguments) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith(f"error: {told}") and printed.err.count("\n") == 1


def test_another_folder_takes_any_scale(tmp_path, monkeypatch):
    plans = []
    monkeypatch.setattr(pommerman, "make", plans.append)
    assert leave("--scale", "0.01", "--folder", str(tmp_path)) == 0
    assert plans[0].folder == Path(tmp_path) and (plans[0].best_games, plans[0].games) == (4, 2)
