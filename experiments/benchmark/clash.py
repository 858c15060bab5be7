"""Benchmarks of Clash: random battles, decisions of a follower, and how long a step takes to compile."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from experiments.benchmark.case import Case, Program, Tally
from experiments.benchmark.harness import compilation, throughput
from experiments.benchmark.lanes import Compiled, Lanes, Step, lane_keys, mixed, play_on, start_shapes
from jaxgames import random_bits
from jaxgames.bitboard import select
from jaxgames.clash import bots, rules
from jaxgames.clash.game import Clash, make
from jaxgames.clash.state import State
from jaxgames.random_bits import LaneKey
from training.models import policy_value
from training.models.policy_value import PolicyValueConfig

STEPS = 256
OLD_ENOUGH = 60  # steps of random play before a follower looks
STEPS_PER_SECOND = 2

# A battle, and the state in which the next one on its lane begins.
Battles = tuple[State, State]


def begin(game: Clash, key: Array, numbers: Array) -> Lanes:
    """Shuffles decks, by lane."""
    keys = lane_keys(key, numbers)
    starts = jax.vmap(lambda lane: game.init(jax.random.wrap_key_data(jnp.stack(random_bits.fold(lane, 0)))))(keys)
    return Lanes((starts, starts), keys, jnp.int32(0))


def random_step(game: Clash, state: State, lane: LaneKey) -> State:
    """Plays a step at random."""
    return rules.step(game.config, state, bots.random_actions(game.config, state, lane))


def advance(game: Clash, steps: int, lanes: Lanes, tally: Tally) -> tuple[Lanes, Tally]:
    """Plays so many steps at random; a battle that has ended begins again. Two steps are a second of battle."""

    def step(battles: Battles, keys: LaneKey) -> Step:
        states, starts = battles
        states = jax.vmap(functools.partial(random_step, game))(states, keys)
        over = states.terminated
        digest = (states.hp.astype(jnp.uint32).sum((1, 2)) << 8) ^ states.elixir.astype(jnp.uint32).sum(1)
        return Step((jax.vmap(select)(over, starts, states), starts), over, states.tick // 10, digest)

    lanes, tally = play_on(step, steps, lanes, tally)
    return dataclasses.replace(lanes, clock=lanes.clock + 1), tally._replace(
        units=tally.units - jnp.uint32(steps - steps // STEPS_PER_SECOND)
    )


def play(batch: int, *, mode: str = "beginner", steps: int = STEPS) -> Program:
    """Makes a program of random battles: a card of the hand is saved up for and played on any of its tiles."""
    del batch
    game = make(mode)
    timed = functools.partial(advance, game, steps)
    return Program(functools.partial(begin, game), timed, settings={"steps_per_repeat": steps, "slots": game.config.slots})


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
        return who.init(key), jax.vmap(who.encoder.view)(states, numbers % game.num_players)

    def timed(carry: Any, tally: Tally) -> tuple[Any, Tally]:
        params, views = carry
        actions = jnp.argmax(who.policy(params, views), -1).astype(jnp.uint32)
        # A clock that goes on keeps the views of one call from being those of the last.
        views = dataclasses.replace(views, tick=views.tick + 1)
        units = tally.units + jnp.uint32(1)
        return (params, views), tally._replace(units=units, checksum=mixed(tally.checksum, actions))

    return Program(start, timed, warm_up=1, calls=calls, settings={"mode": mode, "network": network})


def one_step(batch: int) -> dict[str, Compiled]:
    """Gives a step of `batch` battles, as a function with the shapes of its arguments."""
    game = make("beginner")
    _, states = start_shapes(game, batch)
    actions = jax.ShapeDtypeStruct((batch, 2), jnp.int32)
    return {"step": (jax.vmap(lambda state, chosen: game.apply(state, chosen)), (states, actions))}


CASES: tuple[Case, ...] = (
    Case(
        "clash/random",
        "seconds of battle",
        "Clash: random play with the beginners' deck, new battles after the end",
        throughput(play),
        batch=128,
        peers=("Python 94/s*", "Python 4/s*"),
        reach="10 k/s, aim 40 k/s",
    ),
    Case(
        "clash/random_all",
        "seconds of battle",
        "the same with decks drawn from all cards, 32 slots a side",
        throughput(functools.partial(play, mode="all")),
        batch=128,
        reach="4 k/s, aim 15 k/s",
    ),
    Case(
        "clash/follower",
        "decisions",
        "Clash: decisions of a follower with the beginners' deck",
        throughput(decisions),
        batch=256,
        reach="1 000/s, aim 3 000/s",
    ),
    Case(
        "clash/compile",
        "s",
        "seconds to compile a step",
        compilation(one_step, {}),
        batch=128,
        reach="step 8 s; aim 3 s",
    ),
)
