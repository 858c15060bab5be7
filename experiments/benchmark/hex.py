"""Benchmarks of Hex and DarkHex: random games, drawing hidden stones, and PUCT beside mctx."""

from __future__ import annotations

import dataclasses
import functools
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.sharding import Mesh

from experiments.benchmark.case import Case, Program, Request, Tally, empty_tally
from experiments.benchmark.harness import compilation, throughput, time_program
from experiments.benchmark.pommerman import CHECKSUM_FACTOR, lane_keys
from jaxgames import random_bits
from jaxgames.bitboard import select
from jaxgames.hex import Hex, HexConfig, hidden, rules
from jaxgames.hex.hidden import Information
from jaxgames.hex.state import State
from jaxgames.random_bits import LaneKey
from search import puct
from training.storage.provenance import CHECKOUT

SIZE = 11
STEPS = 4096
HALF_GAME = 80  # attempts before worlds are drawn
START_MOVES = 10  # stones on the board where searches begin
SPREAD = 0.5  # of the priors' logits
PUCT_SIZES = {100: 64, 800: 16}  # simulations: lanes


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Lanes:
    """Games on one device: states [B], keys of the lanes, steps so far."""

    states: State
    keys: LaneKey
    clock: Array


def random_cell(config: HexConfig, state: State, lane: LaneKey) -> Array:
    """Draws evenly from the cells that the player to move may try, int32 []."""
    cells = rules.legal_cells(config, state)
    rank = random_bits.below(random_bits.bits(lane, 0), cells.count())
    return cells.pick(rank.astype(jnp.int32))


def play(batch: int, *, mode: str = "abrupt", steps: int = STEPS, size: int = SIZE) -> Program:
    """Makes a program of random games; one attempt with the view of the next player is one unit."""
    game = Hex(HexConfig(size, mode))

    def start(key: Array, numbers: Array) -> Lanes:
        states = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (batch, *leaf.shape)), game.init())
        return Lanes(states, lane_keys(key, numbers), jnp.int32(0))

    def step(carry: tuple[Lanes, Tally], _: None) -> tuple[tuple[Lanes, Tally], None]:
        lanes, tally = carry
        clock = lanes.clock + 1
        keys = random_bits.fold(lanes.keys, clock)
        cells = jax.vmap(functools.partial(random_cell, game.config))(lanes.states, keys)
        states = jax.vmap(functools.partial(rules.step, game.config))(lanes.states, cells)
        over = states.terminated
        fresh = game.init()
        tally = tally._replace(
            episodes=tally.episodes + over.astype(jnp.uint32),
            lengths=tally.lengths + jnp.where(over, states.attempts, 0).astype(jnp.uint32),
        )
        states = jax.vmap(lambda over, state: select(over, fresh, state))(over, states)
        seen = jax.vmap(lambda state: game.observe(state, state.player))(states)
        words = (*seen.own.words, *seen.known.words)
        digest = functools.reduce(jnp.bitwise_xor, words) ^ seen.other_turns.astype(jnp.uint32)
        return (Lanes(states, lanes.keys, clock), tally._replace(checksum=tally.checksum * CHECKSUM_FACTOR + digest)), None

    def timed(lanes: Lanes, tally: Tally) -> tuple[Lanes, Tally]:
        (lanes, tally), _ = jax.lax.scan(step, (lanes, tally), length=steps)
        return lanes, tally._replace(units=tally.units + np.uint32(steps))

    return Program(start, timed, settings={"rules": mode, "board_size": size, "steps_per_repeat": steps})


def worlds(batch: int, *, calls: int = 64, size: int = SIZE) -> Program:
    """Makes a program that draws one world per lane, from what the players of half-played random games know."""
    game = Hex(HexConfig(size, "abrupt"))

    def start(key: Array, numbers: Array) -> tuple[Information, LaneKey, Array]:
        keys = lane_keys(key, numbers)

        def one(lane: LaneKey) -> Information:
            players = jnp.arange(2)

            def attempt(carry: tuple[State, Information], clock: Array) -> tuple[tuple[State, Information], None]:
                state, infos = carry
                cell = random_cell(game.config, state, random_bits.fold(lane, clock))
                after = rules.step(game.config, state, cell)
                seen = jax.vmap(game.observe, (None, 0))(after, players)
                mine = jnp.where(players == state.player, cell, game.pass_action)
                infos_after = jax.vmap(game.update_information)(infos, seen, mine)
                # A game that would end waits.
                return jax.tree.map(functools.partial(jnp.where, after.terminated), (state, infos), (after, infos_after)), None

            begin = (game.init(), jax.vmap(game.init_information)(players))
            (state, infos), _ = jax.lax.scan(attempt, begin, jnp.arange(1, HALF_GAME + 1))
            return jax.tree.map(lambda leaf: leaf[state.player.astype(jnp.int32)], infos)

        return jax.vmap(one)(keys), keys, jnp.int32(HALF_GAME)

    def timed(carry: Any, tally: Tally) -> tuple[Any, Tally]:
        infos, keys, clock = carry

        def once(index: Array, checksum: Array) -> Array:
            lanes = random_bits.fold(keys, clock + index)
            draw = jax.random.wrap_key_data(jnp.stack(lanes, axis=-1))
            drawn = jax.vmap(functools.partial(hidden.sample, game.config))(draw, infos).state
            words = [word for cells in (*drawn.stones, *drawn.near, *drawn.far) for word in cells.words]
            return checksum * CHECKSUM_FACTOR + functools.reduce(jnp.bitwise_xor, words)

        checksum = jax.lax.fori_loop(1, calls + 1, once, tally.checksum)
        return (infos, keys, clock + calls), tally._replace(units=tally.units + np.uint32(calls), checksum=checksum)

    return Program(start, timed, settings={"rules": "abrupt", "board_size": size, "attempts_before": HALF_GAME})


def opinion(game: Hex, states: State) -> tuple[Array, Array]:
    """Priors that differ and a value anywhere in -1..1, both by a hash of each state: float32 [B, K], [B].

    With a constant value a search like mctx's looks one step ahead and tries every cell once; these values make trees as deep
    as those of real games. Mctx adds noise of up to 1e-7 to every score, which the differences between priors must exceed.
    """

    def of_state(state: State) -> tuple[Array, Array]:
        lane = random_bits.lane_key(jax.random.wrap_key_data(game.state_key(state)))
        noise = random_bits.uniform(random_bits.bits(lane, jnp.arange(game.num_arms + 1)))
        return SPREAD * noise[:-1], 2 * noise[-1] - 1

    return jax.vmap(of_state)(states)


def no_opinion(game: Hex, states: State) -> tuple[Array, Array]:
    """The same prior for every cell and the value 0: float32 [B, K], [B]; ties everywhere, which mctx breaks by noise."""
    return jnp.zeros((states.player.shape[0], game.num_arms)), jnp.zeros(states.player.shape[0])


OPINIONS = {"hash": opinion, "constant": no_opinion}


def positions(game: Hex, lanes: LaneKey) -> State:
    """Boards with some random stones, by lane."""

    def one(lane: LaneKey) -> State:
        def attempt(state: State, clock: Array) -> tuple[State, None]:
            cell = random_cell(game.config, state, random_bits.fold(lane, clock))
            return rules.step(game.config, state, cell), None

        return jax.lax.scan(attempt, game.init(), jnp.arange(START_MOVES))[0]

    return jax.vmap(one)(lanes)


def visits_digest(visits: Array) -> Array:
    """One word per lane of root visits int32 [B, K]."""
    weights = 2 * np.arange(visits.shape[1], dtype=np.uint32) + 1
    return (visits.astype(jnp.uint32) * weights).sum(-1, dtype=jnp.uint32)


def searches(batch: int, *, num_simulations: int, size: int = SIZE, values: str = "hash") -> Program:
    """Makes a program of PUCT searches by the rules of mctx, with values of `OPINIONS`; one search of one game is one unit."""
    game = Hex(HexConfig(size))
    settings = dataclasses.replace(puct.MCTX, num_simulations=num_simulations)
    planner = puct.puct(game, lambda params, states, seats: OPINIONS[values](game, states), settings)

    def start(key: Array, numbers: Array) -> tuple[State, Any, LaneKey, Array, Array, Array]:
        keys = lane_keys(key, numbers)
        nothing = jnp.zeros(batch, jnp.uint32)
        return positions(game, keys), planner.init(batch), keys, jnp.int32(START_MOVES), nothing, nothing

    def timed(carry: Any, tally: Tally) -> tuple[Any, Tally]:
        states, memory, keys, clock, _, _ = carry
        draw = jax.random.wrap_key_data(jnp.stack(random_bits.fold(keys, clock), axis=-1))
        seats = states.player.astype(jnp.int32)
        plan, memory = planner.plan(None, draw, memory, states, seats, jnp.ones(batch, bool))
        digest = visits_digest(plan.visit_counts.sum(1))
        tally = tally._replace(units=tally.units + 1, checksum=tally.checksum * CHECKSUM_FACTOR + digest)
        depth = plan.metrics["depth"].astype(jnp.uint32)
        return (states, memory, keys, clock + 1, digest, depth), tally

    def describe(carry: Any) -> dict[str, Array]:
        return {"mean_depth": carry[5] / num_simulations}

    shown = {"board_size": size, "num_simulations": num_simulations, "start_moves": START_MOVES, "values": values}
    return Program(start, timed, warm_up=1, calls=1, settings=shown, describe=describe)


def beside_mctx(
    num_simulations: int, *, size: int = SIZE, values: str = "hash"
) -> Callable[[Request, Mesh, int], dict[str, Any]]:
    """Makes the `measure` of a search that is compared with mctx in the same run; mctx in a process of its own (see there).

    Where no ties are broken by noise, it raises a RuntimeError unless all root visits of all lanes are the same.
    """

    def measure(request: Request, mesh: Mesh, batch: int) -> dict[str, Any]:
        program = searches(batch, num_simulations=num_simulations, size=size, values=values)
        figures = time_program(program, request, mesh, batch)
        if mesh.devices.flat[0].platform != "cpu" or mesh.devices.size > 1:
            return figures
        arguments = (size, batch, num_simulations, request.seed, values)
        command = [sys.executable, "-m", "experiments.benchmark.mctx_peer", *map(str, arguments)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=CHECKOUT, check=False)
        if done.returncode:
            figures["details"]["mctx"] = "could not be run"
            return figures
        peer = json.loads(done.stdout.splitlines()[-1])
        ours = batch / figures["per_cpu_second"]
        same = float(np.mean(_digests(program, request.seed, batch) == np.array(peer["visits"], np.uint32)))
        if same < 1 and values == "hash":
            raise RuntimeError(f"lanes_with_the_same_visits={same}: must be 1, the search differs from that of mctx")
        figures["details"] |= {
            "cpu_seconds_per_batch": float(f"{ours:.4g}"),
            "mctx_cpu_seconds_per_batch": float(f"{peer['cpu_seconds']:.4g}"),
            "mctx_compile_seconds": float(f"{peer['compile_seconds']:.4g}"),
            "times_mctx": float(f"{peer['cpu_seconds'] / ours:.4g}"),
            "lanes_with_the_same_visits": same,
        }
        return figures

    return measure


def _digests(program: Program, seed: int, batch: int) -> np.ndarray:
    """The digests of the root visits of the first searches, uint32 [batch]."""

    def first(key: Array) -> Array:
        carry = program.start(key, jnp.arange(batch, dtype=jnp.int32))
        (*_, digest, _), _ = program.timed(carry, empty_tally(batch))
        return digest

    return np.asarray(jax.jit(first)(jax.random.key(seed)))


def step_and_search(batch: int) -> dict[str, tuple[Callable, Sequence[Any]]]:
    """Gives a step of `batch` games and a search, as functions with the shapes of their arguments."""
    dark, game = Hex(HexConfig(SIZE, "abrupt")), Hex(HexConfig(SIZE))
    lanes = PUCT_SIZES[100]
    settings = dataclasses.replace(puct.MCTX, num_simulations=100)
    planner = puct.puct(game, lambda params, states, seats: opinion(game, states), settings)

    def shapes(lanes: int) -> Any:
        return jax.eval_shape(lambda: jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (lanes, *leaf.shape)), game.init()))

    keys = jax.eval_shape(lambda: jax.random.split(jax.random.key(0), lanes))
    seats, active = jax.ShapeDtypeStruct((lanes,), jnp.int32), jax.ShapeDtypeStruct((lanes,), bool)
    cells = jax.ShapeDtypeStruct((batch,), jnp.int32)
    memory = jax.eval_shape(lambda: planner.init(lanes))
    return {
        "step": (jax.vmap(functools.partial(rules.step, dark.config)), (shapes(batch), cells)),
        "search": (planner.plan, (None, keys, memory, shapes(lanes), seats, active)),
    }


CASES: tuple[Case, ...] = (
    Case(
        "hex/dark_random",
        "steps",
        "DarkHex 11 x 11, abrupt: random legal attempts with the view of who is next",
        throughput(play),
        batch=1024,
        accelerator_batch=65536,
        peer="OpenSpiel 27.7 k/s, pgx hex 123 k/s",
        reach="6 M/s, aim 15 M/s",
    ),
    Case(
        "hex/puct_100",
        "batches",
        "PUCT, Hex 11 x 11, 100 simulations by the rules of mctx, priors and values by a hash; per batch",
        beside_mctx(100),
        batch=PUCT_SIZES[100],
        accelerator_batch=4096,
        peer="mctx {mctx_cpu_seconds_per_batch:.3g} s, {times_mctx:.1f}x ours",
        reach="0.42 s and 7x, aim 0.2 s",
    ),
    Case(
        "hex/puct_800",
        "batches",
        "the same with 800 simulations; per batch",
        beside_mctx(800),
        batch=PUCT_SIZES[800],
        accelerator_batch=1024,
        peer="mctx {mctx_cpu_seconds_per_batch:.3g} s, {times_mctx:.1f}x ours",
        reach="15x, aim 30x",
    ),
    Case(
        "hex/puct_100_constant",
        "batches",
        "PUCT, Hex 11 x 11, 100 simulations by the rules of mctx, uniform priors, value 0; per batch",
        beside_mctx(100, values="constant"),
        batch=PUCT_SIZES[100],
        accelerator_batch=4096,
        peer="mctx {mctx_cpu_seconds_per_batch:.3g} s, {times_mctx:.1f}x ours",
    ),
    Case(
        "hex/sample_hidden",
        "worlds",
        "DarkHex 11 x 11: one full board that fits what a player knows, in the middle of a game",
        throughput(worlds),
        batch=1024,
        accelerator_batch=65536,
        reach="15 us, aim 5 us",
    ),
    Case(
        "hex/compile",
        "s",
        "seconds to compile a step and a search (64 games, 100 simulations)",
        compilation(step_and_search, {"board_size": SIZE, "num_simulations": 100}),
        batch=1024,
        accelerator_batch=65536,
        peer="mctx 3-30 s",
        reach="search 10 s, aim 4 s",
    ),
)
