"""The benchmark of the official agent times its moves one by one, and repeats itself."""

import dataclasses
import functools

import pytest

from experiments.benchmark import harness, records
from experiments.benchmark.case import Request
from experiments.benchmark.cases import find
from experiments.benchmark.official import decisions


@pytest.mark.slow
def test_a_row_of_official_moves():
    quick = functools.partial(decisions, spec="follower", moves=3)
    case = dataclasses.replace(find("pommerman/official_move"), measure=quick)
    rows = [harness.measure(case, Request(case.name, repeats=5)) for _ in range(2)]
    records.check(rows[0])
    assert rows[0]["checksum"] == rows[1]["checksum"] and rows[0]["batch"] == rows[0]["devices"] == 1
    assert rows[0]["details"]["slowest_ms"] >= 1000 / rows[0]["repeats"]["per_wall_second"]["best"] > 0
