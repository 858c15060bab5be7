"""The games of Pommerman that are measured: start states, moves, counting, and plans in real games."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from experiments.benchmark import Request, find, harness, measure, records
from experiments.benchmark.lanes import lane_keys
from experiments.benchmark.pommerman import CAREFUL, RANDOM, SIMPLE, fdts_match, join_moves, play, step_and_planner
from experiments.benchmark.pommerman_starts import Fresh, Pool, start_from
from jaxgames import random_bits, runtime
from jaxgames.bits import Bits
from jaxgames.pommerman import PRESETS, Pommerman, rules, setup
from jaxgames.pommerman.constants import ITEM_DIGITS
from jaxgames.random_bits import LaneKey

CONFIG, SMALL = PRESETS["ffa"], PRESETS["one_vs_one"]  # the small one compiles sooner
GAME = Pommerman(CONFIG)
STEPS, LANES = 16, 6


def figures_of(policy, source=None, seed: int = 0) -> dict:
    program = play(policy, source or Pool(CONFIG, size=8), STEPS, GAME, LANES)
    return harness.time_program(program, Request("pommerman", repeats=5, seed=seed), runtime.data_mesh(), LANES)


@pytest.mark.slow
def test_random_games_are_short():
    figures = figures_of(RANDOM)
    assert 5 * STEPS * LANES / 40 < figures["resets"] < 5 * STEPS * LANES / 10
    assert 10 < figures["mean_episode_length"] < 40


@pytest.mark.slow
def test_other_players_and_start_states():
    checksums = {
        figures["checksum"] for figures in (figures_of(RANDOM), figures_of(CAREFUL), figures_of(RANDOM, Fresh(CONFIG, block=4)))
    }
    assert len(checksums) == 3
    assert figures_of(SIMPLE)["resets"] == 0  # nobody dies within 96 steps on these boards


def small_match():
    program = functools.partial(fdts_match, num_simulations=4, horizon=3, table_rows=64, warm_up=2, calls=2, pool_size=8)
    return dataclasses.replace(find("pommerman/fdts"), measure=harness.throughput(program))


@pytest.mark.slow
def test_a_row_of_plans():
    rows = [measure(small_match(), Request("pommerman/fdts", batch=4, repeats=5)) for _ in range(2)]
    records.check(rows[0])
    assert rows[0]["checksum"] == rows[1]["checksum"]
    assert rows[0]["unit"] == "plans" and rows[0]["mean_episode_length"] is None
    assert rows[0]["settings"] | {"num_simulations": 4, "horizon": 3, "table_rows": 64, "seed": 0} == rows[0]["settings"]
    assert 0 < rows[0]["details"]["alive"] <= 1 and rows[0]["details"]["tree_rows"] > 0
    assert rows[0]["details"]["step_count"] == 2 + 5 * 2


def test_thousands_of_games_have_small_tables():
    few, many = (fdts_match(batch, pool_size=8).settings for batch in (128, 8192))
    assert (few["table_rows"], many["table_rows"]) == (2**16, 2**14) and many["microbatch_size"] == 8192
    assert fdts_match(8192, pool_size=8, table_rows=64).settings["table_rows"] == 64


@pytest.mark.slow
def test_only_plans_of_living_planners_count():
    lanes = 16
    program = fdts_match(lanes, num_simulations=2, horizon=1, table_rows=64, pool_size=8)
    match, tally = program.start(jax.random.key(0), jnp.arange(lanes)), harness.empty_tally(lanes)
    plan, step = jax.jit(program.timed), jax.jit(program.between)
    asked, played = np.zeros(lanes, int), np.zeros(lanes, int)
    for _ in range(120):
        alive = np.asarray(match.states.alive)[np.arange(lanes), np.asarray(match.seats)]
        asked += alive
        match, tally = step(*plan(match, tally))
        new = np.asarray(match.states.step_count) == 0
        played += new
        assert np.asarray(match.states.alive)[new].all()
    assert 0 < asked.sum() < 120 * lanes and played.sum() > 0
    np.testing.assert_array_equal(tally.units, asked)
    np.testing.assert_array_equal(tally.episodes, played)


@pytest.mark.slow
def test_step_and_planner_fit_their_shapes():
    functions = step_and_planner(3, plan_batch=2, num_simulations=2, horizon=2, table_rows=64)
    states = jax.eval_shape(functions["step"][0], *functions["step"][1])
    plan, _ = jax.eval_shape(functions["planner"][0], *functions["planner"][1])
    assert states.terminated.shape == (3,)
    assert plan.actions.shape == (2, 4)


@pytest.mark.slow
def test_the_loop_plays_the_game():
    program = play(RANDOM, Pool(CONFIG, size=3), 40, GAME, LANES)
    key = jax.random.key(5)
    lanes = program.start(key, jnp.arange(LANES))
    after, tally = jax.jit(program.timed)(lanes, harness.empty_tally(LANES))

    step = jax.jit(jax.vmap(functools.partial(rules.step, CONFIG)))
    states, episodes, lengths = lanes.games[0], np.zeros(LANES, int), np.zeros(LANES, int)
    for clock in range(1, 41):
        keys = random_bits.fold(lanes.keys, clock)
        moves = jnp.stack([random_bits.below(random_bits.bits(keys, seat), 6) for seat in range(4)], axis=-1)
        states = step(states, moves)
        over = np.asarray(states.terminated)
        episodes, lengths = episodes + over, lengths + over * np.asarray(states.step_count)
        fresh, _ = Pool(CONFIG, size=3).take(lanes.games[2], keys, jnp.asarray(over))
        states = jax.tree.map(lambda new, old, over=over: jnp.where(over, new, old), fresh, states)
    assert episodes.sum() > 3
    np.testing.assert_array_equal(tally.episodes, episodes)
    np.testing.assert_array_equal(tally.lengths, lengths)
    np.testing.assert_array_equal(tally.units, np.full(LANES, 40))
    jax.tree.map(np.testing.assert_array_equal, after.games[0], states)


def test_moves_pass_through_a_word():
    moves = np.random.default_rng(0).integers(0, 6, (4, 100), dtype=np.int32)
    np.testing.assert_array_equal(join_moves(tuple(jnp.asarray(move) for move in moves)), moves.T)


def test_the_pool_is_drawn_from_fairly():
    pool, lanes = Pool(SMALL, size=5), 4096
    boards = np.broadcast_to(np.arange(5, dtype=np.uint32)[:, None], (5, SMALL.grid.num_words * (2 + ITEM_DIGITS)))
    keys = jax.jit(lane_keys)(jax.random.key(1), np.arange(lanes))
    states, _ = jax.jit(pool.take)(boards, keys, np.ones(lanes, bool))
    _, counts = np.unique(states.wood.words[0], return_counts=True)
    assert len(counts) == 5
    assert scipy.stats.chisquare(counts).pvalue > 1e-3


def test_start_states_are_those_of_their_boards(monkeypatch):
    drawn = jax.device_get(jax.jit(functools.partial(setup.init, SMALL))(jax.random.key(3)))
    monkeypatch.setattr(setup, "init", lambda config, key: drawn)
    boards = jax.jit(Pool(SMALL, size=1).init)(jax.random.key(0), np.arange(1))
    started = jax.jit(functools.partial(start_from, SMALL))(np.asarray(boards)[0])
    jax.tree.map(np.testing.assert_array_equal, started, drawn)


def test_fresh_boards_are_never_given_twice():
    source, lanes = Fresh(SMALL, block=4), 7
    stack = source.init(jax.random.key(0), jnp.arange(lanes))
    take, seen = jax.jit(source.take), []
    wanted = np.random.default_rng(0).random((12, lanes)) < 0.4
    wanted[3], wanted[4] = False, True
    unused, count = LaneKey(*np.zeros((2, lanes), np.uint32)), jax.jit(jax.vmap(Bits.count))
    for mask in wanted:
        states, stack = take(stack, unused, mask)
        assert 0 <= int(stack.left) < lanes + 4
        words = np.stack([*states.rigid.words, *states.wood.words, *(w for p in states.items for w in p.words)], axis=-1)
        seen += [tuple(row) for row in words[mask]]
        assert (np.asarray(count(states.rigid))[mask] == SMALL.num_rigid).all()
        assert (np.asarray(count(states.wood))[mask] == SMALL.num_wood).all()
    assert len(set(seen)) == len(seen) == wanted.sum()
    assert int(stack.block) <= wanted.sum() / 4 / 0.5
