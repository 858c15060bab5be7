"""Search among information sets, in a game in which whoever plans as if it would see a hidden coin makes a mistake.

The first player takes a small gain, or bets, and then says which side of the coin is up. It never sees the coin; a right answer
wins, a wrong one loses.
"""

import dataclasses
import functools

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

import jaxgames
from jaxgames import shapes
from jaxgames.game import GameBase
from jaxgames.hashing import hash_words
from search import mcs, presets, puct
from search.information_sets import Node, among_information_sets, information_sets

TAKE, BET, WAIT = range(3)  # and after the bet: heads, tails
SURE = 0.25
LANES = 4


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class State:
    """The side that is up (0 or 1; seen from outside -1), whether a bet is on, and the result for the first player."""

    coin: Array
    bet: Array
    value: Array
    terminated: Array


@dataclasses.dataclass(frozen=True)
class Coin(GameBase):
    """The game; `seen`: players see the coin."""

    seen: bool = False
    config = None
    name = "coin"
    num_players = 2
    num_actions = num_arms = 3
    pass_action = WAIT
    max_steps = 2

    def init(self, key):
        coin = jax.random.randint(key, (), 0, 2)
        return State(coin, jnp.bool_(False), jnp.float32(0), jnp.bool_(False))

    def apply(self, state, actions, chance):
        del chance
        action = actions[0]
        right = jnp.where(action == state.coin, 1.0, -1.0)
        value = jnp.where(state.bet, right, jnp.where(action == TAKE, SURE, 0.0))
        over = state.bet | (action == TAKE)
        after = State(state.coin, state.bet | (action == BET), value, over)
        return jax.tree.map(lambda old, new: jnp.where(state.terminated, old, new), state, after)

    def to_play(self, state):
        return jnp.where(state.terminated, 0, 0)

    def legal_actions(self, state):
        del state
        return jnp.array([[True, True, False], [False, False, True]])

    def search_arms(self, state):
        return jnp.broadcast_to(jnp.arange(3), (2, 3)), self.legal_actions(state)

    def heuristic(self, state):
        return state.value * np.array([1, -1], np.float32)

    def outcome(self, state):
        return jnp.sign(self.heuristic(state))

    def state_key(self, state):
        return hash_words([word.astype(jnp.uint32) for word in (state.coin, state.bet, state.terminated)])

    def observe(self, state, player):
        del player
        return state if self.seen else dataclasses.replace(state, coin=jnp.int32(-1))

    @property
    def open_game(self):
        return Coin(seen=True)

    def open_state(self, state):
        return state

    def init_information(self, player, observation=None):
        del player
        return observation

    def update_information(self, info, observation, own_action):
        del info, own_action
        return observation

    def sample_hidden(self, key, info):
        return dataclasses.replace(info, coin=jax.random.randint(key, (), 0, 2))


@functools.cache
def first_move(name: str, **settings):
    game = Coin()
    planner = presets.by_name(game, name, num_simulations=200, horizon=2, table_rows=64, **settings)
    keys = jax.random.split(jax.random.key(1), LANES)
    views = jax.device_get(jax.jit(jax.vmap(lambda key: game.observe(game.init(key), 0)))(keys))
    seats, ones = np.zeros(LANES, np.int32), np.ones(LANES, bool)
    run = functools.partial(jax.jit(planner.plan), None, keys)
    plan, memory = run(planner.init(LANES), views, seats, ones)
    return *jax.device_get((plan, run(memory, views, seats, ones)[0])), planner


def test_it_does_not_plan_on_seeing_what_stays_hidden():
    plan, _, planner = first_move("ismcts", bandit="ucb")
    assert (plan.actions == [TAKE, WAIT]).all() and not planner.sees_state
    np.testing.assert_allclose(plan.qvalues[:, 0, TAKE], SURE, atol=0.1)
    assert (np.abs(plan.qvalues[:, 0, BET]) < SURE).all()


@pytest.mark.slow
def test_searches_in_drawn_worlds_do():
    """In every world the coin is seen, and a bet is won."""
    fused, again, _ = first_move("determinized_mcts", bandit="ucb", num_worlds=4)
    assert (fused.actions == [BET, WAIT]).all() and (fused.qvalues[:, 0, BET] > 0.5).all()
    np.testing.assert_array_equal(again.visit_counts, fused.visit_counts)  # nothing is kept


def test_there_is_a_node_for_what_is_seen_not_for_each_world():
    plan, *_ = first_move("ismcts", bandit="ucb")
    assert (plan.metrics["stored"] == 2).all()  # before the bet and after it, whichever side is up


def test_what_was_learnt_of_information_sets_is_kept():
    plan, again, _ = first_move("ismcts", bandit="ucb")
    np.testing.assert_array_equal(again.visit_counts[:, 0].sum(-1), 2 * plan.visit_counts[:, 0].sum(-1))


@pytest.mark.slow  # to compile
def test_a_search_without_a_tree_draws_its_worlds_again_too():
    """After the bet one of both answers is right in every world, and either of them in half of all."""
    game = Coin()
    planner = among_information_sets(game, lambda dynamics: mcs(dynamics, num_simulations=400, horizon=1))
    info = State(jnp.int32(-1), jnp.bool_(True), jnp.float32(0), jnp.bool_(False))
    views = jax.tree.map(lambda leaf: jnp.repeat(leaf[None], LANES, 0), info)
    keys, seats = jax.random.split(jax.random.key(1), LANES), jnp.zeros(LANES, jnp.int32)
    plan, _ = jax.jit(planner.plan)(None, keys, planner.init(LANES), views, seats, jnp.ones(LANES, bool))
    np.testing.assert_allclose(plan.qvalues[:, 0, :2], 0.5, atol=0.2)


def test_nodes_are_known_by_what_their_movers_see():
    """In DarkHex: of two first stones the second player sees neither, the first player, once it is its turn again, both."""
    game = jaxgames.make("hex", "adh-3")
    dynamics = information_sets(game)

    @jax.jit
    def keys(first, second):
        def played(first):
            after = game.step(game.init(jax.random.key(0)), jnp.array([first, game.pass_action]), jax.random.key(0))
            return after, game.step(after, jnp.array([game.pass_action, second]), jax.random.key(0))

        return [dynamics.state_key(Node(states, None)) for states in jax.vmap(played)(first)]

    theirs, own = jax.device_get(keys(np.array([0, 4], np.int32), np.int32(8)))
    assert (theirs[0] == theirs[1]).all() and (own[0] != own[1]).any()
    _, other = jax.device_get(keys(np.array([0, 4], np.int32), np.int32(7)))
    np.testing.assert_array_equal(own, other)  # where the second stone lies is hidden from who moves


def test_the_example_of_a_node_has_the_shapes_of_a_node():
    dynamics = information_sets(Coin())
    views = jax.vmap(Coin().observe, (0, None))(jax.vmap(Coin().init)(jax.random.split(jax.random.key(0), 2)), 0)
    roots = jax.eval_shape(dynamics.root, None, jax.random.split(jax.random.key(0), 2), views, jnp.zeros(2, jnp.int32))
    chex.assert_trees_all_equal_shapes_and_dtypes(roots, shapes.batched(dynamics.example, 2))


def test_a_search_that_keeps_states_is_refused():
    with pytest.raises(ValueError, match=r"^game='coin': its roots are drawn again for every simulation; take a"):
        puct.puct(information_sets(Coin()), lambda params, states, seats: (jnp.zeros((len(seats), 3)), jnp.zeros(len(seats))))


class Turns(Coin):
    """The same, in which the coin says whose turn it is."""

    def to_play(self, state):
        return state.coin


def test_two_players_who_see_the_same_have_nodes_of_their_own():
    states = State(jnp.arange(2), jnp.zeros(2, bool), jnp.zeros(2), jnp.zeros(2, bool))
    first, second = jax.device_get(jax.jit(information_sets(Turns()).state_key)(Node(states, None)))
    assert (first != second).any()


@pytest.mark.parametrize(
    ("game", "mode", "has_it"), [("hex", "adh-3", True), ("stratego", "mini", True), ("pommerman", "ffa", False)]
)
def test_it_is_for_games_of_turns_in_which_something_is_hidden(game, mode, has_it):
    assert ("ismcts" in presets.planners_of(jaxgames.make(game, mode))) == has_it
