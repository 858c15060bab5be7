"""Benchmarks of Stratego and Barrage: random games, drawing what is hidden, and moves by PC-PIMC."""

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
from jaxgames.bits import Bits, select
from jaxgames.random_bits import LaneKey
from jaxgames.stratego import Stratego, legal, make, rules, setup
from jaxgames.stratego.moves import Move
from jaxgames.stratego.observation import Observation
from jaxgames.stratego.state import State
from search import puct
from search.planner import Planner
from search.puct import determinized
from training.models import policy_value
from training.models.policy_value import PolicyValue, PolicyValueConfig

STEPS = 1024
POOL_SIZE = 4096
NUM_WORLDS, NUM_SIMULATIONS, SEARCH_LANES = 3, 800, 64
MID_GAME = {"barrage": 60, "stratego": 200}  # random moves before worlds are drawn


def random_move(game: Stratego, state: State, lane: LaneKey) -> Move:
    """Draws evenly from the legal moves of the player to move."""
    side = legal.side_of(state, state.player)
    found = legal.as_set(legal.legal_moves(game.config, side))
    number = found.pick(random_bits.below(random_bits.bits(lane, 0), found.count()))
    return legal.move_of(game.config, side, number)


# Of start states: the sets of pieces and kinds, in which alone they differ.
Pool = tuple[tuple[Bits, Bits], tuple[Bits, ...]]


def draw_pool(game: Stratego, key: Array, size: int) -> Pool:
    """Draws so many start states, leaves [size]."""
    starts = jax.vmap(game.init)(jax.random.split(key, size))
    return starts.pieces, starts.kinds


def take(game: Stratego, pool: Pool, clock: Array, batch: int) -> State:
    """Gives each lane the next start of the pool, which goes round."""
    size = pool[0][0].words[0].shape[0]
    begin = (clock * batch) % (size - batch + 1)
    pieces, kinds = jax.tree.map(lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, begin, batch), pool)
    start = setup.start_state(game.config, *_any_board(game))
    blank = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (batch, *leaf.shape)), start)
    return dataclasses.replace(blank, pieces=pieces, kinds=kinds, hidden=pieces[0] | pieces[1])


def _any_board(game: Stratego) -> tuple[np.ndarray, np.ndarray]:
    """Some start, for what all starts have in common."""
    config = game.config
    kinds, owners = np.zeros(config.num_cells, np.uint8), np.full(config.num_cells, -1, np.int8)
    for seat, home in enumerate(config.home_cells):
        cells = list(home[: config.num_pieces])
        kinds[cells] = np.repeat(np.arange(1, len(config.pieces) + 1), config.pieces)
        owners[cells] = seat
    return kinds, owners


def play(batch: int, *, mode: str, steps: int = STEPS) -> Program:
    """Makes a program of random games; one move with the view of the next player is one unit."""
    game = make(mode)
    seen_by = functools.partial(_digest_of_view, game)
    steps, warm_up = steps_per_call(steps, batch, 2048)
    pool_size = max(POOL_SIZE, 2 * batch)

    def start(key: Array, numbers: Array) -> Lanes:
        lane_key, pool_key = jax.random.split(key)
        pool = draw_pool(game, pool_key, pool_size)
        return Lanes((take(game, pool, jnp.int32(0), batch), pool, jnp.int32(0)), lane_keys(lane_key, numbers), jnp.int32(0))

    def step(games: Any, keys: LaneKey) -> Step:
        states, pool, clock = games
        moves = jax.vmap(functools.partial(random_move, game))(states, keys)
        states = jax.vmap(functools.partial(rules.advance, game.config))(states, moves)
        over, lengths = states.terminated, states.ply
        states = jax.vmap(select)(over, take(game, pool, clock + 1, batch), states)
        return Step((states, pool, clock + 1), over, lengths, jax.vmap(seen_by)(states))

    settings = {"mode": mode, "steps_per_repeat": steps, "start_states": "pool", "pool_size": pool_size}
    return Program(start, functools.partial(play_on, step, steps), warm_up=warm_up, settings=settings)


def _digest_of_view(game: Stratego, state: State) -> Array:
    """One word of all that the player to move sees."""
    words = jax.tree.leaves(game.observe(state, state.player))
    return functools.reduce(jnp.bitwise_xor, (word.astype(jnp.uint32) for word in words))


def middle_of_a_game(game: Stratego, mode: str, lane: LaneKey, key: Array) -> Observation:
    """What the player to move sees after some random moves."""

    def move(state: State, clock: Array) -> tuple[State, None]:
        after = rules.advance(game.config, state, random_move(game, state, random_bits.fold(lane, clock)))
        return select(after.terminated, state, after), None  # a game that would end waits

    state, _ = jax.lax.scan(move, game.init(key), jnp.arange(MID_GAME[mode]))
    return game.observe(state, state.player)


def started(game: Stratego, mode: str, key: Array, numbers: Array) -> tuple[Observation, LaneKey, Array]:
    """What players see in the middle of games, random keys, and a clock."""
    lane_key, start_key = jax.random.split(key)
    keys = lane_keys(lane_key, numbers)
    starts = jax.vmap(functools.partial(jax.random.fold_in, start_key))(numbers)
    return jax.vmap(functools.partial(middle_of_a_game, game, mode))(keys, starts), keys, jnp.int32(0)


def worlds(batch: int, *, mode: str, calls: int = 64) -> Program:
    """Makes a program that draws one full board per lane, from what a player knows in the middle of a random game."""
    game = make(mode)

    def timed(carry: tuple[Observation, LaneKey, Array], tally: Tally) -> tuple[Any, Tally]:
        infos, keys, clock = carry

        def once(index: Array, checksum: Array) -> Array:
            drawn = jax.vmap(game.sample_hidden)(typed_keys(keys, clock + index), infos)
            words = [word for digit in drawn.kinds for word in digit.words]
            return mixed(checksum, functools.reduce(jnp.bitwise_xor, words))

        checksum = jax.lax.fori_loop(1, calls + 1, once, tally.checksum)
        return (infos, keys, clock + calls), tally._replace(units=tally.units + np.uint32(calls), checksum=checksum)

    return Program(functools.partial(started, game, mode), timed, settings={"mode": mode, "moves_before": MID_GAME[mode]})


def searcher(mode: str, num_simulations: int, lanes: int = SEARCH_LANES) -> tuple[Planner, PolicyValue]:
    """Makes PC-PIMC with three worlds and the light network."""
    who = policy_value.make(PolicyValueConfig("stratego", mode, network="light"))
    search = puct.Settings(num_simulations=num_simulations)
    settings = determinized.Settings(num_worlds=NUM_WORLDS, search=search, **together(lanes))
    return determinized.pimc_tree(who.game, who.evaluate, settings, outputs=who.encoder.outputs), who


def searches(batch: int, *, mode: str = "barrage", num_simulations: int = NUM_SIMULATIONS) -> Program:
    """Makes a program of PC-PIMC searches in the middle of random games; one move of one game is one unit."""
    planner, who = searcher(mode, num_simulations, batch)

    def start(key: Array, numbers: Array) -> tuple[Any, ...]:
        weights = who.init(key)
        return (*started(who.game, mode, key, numbers), planner.init(batch), jnp.zeros(batch, jnp.uint32), weights)

    def timed(carry: tuple[Any, ...], tally: Tally) -> tuple[Any, Tally]:
        infos, keys, clock, memory, _, weights = carry
        seats, active = infos.viewer.astype(jnp.int32), jnp.ones(batch, bool)
        plan, memory = planner.plan(weights, typed_keys(keys, clock), memory, infos, seats, active)
        tally = tally._replace(units=tally.units + 1, checksum=mixed(tally.checksum, visits_digest(plan.visit_counts.sum(1))))
        return (infos, keys, clock + 1, memory, plan.metrics["depth"].astype(jnp.uint32), weights), tally

    def describe(carry: tuple[Any, ...]) -> dict[str, Array]:
        return {"mean_depth": carry[4] / (NUM_WORLDS * num_simulations)}

    shown = {
        "mode": mode,
        "moves_before": MID_GAME[mode],
        "num_worlds": NUM_WORLDS,
        "num_simulations": num_simulations,
        "megabytes_per_lane": round(planner.memory_bytes / 1e6, 2),
    }
    return Program(start, timed, warm_up=1, calls=1, settings=shown, describe=describe)


def step_and_search(batch: int) -> dict[str, Compiled]:
    """Gives a step of `batch` games of Stratego and a move by PC-PIMC in Barrage, with the shapes of their arguments."""
    game, barrage = make("stratego"), make("barrage")
    _, states = start_shapes(game, batch)
    actions = jax.ShapeDtypeStruct((batch, 2), jnp.int32)
    planner, who = searcher("barrage", NUM_SIMULATIONS)
    params = jax.eval_shape(who.init, jax.random.key(0))
    keys, starts = start_shapes(barrage, SEARCH_LANES)
    seats, active = (jax.ShapeDtypeStruct((SEARCH_LANES,), dtype) for dtype in (jnp.int32, bool))
    views = jax.eval_shape(jax.vmap(barrage.observe), starts, seats)
    memory = jax.eval_shape(lambda: planner.init(SEARCH_LANES))
    return {
        "step": (jax.vmap(lambda state, chosen: game.apply(state, chosen)), (states, actions)),
        "search": (planner.plan, (params, keys, memory, views, seats, active)),
    }


CASES: tuple[Case, ...] = (
    Case(
        "stratego/barrage_random",
        "steps",
        "Barrage: random legal moves with the view of who is next",
        throughput(functools.partial(play, mode="barrage")),
        batch=960,
        peers=("yorktown 22.6 k/s*", "stratego_env 13.7 k/s*"),
        reach="2 M/s, aim 5 M/s",
    ),
    Case(
        "stratego/random",
        "steps",
        "Stratego: random legal moves with the view of who is next",
        throughput(functools.partial(play, mode="stratego")),
        batch=960,
        peers=("yorktown 8.4 k/s*", "stratego_env 21.5 k/s*"),
        reach="1 M/s, aim 4 M/s",
    ),
    Case(
        "stratego/sample_hidden",
        "worlds",
        "Stratego: one full board that fits what a player knows, after 200 random moves",
        throughput(functools.partial(worlds, mode="stratego")),
        batch=512,
        reach="10 us, aim 2 us",
    ),
    Case(
        "stratego/pc_pimc",
        "plans",
        "Barrage: a move by PC-PIMC, 3 worlds x 800 simulations, with the light network, not trained",
        throughput(searches),
        batch=SEARCH_LANES,
        accelerator_batch=2048,
        reach="150 ms, aim 50 ms; 12 MB per lane, aim 6 MB",
    ),
    Case(
        "stratego/compile",
        "s",
        "seconds to compile a step of Stratego, and a move of Barrage by PC-PIMC (64 games, 3 x 800 simulations)",
        compilation(step_and_search, {"mode": "stratego", "num_simulations": NUM_SIMULATIONS}),
        batch=512,
        reach="step 5 s, aim 2 s; search 15 s, aim 8 s",
    ),
)
