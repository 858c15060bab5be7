"""Benchmarks of Hero Academy: random games, the heuristic, evolving turns, and trees over turns."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from experiments.benchmark.case import Case, Program, Tally, empty_tally
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
)
from jaxgames import random_bits
from jaxgames.bits import select
from jaxgames.hero_academy import HeroAcademy, evaluation
from jaxgames.hero_academy.state import State
from jaxgames.random_bits import LaneKey
from search.turns import evolution
from search.turns import mcts as turn_mcts
from search.turns.game import moves_of
from search.turns.planner import TurnSearch

STEPS = 1024
MID_GAME = 60  # random steps before anything else is timed: ten turns
EVALUATIONS = 4096  # of the heuristic, per lane and repeat
GENERATIONS = 20
SIMULATIONS = 200
LARGE_SIMULATIONS = 20_000  # of trees that no cache holds


def random_step(game: HeroAcademy, state: State, lane: LaneKey) -> State:
    """Plays one of the legal actions, all as likely."""
    legal = game.legal_set(state)
    return game.advance(state, legal.pick(random_bits.below(random_bits.bits(lane, 0), legal.count())), None)


# A game, and the state in which the next one on its lane begins.
Games = tuple[State, State]


def begin(game: HeroAcademy, key: Array, numbers: Array) -> Lanes:
    """Deals first hands, by lane."""
    keys = lane_keys(key, numbers)
    starts = jax.vmap(lambda lane: game.init(jax.random.wrap_key_data(jnp.stack(random_bits.fold(lane, 0)))))(keys)
    return Lanes((starts, starts), keys, jnp.int32(0))


def advance(game: HeroAcademy, steps: int, lanes: Lanes, tally: Tally) -> tuple[Lanes, Tally]:
    """Plays so many random steps; a game that has ended begins again."""

    def step(games: Games, keys: LaneKey) -> Step:
        states, starts = games
        states = jax.vmap(functools.partial(random_step, game))(states, keys)
        over = states.terminated
        digest = states.board.hit_points[3].words[0] ^ states.hands[0] ^ states.decks[1]
        return Step((jax.vmap(select)(over, starts, states), starts), over, jnp.zeros_like(digest), digest)

    # What a call has found is added to the tally, and a number of the clock lies between two calls.
    lanes, found = play_on(step, steps, lanes, jax.tree.map(jnp.zeros_like, tally))
    return dataclasses.replace(lanes, clock=lanes.clock + 1), jax.tree.map(jnp.add, tally, found)


def play(batch: int, *, steps: int = STEPS) -> Program:
    """Makes a program of random games: the legal set, one of it, a step, and a new game after the end; a step is one unit."""
    game = HeroAcademy()
    steps, warm_up = steps_per_call(steps, batch, 2048)
    timed = functools.partial(advance, game, steps)
    return Program(functools.partial(begin, game), timed, warm_up=warm_up, settings={"steps_per_repeat": steps})


def _mid_game(game: HeroAcademy) -> Callable[[Array, Array], Lanes]:
    """Starts in the middle of random games, at the start of a turn."""

    def start(key: Array, numbers: Array) -> Lanes:
        lanes, _ = advance(game, MID_GAME, begin(game, key, numbers), empty_tally(len(numbers)))
        states, starts = lanes.games
        states = jax.vmap(lambda state: game.advance(state, jnp.int32(game.end_turn), None))(states)
        return dataclasses.replace(lanes, games=(jax.vmap(select)(~states.terminated, states, starts), starts))

    return start


def heuristic(batch: int, *, evaluations: int = EVALUATIONS) -> Program:
    """Makes a program that values states; each is changed a little from one evaluation to the next."""
    del batch
    game = HeroAcademy()

    def timed(lanes: Lanes, tally: Tally) -> tuple[Lanes, Tally]:
        def once(number: Array, carry: tuple[State, Array]) -> tuple[State, Array]:
            states, checksum = carry
            board = states.board
            # The board changes by the number, cards by what was found, so that nothing can be worked out once for all rounds.
            digit = jax.tree.map(lambda word: word ^ (number.astype(jnp.uint32) & jnp.uint32(1)), board.hit_points[0])
            kinds = (jax.tree.map(lambda word: word ^ (checksum & jnp.uint32(2)), board.kinds[0]), *board.kinds[1:])
            board = dataclasses.replace(board, hit_points=(digit, *board.hit_points[1:]), kinds=kinds)
            hands, decks = jax.tree.map(lambda pile: pile ^ (checksum & jnp.uint32(1)), (states.hands, states.decks))
            states = dataclasses.replace(states, board=board, hands=hands, decks=decks)
            first, _ = jax.vmap(functools.partial(evaluation.points, game.config))(states)
            return states, mixed(checksum, first.astype(jnp.uint32))

        _, checksum = jax.lax.fori_loop(0, evaluations, once, (lanes.games[0], tally.checksum))
        return lanes, tally._replace(units=tally.units + np.uint32(evaluations), checksum=checksum)

    return Program(_mid_game(game), timed, settings={"random_steps_before": MID_GAME})


def oep(batch: int, *, generations: int = GENERATIONS) -> Program:
    """Makes a program that evolves turns; a genome that is made and evaluated is one unit."""
    del batch
    game = HeroAcademy()
    settings = evolution.Settings(num_generations=generations)
    sizes = {"population": settings.population, "generations": generations, "action_points": game.config.action_points}
    return _planning(game, evolution.evolution(game, moves_of(game), settings), settings.num_evaluations, sizes)


def mcts(batch: int, *, simulations: int = SIMULATIONS) -> Program:
    """Makes a program of vanilla tree search; a simulation is one unit."""
    del batch
    game = HeroAcademy()
    search = turn_mcts.tree_search(game, moves_of(game), turn_mcts.Settings(num_simulations=simulations))
    return _planning(game, search, simulations, {"simulations": simulations})


def _planning(game: HeroAcademy, search: TurnSearch, units: int, sizes: dict[str, int]) -> Program:
    """Makes a program that searches so many units for each turn."""

    def timed(lanes: Lanes, tally: Tally) -> tuple[Lanes, Tally]:
        states, _ = lanes.games
        turn = search.run(random_bits.fold(lanes.keys, lanes.clock), states, jax.vmap(game.to_play)(states))
        checksum = mixed(tally.checksum, turn.actions.sum(1).astype(jnp.uint32))
        tally = tally._replace(units=tally.units + np.uint32(units), checksum=checksum)
        return dataclasses.replace(lanes, clock=lanes.clock + 1), tally

    return Program(_mid_game(game), timed, settings=sizes)


def step_and_planner(batch: int) -> dict[str, Compiled]:
    """Gives a step of `batch` games and OEP for as many as think at once, as functions with the shapes of their arguments."""
    game = HeroAcademy()
    _, states = start_shapes(game, batch)
    actions = jax.ShapeDtypeStruct((batch, 2), jnp.int32)
    return {
        "step": (jax.vmap(lambda state, chosen: game.apply(state, chosen)), (states, actions)),
        "planner": compiled_plan(game, evolution.oep(game), evolution.Settings().microbatch_size),
    }


CASES: tuple[Case, ...] = (
    Case(
        "hero_academy/random",
        "steps",
        "Hero Academy: the legal set, one of it at random, a step, new games after the end",
        throughput(play),
        batch=960,
        peers=("Java 0.27-0.46 M/s*",),
        reach="2 M/s, aim 5 M/s",
    ),
    Case(
        "hero_academy/heuristic",
        "evaluations",
        "the heuristic of a position",
        throughput(heuristic),
        batch=960,
        peers=("Java 3.6-4.0 M/s*",),
        reach="20 M/s, aim 50 M/s",
    ),
    Case(
        "hero_academy/oep",
        "genomes",
        "OEP: turns made and evaluated, population 100, 5 action points, mid-game",
        throughput(oep),
        batch=64,
        accelerator_batch=1024,
        peers=("Java 8-48 k/s*",),
        reach="200 k/s, aim 600 k/s",
    ),
    Case(
        "hero_academy/mcts",
        "simulations",
        "vanilla MCTS over turns, 200 simulations, mid-game",
        throughput(mcts),
        batch=480,
        accelerator_batch=4096,
        peers=("Java 30-80 k/s*",),
        reach="100 k/s, aim 300 k/s",
    ),
    Case(
        "hero_academy/mcts_20000",
        "simulations",
        "the same with the 20 000 simulations of the results, in trees of 1.7 kB a node",
        throughput(functools.partial(mcts, simulations=LARGE_SIMULATIONS)),
        batch=32,
        accelerator_batch=1024,
        peers=("Java 30-80 k/s*",),
    ),
    Case(
        "hero_academy/compile",
        "s",
        "seconds to compile a step and OEP",
        compilation(step_and_planner, {"population": 100}),
        batch=1024,
        reach="step 5 s, planner 25 s; aim 2 s, 10 s",
    ),
)
