"""Planners of whole turns on the smallest board of Hero Academy, against going through all turns."""

import dataclasses
import functools
import math

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames import random_bits
from jaxgames.hero_academy import make
from search.planner import as_agent
from search.turns import action_sequences, coevolution, evolution, greedy, population
from search.turns import mcts as turn_mcts
from search.turns.game import moves_of, value_for
from tests.hoard import Hoard
from tests.tug import Tug

GAME = make("tiny", action_points=3, first_action_points=3)
MOVES = moves_of(GAME)
LANES = 6
ONES = np.ones(LANES, bool)
ADVANCE = jax.jit(jax.vmap(GAME.advance, (0, 0, None)), static_argnums=2)
OFFERED = jax.jit(jax.vmap(lambda state: GAME.legal_set(state, pruned=True)))
LEGAL = jax.jit(jax.vmap(GAME.legal_actions))
VALUE = jax.jit(jax.vmap(functools.partial(value_for, GAME)))
PORTION = 256


@jax.jit
def TRY(states, actions, seats):
    after = jax.vmap(GAME.advance, (0, 0, None))(states, actions, None)
    return after, jax.vmap(functools.partial(value_for, GAME))(after, seats), jax.vmap(GAME.state_key)(after)


def in_portions(function, *trees):
    """Calls a function of a batch for many rows, always with as many at a time."""
    count = len(jax.tree.leaves(trees)[0])
    results = []
    for start in range(0, count, PORTION):
        rows = np.minimum(np.arange(start, start + PORTION), count - 1)
        results.append(jax.device_get(function(*jax.tree.map(lambda leaf, rows=rows: np.asarray(leaf)[rows], trees))))
    return jax.tree.map(lambda *parts: np.concatenate(parts)[:count], *results)


ACTION_BITS = np.arange(32, dtype=np.uint32)


@functools.cache
def roots():
    """States at the start of a turn, some turns into random games."""

    def play(key):
        def step(state, key):
            legal = GAME.legal_set(state)
            action = legal.pick(random_bits.below(random_bits.bits(random_bits.lane_key(key), 0), legal.count()))
            return GAME.step(state, jnp.full(2, action)), None

        return jax.lax.scan(step, GAME.init(key), jax.random.split(key, 12))[0]

    states = jax.jit(jax.vmap(play))(jax.random.split(jax.random.key(11), LANES))
    assert not states.terminated.any()
    assert (states.action_points == 3).all()
    return states


SEATS = np.ones(LANES, np.int32)  # three turns of three actions and their ends: the second player is to move


def actions_of(sets):
    words = np.stack([np.asarray(word) for word in sets.words], -1)
    bits = ((words[..., None] >> ACTION_BITS) & 1).reshape(len(words), -1)
    return [np.flatnonzero(row) for row in bits]


@functools.cache
def best_values():
    """The highest value of any turn from each root, by going through all of them a level at a time."""
    results = []
    for lane in range(LANES):
        states = jax.tree.map(lambda leaf, lane=lane: np.asarray(leaf)[lane][None], roots())
        seat = int(states.player[0])
        best = -np.inf
        while len(states.player):
            offered = actions_of(in_portions(OFFERED, states))
            rows = np.repeat(np.arange(len(offered)), [len(some) for some in offered])
            tried = jax.tree.map(lambda leaf, rows=rows: leaf[rows], states), np.concatenate(offered).astype(np.int32)
            after, values, keys = in_portions(TRY, *tried, np.full(len(rows), seat, np.int32))
            ends = (after.player != seat) | after.terminated
            best = max(best, values[ends].max(initial=-np.inf))
            _, first = np.unique(keys[~ends], axis=0, return_index=True)
            states = jax.tree.map(lambda leaf, ends=ends, first=first: leaf[~ends][first], after)
        results.append(best)
    return np.array(results)


def lanes(seed=0):
    return jax.vmap(random_bits.lane_key)(jax.random.split(jax.random.key(seed), LANES))


def value_of(turn):
    """Plays a plan, checking that each of its actions is legal, and gives the value after it."""
    states = roots()
    for place in range(MOVES.turn_length):
        action = np.asarray(turn.actions)[:, place]
        legal = np.asarray(LEGAL(states))[np.arange(LANES), np.asarray(SEATS)]
        for lane in range(LANES):
            still = not states.terminated[lane] and int(states.player[lane]) == 1
            assert not still or action[lane] == GAME.end_turn or legal[lane, action[lane]]
        after = ADVANCE(states, jnp.maximum(action, 0), None)
        on = jnp.asarray(action >= 0) & ~states.terminated & (states.player == 1)
        states = jax.tree.map(lambda new, old, on=on: jnp.where(on.reshape(-1, *[1] * (new.ndim - 1)), new, old), after, states)
    assert ((np.asarray(states.player) == 0) | np.asarray(states.terminated)).all()
    return np.asarray(VALUE(states, SEATS))


@pytest.mark.slow
def test_the_roots_are_worth_planning_for():
    assert (np.asarray(roots().player) == 1).all()
    assert (best_values() > np.asarray(VALUE(roots(), SEATS))).sum() >= LANES // 2


@pytest.mark.slow
def test_greedy_turn_goes_through_all_turns():
    settings = greedy.Settings(num_evaluations=100_000)
    turn = jax.jit(greedy.best_turn(GAME, MOVES, settings).run)(lanes(), roots(), SEATS)
    assert turn.metrics["exhaustive"].all()
    np.testing.assert_allclose(turn.value, best_values(), rtol=1e-6)
    np.testing.assert_allclose(value_of(turn), best_values(), rtol=1e-6)


@pytest.mark.slow
def test_greedy_action_takes_the_best_action():
    action, value = jax.jit(lambda states: greedy.best_action(GAME, MOVES, lanes(), states, SEATS, ONES))(roots())
    for lane, offered in enumerate(actions_of(in_portions(OFFERED, roots()))):
        many = jax.tree.map(
            lambda leaf, lane=lane, offered=offered: np.asarray(leaf)[lane][None].repeat(len(offered), 0), roots()
        )
        _, values, _ = in_portions(TRY, many, offered.astype(np.int32), np.ones(len(offered), np.int32))
        assert np.isclose(value[lane], values.max())
        assert np.isclose(values[offered.tolist().index(int(action[lane]))], values.max())


EVOLUTION = evolution.Settings(num_generations=60, population=40, mutation=0.3)
EVOLVE = jax.jit(evolution.evolution(GAME, MOVES, EVOLUTION).run)


@pytest.mark.slow
def test_evolution_finds_the_best_turn():
    turn = EVOLVE(lanes(), roots(), SEATS)
    np.testing.assert_allclose(value_of(turn), turn.value, rtol=1e-6)
    assert (np.asarray(turn.value) <= best_values() + 1e-6).all()
    assert np.isclose(turn.value, best_values(), rtol=1e-6).sum() >= LANES - 1


@pytest.mark.slow
def test_a_lane_does_not_depend_on_the_others():
    order = jnp.array([3, 0, 5, 1, 4, 2])
    whole = EVOLVE(lanes(), roots(), SEATS)
    keys, states = jax.tree.map(lambda leaf: leaf[order], (lanes(), roots()))
    chex.assert_trees_all_equal(jax.tree.map(lambda leaf: leaf[order], whole), EVOLVE(keys, states, SEATS))


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(turn_mcts.Settings(), id="vanilla", marks=pytest.mark.slow),
        pytest.param(dataclasses.replace(turn_mcts.NON_EXPLORING, burn_bridges=True), id="burning", marks=pytest.mark.slow),
    ],
)
def test_tree_search_plans_legal_turns_that_help(settings):
    settings = dataclasses.replace(settings, num_simulations=300, max_children=48)
    search = jax.jit(turn_mcts.tree_search(GAME, MOVES, settings).run)
    turn = search(lanes(), roots(), SEATS)
    reached = value_of(turn)
    assert (reached <= best_values() + 1e-6).all()
    assert (np.asarray(turn.metrics["nodes"]) <= 301).all()
    assert (np.asarray(turn.metrics["depth"]) >= 2).all()
    assert (np.asarray(turn.metrics["outcomes"]) < np.asarray(turn.metrics["nodes"])).all()
    # Better than ending the turn at once.
    at_once = ADVANCE(roots(), jnp.full(LANES, GAME.end_turn), None)
    assert (reached >= np.asarray(VALUE(at_once, SEATS))).mean() > 0.6
    again = search(lanes(), roots(), SEATS)
    chex.assert_trees_all_equal(turn, again)


@pytest.mark.parametrize(
    ("make_settings", "message"),
    [
        (lambda: evolution.Settings(population=1), "population=1: must be >= 4"),
        (lambda: evolution.Settings(population=-4), "population=-4: must be >= 4"),
        (lambda: evolution.Settings(population=4.5), "population=4.5: must be a whole number"),
        (lambda: evolution.Settings(num_generations=0), "num_generations=0"),
        (lambda: evolution.Settings(survivors=1.0), "survivors=1.0"),
        (lambda: evolution.Settings(survivors=math.nan), "survivors=nan: must be in 0..1"),
        (lambda: evolution.Settings(survivors=math.inf), "survivors=inf: must be in 0..1"),
        (lambda: evolution.Settings(mutation=2), "mutation=2"),
        (lambda: evolution.Settings(population=10**9), "microbatch_size=16: with 1000000000 genomes each, must be < 2147483648"),
        (lambda: evolution.Settings(islands=10**8), "microbatch_size=16: with 10000000000 genomes each"),
        (lambda: evolution.Settings(restart_after=3 * 10**9), "restart_after=3000000000: must be < 2147483648"),
        (lambda: evolution.Settings(migrate_every=5), "^migrate_every=5: needs islands > 1$"),
        (lambda: evolution.Settings(greediness=1.0), "^greediness=1.0: needs rollouts$"),
        (lambda: evolution.Settings(microbatch_size=0), "microbatch_size=0: must be >= 1"),
        (lambda: coevolution.Settings(microbatch_size=0), "microbatch_size=0: must be >= 1"),
        (lambda: coevolution.Settings(trial="x"), "^trial='x': must be a number$"),
        (lambda: coevolution.Settings(trial=math.nan), "^trial=nan: must be "),
        (lambda: coevolution.Settings(trial=1), "^trial=1: must be < 1$"),
        (lambda: action_sequences.Settings(microbatch_size=-1), "microbatch_size=-1: must be >= 1"),
        (lambda: coevolution.Settings(replies=10**8), "microbatch_size=16: with 6000000000 genomes each"),
        (lambda: population.generations_for(0, evolution.Settings()), "num_evaluations=0: must be >= 100"),
        (lambda: population.generations_for(1.5, evolution.Settings()), "num_evaluations=1.5: must be a whole number"),
        (lambda: turn_mcts.Settings(num_simulations=0), "num_simulations=0"),
        (lambda: turn_mcts.Settings(num_simulations=2**21), "num_simulations=2097152: must be < 2097152"),
        (lambda: turn_mcts.Settings(exploration=-1), "exploration=-1"),
        (lambda: turn_mcts.Settings(exploration=math.nan), "exploration=nan"),
        (lambda: turn_mcts.Settings(greediness=2), "greediness=2"),
        (lambda: greedy.Settings(num_evaluations=0), "num_evaluations=0"),
        (lambda: greedy.Settings(table_rows=3), "table_rows=3"),
        (lambda: greedy.Settings(table_rows=2**33), "^table_rows=8589934592: must be < 2147483648$"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(make_settings, message):
    with pytest.raises(ValueError, match=message) as error:
        make_settings()
    assert "\n" not in str(error.value)


def test_budgets():
    settings = population.generations_for(20_000, evolution.Settings())
    assert settings.num_evaluations == 20_000
    assert as_agent(evolution.rolling_horizon(GAME)).name == "Rolling Horizon Evolution"


def test_games_without_turns_of_several_actions_are_refused():
    with pytest.raises(ValueError, match=r"^game='tug': has no turns of several actions$"):
        moves_of(Tug())
    with pytest.raises(ValueError, match=r"has 3 players, and replies are those of one opponent$"):
        coevolution.coevolution(dataclasses.replace(Hoard(), num_players=3))
