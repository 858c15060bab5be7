"""The benchmark of planning in Clash counts simulations, and repeats itself."""

import dataclasses
import functools

import pytest

from experiments.benchmark import harness, records
from experiments.benchmark.case import Request
from experiments.benchmark.cases import find
from experiments.benchmark.clash import plan
from experiments.benchmark.harness import measure


@pytest.mark.slow
def test_a_row_of_planning():
    program = functools.partial(plan, positions=2, steps=20, simulations=3, horizon=4, table_bytes=20_000)
    case = dataclasses.replace(find("clash/plan"), measure=harness.throughput(program))
    rows = [measure(case, Request(case.name, batch=3, repeats=5)) for _ in range(2)]
    records.check(rows[0])
    assert rows[0]["checksum"] == rows[1]["checksum"] and rows[0]["unit"] == "simulations"
    assert rows[0]["settings"]["arms"] == 9 and rows[0]["per_cpu_second"] > 0
