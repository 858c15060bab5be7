"""Benchmarks of what people train in: the vector environment of gymnasium, and the example that learns by PPO."""

from __future__ import annotations

import functools
import importlib.util
import sys
import time
import zlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from experiments.benchmark.case import Case, Request
from experiments.benchmark.harness import Lap, rates, repeated, rounded
from training.storage.provenance import CHECKOUT

GAME = "pommerman-ffa-v1"
CALLS, WARM_UP = 100, 50  # of `step`, per repeat and before
UPDATES = 10  # of PPO, per repeat


def gymnasium_steps(
    request: Request, mesh: Mesh, batch: int, *, game: str = GAME, calls: int = CALLS, **settings: Any
) -> dict[str, Any]:
    """Times `step` of the vector environment, called from Python with random actions, on one device.

    What comes back is what a user gets: observations, rewards, ends and infos as numpy arrays.
    """
    del mesh
    from jaxgames.wrappers.gymnasium import GymnasiumVectorEnv

    started = time.perf_counter()
    envs = GymnasiumVectorEnv(game, batch, **settings)
    envs.reset(seed=request.seed)
    random = np.random.default_rng(request.seed)
    actions = random.integers(0, envs.single_action_space.n, (calls, batch))  # type: ignore[attr-defined]
    envs.step(actions[0])
    compile_seconds = time.perf_counter() - started
    checksum, resets = 0, 0

    def call(row: np.ndarray) -> None:
        nonlocal checksum, resets
        observation, reward, terminated, truncated, _ = envs.step(row)
        resets += int((terminated | truncated).sum())
        checksum = zlib.crc32(reward.tobytes(), checksum)
        if isinstance(observation, dict):
            observation = observation["numbers"]
        checksum = zlib.crc32(np.ascontiguousarray(observation[:1]).tobytes(), checksum)

    def call_all() -> None:
        for row in actions:
            call(row)

    def warm_up() -> None:
        nonlocal checksum, resets
        for row in actions[:WARM_UP]:
            call(row)
        checksum = resets = 0

    laps = repeated(request, warm_up, functools.partial(_timed, calls * batch, call_all))
    named = {"game": game, "opponents": "random", "calls_per_repeat": calls, **settings}
    return {
        **rates(laps),
        "batch": batch,
        "devices": 1,
        "compile_seconds": rounded(compile_seconds),
        "resets": resets,
        "checksum": f"{checksum:08x}",
        "settings": named,
    }


def ppo_steps(request: Request, mesh: Mesh, batch: int, *, updates: int = UPDATES) -> dict[str, Any]:
    """Times updates of `examples/ppo_pommerman.py`, learning included, on one device; one step of one game is one unit."""
    del mesh
    example = load_example("ppo_pommerman")
    options = example.Options(lanes=batch, seed=request.seed)
    started = time.perf_counter()
    run, carry, _ = example.begin(options)
    carry, total = jax.block_until_ready(run(carry))
    compile_seconds = time.perf_counter() - started

    def go_on() -> None:
        nonlocal carry, total
        for _ in range(updates):
            carry, counts = run(carry)
            total = total + counts
        jax.block_until_ready((carry, total))

    def warm_up() -> None:
        nonlocal total
        go_on()
        total = jnp.zeros_like(total)

    laps = repeated(request, warm_up, functools.partial(_timed, updates * options.steps * batch, go_on))
    return {
        **rates(laps),
        "batch": batch,
        "devices": 1,
        "compile_seconds": rounded(compile_seconds),
        "resets": int(total[0]),
        "checksum": f"{zlib.crc32(np.asarray(total).tobytes()):08x}",
        "settings": {"opponents": "simple", "steps": options.steps, "updates_per_repeat": updates},
    }


def load_example(name: str) -> ModuleType:
    """Imports a file of `examples`."""
    spec = importlib.util.spec_from_file_location(name, CHECKOUT / "examples" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _timed(units: int, work: Callable[[], Any]) -> Lap:
    """Does some work, and times it."""
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return Lap(units, time.process_time() - cpu, time.perf_counter() - wall)


CASES: tuple[Case, ...] = (
    Case(
        "pommerman/gymnasium",
        "steps",
        "gymnasium's vector environment, random actions against random play, observations as numpy arrays",
        gymnasium_steps,
        batch=1024,
        accelerator_batch=16384,
        reach="0.5 M/s, aim 1 M/s",
    ),
    Case(
        "pommerman/ppo",
        "steps",
        "the PPO example against three SimpleAgents, learning included",
        ppo_steps,
        batch=512,
        accelerator_batch=8192,
        reach="30 k/s, aim 100 k/s",
    ),
)
