"""Benchmarks of the follower: decisions, and iterations of its training."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.sharding import Mesh

from experiments.benchmark.case import Case, Program, Request, Tally
from experiments.benchmark.harness import throughput, time_program
from experiments.benchmark.lanes import mixed
from jaxgames import runtime
from search import fdts
from training.learn.dagger import Dagger, DaggerConfig
from training.models import policy_value
from training.models.policy_value import PolicyValue, PolicyValueConfig

OLD_ENOUGH = 40  # steps of random play before anything is looked at
BATCH, CALLS = 1024, 8
LANES, STEPS = 32, 8  # lanes per device
TABLE_ROWS = 2**14


def paper(encoder: str = "paper") -> PolicyValue:
    """The paper's network."""
    return policy_value.make(PolicyValueConfig("pommerman", "ffa", encoder, "paper"))


def decisions(batch: int, *, planes: str = "paper", calls: int = CALLS) -> Program:
    """Makes a program that decides for a batch of views: planes, network, mask and the best arm."""
    who = paper(planes)
    game = who.game

    def start(key: Array, numbers: Array) -> Any:
        keys = jax.vmap(functools.partial(jax.random.fold_in, key))(numbers)

        def step(states: Any, number: Array) -> tuple[Any, None]:
            draws = jax.vmap(lambda k: jax.random.fold_in(k, number + 1))(keys)
            moves = jax.vmap(lambda k: jax.random.randint(k, (game.num_players,), 0, 5, jnp.int32))(draws)
            return jax.vmap(game.step)(states, moves), None

        states, _ = jax.lax.scan(step, jax.vmap(game.init)(keys), jnp.arange(OLD_ENOUGH))
        views = jax.vmap(who.encoder.view)(states, numbers % game.num_players)
        return who.init(key), views

    def timed(carry: Any, tally: Tally) -> tuple[Any, Tally]:
        params, views = carry
        arms = jnp.argmax(who.policy(params, views), -1).astype(jnp.uint32)
        # A number that grows keeps the views of one call from being those of the last.
        views = dataclasses.replace(views, step_count=views.step_count + 1)
        return (params, views), tally._replace(units=tally.units + 1, checksum=mixed(tally.checksum, arms))

    return Program(start, timed, warm_up=2, calls=calls, settings={"planes": planes, "network": "paper"})


def iterations(
    batch: int, mesh: Mesh | None = None, *, num_simulations: int = 100, horizon: int = 20, steps: int = STEPS, warm_up: int = 4
) -> Program:
    """Makes a program of DAgger with the paper's settings: one step of one lane, labelled and learnt from, is one unit.

    Gradients are of batches that all devices of the mesh share (None: one device).
    """
    mesh = mesh or runtime.data_mesh(1)
    who = paper()
    oracle = fdts(who.game, num_simulations=num_simulations, horizon=horizon, table_rows=TABLE_ROWS)
    config = DaggerConfig(episodes=2**20, lanes=batch * mesh.devices.size, steps=steps)
    dagger = Dagger(config, who, oracle, mesh)

    def start(key: Array, numbers: Array) -> Any:
        del numbers
        return key, dagger.local_init(key, who.init(key))

    def timed(carry: Any, tally: Tally) -> tuple[Any, Tally]:
        key, learner = carry
        learner, metrics = dagger.local_iterate(key, None, learner)
        digest = jax.lax.bitcast_convert_type(metrics["loss"], jnp.uint32)
        tally = tally._replace(units=tally.units + np.uint32(steps), checksum=mixed(tally.checksum, digest))
        return (key, learner), tally

    settings: dict[str, Any] = {"network": "paper", "planes": "paper", "steps_per_repeat": steps}
    settings |= {"num_simulations": num_simulations, "horizon": horizon}
    settings |= {"table_rows": TABLE_ROWS, "batch_size": config.batch_size, "updates_per_step": config.updates_per_step}
    return Program(start, timed, warm_up=warm_up, calls=1, settings=settings)


def _learn(request: Request, mesh: Mesh, batch: int) -> dict[str, Any]:
    return time_program(iterations(batch, mesh), request, mesh, batch)


CASES: tuple[Case, ...] = (
    Case(
        "follower/act",
        "observations",
        "decisions of the follower, one batch of 1024 observations",
        throughput(decisions),
        batch=BATCH,
        accelerator_batch=BATCH,
        reach="80 ms",
    ),
    Case(
        "follower/act_one",
        "decisions",
        "one decision of the follower, one observation",
        throughput(functools.partial(decisions, calls=200)),
        batch=1,
        accelerator_batch=1,
        reach="0.5 ms",
    ),
    Case(
        "follower/iteration",
        "steps",
        "DAgger: play, plan, store, learn (batch 32, a gradient step per step)",
        _learn,
        batch=LANES,
        accelerator_batch=1024,
        reach="500 episodes in 25 min, aim 12 min",
        program=iterations,
    ),
)
