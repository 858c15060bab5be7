"""Benchmarks of Clash: random battles, planning, and how long a step and a planner take to compile."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from experiments.benchmark.case import Case, Program, Tally
from experiments.benchmark.harness import compilation, throughput
from experiments.benchmark.lanes import (
    Compiled,
    Lanes,
    Step,
    compiled_plan,
    lane_keys,
    mixed,
    play_on,
    start_shapes,
    steps_per_call,
    together,
    typed_keys,
    visits_digest,
)
from jaxgames import random_bits
from jaxgames.bits import select
from jaxgames.clash import bots, rules
from jaxgames.clash.game import Clash, make
from jaxgames.clash.state import State
from jaxgames.random_bits import LaneKey
from search import fdts

STEPS = 256
STEPS_PER_SECOND = 2
MID_GAME = 120  # steps played at random before planning begins
PLAN_BATCH = 64
DEPTH = 50
SIMULATIONS = 32  # of the 4 * 257 of a whole decision, which cost the same each
TABLE_BYTES = 8_000_000

# A battle, and the state in which the next one on its lane begins.
Battles = tuple[State, State]


def begin(game: Clash, key: Array, numbers: Array) -> Lanes:
    """Shuffles decks, by lane."""
    keys = lane_keys(key, numbers)
    starts = jax.vmap(lambda lane: game.init(jax.random.wrap_key_data(jnp.stack(random_bits.fold(lane, 0)))))(keys)
    return Lanes((starts, starts), keys, jnp.int32(0))


def random_step(game: Clash, state: State, lane: LaneKey) -> State:
    """Both save up for a random card and play it on any of its tiles."""
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
    game = make(mode)
    steps, warm_up = steps_per_call(steps, batch, 2048)
    timed = functools.partial(advance, game, steps)
    shown = {"steps_per_repeat": steps, "slots": game.config.slots}
    return Program(functools.partial(begin, game), timed, warm_up=warm_up, settings=shown)


PAPER: dict[str, Any] = {"horizon": DEPTH, "table_bytes": TABLE_BYTES}


def plan(batch: int, *, positions: int = 64, steps: int = MID_GAME, simulations: int = SIMULATIONS, **sizes: int) -> Program:
    """Makes a program of FDTS in random battles, half of `steps` to all of them old; a simulation is one unit."""
    game = make("beginner", positions=positions)
    settings: dict[str, Any] = {**PAPER, **together(batch), **sizes}
    planner = fdts(game, num_simulations=simulations, **settings)

    def start(key: Array, numbers: Array) -> Lanes:
        lanes = begin(game, key, numbers)
        ages = steps // 2 + random_bits.below(random_bits.bits(lanes.keys, 1), steps // 2 + 1)

        def step(number: Array, states: State) -> State:
            after = jax.vmap(functools.partial(random_step, game))(states, random_bits.fold(lanes.keys, 2 + number))
            return jax.vmap(select)(number < ages, after, states)

        states = jax.lax.fori_loop(0, steps, step, lanes.games[0])
        return dataclasses.replace(lanes, games=(states, planner.init(batch)))

    def timed(lanes: Lanes, tally: Tally) -> tuple[Lanes, Tally]:
        states, trees = lanes.games
        everybody = jnp.ones(batch, bool)
        keys, seats = typed_keys(lanes.keys, lanes.clock), jnp.zeros(batch, jnp.int32)
        found, trees = planner.plan(None, keys, planner.reset(trees, everybody), states, seats, everybody)
        checksum = mixed(tally.checksum, visits_digest(found.visit_counts.reshape(batch, -1)))
        tally = tally._replace(units=tally.units + np.uint32(simulations), checksum=checksum)
        return dataclasses.replace(lanes, games=(states, trees), clock=lanes.clock + 1), tally

    return Program(start, timed, settings={"arms": game.num_arms, "simulations_per_repeat": simulations, **settings})


def step_and_planner(batch: int) -> dict[str, Compiled]:
    """Gives a step of `batch` battles and a plan of `PLAN_BATCH`, as functions with the shapes of their arguments."""
    game = make("beginner")
    _, states = start_shapes(game, batch)
    actions = jax.ShapeDtypeStruct((batch, 2), jnp.int32)
    planner = fdts(game, num_simulations=4 * game.num_arms, **PAPER)
    return {
        "step": (jax.vmap(lambda state, chosen: game.apply(state, chosen)), (states, actions)),
        "planner": compiled_plan(game, planner, PLAN_BATCH),
    }


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
        "clash/plan",
        "simulations",
        f"FDTS + TS, 257 arms, depth {DEPTH}, valued by playing on; 1028 simulations are a decision",
        throughput(plan),
        batch=PLAN_BATCH,
        accelerator_batch=4096,
        reach="86/s (12 s a decision), aim 343/s (3 s)",
    ),
    Case(
        "clash/compile",
        "s",
        "seconds to compile a step and a planner",
        compilation(step_and_planner, {"planner": "FDTS + TS", "plan_batch": PLAN_BATCH, **PAPER}),
        batch=128,
        reach="step 8 s, planner 30 s; aim 3 s, 12 s",
    ),
)
