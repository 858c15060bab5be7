"""PUCT against mctx and against a slow search; what it does at the borders."""

import dataclasses
import functools
import json
import math

import jax
import jax.numpy as jnp
import mctx
import numpy as np
import pytest

from jaxgames.hex import interop
from search import puct
from search.planner import size_in_bytes
from search.puct import tree as puct_tree
from search.puct import walk
from search.puct.settings import Settings
from tests.emitters import NEWER_EMITTERS, NO_MULTI_OUTPUT_FUSION
from tests.jaxgames.hex.playing import at
from tests.processes import run_python
from tests.random_tree import RandomTree
from tests.search import puct_reference
from tests.search.puct.guided_hex import (
    BATCH,
    CELLS,
    GAME,
    NETWORK,
    ONE,
    PLANNERS,
    STEP,
    ZERO,
    evaluate,
    open_node,
    own,
    positions,
    search,
    words_of,
)

NOISY = {"dirichlet_fraction": 0.25, "temperature": 1.0}
# Visits of the roots of random trees after 80 simulations of mctx, computed on a CPU. They depend on float arithmetic: where the
# scores of two arms nearly tie, another machine may visit the other one.
OF_MCTX = [
    [77, 0, 3, 0, 0, 0], [28, 1, 0, 0, 4, 47], [34, 0, 8, 38, 0, 0], [80, 0, 0, 0, 0, 0],
    [80, 0, 0, 0, 0, 0], [80, 0, 0, 0, 0, 0], [0, 47, 0, 20, 13, 0], [0, 69, 0, 0, 4, 7],
]  # fmt: skip


@functools.cache
def random_roots():
    game, keys = RandomTree(), jax.random.split(jax.random.key(1), len(OF_MCTX))
    return game, keys, jax.device_get(jax.jit(jax.vmap(game.init))(keys))


@pytest.mark.parametrize("proves", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_root_visits_in_a_random_tree_equal_those_of_mctx(proves):
    """The visits of mctx are constants here, because mctx takes long to compile; the next test computes them again.

    Proofs change nothing: what ends here is neither won nor lost for certain, but worth something between.
    """
    (game, keys, states), batch = random_roots(), len(OF_MCTX)
    settings = dataclasses.replace(puct.MCTX, num_simulations=80, mcts_solver=proves)
    planner = puct.puct(game, lambda params, states, seats: game.opinion(states), settings)
    seats, ones = np.zeros(batch, np.int32), np.ones(batch, bool)
    run = jax.jit(
        lambda keys, states: planner.plan(None, keys, planner.init(batch), states, seats, ones)[0],
        compiler_options=NEWER_EMITTERS if proves else None,
    )
    plan = run(keys, states)
    assert plan.visit_counts[:, 0].tolist() == OF_MCTX


@pytest.mark.slow
def test_visits_of_mctx_in_a_random_tree_are_those_that_are_kept():
    game, _, states = random_roots()

    def recurrent(params, key, action, before):
        after = jax.vmap(lambda state, arm: game.step(state, jnp.full(2, arm)))(before, action)
        mine = jnp.take_along_axis(jax.vmap(game.outcome)(after), before.player[:, None], 1)[:, 0]
        logits, value = game.opinion(after)
        output = mctx.RecurrentFnOutput(
            reward=jnp.where(before.terminated, 0.0, mine),
            discount=jnp.where(after.terminated, 0.0, -1.0),
            prior_logits=jnp.where(jax.vmap(game.legal)(after), logits, jnp.finfo(jnp.float32).min),
            value=jnp.where(after.terminated, 0.0, value),
        )
        return output, after

    def theirs(key, states):
        logits, value = game.opinion(states)
        root, illegal = mctx.RootFnOutput(prior_logits=logits, value=value, embedding=states), ~jax.vmap(game.legal)(states)
        noiseless = {"dirichlet_fraction": 0.0, "temperature": 0.0}
        policy = mctx.muzero_policy(None, key, root, recurrent, 80, invalid_actions=illegal, **noiseless)
        return policy.search_tree.summary().visit_counts

    found = jax.jit(theirs, compiler_options=NO_MULTI_OUTPUT_FUSION)(jax.random.key(0), states)
    assert found.tolist() == OF_MCTX
    assert len({tuple(row) for row in OF_MCTX}) > 4 and {sum(row) for row in OF_MCTX} == {80}


@pytest.mark.slow
@pytest.mark.parametrize("size, simulations", [(3, 40), (5, 60)])
def test_root_visits_in_hex_equal_those_of_mctx(size, simulations):
    done = run_python(["-m", "tests.search.mctx_peer", str(size), "8", str(simulations)])
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["ours"] == found["theirs"]
    assert len({tuple(row) for row in found["ours"]}) > 4
    assert {sum(row) for row in found["ours"]} == {simulations}


@pytest.mark.parametrize("moves", [0, 2, 4])
def test_the_preset_of_alphaze_equals_a_slow_search(moves):
    states = positions(moves)
    plan, _ = search(states)

    for lane in range(BATCH):
        visits, values = puct_reference.search(open_node, lambda s, arm: STEP(s, np.int32(arm)), at(states, lane), 40)
        assert own(plan.visit_counts, states)[lane].tolist() == visits.tolist()
        tried = visits > 0
        assert np.allclose(own(plan.qvalues, states)[lane][tried], values[tried], atol=1e-4)


def test_arms_opened_one_by_one_are_those_of_a_node_that_is_open_fully():
    """All arms never tried have the same Q, so that of the highest prior is the best of them: with noise too nothing differs."""
    root = at(positions(2), 0)
    one, all_of_them = (
        puct_reference.search(open_node, lambda s, arm: STEP(s, np.int32(arm)), root, 40, offered=count)[0]
        for count in (1, CELLS)
    )
    assert one.tolist() == all_of_them.tolist() and (one > 0).sum() > 2


def test_starts_down_the_most_visited_line():
    """Half of them and more begin at the root, with an arm drawn at random; what begins deeper is not credited above it."""
    states = positions(0)
    plan, memory = search(states, num_simulations=200, random_starts=1.0)
    visits = own(plan.visit_counts, states)
    assert (visits.sum(-1) > 90).all() and (visits.sum(-1) < 180).all()
    assert (visits > 0).all() and (visits < 40).all(), "nine arms, each drawn as often"
    words = words_of(memory)
    children, visited = (words[:, puct_tree.ROOT, word, 1:10] for word in (puct_tree.CHILD, puct_tree.VISITS))
    below = np.take_along_axis(words[:, :, puct_tree.VISITS, 0], children, 1)
    assert (children > 0).all() and (below >= visited).all()
    assert (memory.used.sum(-1) > 160).all(), "nearly every simulation opens a node; a few met the end of the game again"
    with pytest.raises(ValueError, match=r"^random_starts=2: must be in 0\.\.1$"):
        Settings(random_starts=2)


@pytest.mark.parametrize("players, arms, candidates", [pytest.param(1, 900, 900, marks=pytest.mark.slow), (2, 3600, None)])
def test_a_random_tree_for_one_or_two_equals_a_slow_search(players, arms, candidates):
    """Of 3600 arms 1800 are legal and 128 kept; no more than 60 can be opened, and they are opened in the order of priors.

    All that are legal are counted: else a node could be lost for certain before all of them have been looked at.
    """
    game = RandomTree(num_players=players, num_arms=arms)
    planner = puct.puct(game, lambda params, states, seats: game.opinion(states), Settings(60, max_candidates=candidates))
    kept = arms if candidates or arms < 512 else 256  # their priors, and the actions where these are not all
    assert planner.memory_bytes < 61 * 4 * (kept + 6 * 61 + 30), "one prior per candidate, and room for those that are opened"
    keys = jax.random.split(jax.random.key(4), BATCH)
    states = jax.device_get(jax.jit(jax.vmap(game.init))(keys))
    seats, ones = np.zeros(BATCH, np.int32), np.ones(BATCH, bool)
    run = jax.jit(lambda keys, states: planner.plan(None, keys, planner.init(BATCH), states, seats, ones))
    plan, memory = jax.device_get(run(keys, states))

    @jax.jit
    def look(state):
        return game.opinion(jax.tree.map(lambda leaf: leaf[None], state)), game.legal(state), game.outcome(state)

    play = jax.jit(lambda state, arm: game.step(state, jnp.full(players, arm)))

    def open_node(state):
        (logits, value), legal, outcome = jax.device_get(look(state))
        player, over = int(state.player), bool(state.terminated)
        prior = np.where(legal & (not over), np.exp(logits[0] - logits[0].max()), 0).astype(np.float64)
        result = float(outcome[player]) if over else float(value[0])
        return puct_reference.Node(state, prior / max(prior.sum(), 1e-30), result, over, player)

    for lane in range(BATCH):
        root = at(states, lane)
        visits, values = puct_reference.search(open_node, lambda state, arm: play(state, np.int32(arm)), root, 60)
        found = np.zeros(arms, int)
        np.add.at(found, plan.arms[lane, 0], plan.visit_counts[lane, 0])
        assert found.tolist() == visits.tolist()
        tried = plan.visit_counts[lane, 0] > 0
        assert np.allclose(plan.qvalues[lane, 0][tried], values[plan.arms[lane, 0][tried]], atol=1e-4)
        legal = np.asarray(look(root)[1])
        assert legal[plan.arms[lane, 0][plan.legal[lane, 0]]].all()
        assert memory.fixed[lane, puct_tree.ROOT, puct_tree.LEGAL] == legal.sum()


def test_trees_of_large_action_sets_are_small():
    game = RandomTree(num_arms=3600)
    planner = puct.puct(game, lambda params, states, seats: game.opinion(states), Settings(800))
    assert planner.memory_bytes < 4_000_000


def test_lanes_do_not_know_each_other():
    states, others = positions(2), positions(4)
    here, _ = search(states, **NOISY)
    among, _ = search(jax.tree.map(lambda here, there: np.concatenate([here[:2], there[2:]]), states, others), **NOISY)
    assert np.array_equal(here.visit_counts[:2], among.visit_counts[:2])
    assert not np.array_equal(here.visit_counts[2:], among.visit_counts[2:])
    assert not np.array_equal(here.visit_counts, search(states)[0].visit_counts)  # the noise is there


def test_noise_is_at_the_root_alone():
    _, memory = search(positions(2), **NOISY)
    look = jax.jit(lambda memory, node: (memory.states(node), memory.prior(node)[:, :CELLS]))
    for node, noisy in ((0, True), (1, False), (2, False)):
        states, prior = jax.device_get(look(memory, np.full(BATCH, node)))
        logits = np.asarray(NETWORK(ONE, states, states.player.astype(np.int32))[0])[:, :CELLS]
        expected = np.exp(logits) * (interop.board(GAME.config, states).reshape(BATCH, -1) == 0)
        assert np.allclose(prior, expected / expected.sum(-1, keepdims=True), atol=1e-5) != noisy


@pytest.mark.parametrize("params", [math.nan, math.inf])
def test_a_network_that_gives_no_numbers_counts_as_one_that_knows_nothing(params):
    states = positions(2)
    plan, _ = search(states, params=np.float32(params))
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(plan)) and (own(plan.visit_counts, states).sum(-1) == 40).all()
    if math.isnan(params):
        for found, expected in zip(*map(jax.tree.leaves, (plan, search(states, params=ZERO)[0])), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_a_final_state_gets_no_plan_and_others_their_own():
    states = positions(2)
    end = at(states, 0)
    for cell in range(9):
        end = STEP(end, np.int32(cell))
    assert bool(end.terminated)
    mixed = jax.tree.map(lambda many, one: np.stack([one, *many[1:]]), states, end)
    plan, _ = search(mixed)
    alone, _ = search(states)
    assert not plan.visit_counts[0].any()
    assert np.array_equal(plan.visit_counts[1:], alone.visit_counts[1:])
    assert (plan.action_weights[0] == 0).all() and np.allclose(plan.action_weights[1:].sum(-1), 1)


def test_temperature_draws_by_visits():
    states = positions(0)
    plans = [search(states, seed=seed, **NOISY)[0] for seed in range(20)]
    visits = np.stack([plan.visit_counts[:, 0] for plan in plans]) / 40
    drawn = np.eye(CELLS)[np.stack([plan.actions[:, 0] for plan in plans])]
    assert (visits[drawn == 1] > 0).all()
    deviation = (drawn - visits).sum((0, 1)) / np.sqrt((visits * (1 - visits)).sum((0, 1)))
    assert (np.abs(deviation) < 4).all() and (drawn.argmax(-1) != visits.argmax(-1)).mean() > 0.2
    assert all((plan.actions[:, 1] == GAME.pass_action).all() for plan in plans)


LANES = (BATCH,)


@pytest.mark.parametrize(
    ("logits", "value"), [((BATCH, CELLS), (BATCH, 1)), ((CELLS,), LANES), ((BATCH - 1, CELLS), LANES), ((BATCH, CELLS), None)]
)
def test_answers_of_another_shape_are_told(logits, value):
    answer = tuple(np.zeros(shape, np.float32) for shape in (logits, value) if shape is not None)
    game = RandomTree()
    planner = puct.puct(game, lambda params, states, seats: answer, Settings(num_simulations=2))

    def plan(keys):
        states, seats, ones = jax.vmap(game.init)(keys), np.zeros(BATCH, np.int32), np.ones(BATCH, bool)
        return planner.plan(None, keys, planner.init(BATCH), states, seats, ones)

    with pytest.raises(ValueError, match=r"^evaluate gave arrays of shape .*: must be logits \[6, A\] and values \[6\]"):
        jax.eval_shape(plan, jax.random.split(jax.random.key(0), BATCH))


@pytest.mark.slow
def test_lanes_that_think_in_parts_think_the_same():
    states, active = positions(5), np.array([True, False, True, True, False, False])
    whole, parts = (search(states, active=active, microbatch_size=size)[0] for size in (None, 2))
    for one, other in zip(jax.tree.leaves(whole), jax.tree.leaves(parts), strict=True):
        np.testing.assert_array_equal(one[active], other[active])
        assert not other[~active].any()  # in the last part there is room for one more


def test_trees_of_lanes_that_think_in_parts_are_memory_and_nothing_else():
    """Of one part; what else a search takes up would be counted beside them."""
    planner = puct.puct(GAME, evaluate, Settings(num_simulations=10, microbatch_size=4))
    sizes = {count: size_in_bytes(jax.eval_shape(lambda count=count: planner.init(count))) for count in (1, 3, 4, 400)}
    assert planner.search_bytes is None and planner.memory_bytes == sizes[1]
    assert 2.9 * sizes[1] < sizes[3] < sizes[4] == sizes[400]


def test_accelerators_which_look_at_all_children_at_once_choose_the_same(monkeypatch):
    """With as few children as there are here a CPU looks at all of them at once, too, unless it is told to look at two."""
    _, memory = search(positions(2))
    opened = words_of(memory)[:, :, puct_tree.OPENED, 0]
    assert opened.max() > 4, "children of more than two blocks"
    nodes = np.tile(np.arange(memory.num_nodes), (BATCH, 1)).T

    def choices(tree):
        def at_node(node):
            return [walk.choose(Settings(normalize_q=scaled), tree, node) for scaled in (False, True)]

        return jax.lax.map(at_node, nodes)

    at_once = jax.device_get(jax.jit(choices)(memory))
    monkeypatch.setattr(walk, "BLOCK", 2)
    in_blocks = jax.device_get(jax.jit(lambda tree: choices(tree))(memory))
    for one, other in zip(at_once, in_blocks, strict=True):
        np.testing.assert_array_equal(one[memory.used.T], other[memory.used.T])
    assert not np.array_equal(*at_once)


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, {"normalize_q": True}], ids=["plain", "normalized"])
def test_accelerators_which_look_at_all_children_at_once_think_the_same(monkeypatch, settings):
    """Whole searches, compiled anew with blocks of two children."""
    plans = [search(positions(2), **settings)[0]]
    monkeypatch.setattr(walk, "BLOCK", 2)
    monkeypatch.delitem(PLANNERS, Settings(**{"num_simulations": 40, **settings}))
    plans.append(search(positions(2), **settings)[0])
    assert (plans[0].visit_counts > 0).sum(-1).max() > 4, "children of more than two blocks"
    for one, other in zip(*map(jax.tree.leaves, plans), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.slow
def test_with_it_a_first_play_urgency_makes_no_difference():
    given, none = (search(positions(2), normalize_q=True, first_play_urgency=urgency)[0] for urgency in (-1.0, None))
    np.testing.assert_array_equal(given.visit_counts, none.visit_counts)


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, {"leaf_parallelism": 4, "reuse": True}], ids=["plain", "several walks"])
def test_numbers_of_64_bits_elsewhere_change_nothing(settings):
    planner = puct.puct(GAME, evaluate, Settings(num_simulations=16, **settings))
    states, keys = positions(1), jax.random.split(jax.random.key(0), BATCH)
    seats, active = np.ones(BATCH, np.int32), np.ones(BATCH, bool)

    def visits():
        run = jax.jit(functools.partial(planner.plan))
        return run(np.float32(1), keys, planner.init(BATCH), states, seats, active)[0].visit_counts

    usual = visits()
    with jax.enable_x64(True):
        wide = visits()
    assert wide.dtype == usual.dtype
    np.testing.assert_array_equal(wide, usual)
