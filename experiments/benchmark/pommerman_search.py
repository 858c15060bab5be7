"""Benchmarks of planning in Pommerman: one move of a real game, and how long a step and a planner take to compile."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from experiments.benchmark.case import Case, Program, Tally
from experiments.benchmark.harness import compilation, throughput
from experiments.benchmark.pommerman import CHECKSUM_FACTOR, MODE, ffa, join_moves, lane_keys
from experiments.benchmark.pommerman_starts import POOL_SIZE, Pool
from jaxgames import random_bits
from jaxgames.bitboard import select
from jaxgames.pommerman.game import Pommerman
from jaxgames.pommerman.simple_agent import all_simple_moves, init_memory
from jaxgames.pommerman.state import State
from jaxgames.random_bits import LaneKey
from search.planner import Planner
from search.presets import fdts

NUM_SIMULATIONS, HORIZON, TABLE_ROWS = 100, 20, 2**16  # those of the strength results
SIZES = {"num_simulations": NUM_SIMULATIONS, "horizon": HORIZON, "table_rows": TABLE_ROWS}
MID_GAME = 120  # steps before anything is timed
CALLS = 4
SEAT_COUNTER = 65  # of a lane's key of one step
STEP_BATCH = 512
PLAN_BATCH = 128


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Match:
    """Games of a planner against SimpleAgents on one device.

    Attributes:
      states: State [B].
      seats: int32 [B], where the planner sits.
      trees: memory of the planner.
      memories: of SimpleAgents in all seats, leaves [B].
      keys: of the lanes, leaves [B].
      clock: int32 [], steps so far.
      pool: boards of start states.
      actions: int32 [B], what the planner has chosen.
      asked: bool [B], lanes in which it was alive to choose.
      stored, evicted: int32 [B], rows that the tree has opened and replaced in this game.
    """

    states: State
    seats: Array
    trees: Any
    memories: Any
    keys: LaneKey
    clock: Array
    pool: Array
    actions: Array
    asked: Array
    stored: Array
    evicted: Array


def play_and_plan(game: Pommerman, planner: Planner, batch: int, *, warm_up: int, calls: int, pool: Pool) -> Program:
    """Makes a program of real games: the plans are timed, the steps of the games between them are not.

    One plan of one living planner is one unit. A lane goes on without its planner when that is dead, as games do that are
    counted, and takes the next game after the end.
    """
    config = game.config

    def new_memories() -> Any:
        return jax.tree.map(lambda leaf: jnp.full((batch,), leaf), (init_memory(),) * config.num_players)

    def draw_seats(keys: LaneKey) -> Array:
        return random_bits.below(random_bits.bits(keys, SEAT_COUNTER), config.num_players)

    def start(key: Array, numbers: Array) -> Match:
        lane_key, pool_key = jax.random.split(key)
        keys, clock = lane_keys(lane_key, numbers), jnp.int32(0)
        now = random_bits.fold(keys, clock)
        states, boards = pool.take(pool.init(pool_key, numbers), now, jnp.ones(batch, bool))
        zeros = jnp.zeros(batch, jnp.int32)
        trees = planner.init(batch)
        return Match(
            states, draw_seats(now), trees, new_memories(), keys, clock, boards, zeros, jnp.zeros(batch, bool), zeros, zeros
        )

    def plan(match: Match, tally: Tally) -> tuple[Match, Tally]:
        asked = jnp.take_along_axis(jax.vmap(game.in_play)(match.states), match.seats[:, None], axis=1)[:, 0]
        keys = jax.random.wrap_key_data(jnp.stack(random_bits.fold(match.keys, match.clock), axis=-1))
        plans, trees = planner.plan(None, keys, match.trees, match.states, match.seats, asked)
        actions = jnp.take_along_axis(plans.actions, match.seats[:, None], axis=1)[:, 0]
        visits = plans.visit_counts.reshape(batch, -1).astype(jnp.uint32)
        weights = 2 * np.arange(visits.shape[1], dtype=np.uint32) + 1
        digest = (visits * weights).sum(1, dtype=jnp.uint32) + actions.astype(jnp.uint32)
        tally = tally._replace(
            units=tally.units + asked.astype(jnp.uint32),
            checksum=tally.checksum * CHECKSUM_FACTOR + jnp.where(asked, digest, 0),
        )
        none = jnp.zeros(batch, jnp.int32)  # of a planner without a table
        stored, evicted = (plans.metrics.get(name, none) for name in ("stored", "evicted"))
        match = dataclasses.replace(match, trees=trees, actions=actions, asked=asked, stored=stored, evicted=evicted)
        return match, tally

    def step(match: Match, tally: Tally) -> tuple[Match, Tally]:
        clock = match.clock + 1
        keys = random_bits.fold(match.keys, clock)
        moves, memories = jax.vmap(functools.partial(all_simple_moves, config))(match.states, match.memories, keys)
        own = match.seats[:, None] == jnp.arange(config.num_players)
        states = jax.vmap(game.step)(match.states, jnp.where(own, match.actions[:, None], join_moves(moves)))
        over = states.terminated
        fresh, boards = pool.take(match.pool, keys, over)
        match = dataclasses.replace(
            match,
            states=jax.vmap(select)(over, fresh, states),
            seats=jnp.where(over, draw_seats(keys), match.seats),
            trees=planner.reset(match.trees, over),
            memories=jax.vmap(select)(over, new_memories(), memories),
            clock=clock,
            pool=boards,
        )
        return match, tally._replace(episodes=tally.episodes + over.astype(jnp.uint32))

    settings = {"mode": MODE, "planner": planner.name, "plans_per_repeat": calls, "steps_before": warm_up, **pool.settings}
    return Program(start, plan, step, warm_up, calls, settings, _describe)


def _describe(match: Match) -> dict[str, Array]:
    """Tells how full the tables are, how old the games, and in how many of them the planner is alive."""
    return {
        "tree_rows": match.stored - match.evicted,
        "evicted_rows": match.evicted,
        "step_count": match.states.step_count.astype(jnp.float32),
        "alive": match.asked.astype(jnp.float32),
    }


def fdts_match(
    batch: int,
    *,
    num_simulations: int = NUM_SIMULATIONS,
    horizon: int = HORIZON,
    table_rows: int = TABLE_ROWS,
    warm_up: int = MID_GAME,
    calls: int = CALLS,
    pool_size: int = POOL_SIZE,
) -> Program:
    """Makes the program of FDTS with Thompson sampling against three SimpleAgents."""
    game = ffa()
    planner = fdts(game, num_simulations=num_simulations, horizon=horizon, table_rows=table_rows)
    program = play_and_plan(game, planner, batch, warm_up=warm_up, calls=calls, pool=Pool(game.config, pool_size))
    sizes = {"num_simulations": num_simulations, "horizon": horizon, "table_rows": table_rows}
    return dataclasses.replace(program, settings={**program.settings, **sizes})


def step_and_planner(
    batch: int,
    *,
    plan_batch: int = PLAN_BATCH,
    num_simulations: int = NUM_SIMULATIONS,
    horizon: int = HORIZON,
    table_rows: int = TABLE_ROWS,
) -> dict[str, tuple[Callable, Sequence[Any]]]:
    """Gives a step of `batch` games and a plan of `plan_batch` games, as functions with the shapes of their arguments."""
    game = ffa()
    planner = fdts(game, num_simulations=num_simulations, horizon=horizon, table_rows=table_rows)

    def shapes(lanes: int) -> tuple[Any, Any, Any]:
        keys = jax.eval_shape(lambda: jax.random.split(jax.random.key(0), lanes))
        states = jax.eval_shape(jax.vmap(game.init), keys)
        return keys, states, jax.ShapeDtypeStruct((lanes, game.num_players), jnp.int32)

    _, states, actions = shapes(batch)
    keys, roots, _ = shapes(plan_batch)
    seats, active = jax.ShapeDtypeStruct((plan_batch,), jnp.int32), jax.ShapeDtypeStruct((plan_batch,), bool)
    memory = jax.eval_shape(lambda: planner.init(plan_batch))
    return {
        "step": (jax.vmap(game.step), (states, actions)),
        "planner": (planner.plan, (None, keys, memory, roots, seats, active)),
    }


CASES: tuple[Case, ...] = (
    Case(
        "pommerman/fdts",
        "plans",
        "FDTS + TS, one move of one game from mid-game on, against three SimpleAgents",
        throughput(fdts_match),
        batch=PLAN_BATCH,
        accelerator_batch=4096,
        peer="released code 535 ms, tuned Python 150 ms",
        reach="3 ms, aim 1.5 ms",
    ),
    Case(
        "pommerman/compile",
        "s",
        "seconds to compile a step and a planner",
        compilation(step_and_planner, {"mode": MODE, "planner": "FDTS + TS", "plan_batch": PLAN_BATCH, **SIZES}),
        batch=STEP_BATCH,
        accelerator_batch=65536,
        reach="step 5 s, planner 15 s; aim 2 s, 6 s",
    ),
)
