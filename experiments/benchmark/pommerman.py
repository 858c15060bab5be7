"""Benchmarks of Pommerman's rules and rule-based players: whole games without end, a finished one followed by the next."""

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
from experiments.benchmark.harness import throughput
from experiments.benchmark.pommerman_starts import Fresh, Pool, Source
from jaxgames import random_bits
from jaxgames.bitboard import select
from jaxgames.pommerman import rules
from jaxgames.pommerman.config import PommermanConfig, preset
from jaxgames.pommerman.constants import NUM_MOVES
from jaxgames.pommerman.game import Pommerman
from jaxgames.pommerman.simple_agent import all_simple_moves, init_memory, move_mask, pick_move
from jaxgames.pommerman.state import State
from jaxgames.random_bits import LaneKey

MODE = "ffa"
MOVE_BITS = 3
CHECKSUM_FACTOR = np.uint32(0x9E3779B1)

Moves = tuple[Array, ...]


class Policy(NamedTuple):
    """How all seats of one game play.

    Attributes:
      init: `init(config) -> memory` of one game.
      moves: `moves(config, state, memory, lane) -> (int32 [] per seat, memory)`; draws with counters below 64 of `lane`.
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
    masks = [move_mask(legal) for legal in rules.legal_moves(config, state)]
    return tuple(pick_move(mask, random_bits.bits(lane, seat)) for seat, mask in enumerate(masks)), memory


RANDOM = Policy(_no_memory, _random_moves)
CAREFUL = Policy(_no_memory, _careful_moves)
SIMPLE = Policy(lambda config: (init_memory(),) * config.num_players, all_simple_moves)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Lanes:
    """Games on one device.

    Attributes:
      states: State [B].
      memories: of the policy, leaves [B].
      keys: of the lanes, leaves [B].
      clock: int32 [], steps so far.
      source: memory of the source of start states.
    """

    states: State
    memories: Any
    keys: LaneKey
    clock: Array
    source: Any


def play(policy: Policy, source: Source, steps: int, game: Pommerman, batch: int) -> Program:
    """Makes a program that plays `steps` steps of `batch` games; one step of one game is one unit."""
    config = game.config

    def new_memories() -> Any:
        return jax.tree.map(lambda leaf: jnp.full((batch,), leaf), policy.init(config))

    def start(key: Array, numbers: Array) -> Lanes:
        lane_key, source_key = jax.random.split(key)
        keys = lane_keys(lane_key, numbers)
        clock = jnp.int32(0)
        everyone = jnp.ones(batch, bool)
        states, source_memory = source.take(source.init(source_key, numbers), random_bits.fold(keys, clock), everyone)
        return Lanes(states, new_memories(), keys, clock, source_memory)

    def step(carry: tuple[Lanes, Tally], _: None) -> tuple[tuple[Lanes, Tally], None]:
        lanes, tally = carry
        clock = lanes.clock + 1
        keys = random_bits.fold(lanes.keys, clock)
        moves, memories = jax.vmap(functools.partial(policy.moves, config))(lanes.states, lanes.memories, keys)
        states = jax.vmap(game.step)(lanes.states, join_moves(moves))
        over = states.terminated
        tally = count_step(tally, states)
        fresh, source_memory = source.take(lanes.source, keys, over)
        states = jax.vmap(select)(over, fresh, states)
        memories = jax.vmap(select)(over, new_memories(), memories)
        return (Lanes(states, memories, lanes.keys, clock, source_memory), tally), None

    def timed(lanes: Lanes, tally: Tally) -> tuple[Lanes, Tally]:
        (lanes, tally), _ = jax.lax.scan(step, (lanes, tally), length=steps)
        return lanes, tally._replace(units=tally.units + np.uint32(steps))

    return Program(start, timed, settings={"mode": MODE, "steps_per_repeat": steps, **source.settings})


def lane_keys(key: Array, numbers: Array) -> LaneKey:
    """Makes the keys of lanes by their numbers: they do not depend on how lanes are spread over devices."""
    return jax.vmap(lambda number: random_bits.lane_key(jax.random.fold_in(key, number)))(numbers)


def join_moves(moves: Moves) -> Array:
    """Makes actions, int32 [B, P], of the moves of all seats (int32 [B] each).

    By way of one word per game: stacking deep expressions would make XLA compute what they share for each of them.
    """
    word = jnp.zeros(moves[0].shape, jnp.uint32)
    for seat, move in enumerate(moves):
        word = word | (move.astype(jnp.uint32) << (MOVE_BITS * seat))
    shifts = MOVE_BITS * np.arange(len(moves), dtype=np.uint32)
    return ((word[:, None] >> shifts) & np.uint32(2**MOVE_BITS - 1)).astype(jnp.int32)


def count_step(tally: Tally, states: State) -> Tally:
    """Counts the games that this step has ended, and mixes its result into the checksum."""
    over = states.terminated
    return tally._replace(
        episodes=tally.episodes + over.astype(jnp.uint32),
        lengths=tally.lengths + jnp.where(over, states.step_count, 0).astype(jnp.uint32),
        checksum=tally.checksum * CHECKSUM_FACTOR + digest(states),
    )


def digest(states: State) -> Array:
    """Puts new flames, cells and rewards into one word, uint32 [B]; all else that happens shows in these sooner or later."""
    word = functools.reduce(jnp.bitwise_xor, states.flames[-1].words)
    for seat, (agent, reward) in enumerate(zip(states.bombers, states.seat_rewards, strict=True)):
        word = word ^ (agent.cell.astype(jnp.uint32) << (8 * seat)) ^ (reward.astype(jnp.uint32) << (2 * seat))
    return word


def ffa() -> Pommerman:
    """Makes the game that is measured."""
    return Pommerman(preset(MODE))


def _case(
    name: str, summary: str, policy: Policy, source: Callable[[PommermanConfig], Source], steps: int, **fields: Any
) -> Case:
    def make(batch: int) -> Program:
        game = ffa()
        return play(policy, source(game.config), steps, game, batch)

    return Case(f"pommerman/{name}", "steps", summary, throughput(make), **fields)


CASES: tuple[Case, ...] = (
    _case(
        "random",
        "uniformly random moves, start states from a pool",
        RANDOM,
        Pool,
        8192,
        batch=512,
        accelerator_batch=65536,
        peer="pomcpp2 1.43 M/s, official 5.0 k/s",
        reach="2 M/s, aim 4 M/s",
    ),
    _case(
        "random_fresh",
        "uniformly random moves, a fresh board for every game",
        RANDOM,
        Fresh,
        8192,
        batch=512,
        accelerator_batch=65536,
    ),
    _case(
        "careful",
        "random moves that avoid imminent blasts, start states from a pool",
        CAREFUL,
        Pool,
        8192,
        batch=512,
        accelerator_batch=65536,
        peer="pomcpp2 1.66 M/s",
        reach="2 M/s, aim 4 M/s",
    ),
    _case(
        "simple_agents",
        "four SimpleAgents, start states from a pool",
        SIMPLE,
        Pool,
        2048,
        batch=512,
        accelerator_batch=32768,
        peer="pomcpp2 0.4 M/s, official 276/s",
        reach="0.2 M/s, aim 0.5 M/s",
    ),
)
