"""A benchmark of a follower of Clash: planes, network, mask and the best action."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from experiments.benchmark.case import Case, Program, Tally
from experiments.benchmark.clash import begin, random_step
from experiments.benchmark.harness import throughput
from experiments.benchmark.lanes import mixed
from jaxgames import random_bits
from jaxgames.clash.game import Clash
from jaxgames.clash.state import State
from training.models import policy_value
from training.models.policy_value import PolicyValueConfig

OLD_ENOUGH = 60  # steps of random play before it looks


def decisions(batch: int, *, mode: str = "beginner", network: str = "arena", calls: int = 4) -> Program:
    """Makes a program of a follower that decides for a batch of views: planes, network, mask and the best action."""
    who = policy_value.make(PolicyValueConfig("clash", mode, network=network))
    game: Clash = who.game

    def start(key: Array, numbers: Array) -> Any:
        lanes = begin(game, key, numbers)
        (states, _), keys = lanes.games, lanes.keys

        def step(states: State, number: Array) -> tuple[State, None]:
            now = jax.vmap(lambda lane: random_bits.fold(lane, number + 1))(keys)
            return jax.vmap(functools.partial(random_step, game))(states, now), None

        states, _ = jax.lax.scan(step, states, jnp.arange(OLD_ENOUGH))
        states = dataclasses.replace(states, saving=jnp.full_like(states.saving, -1))  # who saves may do nothing but wait
        return who.init(key), jax.vmap(who.encoder.view)(states, numbers % game.num_players)

    def timed(carry: Any, tally: Tally) -> tuple[Any, Tally]:
        params, views = carry
        actions = jnp.argmax(who.policy(params, views), -1).astype(jnp.uint32)
        # A clock that goes on keeps the views of one call from being those of the last.
        views = dataclasses.replace(views, tick=views.tick + 1)
        units = tally.units + jnp.uint32(1)
        return (params, views), tally._replace(units=units, checksum=mixed(tally.checksum, actions))

    return Program(start, timed, warm_up=1, calls=calls, settings={"mode": mode, "network": network})


CASES: tuple[Case, ...] = (
    Case(
        "clash/follower",
        "decisions",
        "Clash: decisions of a follower with the beginners' deck",
        throughput(decisions),
        batch=256,
        reach="1 000/s, aim 3 000/s",
    ),
)
