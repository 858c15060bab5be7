"""Who is the most dangerous of the others, which is a seat's rival then, and who never is."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from search import presets
from search.modelled import _rival
from search.rivals import most_dangerous
from tests.emitters import NEWER_EMITTERS
from tests.waiting import Waiting


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Round:
    """What the four of `Threats` did, int32 [4]; -1 before."""

    actions: jax.Array
    terminated: jax.Array


STRIKE, GUARD, HIT = 1, 2, 3


class Threats:
    """One step of four who act at once: who strikes gains a little; who is hit by the one across, unguarded, loses."""

    name, num_players, num_actions, num_arms, pass_action, max_steps, value_when_out = "threats", 4, 4, 4, 0, 1, 0.0

    def init(self, key):
        return Round(jnp.full(4, -1, jnp.int32), jnp.bool_(False))

    def step(self, state, actions, key):
        return Round(jnp.where(state.terminated, state.actions, actions), jnp.bool_(True))

    def to_play(self, state):
        return jnp.int32(-1)

    def search_arms(self, state):
        return jnp.tile(jnp.arange(4, dtype=jnp.int32), (4, 1)), jnp.ones((4, 4), bool)

    def in_play(self, state):
        return jnp.ones(4, bool)

    def heuristic(self, state):
        hit = (jnp.roll(state.actions, 2) == HIT) & (state.actions != GUARD)
        return 0.25 * (state.actions == STRIKE) - hit

    outcome, possible_arms = heuristic, search_arms

    def state_key(self, state):
        return state.actions[:2].astype(jnp.uint32)

    def closest_enemy(self, state, seat):
        return (seat + 1) % 4

    def are_enemies(self, seat, other):
        return seat != other

    @property
    def endless(self):
        return self


@pytest.mark.slow
@pytest.mark.parametrize(("rival", "best"), [("closest", STRIKE), ("dangerous", GUARD)])
def test_the_rival_of_tp_mcts_may_be_the_most_dangerous(rival, best):
    """Only who sees the one across as its rival guards itself."""
    options = {"model": "still", "root": "true", "num_simulations": 40}
    planner = presets.by_name(Threats(), "tp_mcts", rival=rival, **options)

    def actions(keys, seats, active):
        states = jax.vmap(Threats().init)(keys)
        return planner.plan(None, keys, planner.init(4), states, seats, active)[0].actions

    run = jax.jit(actions, compiler_options=NEWER_EMITTERS)
    found = run(jax.random.split(jax.random.key(0), 4), np.arange(4, dtype=np.int32), np.ones(4, bool))
    assert found[:, 0].tolist() == [best] * 4


class Pairs(Threats):
    """The same, in which who is across is a teammate."""

    def are_enemies(self, seat, other):
        return (seat - other) % 2 != 0


def test_a_teammate_is_never_dangerous_and_of_equals_the_closest_is_named():
    seats = np.arange(4, dtype=np.int32)
    states = Round(np.full((4, 4), -1, np.int32), np.zeros(4, bool))
    for game, ahead in ((Threats(), 2), (Pairs(), 1)):
        found = jax.jit(jax.vmap(_rival(game, "dangerous")))(states, seats)
        assert found.tolist() == ((seats + ahead) % 4).tolist()


class Last(Threats):
    """The same, in which all but the first are out."""

    def in_play(self, state):
        return jnp.arange(4) == 0


def test_nobody_who_is_out_or_when_all_is_over_is_dangerous():
    states = Round(np.full((5, 4), -1, np.int32), np.arange(5) == 4)
    found = jax.jit(jax.vmap(most_dangerous(Last())))(states, np.array([0, 1, 2, 3, 1], np.int32))
    assert found.tolist() == [-1, 0, 0, 0, -1]


def test_who_is_close_must_be_told_by_the_game():
    with pytest.raises(ValueError, match=r"^rival='closest': game='waiting' does not say who is close; take rival=none$"):
        _rival(Waiting(), "closest")
