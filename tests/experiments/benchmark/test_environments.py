"""Benchmarks of environments time calls from Python, and repeat themselves."""

import dataclasses
import functools
import sys
import types
import zlib

import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from experiments.benchmark import environments, harness, records
from experiments.benchmark.case import Request
from experiments.benchmark.cases import find
from experiments.benchmark.environments import gymnasium_steps, load_example
from tests.tic_tac_toe import REGISTRATION


def measured(name, quick):
    case = dataclasses.replace(find(name), measure=quick)
    rows = [harness.measure(case, Request(case.name, batch=4, repeats=5)) for _ in range(2)]
    records.check(rows[0])
    assert rows[0]["checksum"] == rows[1]["checksum"] and rows[0]["resets"] == rows[1]["resets"] > 0
    assert rows[0]["batch"] == 4 and rows[0]["repeats"]["per_wall_second"]["best"] > 0
    return rows[0]


def test_a_row_of_the_vector_environment(monkeypatch):
    monkeypatch.setattr(sys.modules["jaxgames.registration"], "_ADDED", {})
    jaxgames.register(REGISTRATION)
    name = "tic_tac_toe-standard-v1"
    row = measured("pommerman/gymnasium", functools.partial(gymnasium_steps, game=name, calls=20))
    assert row["settings"] == {"game": name, "opponents": "random", "calls_per_repeat": 20, "seed": 0}


@pytest.mark.slow
def test_the_measured_game_is_the_one_that_is_named():
    row = measured("pommerman/gymnasium", functools.partial(gymnasium_steps, calls=60))
    assert row["settings"]["game"] == "pommerman-ffa-v1"


def test_what_warms_up_is_not_counted(monkeypatch):
    """Of updates that tell their numbers: one compiles, three warm up, and five repeats of three are counted."""

    def run(number):
        return number + 1, jnp.array([number, 1, 0])

    options = types.SimpleNamespace(steps=2)
    example = types.SimpleNamespace(Options=lambda **given: options, begin=lambda options: (run, 1, None))
    monkeypatch.setattr(environments, "load_example", lambda name: example)
    row = environments.ppo_steps(Request("pommerman/ppo", repeats=5), None, 4, updates=3)
    assert row["resets"] == sum(range(5, 5 + 5 * 3))
    assert row["checksum"] == f"{zlib.crc32(np.asarray(jnp.array([row['resets'], 5 * 3, 0])).tobytes()):08x}"


def test_examples_can_be_loaded():
    assert load_example("ppo_pommerman").Options().lanes == 512
