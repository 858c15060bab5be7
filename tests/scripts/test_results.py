"""The command line of the results pages: what it refuses."""

import pytest

from experiments.papers.command import ResultsConfig, run
from experiments.papers.measured import Page
from training.jobs.command_line import run_main
from training.jobs.errors import ROOT


def leave(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        run_main(run, ResultsConfig, arguments)
    return stop.value.code or 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["chess"], "page='chess': must be one of pommerman, follower"),
        (["--scale", "0"], "scale=0.0: must be > 0"),
        (["--scale", "0.01"], "scale=0.01: would overwrite the page"),
        (["--scale", "2", "--folder", str(ROOT / "docs" / "results")], "scale=2.0: would overwrite the page"),
        (["follower", "--scale", "2", "--folder", "x"], "scale=2.0: the page follower has no numbers of games"),
        (["alphaze", "--batch", "2"], "batch=2: the page alphaze takes none"),
        (["--shard", "5/4"], "shard='5/4': must be I/N, with I from 1 to N"),
        (["--shard", "0/4"], "shard='0/4': must be I/N"),
        (["--shard", "2"], "shard='2': must be I/N"),
        (["pommerman", "--batch", "-2"], "batch=-2: must be >= 0"),
    ],
)
def test_bad_input_is_one_line(arguments, told, capsys, monkeypatch):
    monkeypatch.setattr(Page, "make", lambda *arguments: pytest.fail("played"))
    assert leave(*arguments) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith(f"error: {told}") and printed.err.count("\n") == 1


def test_another_folder_takes_any_scale(tmp_path, monkeypatch):
    made = []
    monkeypatch.setattr(Page, "make", lambda *arguments, shard: made.append((*arguments, shard)))
    assert leave("--scale", "0.01", "--folder", str(tmp_path), "--batch", "7", "--part", "sweep", "cost", "--shard", "2/3") == 0
    page, plan, parts, shard = made[0]
    assert shard.of(range(7)) == [1, 4]
    assert page.name == "pommerman" and parts == ("sweep", "cost") and plan.folder == tmp_path
    assert (plan.best_games, plan.games, plan.batch) == (4, 2, 7)
