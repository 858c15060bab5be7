"""PUCT against mctx and against a slow search; what it does at the borders."""

import dataclasses
import functools
import json

import jax
import jax.numpy as jnp
import mctx
import numpy as np
import pytest

import jaxgames
from jaxgames.hex import interop, rules
from jaxgames.hex.encoder import CHANNELS, planes_of
from search import puct
from search.planner import size_in_bytes
from search.puct import tree as puct_tree
from search.puct import walk
from search.puct.action_selection import corrected_visits, draw_arm
from search.puct.settings import Settings
from tests.emitters import NEWER_EMITTERS, NO_MULTI_OUTPUT_FUSION
from tests.jaxgames.hex.playing import at, joined
from tests.processes import run_python
from tests.random_tree import RandomTree
from tests.search import puct_reference

GAME = jaxgames.make("hex", "hex", board_size=3)
CELLS, BATCH = 9, 6
ONE, ZERO = np.float32(1), np.float32(0)  # what the network gives is multiplied by its parameter
WEIGHTS = np.random.default_rng(1).normal(size=(CELLS * len(CHANNELS), CELLS + 1)).astype(np.float32) * 0.3


def evaluate(params, states, seats):
    shown = jax.vmap(lambda state, seat: planes_of(GAME.config, state, seat))(states, seats)
    out = params * jax.lax.dot(shown.reshape(seats.shape[0], -1), WEIGHTS, precision="highest")
    return out[:, :-1], jnp.tanh(out[:, -1])


@functools.cache
def positions(moves, count=BATCH):
    """States after so many random moves, none finished."""
    states, seed = [], 0
    while len(states) < count:
        random, state, seed = np.random.default_rng(seed), GAME.init(), seed + 1
        for _ in range(moves):
            state = STEP(state, np.int32(random.choice(np.flatnonzero(interop.board(GAME.config, state) == 0))))
            if bool(state.terminated):
                break
        else:
            states.append(state)
    return jax.tree.map(lambda *leaves: np.stack(leaves), *states)


STEP = jax.jit(lambda state, cell: rules.step(GAME.config, state, cell))
STEPS = jax.jit(jax.vmap(lambda state, cell: rules.step(GAME.config, state, cell)))
NETWORK, OUTCOME = jax.jit(evaluate), jax.jit(GAME.outcome)
NOISY = {"dirichlet_fraction": 0.25, "temperature": 1.0}
WAVES = {"num_simulations": 43, "leaf_parallelism": 8, "prior_temperature": 5.0}
KEPT = {"reuse": True, "num_simulations": 64, "mcts_solver": True}
KEPT_UNPROVEN = {"reuse": True, "num_simulations": 20}
SOLVING = {"mcts_solver": True, "reuse": True, "num_simulations": 400}
WITH_AND_WITHOUT_PROOFS = pytest.mark.parametrize(
    "settings", [pytest.param(KEPT, id="proofs"), pytest.param(KEPT_UNPROVEN, id="no proofs", marks=pytest.mark.slow)]
)
PLANNERS = {}


def search(states, memory=None, active=None, seed=0, params=ONE, **settings):
    config = Settings(**{"num_simulations": 40, **settings})
    planner, run = PLANNERS.setdefault(config, (None, None))
    if planner is None:
        planner = puct.puct(GAME, evaluate, config)
        run = jax.jit(planner.plan, compiler_options=NEWER_EMITTERS if config.mcts_solver else None)
        PLANNERS[config] = planner, run
    batch = states.terminated.shape[0]
    memory = planner.init(batch) if memory is None else memory
    active = np.ones(batch, bool) if active is None else active
    keys = jax.random.split(jax.random.key(seed), batch)
    return jax.device_get(run(params, keys, memory, states, np.zeros(batch, np.int32), active))


def own(per_player, states):
    """The row of the player to move."""
    return np.take_along_axis(np.asarray(per_player), np.asarray(states.player).astype(int)[:, None, None], 1)[:, 0]


def words_of(memory):
    """The numbers of all nodes by lane, int32 [B, N, word, 1 + children]."""
    return memory.numbers.reshape(-1, memory.num_nodes, *memory.numbers.shape[1:]).astype(np.int32)


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


def test_root_visits_in_a_random_tree_equal_those_of_mctx():
    """The visits of mctx are constants here, because mctx takes long to compile; the next test computes them again."""
    (game, keys, states), batch = random_roots(), len(OF_MCTX)
    settings = dataclasses.replace(puct.MCTX, num_simulations=80)
    planner = puct.puct(game, lambda params, states, seats: game.opinion(states), settings)
    seats, ones = np.zeros(batch, np.int32), np.ones(batch, bool)
    plan = jax.jit(lambda keys, states: planner.plan(None, keys, planner.init(batch), states, seats, ones)[0])(keys, states)
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


def open_node(state, prior_temperature=1.0, params=ONE):
    """A node of the slow search."""
    batch = jax.tree.map(lambda leaf: np.asarray(leaf)[None], state)
    player, over = int(state.player), bool(state.terminated)
    logits, value = (np.asarray(part)[0] for part in NETWORK(params, batch, np.array([player])))
    legal = (interop.board(GAME.config, state).reshape(-1) == 0) & (not over)
    prior = np.where(legal, np.exp((logits - logits.max()) / prior_temperature), 0).astype(np.float64)
    prior = prior / max(prior.sum(), 1e-30)
    outcome = float(np.asarray(OUTCOME(state))[player])
    return puct_reference.Node(state, prior, outcome if over else float(value), over, player)


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


@pytest.mark.parametrize("first_play_urgency", [pytest.param(-1.0, marks=pytest.mark.slow), None])
def test_walks_at_once_equal_those_of_a_slow_search(first_play_urgency):
    """43 simulations are five waves of eight, and one of three. Priors are flattened."""
    states = positions(4)
    plan, memory = search(states, first_play_urgency=first_play_urgency, **WAVES)
    lost = []
    for lane in range(BATCH):
        visits, values, missed = puct_reference.search_in_waves(
            functools.partial(open_node, prior_temperature=WAVES["prior_temperature"]),
            lambda s, arm: STEP(s, np.int32(arm)),
            at(states, lane),
            WAVES["num_simulations"],
            WAVES["leaf_parallelism"],
            first_play_urgency=first_play_urgency,
        )
        assert own(plan.visit_counts, states)[lane].tolist() == visits.tolist()
        assert np.allclose(own(plan.qvalues, states)[lane][visits > 0], values[visits > 0], atol=1e-4)
        assert visits.sum() == 43 - missed and plan.metrics["lost"][lane] == missed
        lost.append(missed)
    assert max(lost) > 0, "a walk that meets a node on its way is lost"
    counted = np.asarray(memory.numbers)[:, puct_tree.VISITS, 0]
    assert counted.max() <= 44, "nothing stays on its way"


def test_of_equal_priors_the_arms_of_lower_numbers_come_first():
    """Nobody wins so early, so all arms are visited in turn."""
    states = positions(0)
    plan, _ = search(states, params=ZERO, first_play_urgency=None, **WAVES)
    assert own(plan.visit_counts, states).tolist() == [[5] * 7 + [4] * 2] * BATCH


@pytest.mark.slow
def test_walks_at_once_prove_wins_too():
    states = positions(4)
    certain = []
    for count in (1, 4):
        _, memory = search(states, mcts_solver=True, num_simulations=400, leaf_parallelism=count)
        certain.append(words_of(memory)[:, puct_tree.ROOT, puct_tree.PROVEN, 0])
    assert (certain[0] == 1).any() and np.array_equal(*certain)


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


@WITH_AND_WITHOUT_PROOFS
def test_the_tree_is_kept_from_move_to_move(settings):
    states = positions(0)
    fresh, memory = search(states, **settings)
    arm = own(fresh.visit_counts, states).argmax(-1).astype(np.int32)
    after = STEPS(states, arm)
    kept, again = search(after, memory, **settings)
    gained = own(kept.visit_counts, after).sum(-1)
    before = np.take_along_axis(own(fresh.visit_counts, states), np.asarray(arm)[:, None], 1)[:, 0]
    assert (gained == settings["num_simulations"] + before - 1).all()  # what had been found below the move, its opening apart
    # A state that is not in the tree begins again.
    again, _ = search(positions(4), again, **settings)
    assert (own(again.visit_counts, positions(4)).sum(-1) == settings["num_simulations"]).all()


@WITH_AND_WITHOUT_PROOFS
def test_nodes_of_a_kept_tree_are_children_of_their_parents(settings):
    """Else what hangs below them is lost with the next move."""
    states, memory = positions(0), None
    for _ in range(2):
        plan, memory = search(states, memory, **settings)
        states = STEPS(states, own(plan.visit_counts, states).argmax(-1).astype(np.int32))
    used, parents = memory.used, memory.fixed[:, :, puct_tree.PARENT].astype(np.int32)
    assert (parents[:, puct_tree.ROOT] == -1).all() and (used.sum(-1) > settings["num_simulations"] + 1).all()
    children = words_of(memory)[:, :, puct_tree.CHILD, 1:]
    for lane, node in np.argwhere(used):
        assert node == puct_tree.ROOT or (used[lane, parents[lane, node]] and node in children[lane, parents[lane, node]])


def test_a_kept_tree_goes_on_as_if_it_had_never_been_cut():
    """Searching a state twice with its tree kept is one longer search.

    On the empty boards of every other lane nothing that is proven changes anything so early; the boards of the lanes between
    differ. The next test compares lanes that all differ.
    """
    calm, even = np.float32(0.1), np.arange(BATCH) % 2 == 0
    states = jax.tree.map(
        lambda empty, later: np.where(even.reshape(-1, *[1] * (empty.ndim - 1)), empty, later), positions(0), positions(2)
    )
    _, memory = search(states, params=calm, **KEPT)
    twice, _ = search(states, memory, params=calm, **KEPT)
    visits, _ = puct_reference.search(
        functools.partial(open_node, params=calm),
        lambda s, arm: STEP(s, np.int32(arm)),
        at(states, 0),
        2 * KEPT["num_simulations"],
    )
    assert own(twice.visit_counts, states)[even].tolist() == [visits.tolist()] * even.sum()


@pytest.mark.slow
def test_a_kept_tree_in_which_nothing_is_proven_goes_on_too():
    states = positions(2)
    _, memory = search(states, **KEPT_UNPROVEN)
    twice, _ = search(states, memory, **KEPT_UNPROVEN)
    assert np.array_equal(twice.visit_counts, search(states)[0].visit_counts)


@functools.cache
def best(board, sign):
    """What a player (1 or -1) who moves on a board makes with best play, by brute force; `board` is a tuple of 9 signs."""
    if joined(np.array(board).reshape(3, 3), -sign):
        return -1
    free = [cell for cell in range(CELLS) if board[cell] == 0]
    return max(-best((*board[:cell], sign, *board[cell + 1 :]), -sign) for cell in free)


def searched_twice(states, settings=KEPT):
    """Plans and memories of two searches that follow one another, of as many states at once as elsewhere."""
    found = []
    for first in range(0, len(states.player), BATCH):
        part = at(states, slice(first, first + BATCH))
        plan, memory = search(part, **settings)
        found.append((plan, memory, *search(part, memory, **settings)))
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *found)


ENOUGH = {5: KEPT, 3: SOLVING}  # stones on the boards that are solved: how they are searched
SOLVED = pytest.mark.parametrize("stones", [5, pytest.param(3, marks=pytest.mark.slow)])


@functools.cache
def solved(stones):
    """Boards with so many stones, o to move, but for two, x to move; what is searched in them to the end, twice."""
    winning = np.array([[1, 0, 0], [1, -1, 0], [0, -1, 0]])  # one stone joins; the network is wrong about it
    threatened = np.array([[0, 1, -1], [-1, 0, 0], [0, 0, 0]])  # o would join its two stones
    special = [interop.from_board(GAME.config, board, 0) for board in (winning, threatened)]
    states = jax.tree.map(lambda many, *few: np.stack([*few, *many]), positions(stones, count=22), *special)
    return states, *searched_twice(states, ENOUGH[stones])


@SOLVED
def test_a_win_is_proven_and_played(stones):
    _, plan, *_ = solved(stones)
    assert int(plan.actions[0, 0]) == 6 and float(plan.action_weights[0, 0, 6]) == 1


@SOLVED
def test_what_is_proven_lost_is_not_played(stones):
    """The cell that saves it must be taken, whatever the network says."""
    states, plan, *_ = solved(stones)
    board = interop.board(GAME.config, at(states, 1)).reshape(-1)
    saving = [cell for cell in range(CELLS) if board[cell] == 0 and _holds(board, cell)]
    assert saving and len(saving) < (board == 0).sum()
    assert int(plan.actions[1, 0]) in saving


@pytest.mark.parametrize(("stones", "settings", "times"), [(3, KEPT, 2), pytest.param(2, SOLVING, 1, marks=pytest.mark.slow)])
def test_what_is_proven_lost_is_not_learnt_while_something_else_is_open(stones, settings, times):
    states = positions(stones, count=24)
    plan, memory = searched_twice(states, settings)[2 * times - 2 : 2 * times]
    roots = words_of(memory)[:, puct_tree.ROOT]
    proven, arms = roots[:, puct_tree.PROVEN, 1:], roots[:, puct_tree.ARM, 1:]
    lost = (proven == -1) & (np.arange(memory.num_children) < roots[:, puct_tree.OPENED, :1])
    open_lanes = roots[:, puct_tree.PROVEN, 0] == puct_tree.UNPROVEN
    weights = np.take_along_axis(own(plan.action_weights, states), arms, 1)
    assert (lost.any(-1) & open_lanes).any() and not weights[open_lanes][lost[open_lanes]].any()


@pytest.mark.slow  # to compile
def test_what_is_proven_lost_is_out_before_visits_are_corrected():
    """Else its visits go to another arm, or it stands in the place of the second."""
    game, count = Decided(max_steps=6), 512
    settings = Settings(num_simulations=40, mcts_solver=True, q_veto=0.4, q_weight=1.0)
    planner = puct.puct(game, lambda params, states, seats: game.opinion(states), settings)
    states = jax.vmap(game.init)(jax.random.split(jax.random.key(0), count))
    asked = states, np.zeros(count, np.int32), np.ones(count, bool)
    keys = jax.random.split(jax.random.key(1), count)
    run = jax.jit(planner.plan, compiler_options=NEWER_EMITTERS)
    plan, memory = jax.device_get(run(None, keys, planner.init(count), *asked))
    roots = words_of(memory)[:, puct_tree.ROOT]
    proven, arms = roots[:, puct_tree.PROVEN, 1:], roots[:, puct_tree.ARM, 1:]
    opened = np.arange(memory.num_children) < roots[:, puct_tree.OPENED, :1]
    visits, values, weights = (rows[:, 0] for rows in (plan.visit_counts, plan.qvalues, plan.action_weights))
    differ = 0
    for lane in np.flatnonzero((opened & (proven == -1)).any(-1) & ~(opened & (proven == 1)).any(-1)):
        lost = np.isin(np.arange(game.num_arms), arms[lane][opened[lane] & (proven[lane] == -1)])
        before, counts = _corrected(visits[lane], values[lane]), np.where(lost, 0, visits[lane])
        if counts.any():
            expected = _corrected(counts, np.where(lost, -1.0, values[lane]))
            np.testing.assert_allclose(weights[lane], expected / expected.sum(), rtol=1e-5)
            before[lost] = 0
            differ += before.any() and not np.allclose(before / before.sum(), expected / expected.sum())
    assert differ > 3


@dataclasses.dataclass(frozen=True)
class Decided(RandomTree):
    """Won or lost, nothing between."""

    def outcome(self, state):
        return jnp.sign(super().outcome(state))


def _corrected(visits, values):
    """Visits by Q, for a veto of 0.4 and a weight of 1."""
    found, tried = visits.astype(float), np.where(visits > 0, values, -np.inf)
    first, best = found.argmax(), tried.argmax()
    if values[best] > values[first] + 0.4 and visits[best] > 1:
        found[[first, best]] = found[[best, first]]
        return found
    second = np.where(np.arange(len(visits)) == first, -1, found).argmax()
    found[second] += max(values[second] - values[first], 0) * found[first]
    return found


def _holds(board, cell):
    """Whether o cannot join at once after x has taken a cell."""
    after = board.copy()
    after[cell] = 1
    replies = [np.where(np.arange(CELLS) == reply, -1, after) for reply in np.flatnonzero(after == 0)]
    return not any(joined(reply.reshape(3, 3), -1) for reply in replies)


@SOLVED
def test_small_boards_are_solved_and_then_left_alone(stones):
    states, plan, memory, again, later = solved(stones)
    players = np.where(states.player == 0, 1, -1)
    boards = [tuple(board.tolist()) for board in interop.board(GAME.config, states)]
    right = np.array([best(board, sign) for board, sign in zip(boards, players.tolist(), strict=True)])
    assert words_of(memory)[:, puct_tree.ROOT, puct_tree.PROVEN, 0].tolist() == right.tolist()
    assert {1, -1} == set(right[2:].tolist())
    # What is certain is counted on, and nothing is opened any more.
    assert np.array_equal(memory.used.sum(-1), later.used.sum(-1))
    gained = own(again.visit_counts, states) - own(plan.visit_counts, states)
    assert (gained.sum(-1) == ENOUGH[stones]["num_simulations"]).all()
    chosen, weights = own(plan.actions[..., None], states)[:, 0], own(plan.action_weights, states)
    for lane in np.flatnonzero(right == 1):
        sign = players[lane]
        for arm in {int(gained[lane].argmax()), int(chosen[lane]), int(weights[lane].argmax())}:
            after = (*boards[lane][:arm], sign, *boards[lane][arm + 1 :])
            assert best(after, -sign) == -1
    assert np.array_equal(np.sign(own(again.qvalues, states)[np.arange(24), gained.argmax(-1)]), right)


def test_temperature_draws_by_visits():
    states = positions(0)
    plans = [search(states, seed=seed, **NOISY)[0] for seed in range(20)]
    visits = np.stack([plan.visit_counts[:, 0] for plan in plans]) / 40
    drawn = np.eye(CELLS)[np.stack([plan.actions[:, 0] for plan in plans])]
    assert (visits[drawn == 1] > 0).all()
    deviation = (drawn - visits).sum((0, 1)) / np.sqrt((visits * (1 - visits)).sum((0, 1)))
    assert (np.abs(deviation) < 4).all() and (drawn.argmax(-1) != visits.argmax(-1)).mean() > 0.2
    assert all((plan.actions[:, 1] == GAME.pass_action).all() for plan in plans)


def test_corrections_by_q():
    visits, values = np.array([[10.0, 3.0, 5.0]], np.float32), np.array([[0.0, 0.5, 0.1]], np.float32)
    once = np.array([[10.0, 1.0, 5.0]], np.float32)  # a single visit says too little
    cases = [(visits, 0.4, 0.0), (visits, 0.6, 1.0), (visits, 0.4, 1.0), (once, 0.4, 0.0)]
    swapped, added, one_or_the_other, unchanged = jax.jit(
        lambda: [corrected_visits(counts, values, q_veto=veto, q_weight=weight) for counts, veto, weight in cases],
        compiler_options=NEWER_EMITTERS,
    )()
    assert swapped.tolist() == one_or_the_other.tolist() == [[3, 10, 5]]
    assert np.allclose(added, [[10, 3, 5 + 0.1 * 10]]) and unchanged.tolist() == once.tolist()


def test_no_arm_is_swapped_in_place_of_the_best():
    """Where the best of all has a single visit, the next one gets what is for the second most visited, no more."""
    visits, values = (np.array(rows, np.float32) for rows in ([[10, 1, 2], [10, 0, 2]], [[0.0, 0.9, 0.5], [0.0, 0.9, 0.5]]))
    swapped, added = jax.jit(lambda *given: [corrected_visits(*given, 0.4, weight) for weight in (0.0, 1.0)])(visits, values)
    assert swapped.tolist() == [[10, 1, 2], [2, 0, 10]]  # what was not tried is not the best
    assert np.allclose(added, [[10, 1, 2 + 0.5 * 10], [2, 0, 10]])


@pytest.mark.parametrize("field, value", [
    ("num_simulations", 0), ("c_base", 0), ("dirichlet_fraction", 1.5), ("temperature", -1), ("max_candidates", 0),
    ("leaf_parallelism", 65), ("replies", 0),
])  # fmt: skip
def test_settings_are_checked(field, value):
    with pytest.raises(ValueError, match=f"{field}={value}: must be"):
        dataclasses.replace(puct.ALPHAZE, **{field: value})


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


@WITH_AND_WITHOUT_PROOFS
def test_lanes_that_rest_keep_their_trees(settings):
    # What happens between two moves of a player: the other's turn, in which it is not asked.
    states = positions(0)
    _, memory = search(states, **settings)
    plan, _ = search(states, memory, **settings)
    resting = np.arange(BATCH) % 2 == 0
    _, between = search(positions(3), memory, active=~resting, **settings)
    again, _ = search(states, between, **settings)
    assert np.array_equal(again.visit_counts[::2], plan.visit_counts[::2])
    assert (own(again.visit_counts, states)[1::2].sum(-1) == settings["num_simulations"]).all()


@pytest.mark.slow
def test_nothing_is_proven_of_arms_that_may_not_be_opened():
    states = positions(2)
    certain, _ = search(states, mcts_solver=True, num_simulations=300)
    capped, _ = search(states, mcts_solver=True, num_simulations=300, max_candidates=2)
    assert np.isfinite(np.asarray(capped.action_weights)).all()
    # With two of seven children a node is never lost for certain; a proof of a win stays one.
    won = own(certain.action_weights, states).max(-1) == 1
    sure = own(capped.action_weights, states).max(-1) == 1  # all weight is on an arm that is proven
    assert won.any() and not (sure & ~won).any(), (won, sure)
    assert (own(capped.visit_counts, states).sum(-1)[~won] == 300).all(), "a search goes on where nothing is proven"


@pytest.mark.parametrize("temperature", [1e-6, 1e-39, 1e-60])
def test_low_temperatures_draw_the_most_likely_arm(temperature):
    policy = np.tile(np.array([0.0, 0.2, 0.5, 0.3], np.float32), (BATCH, 1))
    drawn = jax.jit(draw_arm, static_argnums=2)(jax.random.split(jax.random.key(0), BATCH), policy, temperature)
    assert (np.asarray(drawn) == 2).all()


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


def test_noise_and_kept_trees_exclude_each_other():
    with pytest.raises(ValueError, match=r"dirichlet_fraction=0\.25: must be 0 with reuse"):
        Settings(reuse=True, dirichlet_fraction=0.25)


def test_the_least_q_of_a_node_takes_the_place_of_a_first_play_urgency():
    with pytest.raises(ValueError, match=r"^first_play_urgency=0\.5: leave it out with normalize_q"):
        Settings(normalize_q=True, first_play_urgency=0.5)


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
