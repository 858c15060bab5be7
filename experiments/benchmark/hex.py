"""Benchmarks of Hex and DarkHex: random games, drawing hidden stones, and PUCT, all beside their peers."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.sharding import Mesh

from experiments.benchmark import peers
from experiments.benchmark.case import Case, Program, Request, Tally, empty_tally
from experiments.benchmark.harness import compilation, rounded, throughput, time_program
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
    typed_keys,
    visits_digest,
)
from jaxgames import random_bits
from jaxgames.bits import select
from jaxgames.hex import Hex, HexConfig, hidden, rules
from jaxgames.hex.hidden import Information
from jaxgames.hex.state import State
from jaxgames.random_bits import LaneKey
from search import puct
from search.planner import Planner

SIZE = 11
BATCH = 960  # not 1024: see "The runtime" in docs/development.md
STEPS = 4096
HALF_GAME = 80  # attempts before worlds are drawn
START_MOVES = 10  # stones on the board where searches begin
SPREAD = 0.5  # of the priors' logits
PUCT_SIZES = {100: 64, 800: 16}  # simulations: lanes


def random_cell(config: HexConfig, state: State, lane: LaneKey) -> Array:
    """Draws evenly from the cells that the player to move may try, int32 []."""
    cells = rules.legal_cells(config, state)
    rank = random_bits.below(random_bits.bits(lane, 0), cells.count())
    return cells.pick(rank.astype(jnp.int32))


def play(batch: int, *, mode: str = "abrupt", steps: int = STEPS, size: int = SIZE) -> Program:
    """Makes a program of random games; one attempt with the view of the next player is one unit."""
    game = Hex(HexConfig(size, mode))
    steps, warm_up = steps_per_call(steps, batch, 2048)

    def start(key: Array, numbers: Array) -> Lanes:
        states = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (batch, *leaf.shape)), game.init())
        return Lanes(states, lane_keys(key, numbers), jnp.int32(0))

    def step(states: State, keys: LaneKey) -> Step:
        cells = jax.vmap(functools.partial(random_cell, game.config))(states, keys)
        states = jax.vmap(functools.partial(rules.step, game.config))(states, cells)
        over, lengths = states.terminated, states.attempts
        fresh = game.init()
        states = jax.vmap(lambda over, state: select(over, fresh, state))(over, states)
        seen = jax.vmap(lambda state: game.observe(state, state.player))(states)
        words = (*seen.own.words, *seen.known.words)
        digest = functools.reduce(jnp.bitwise_xor, words) ^ seen.other_turns.astype(jnp.uint32)
        return Step(states, over, lengths, digest)

    settings = {"rules": mode, "board_size": size, "steps_per_repeat": steps}
    return Program(start, functools.partial(play_on, step, steps), warm_up=warm_up, settings=settings)


def beside_random(request: Request, mesh: Mesh, batch: int) -> dict[str, Any]:
    """Measures random games, and those of OpenSpiel (through its Python interface) and pgx (open Hex) in the same run."""
    figures = time_program(play(batch), request, mesh, batch)
    if peers.comparable(mesh, request):
        for name in ("open_spiel", "pgx"):
            found = peers.ask(name, size=SIZE, batch=batch, seed=request.seed)
            if found:
                figures["details"] |= {
                    f"{name}_per_cpu_second": rounded(found["per_cpu_second"]),
                    f"times_{name}": rounded(figures["per_cpu_second"] / found["per_cpu_second"]),
                }
    return figures


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
            draw = typed_keys(keys, clock + index)
            drawn = jax.vmap(functools.partial(hidden.sample, game.config))(draw, infos).state
            words = [word for cells in (*drawn.stones, *drawn.near, *drawn.far) for word in cells.words]
            return mixed(checksum, functools.reduce(jnp.bitwise_xor, words))

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


def searcher(game: Hex, num_simulations: int, values: str = "hash") -> Planner:
    """Makes PUCT by the rules of mctx, with values of `OPINIONS`."""
    return puct.puct(game, lambda params, states, seats: OPINIONS[values](game, states), searcher_settings(num_simulations))


def searcher_settings(num_simulations: int) -> puct.Settings:
    """Settings of `searcher`."""
    return dataclasses.replace(puct.MCTX, num_simulations=num_simulations)


def searches(batch: int, *, num_simulations: int, size: int = SIZE, values: str = "hash") -> Program:
    """Makes a program of PUCT searches; one search of one game is one unit."""
    game = Hex(HexConfig(size))
    planner = searcher(game, num_simulations, values)

    def start(key: Array, numbers: Array) -> tuple[State, Any, LaneKey, Array, Array, Array]:
        keys = lane_keys(key, numbers)
        nothing = jnp.zeros(batch, jnp.uint32)
        return positions(game, keys), planner.init(batch), keys, jnp.int32(START_MOVES), nothing, nothing

    def timed(carry: Any, tally: Tally) -> tuple[Any, Tally]:
        states, memory, keys, clock, _, _ = carry
        seats = states.player.astype(jnp.int32)
        plan, memory = planner.plan(None, typed_keys(keys, clock), memory, states, seats, jnp.ones(batch, bool))
        digest = visits_digest(plan.visit_counts.sum(1))
        tally = tally._replace(units=tally.units + 1, checksum=mixed(tally.checksum, digest))
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
        sizes = {"size": size, "batch": batch, "num_simulations": num_simulations, "seed": request.seed, "values": values}
        peer = peers.ask("mctx", **sizes) if peers.comparable(mesh, request) else None
        if not peer:
            return figures
        ours = batch / figures["per_cpu_second"]
        same = float(np.mean(_digests(program, request.seed, batch) == np.array(peer["visits"], np.uint32)))
        if same < 1 and values == "hash":
            raise RuntimeError(f"lanes_with_the_same_visits={same}: must be 1, the search differs from that of mctx")
        figures["details"] |= {
            "cpu_seconds_per_batch": rounded(ours),
            "mctx_cpu_seconds_per_batch": rounded(peer["cpu_seconds"]),
            "mctx_compile_seconds": rounded(peer["compile_seconds"]),
            "times_mctx": rounded(peer["cpu_seconds"] / ours),
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


def step_and_search(batch: int) -> dict[str, Compiled]:
    """Gives a step of `batch` games and a search, as functions with the shapes of their arguments."""
    dark, game = Hex(HexConfig(SIZE, "abrupt")), Hex(HexConfig(SIZE))
    _, states = start_shapes(game, batch)
    step = (jax.vmap(functools.partial(rules.step, dark.config)), (states, jax.ShapeDtypeStruct((batch,), jnp.int32)))
    return {"step": step, "search": compiled_plan(game, searcher(game, 100), PUCT_SIZES[100])}


def _beside_mctx(name: str, summary: str, num_simulations: int, accelerator_batch: int, reach: str = "", **options: Any) -> Case:
    measure, text = beside_mctx(num_simulations, **options), "{times_mctx:.1f}x mctx ({mctx_cpu_seconds_per_batch:.3g} s)"
    program = functools.partial(searches, num_simulations=num_simulations, **options)
    lanes = PUCT_SIZES[num_simulations]
    return Case(
        f"hex/{name}", "searches", f"{summary}; per batch of {lanes}", measure, lanes, accelerator_batch, (text,), reach, program
    )


_SEARCH = "PUCT, Hex 11 x 11, 100 simulations by the rules of mctx"
CASES: tuple[Case, ...] = (
    Case(
        "hex/dark_random",
        "steps",
        "DarkHex 11 x 11, abrupt: random legal moves, and the next player's observation",
        beside_random,
        batch=BATCH,
        peers=(
            "{times_open_spiel:.0f}x OpenSpiel, from Python ({open_spiel_per_cpu_second:.3g}/s)",
            "{times_pgx:.0f}x pgx, open Hex ({pgx_per_cpu_second:.3g}/s)",
        ),
        reach="6 M/s, aim 15 M/s",
        program=play,
    ),
    _beside_mctx("puct_100", f"{_SEARCH}, priors and values by a hash", 100, 4096, "0.42 s and 7x, aim 0.2 s"),
    _beside_mctx("puct_800", "the same with 800 simulations", 800, 1024, "15x, aim 30x"),
    _beside_mctx("puct_100_constant", f"{_SEARCH}, uniform priors, value 0", 100, 4096, values="constant"),
    Case(
        "hex/sample_hidden",
        "worlds",
        "DarkHex 11 x 11: one full board that fits what a player knows, in the middle of a game",
        throughput(worlds),
        batch=BATCH,
        reach="15 us, aim 5 us",
    ),
    Case(
        "hex/compile",
        "s",
        "seconds to compile a step and a search (64 games, 100 simulations)",
        compilation(step_and_search, {"board_size": SIZE, "num_simulations": 100}),
        batch=1024,
        reach="search 10 s, aim 4 s",
    ),
)
