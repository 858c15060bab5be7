"""Benchmarks of Pommerman: rules and rule-based players in games without end, planning in real games, and compiling."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

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
from experiments.benchmark.pommerman_starts import POOL_SIZE, Fresh, Pool, Source
from jaxgames import random_bits
from jaxgames.bits import select
from jaxgames.packing import packed_flags
from jaxgames.pommerman import rules, simple_unbiased_agent, simple_unbiased_memory
from jaxgames.pommerman.config import PommermanConfig, preset
from jaxgames.pommerman.constants import NUM_MOVES
from jaxgames.pommerman.game import Pommerman
from jaxgames.pommerman.simple_agent import all_simple_moves, init_memory, pick_move
from jaxgames.pommerman.state import State
from jaxgames.random_bits import LaneKey
from search import fdts
from search.planner import Planner

MODE = "ffa"
MOVE_BITS = 3
SIZES: dict[str, Any] = {"num_simulations": 100, "horizon": 20, "table_rows": 2**16}  # those of the strength results
SMALL_TABLES: dict[str, Any] = {"table_rows": 2**14}  # of thousands of games at once; with them it plays as well
MID_GAME = 120  # steps before plans are timed
CALLS = 4
SEAT_COUNTER = 65  # of a lane's key of one step
PLAN_BATCH = 128

Moves = tuple[Array, ...]


def ffa() -> Pommerman:
    """Makes the game that is measured."""
    return Pommerman(preset(MODE))


class Policy(NamedTuple):
    """How all seats of one game play.

    Attributes:
      init: `init(config) -> memory` of one game.
      moves: `moves(config, state, memory, lane) -> (int32 [] per seat, memory)`; draws with counters below 64 of `lane`,
        or with its children.
    """

    init: Callable[[PommermanConfig], Any]
    moves: Callable[[PommermanConfig, State, Any, LaneKey], tuple[Moves, Any]]


def _no_memory(config: PommermanConfig) -> tuple[()]:
    del config
    return ()


def _random_moves(config: PommermanConfig, state: State, memory: tuple[()], lane: LaneKey) -> tuple[Moves, tuple[()]]:
    """Draws from all six moves for every seat, dead or alive."""
    del state
    return tuple(random_bits.below(random_bits.bits(lane, seat), NUM_MOVES) for seat in range(config.num_players)), memory


def _careful_moves(config: PommermanConfig, state: State, memory: tuple[()], lane: LaneKey) -> tuple[Moves, tuple[()]]:
    """Draws from the published planner's mask."""
    masks = [packed_flags(legal) for legal in rules.legal_moves(config, state)]
    return tuple(pick_move(mask, random_bits.bits(lane, seat)) for seat, mask in enumerate(masks)), memory


RANDOM = Policy(_no_memory, _random_moves)
CAREFUL = Policy(_no_memory, _careful_moves)
SIMPLE = Policy(lambda config: (init_memory(),) * config.num_players, all_simple_moves)
SIMPLE_UNBIASED = Policy(
    lambda config: (simple_unbiased_memory.init_memory(config),) * config.num_players, simple_unbiased_agent.all_unbiased_moves
)


def _memories(policy: Policy, config: PommermanConfig, batch: int) -> Any:
    """New memories of a policy, leaves [B]."""
    return jax.tree.map(lambda leaf: jnp.full((batch,), leaf), policy.init(config))


def play(policy: Policy, source: Source, steps: int, game: Pommerman, batch: int) -> Program:
    """Makes a program that plays `steps` steps of `batch` games; one step of one game is one unit."""
    config = game.config
    steps, warm_up = steps_per_call(steps, batch, 2048)

    def start(key: Array, numbers: Array) -> Lanes:
        lane_key, source_key = jax.random.split(key)
        keys, clock = lane_keys(lane_key, numbers), jnp.int32(0)
        everyone = jnp.ones(batch, bool)
        states, drawn_from = source.take(source.init(source_key, numbers), random_bits.fold(keys, clock), everyone)
        return Lanes((states, _memories(policy, config, batch), drawn_from), keys, clock)

    def step(games: Any, keys: LaneKey) -> Step:
        states, memories, drawn_from = games
        moves, memories = jax.vmap(functools.partial(policy.moves, config))(states, memories, keys)
        states = jax.vmap(game.step)(states, join_moves(moves))
        over, lengths, word = states.terminated, states.step_count, digest(states)
        fresh, drawn_from = source.take(drawn_from, keys, over)
        states = jax.vmap(select)(over, fresh, states)
        memories = jax.vmap(select)(over, _memories(policy, config, batch), memories)
        return Step((states, memories, drawn_from), over, lengths, word)

    settings = {"mode": MODE, "steps_per_repeat": steps, **source.settings}
    return Program(start, functools.partial(play_on, step, steps), warm_up=warm_up, settings=settings)


def join_moves(moves: Moves) -> Array:
    """Makes actions, int32 [B, P], of the moves of all seats (int32 [B] each).

    By way of one word per game: stacking deep expressions would make XLA compute what they share for each of them.
    """
    word = jnp.zeros(moves[0].shape, jnp.uint32)
    for seat, move in enumerate(moves):
        word = word | (move.astype(jnp.uint32) << (MOVE_BITS * seat))
    shifts = MOVE_BITS * np.arange(len(moves), dtype=np.uint32)
    return ((word[:, None] >> shifts) & np.uint32(2**MOVE_BITS - 1)).astype(jnp.int32)


def digest(states: State) -> Array:
    """Puts new flames, cells and rewards into one word, uint32 [B]; all else that happens shows in these sooner or later."""
    word = functools.reduce(jnp.bitwise_xor, states.flames[-1].words)
    for seat, (agent, reward) in enumerate(zip(states.bombers, states.seat_rewards, strict=True)):
        word = word ^ (agent.cell.astype(jnp.uint32) << (8 * seat)) ^ (reward.astype(jnp.uint32) << (2 * seat))
    return word


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

    def draw_seats(keys: LaneKey) -> Array:
        return random_bits.below(random_bits.bits(keys, SEAT_COUNTER), config.num_players)

    def of_seat(values: Array, match: Match) -> Array:
        return jnp.take_along_axis(values, match.seats[:, None], axis=1)[:, 0]

    def start(key: Array, numbers: Array) -> Match:
        lane_key, pool_key = jax.random.split(key)
        keys, clock = lane_keys(lane_key, numbers), jnp.int32(0)
        now = random_bits.fold(keys, clock)
        states, boards = pool.take(pool.init(pool_key, numbers), now, jnp.ones(batch, bool))
        zeros, trees, memories = jnp.zeros(batch, jnp.int32), planner.init(batch), _memories(SIMPLE, config, batch)
        return Match(states, draw_seats(now), trees, memories, keys, clock, boards, zeros, jnp.zeros(batch, bool), zeros, zeros)

    def plan(match: Match, tally: Tally) -> tuple[Match, Tally]:
        asked = of_seat(jax.vmap(game.in_play)(match.states), match)
        keys = typed_keys(match.keys, match.clock)
        views = match.states if planner.sees_state else jax.vmap(game.observe)(match.states, match.seats)
        plans, trees = planner.plan(None, keys, match.trees, views, match.seats, asked)
        actions = plans.actions[:, 0] if planner.own_first else of_seat(plans.actions, match)
        word = visits_digest(plans.visit_counts.reshape(batch, -1)) + actions.astype(jnp.uint32)
        tally = tally._replace(
            units=tally.units + asked.astype(jnp.uint32), checksum=mixed(tally.checksum, jnp.where(asked, word, 0))
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
            memories=jax.vmap(select)(over, _memories(SIMPLE, config, batch), memories),
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


def fdts_match(batch: int, *, warm_up: int = MID_GAME, calls: int = CALLS, pool_size: int = POOL_SIZE, **sizes: Any) -> Program:
    """Makes the program of FDTS with Thompson sampling against three SimpleAgents; `sizes` differ from `SIZES`."""
    many = together(batch)
    game, sizes = ffa(), SIZES | many | (SMALL_TABLES if many else {}) | sizes
    program = play_and_plan(game, fdts(game, **sizes), batch, warm_up=warm_up, calls=calls, pool=Pool(game.config, pool_size))
    return dataclasses.replace(program, settings={**program.settings, **sizes})


def step_and_planner(batch: int, *, plan_batch: int = PLAN_BATCH, **sizes: Any) -> dict[str, Compiled]:
    """Gives a step of `batch` games and a plan of `plan_batch` games, as functions with the shapes of their arguments."""
    game = ffa()
    _, states = start_shapes(game, batch)
    actions = jax.ShapeDtypeStruct((batch, game.num_players), jnp.int32)
    planner = fdts(game, **SIZES | sizes)
    return {"step": (jax.vmap(game.step), (states, actions)), "planner": compiled_plan(game, planner, plan_batch)}


def _case(
    name: str, summary: str, policy: Policy, source: Callable[[PommermanConfig], Source], steps: int = 8192, **fields: Any
) -> Case:
    def make(batch: int) -> Program:
        game = ffa()
        return play(policy, source(game.config), steps, game, batch)

    return Case(f"pommerman/{name}", "steps", summary, throughput(make), batch=480, **fields)


CASES: tuple[Case, ...] = (
    _case(
        "random",
        "uniformly random moves, start states from a pool",
        RANDOM,
        Pool,
        peers=("1.26x pomcpp2 (3.67 and 2.92 M/s side by side on an Intel Xeon)", "official 5.0 k/s*"),
        reach="2 M/s, aim 4 M/s",
    ),
    _case(
        "random_fresh",
        "uniformly random moves, a fresh board for every game",
        RANDOM,
        Fresh,
        peers=("1.63x pomcpp2 (2.99 and 1.83 M/s side by side on an Intel Xeon)",),
    ),
    _case(
        "careful",
        "random moves that avoid imminent blasts, start states from a pool",
        CAREFUL,
        Pool,
        reach="2 M/s, aim 4 M/s",
    ),
    _case(
        "simple_agents",
        "four SimpleAgents, start states from a pool",
        SIMPLE,
        Pool,
        2048,
        accelerator_batch=32768,
        peers=("2.5x pomcpp2 (0.88 and 0.34 M/s side by side on an Intel Xeon)", "official 276/s*"),
        reach="0.2 M/s, aim 0.5 M/s",
    ),
    _case(
        "simple_unbiased",
        "four SimpleUnbiasedAgents, start states from a pool",
        SIMPLE_UNBIASED,
        Pool,
        2048,
        accelerator_batch=32768,
        peers=("pomcpp2 0.374 M/s*",),
        reach="0.8 M/s, aim 1.5 M/s",
    ),
    Case(
        "pommerman/fdts",
        "plans",
        "FDTS + TS from mid-game on, against three SimpleAgents; per move, 128 games at once",
        throughput(fdts_match),
        batch=PLAN_BATCH,
        accelerator_batch=8192,
        peers=("released code 535 ms*", "tuned Python 150 ms*"),
        reach="3 ms, aim 1.5 ms",
    ),
    Case(
        "pommerman/fdts_one",
        "plans",
        "the same where one game is played alone",
        throughput(functools.partial(fdts_match, calls=32)),
        batch=1,
        accelerator_batch=1,
        peers=("released code 535 ms*", "tuned Python 150 ms*"),
    ),
    Case(
        "pommerman/compile",
        "s",
        "seconds to compile a step and a planner",
        compilation(step_and_planner, {"mode": MODE, "planner": "FDTS + TS", "plan_batch": PLAN_BATCH, **SIZES}),
        batch=512,
        reach="step 5 s, planner 15 s; aim 2 s, 6 s",
    ),
)
