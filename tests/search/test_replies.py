"""Searches that sample several replies of models, where something is drawn, and one where nothing is."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames.agent import memoryless
from search import puct
from search.opponents import single_player, switching, two_player
from search.puct import tree as puct_tree
from search.puct.settings import Settings
from tests.search.guided_tug import GAME, LANES, opinion, planned, weights
from tests.tug import PULL, REST, Tug, states_of, steady_player


def searched_against_a_coin(settings, draws=True):
    """The trees of a search against a model that draws its moves; `draws`: it says so."""
    game = Tug(length=30, max_steps=60, marks=1 << 20)
    keys, states = jax.random.split(jax.random.key(2), LANES), states_of(game, range(LANES))
    return jax.device_get(_against_a_coin(game, settings)(keys, states, draws))


@functools.cache
def _against_a_coin(game, settings):
    coin = memoryless(
        "coin", lambda params, keys, views, seats: jax.vmap(jax.random.randint, (0, None, None, None))(keys, (), 0, 2)
    )
    dynamics = single_player(game, coin, shared_answers=True)

    @jax.jit
    def search(keys, states, draws):
        told = dynamics._replace(follows_chance=lambda nodes: jnp.full(nodes.seat.shape, draws))
        planner, params = puct.puct(told, opinion, settings), {"own": weights(1), "opponents": None}
        return planner.plan(params, keys, planner.init(LANES), states, jnp.zeros(LANES, jnp.int32), jnp.ones(LANES, bool))[1]

    return search


@pytest.mark.slow
def test_a_walk_that_explores_is_credited_with_several_replies_too():
    """Where the reply that it meets was not known, its line ends there, and an arm is drawn."""
    tree = searched_against_a_coin(Settings(120, replies=3, random_starts=1.0))
    words, number = tree.numbers.astype(int), np.arange(tree.num_children)
    arms = (number < words[:, puct_tree.OPENED, :1]) & np.asarray(tree.used).reshape(-1, 1)
    nodes = (words[:, [puct_tree.CHILD, *range(puct_tree.REPLIES, words.shape[1])], 1:] > 0).sum(1)
    assert nodes[arms].sum() > 500 and (words[:, puct_tree.VISITS, 1:] >= nodes)[arms].all()


@pytest.mark.parametrize("at_once", [1, pytest.param(4, marks=pytest.mark.slow)])
def test_a_node_holds_several_replies_of_its_models(at_once):
    """Each visit goes on with one of them; an arm counts all of its replies together, and each is a node of its own."""
    count = 3
    tree = searched_against_a_coin(Settings(120, replies=count, leaf_parallelism=at_once))
    words, used = tree.numbers, tree.used
    several = 0
    for lane in range(LANES):
        for node in np.flatnonzero(used[lane]):
            row = lane * tree.num_nodes + node
            for column in range(1, 1 + int(words[row, puct_tree.OPENED, 0])):
                kept = words[row, [puct_tree.CHILD, *range(puct_tree.REPLIES, words.shape[1])], column].astype(int)
                nodes = kept[kept > 0]
                assert 1 <= len(nodes) == len(set(nodes)) <= count
                assert words[row, puct_tree.VISITS, column] == words[lane * tree.num_nodes + nodes, puct_tree.VISITS, 0].sum()
                several += len(nodes) > 1
    assert several > 20
    words_of_first = words[np.arange(LANES) * tree.num_nodes, :, 1].astype(int)
    mark_of = jax.jit(lambda tree, node: tree.states(node).state.mark)
    first, second = (np.asarray(mark_of(tree, words_of_first[:, word])) for word in (puct_tree.CHILD, puct_tree.REPLIES))
    assert (first != second).any(), "replies differ"
    with pytest.raises(ValueError, match=r"^replies=2: must be 1 with mcts_solver"):
        Settings(replies=2, mcts_solver=True)


def test_after_what_is_certain_there_is_one_reply():
    """As the next test shows for a model that draws nothing."""
    tree = searched_against_a_coin(Settings(120, replies=3), draws=False)
    assert not tree.numbers[:, puct_tree.REPLIES :, 1:].any() and tree.numbers[:, puct_tree.CHILD, 1:].any()


@dataclasses.dataclass(frozen=True)
class Certain(Tug):
    """The same, in which nothing is left to chance."""

    def draw_chance(self, key, state, actions):
        return ()

    def apply(self, state, actions, chance=()):
        return super().apply(state, actions, jnp.zeros(2, bool))


CERTAIN = Certain(length=30, max_steps=60, marks=1 << 20)


@pytest.mark.slow  # to compile
def test_several_replies_of_a_model_that_draws_nothing_are_one():
    """Samples of what is certain would be copies, which share the visits among them, in a tree that is less deep."""
    states, seats = states_of(CERTAIN, range(LANES)), np.zeros(LANES, np.int32)
    params, keys = {"own": weights(1), "opponents": None}, jax.random.split(jax.random.key(2), LANES)

    def depth(draws, replies):
        dynamics = single_player(CERTAIN, steady_player(REST)._replace(draws=draws), shared_answers=True)
        plan, _ = planned(puct.puct(dynamics, opinion, Settings(60, replies=replies)), params, keys, states, seats)
        return plan.visit_counts.tolist(), plan.metrics["depth"]

    one, several, if_it_drew = depth(False, 1), depth(False, 3), depth(True, 3)
    assert several[0] == one[0] and several[1].tolist() == one[1].tolist()
    assert (if_it_drew[1] < one[1]).all()


@pytest.mark.parametrize("game, draws", [(CERTAIN, False), (CERTAIN, True), (GAME, False)])
def test_chance_plays_a_part_where_the_game_or_a_model_draws(game, draws):
    model = switching(steady_player(REST)._replace(draws=False), steady_player(PULL)._replace(draws=draws), 2)
    assert model.draws == draws
    expected = draws or game is GAME  # which says that it does

    @jax.jit
    def told(keys):
        found = []
        for dynamics in (single_player(game, model), two_player(game, model, lambda state, seat: 1 - seat)):
            nodes = dynamics.root(None, keys, states_of(game, [0, 1]), jnp.zeros(2, jnp.int32))
            found.append(dynamics.is_random(nodes))
        return found, dynamics.is_random(nodes._replace(pending=jnp.array([REST, -1])))

    (alone, root), asked = told(jax.random.split(jax.random.key(0), 2))
    assert alone.tolist() == [expected] * 2
    assert root.tolist() == [False] * 2, "the rival is to choose"
    assert asked.tolist() == [expected, False]
