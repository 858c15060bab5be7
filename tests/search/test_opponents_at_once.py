"""Models of players who all move at once: who is asked, what those do who are out, and teammates."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames.agent import memoryless
from search.opponents import single_player, two_player
from tests.tug import steady_player


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Round:
    """What the four of `Table` did in the last step, int32 [4]."""

    actions: jax.Array
    terminated: jax.Array


class Table:
    """Four players who act at once; a state is what they have done."""

    num_players, num_actions, num_arms, pass_action, name = 4, 6, 6, 0, "table"

    def init(self, key):
        return Round(jnp.full(4, -1, jnp.int32), jnp.bool_(False))

    def step(self, state, actions, key):
        return Round(actions, state.terminated)

    def to_play(self, state):
        return jnp.int32(-1)

    def search_arms(self, state):
        return jnp.tile(jnp.arange(6, dtype=jnp.int32), (4, 1)), jnp.ones((4, 6), bool)

    def in_play(self, state):
        return jnp.ones(4, bool)

    def outcome(self, state):
        return jnp.zeros(4)

    def state_key(self, state):
        return state.actions[:2].astype(jnp.uint32)

    heuristic = outcome


def test_all_seats_but_the_own_are_asked_and_the_own_action_is_played():
    """What each seat was asked as comes back as its action."""
    asked = memoryless("seat", lambda params, keys, views, seats: seats, sees_state=True)
    alone = single_player(Table(), asked)
    rivalry = two_player(Table(), asked, lambda state, seat: (seat + 2) % 4, in_turn=False)
    params = {"own": None, "opponents": None}

    @jax.jit
    def after(keys):
        states, seats = jax.vmap(Table().init)(jnp.arange(4)), jnp.arange(4)
        nodes = alone.root(None, keys, states, seats)
        first = alone.step(params, keys, nodes, jnp.full((4, 1), 5)).state.actions
        rivals = rivalry.root(None, keys, states, seats)
        second = rivalry.step(params, keys, rivals, jnp.tile(jnp.array([5, 0]), (4, 1))).state.actions
        return alone.arms(nodes), first, second

    (arms, legal), first, second = after(jax.random.split(jax.random.key(1), 4))
    assert arms.shape == legal.shape == (4, 1, 6)
    assert first.tolist() == [[5, 1, 2, 3], [0, 5, 2, 3], [0, 1, 5, 3], [0, 1, 2, 5]]
    assert second.tolist() == [[5, 1, 0, 3], [0, 5, 2, 0], [0, 1, 5, 3], [0, 0, 2, 5]]


class Pairs(Table):
    """The same, in which seats 0 and 2 play against 1 and 3."""

    value_when_out = -0.5

    def are_enemies(self, seat, other):
        return (seat - other) % 2 != 0

    def possible_arms(self, state):
        return self.search_arms(state)

    def closest_enemy(self, state, seat):
        return (seat + 1) % 4

    @property
    def endless(self):
        return self


class Falling(Pairs):
    """The same, in which who has done 3 is out; all are ahead a little, and in the end seats 0 and 2 win."""

    def in_play(self, state):
        return state.actions != 3

    def heuristic(self, state):
        return jnp.full(4, 0.25)

    def outcome(self, state):
        return jnp.where(state.terminated, jnp.array([1.0, -1.0, 1.0, -1.0]), 0.0)


def test_who_is_out_has_what_the_game_says_until_that_is_over():
    states = Round(np.array([[0, 3, 3, 3], [3, 0, 0, 0], [3, 0, 0, 0]], np.int32), np.array([False, False, True]))
    alone = single_player(Falling(), steady_player(0))
    rivalry = two_player(Falling(), steady_player(0), lambda state, seat: seat + 1, in_turn=False)

    @jax.jit
    def told(keys, states):
        found = []
        for dynamics in (alone, rivalry):
            nodes = dynamics.root(None, keys, states, jnp.zeros(3, jnp.int32))
            found.append((dynamics.terminated(nodes), dynamics.heuristic(nodes).T, dynamics.outcome(nodes).T))
        return found

    for over, values, results in told(jax.random.split(jax.random.key(0), 3), states):
        assert over.tolist() == [False, True, True]
        assert values[0].tolist() == [0.25, -0.5, 0.25] and results[0].tolist() == [0, -0.5, 1]
    np.testing.assert_array_equal(values[1], -values[0])  # what the own seat wins its rival loses
    np.testing.assert_array_equal(results[1], -results[0])


def tens(params, keys, views, seats):
    return 10 + seats + (0 if params is None else params)


def test_teammates_have_a_model_of_their_own():
    others = memoryless("seat", lambda params, keys, views, seats: seats, sees_state=True)
    partner = memoryless("tens", tens, sees_state=True)
    keys = jax.random.split(jax.random.key(1), 4)
    together = single_player(Pairs(), others, partner=partner)

    @jax.jit
    def after(params, keys):
        nodes = together.root(None, keys, jax.vmap(Pairs().init)(jnp.arange(4)), jnp.arange(4))
        return together.step(params, keys, nodes, jnp.full((4, 1), 5)).state.actions

    for mine, expected in ((None, 10), (np.int32(40), 50)):
        params = {"own": None, "opponents": None} | ({} if mine is None else {"partners": mine})
        rows = [[5, 1, expected + 2, 3], [0, 5, 2, expected + 3], [expected, 1, 5, 3], [0, expected + 1, 2, 5]]
        assert after(params, keys).tolist() == rows
    alike = single_player(Pairs(), partner, partner=partner)  # one agent, of other parameters for the teammate
    params = {"own": None, "opponents": np.int32(20), "partners": np.int32(40)}

    @jax.jit
    def played(keys):
        nodes = alike.root(None, keys, jax.vmap(Pairs().init)(jnp.arange(4)), jnp.zeros(4, jnp.int32))
        return alike.step(params, keys, nodes, jnp.full((4, 1), 5)).state.actions

    assert played(keys).tolist() == [[5, 31, 52, 33]] * 4
    with pytest.raises(ValueError, match=r"^partner='tens': there are no teams in table$"):
        single_player(Table(), others, partner=partner)
