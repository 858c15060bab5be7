"""A program that costs nothing, and rows that nobody has measured."""

import dataclasses

import jax.numpy as jnp
import numpy as np

from experiments.benchmark import find
from experiments.benchmark.case import Program
from experiments.benchmark.harness import throughput
from experiments.benchmark.lanes import Lanes, Step, lane_keys, play_on

STEPS = 16


def counting(batch: int) -> Program:
    """Games of which each counts to its key's last digit, 8 at most, and begins again."""

    def start(key, numbers):
        return Lanes(jnp.zeros(batch, jnp.int32), lane_keys(key, numbers), jnp.int32(0))

    def step(games, keys):
        games = games + 1
        over = (keys.first & 7).astype(jnp.int32) < games
        return Step(jnp.where(over, 0, games), over, games, games.astype(jnp.uint32) ^ keys.second)

    def timed(lanes, tally):
        return play_on(step, STEPS, lanes, tally)

    return Program(
        start, timed, settings={"steps_per_repeat": STEPS}, describe=lambda lanes: {"age": lanes.games + np.float32(0)}
    )


COUNTING = dataclasses.replace(find("pommerman/random"), measure=throughput(counting))


def made_up_row(case: str, cores: int = 1, **fields) -> dict:
    """Gives a complete row without measuring."""
    return {
        "case": case,
        "unit": find(case).unit,
        "per_cpu_second": 1.0,
        "per_wall_second": 1.0,
        "cores": cores,
        "devices": cores,
        "batch": 256 * cores,
        "compile_seconds": 3.14,
        "mean_episode_length": None,
        "resets": 0,
        "checksum": "00000000",
        "repeats": {"number": 5},
        "settings": {},
        "details": {},
        "device": "Test CPU",
        "platform": "cpu",
        "versions": {"jax": "1.2.3"},
        "commit": "abc1234",
        "date": "2030-01-02T03:04:05+00:00",
        **fields,
    }
