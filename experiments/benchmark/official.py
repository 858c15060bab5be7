"""Benchmark of our player in the official interface: from the dictionary that it is handed to the move that it answers."""

from __future__ import annotations

import time
import zlib
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.sharding import Mesh

from experiments.benchmark.case import Case, Request
from experiments.benchmark.harness import Lap, rates, repeated, rounded
from experiments.benchmark.lanes import lane_keys
from experiments.benchmark.pommerman import MODE, SIMPLE, join_moves
from jaxgames import random_bits
from jaxgames.pommerman.interop import observation_dict
from training.play.official import DEFAULT_AGENT, OfficialAgent

MOVES = 20  # per repeat
WARM_UP = 20  # steps of the first game that are not timed
SEAT = 0


class Match:
    """One game after another of the player against three SimpleAgents; its moves are timed, all else is not."""

    def __init__(self, spec: str, seed: int) -> None:
        """Compiles the player and the game."""
        started = time.perf_counter()
        self.agent = OfficialAgent(spec, MODE, seed=seed)
        self.compile_seconds = time.perf_counter() - started
        self.game, self.key, self.games = self.agent.game, jax.random.key(seed), 0
        self._init, self._observe, self._step = jax.jit(self.game.init), jax.jit(self.game.observe), jax.jit(self._advance)
        self._begin()

    def _begin(self) -> None:
        self.state = self._init(jax.random.fold_in(self.key, self.games))
        self.memory, self.clock = SIMPLE.init(self.game.config), 0
        self.games += 1
        self.agent.episode_end(0)

    def _advance(self, key: Array, state: Any, memory: Any, clock: Array, move: Array) -> tuple[Any, Any]:
        lane = jax.tree.map(lambda leaf: leaf[0], random_bits.fold(lane_keys(key, jnp.zeros(1, jnp.int32)), clock))
        moves, memory = SIMPLE.moves(self.game.config, state, memory, lane)
        actions = join_moves(tuple(each[None] for each in moves))[0].at[SEAT].set(move)
        return self.game.step(state, actions), memory

    def move(self) -> tuple[int, float, float]:
        """Plays one step: the player's move, and its CPU and wall seconds."""
        seen = observation_dict(self.game.config, self._observe(self.state, jnp.int32(SEAT)))
        cpu, wall = time.process_time(), time.perf_counter()
        move = self.agent.act(seen)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        self.state, self.memory = self._step(self.key, self.state, self.memory, jnp.int32(self.clock), jnp.int32(move))
        self.clock += 1
        if self.state.terminated or not self.state.alive[SEAT]:
            self._begin()
        return int(move), cpu, wall  # type: ignore[arg-type]


def decisions(request: Request, mesh: Mesh, batch: int, *, spec: str = DEFAULT_AGENT, moves: int = MOVES) -> dict[str, Any]:
    """Times moves of the official agent: dictionary in, move out, one after another on one device, whatever the batch."""
    del mesh, batch
    match = Match(spec, request.seed)
    played, slowest = bytearray(), 0.0

    def lap() -> Lap:
        nonlocal slowest
        cpu = wall = 0.0
        for _ in range(moves):
            move, move_cpu, move_wall = match.move()
            cpu, wall, slowest = cpu + move_cpu, wall + move_wall, max(slowest, move_wall)
            played.append(move)
        return Lap(moves, cpu, wall)

    before = 0

    def warm_up() -> None:
        nonlocal before
        for _ in range(WARM_UP):
            match.move()
        before = match.games

    laps = repeated(request, warm_up, lap)
    return {
        **rates(laps),
        "batch": 1,
        "devices": 1,
        "compile_seconds": rounded(match.compile_seconds),
        "resets": match.games - before,
        "checksum": f"{zlib.crc32(played):08x}",
        "settings": {"mode": MODE, "agent": spec, "moves_per_repeat": moves, "steps_before": WARM_UP},
        "details": {"slowest_ms": rounded(1000 * slowest)},
    }


CASES: tuple[Case, ...] = (
    Case(
        "pommerman/official_move",
        "decisions",
        "one move of the official agent (SP-MCTS, 250 simulations, four replies), from the official dictionary to the move",
        decisions,
        batch=1,
        accelerator_batch=1,
        reach="100 ms, the official limit",
    ),
)
