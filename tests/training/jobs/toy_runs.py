"""Runs of the toy job in this process, and whether two of them have ended alike."""

from tests.training.jobs.runs import log_of, result_of, run_here, steps_of
from tests.training.jobs.toy import ToyConfig, ToyJob

ITERATIONS = 12


def settings(folder, **changes):
    return ToyConfig(seed=3, output=str(folder), **changes)


def run(folder, make=ToyJob, *, draws=False, **changes):
    """Runs in this process; returns the result, and what was printed."""
    return run_here(make, settings(folder, **changes), draws=draws)


def assert_same(folder, expected):
    """Two runs have ended with the same bits."""
    assert (folder / "params").read_bytes() == (expected / "params").read_bytes()
    assert log_of(folder) == log_of(expected)
    assert result_of(folder) == result_of(expected)
    assert steps_of(folder)[-1] == steps_of(expected)[-1] == len(log_of(expected))
