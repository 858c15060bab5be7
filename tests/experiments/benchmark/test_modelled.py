"""The benchmark of demonstrations counts samples of living players, and repeats itself."""

import dataclasses
import functools

import pytest

from experiments.benchmark import harness, records
from experiments.benchmark.case import Request
from experiments.benchmark.cases import find
from experiments.benchmark.harness import measure
from experiments.benchmark.modelled import demonstrations


@pytest.mark.slow
def test_a_row_of_demonstrations():
    program = functools.partial(demonstrations, steps=3, warm_up=1)
    case = dataclasses.replace(find("pommerman/demonstrations"), measure=harness.throughput(program))
    rows = [measure(case, Request(case.name, batch=4, repeats=5)) for _ in range(2)]
    records.check(rows[0])
    assert rows[0]["checksum"] == rows[1]["checksum"] and rows[0]["unit"] == "samples"
    assert rows[0]["resets"] == 0 and rows[0]["settings"]["player"] == "simple_unbiased"
    lap = rows[0]["repeats"]
    assert rows[0]["per_cpu_second"] > 0 and lap["number"] == 5
