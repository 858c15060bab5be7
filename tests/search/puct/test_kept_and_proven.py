"""Trees that are kept from move to move, and what is proven in them: against a slow search, and against brute force."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames.hex import interop
from search import puct
from search.puct import tree as puct_tree
from search.puct.settings import Settings
from tests.emitters import NEWER_EMITTERS
from tests.jaxgames.hex.playing import at, joined
from tests.random_tree import RandomTree
from tests.search import puct_reference
from tests.search.puct.guided_hex import BATCH, CELLS, GAME, STEP, STEPS, open_node, own, positions, search, words_of

KEPT = {"reuse": True, "num_simulations": 64, "mcts_solver": True}
KEPT_UNPROVEN = {"reuse": True, "num_simulations": 20}
SOLVING = {"mcts_solver": True, "reuse": True, "num_simulations": 400}
WITH_AND_WITHOUT_PROOFS = pytest.mark.parametrize(
    "settings", [pytest.param(KEPT, id="proofs"), pytest.param(KEPT_UNPROVEN, id="no proofs", marks=pytest.mark.slow)]
)


# --- from move to move -------------------------------------------------------------------------------------------------


@WITH_AND_WITHOUT_PROOFS
def test_the_tree_is_kept_from_move_to_move(settings):
    states = positions(0)
    fresh, memory = search(states, **settings)
    assert {name: value.shape for name, value in fresh.metrics.items()} == dict.fromkeys(("depth", "nodes", "lost"), (BATCH,))
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


# --- what is proven ----------------------------------------------------------------------------------------------------


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


def _holds(board, cell):
    """Whether o cannot join at once after x has taken a cell."""
    after = board.copy()
    after[cell] = 1
    replies = [np.where(np.arange(CELLS) == reply, -1, after) for reply in np.flatnonzero(after == 0)]
    return not any(joined(reply.reshape(3, 3), -1) for reply in replies)


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


def test_where_all_that_was_tried_is_lost_the_next_arm_is_played_and_learnt():
    """The network is so sure of the arms that lose that one legal arm has not been tried in the end."""
    states, params = at(positions(4, count=24), slice(18, 24)), np.float32(5)
    plan, memory = search(states, params=params, **KEPT)
    lane, root = 2, words_of(memory)[2, puct_tree.ROOT]
    tried, proven, arms = (
        root[word, 1 : 1 + root[puct_tree.OPENED, 0]] for word in (puct_tree.VISITS, puct_tree.PROVEN, puct_tree.ARM)
    )
    board = interop.board(GAME.config, at(states, lane)).reshape(-1)
    (left,) = set(np.flatnonzero(board == 0).tolist()) - set(arms.tolist())
    assert (tried > 0).all() and (proven == -1).all() and root[puct_tree.PROVEN, 0] == puct_tree.UNPROVEN
    assert own(plan.action_weights, states)[lane].tolist() == np.eye(CELLS)[left].tolist()
    assert own(plan.actions[..., None], states)[lane, 0] == left


def test_an_end_proves_something_where_it_is_won_drawn_or_lost():
    """Not where it is worth something between, as to a player who is out while its team plays on."""
    values = np.array([1, 0, -1, -0.5, 0.25, 1], np.float32)
    over, zero = np.arange(6) < 5, np.zeros(6, np.int32)
    tree = puct_tree.init(np.int32(0), 6, 2, 3, 1)
    new = puct_tree.NewNode(zero, np.zeros((6, 2), np.uint32), zero, values, over, np.zeros((6, 3), np.float32), zero, over)
    found = jax.jit(puct_tree.fresh_numbers)(tree, new)[:, puct_tree.PROVEN].astype(np.int32)
    assert found.tolist() == [1, 0, -1, *[puct_tree.UNPROVEN] * 3]


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
