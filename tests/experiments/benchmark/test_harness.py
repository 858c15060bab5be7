"""What is timed and counted, and what a row holds."""

import dataclasses
import fcntl
import json
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.benchmark import Request, find, harness, measure, records
from experiments.benchmark.case import TooLarge, empty_tally
from experiments.benchmark.lanes import steps_per_call
from experiments.benchmark.pommerman import RANDOM, fdts_match, ffa, play
from experiments.benchmark.pommerman_starts import Pool
from jaxgames import random_bits, runtime
from tests.experiments.benchmark.rows import COUNTING, STEPS, counting
from tests.processes import output_of

LANES, REPEATS = 6, 5


def counted(seed: int = 0) -> dict:
    return measure(COUNTING, Request(COUNTING.name, batch=LANES, repeats=REPEATS, seed=seed))


def test_a_row_has_every_field():
    row = counted()
    records.check(row)
    assert list(json.loads(json.dumps(row))) == list(row) and set(row) == set(records.SCHEMA)
    assert (row["case"], row["unit"], row["cores"], row["devices"], row["batch"]) == (COUNTING.name, "steps", 1, 1, LANES)
    assert row["per_cpu_second"] > 0 and row["per_wall_second"] > 0 and row["compile_seconds"] > 0
    assert row["repeats"]["number"] == REPEATS
    assert row["repeats"]["per_cpu_second"]["best"] >= row["repeats"]["per_cpu_second"]["median"] == row["per_cpu_second"]
    assert row["settings"] == {"steps_per_repeat": STEPS, "seed": 0} and 0 <= row["details"]["age"] < 8
    assert set(row["versions"]) == {"python", "jax", "jaxlib", "jaxgames"}
    assert len(row["checksum"]) == 8 and 1 < row["mean_episode_length"] < 8


def test_a_hurried_measurement_ends_early_and_tells_of_the_program():
    row = measure(COUNTING, Request(COUNTING.name, batch=LANES, seconds=1e-6))
    assert row["repeats"]["number"] == 1 and row["program"]["warm_up"] == 1 and row["program"]["rounds"] == STEPS
    assert row["program"]["kernels"] >= 1 and row["program"]["argument_bytes"] > 0
    with pytest.raises(ValueError, match="seconds=0"):
        Request(COUNTING.name, seconds=0)


def test_work_that_is_no_one_program_is_repeated_as_it_is_asked_for(tmp_path):
    lap, done = harness.Lap(3, 0.1, 0.1), []
    assert harness.repeated(Request(COUNTING.name, repeats=REPEATS), lambda: done.append("warm"), lambda: lap) == [lap] * REPEATS
    assert harness.repeated(Request(COUNTING.name, repeats=REPEATS, seconds=1e-9), lambda: None, lambda: lap) == [lap]
    lock = tmp_path / "measuring.lock"
    with lock.open("w") as file, ThreadPoolExecutor(1) as threads:
        fcntl.flock(file, fcntl.LOCK_EX)
        late = threads.submit(
            harness.repeated, Request(COUNTING.name, repeats=REPEATS, lock=str(lock)), lambda: done.append("late"), lambda: lap
        )
        with pytest.raises(TimeoutError):
            late.result(timeout=0.5)
        assert done == ["warm"], "somebody else is measuring"
        fcntl.flock(file, fcntl.LOCK_UN)
        assert late.result() == [lap] * REPEATS and done == ["warm", "late"]


def test_who_shares_a_device_waits_until_nobody_measures(tmp_path):
    lock = tmp_path / "measuring.lock"
    request = Request(COUNTING.name, batch=LANES, repeats=REPEATS, lock=str(lock))
    with lock.open("w") as file, ThreadPoolExecutor(1) as threads:
        fcntl.flock(file, fcntl.LOCK_EX)
        row = threads.submit(measure, COUNTING, request)
        with pytest.raises(TimeoutError):
            row.result(timeout=3)
        fcntl.flock(file, fcntl.LOCK_UN)
        assert row.result()["checksum"] == counted()["checksum"]


def test_many_lanes_make_fewer_steps_per_call():
    assert steps_per_call(8192, 512, 2048) == steps_per_call(8192, 2048, 2048) == (8192, 1)
    assert steps_per_call(8192, 65536, 2048) == (256, 4)
    assert steps_per_call(256, 65536, 2048) == (128, 2)
    assert steps_per_call(64, 65536, 2048) == (64, 1)


@pytest.mark.parametrize(
    ("told", "rounds"),
    [
        ({"steps_per_repeat": 8, "num_simulations": 100}, 8),  # of learners that search
        ({"num_simulations": 100}, 100),
        ({"num_simulations": 100, "waves": 13}, 13),
        ({"simulations_per_repeat": 1028, "num_simulations": 4}, 1028),
        ({"arms": 3}, None),
    ],
)
def test_the_loop_of_a_program_is_as_long_as_its_settings_say(told, rounds):
    assert harness.loop_length(dataclasses.replace(counting(1), settings=told)) == rounds


def test_games_steps_and_checksums_are_counted():
    program = counting(LANES)
    lanes, tally = program.start(jax.random.key(1), jnp.arange(LANES)), empty_tally(LANES)
    after, tally = program.timed(*program.timed(lanes, tally))
    games, episodes, lengths, checksum = (np.zeros(LANES, np.uint32) for _ in range(4))
    for clock in range(1, 2 * STEPS + 1):
        first, second = (np.asarray(word) for word in random_bits.fold(lanes.keys, clock))
        games = games + np.uint32(1)
        over = (first & 7) < games
        episodes, lengths = episodes + over, lengths + over * games
        checksum = checksum * np.uint32(0x9E3779B1) + (games ^ second)
        games = np.where(over, np.uint32(0), games)
    for found, expected in zip(tally, (np.full(LANES, 2 * STEPS), episodes, lengths, checksum), strict=True):
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(after.games, games)


def test_the_checksum_depends_on_the_seed_and_the_work_alone():
    assert counted()["checksum"] == counted()["checksum"] != counted(seed=1)["checksum"]


@pytest.mark.slow
def test_the_checksum_does_not_depend_on_the_number_of_devices():
    code = f"""
from jaxgames import runtime
runtime.prepare(cores=2)
from experiments.benchmark import Request, measure
from tests.experiments.benchmark.rows import COUNTING
print(measure(COUNTING, Request(COUNTING.name, batch={LANES // 2}, repeats={REPEATS}))["checksum"])
"""
    assert output_of(code, {"JAX_PLATFORMS": "cpu"}) == counted()["checksum"]


@pytest.mark.slow
def test_a_compilation_counts_seconds():
    functions = {"step": (lambda x: x + 1, (jnp.zeros(2),)), "planner": (lambda x: x * 2, (jnp.zeros(2),))}
    case = dataclasses.replace(find("pommerman/compile"), measure=harness.compilation(lambda batch: functions))
    row = measure(case, Request(case.name, batch=3, repeats=REPEATS))
    records.check(row)
    assert row["per_cpu_second"] is row["per_wall_second"] is None
    assert row["compile_seconds"] == row["details"]["step_seconds"] > 0
    assert row["details"]["planner_seconds"] == row["repeats"]["planner_wall"]["median"] >= row["repeats"]["planner_wall"]["best"]
    assert row["repeats"]["step_cpu"]["median"] > 0


def test_a_batch_must_fit_into_the_devices_that_it_is_played_on(monkeypatch):
    """And not into those beside them too."""
    seen = []
    monkeypatch.setattr(runtime, "free_memory", lambda devices: seen.extend(devices) or 0)
    with pytest.raises(TooLarge, match=rf"batch={LANES}: needs .* and 0\.0 GB are free"):
        harness.check_size(counting(LANES), runtime.data_mesh(1), LANES)
    assert seen == jax.local_devices()[:1]


@pytest.mark.parametrize("case", ["random", pytest.param("fdts", marks=pytest.mark.slow)])
def test_a_batch_that_does_not_fit_is_told_before_anything_is_compiled(case):
    batch = 10**9
    program = fdts_match(batch) if case == "fdts" else play(RANDOM, Pool(ffa().config), 1, ffa(), batch)
    with pytest.raises(TooLarge, match=f"batch={batch}: "):
        harness.check_size(program, runtime.data_mesh(), batch)
