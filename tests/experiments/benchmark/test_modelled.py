"""The benchmark of demonstrations counts samples of living players, and repeats itself; searches fill the device."""

import dataclasses
import functools

import pytest

from experiments.benchmark import harness, records
from experiments.benchmark.case import Request
from experiments.benchmark.cases import find
from experiments.benchmark.harness import measure
from experiments.benchmark.lanes import MANY_LANES
from experiments.benchmark.modelled import demonstrations, search_match


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


def test_an_accelerator_searches_for_all_its_games_at_once():
    few, many = (search_match(batch, "sp_mcts", 4, "still").settings for batch in (64, MANY_LANES))
    assert few["agent"] == "sp_mcts:num_simulations=4,model=still" and few["waves"] == 1, "eight walks at once"
    assert many["agent"] == f"sp_mcts:num_simulations=4,model=still,microbatch_size={MANY_LANES}"
    for name in ("pommerman/sp_mcts", "pommerman/tp_mcts", "pommerman/sp_mcts_network", "stratego/pc_pimc"):
        assert find(name).accelerator_batch == MANY_LANES
