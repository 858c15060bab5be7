"""Strings of actions that evolve against each other, in a tug of war whose best strings are known."""

import dataclasses
import functools

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from search import presets
from search.turns.action_sequences import Settings
from tests.tug import PULL, REST, Tug, states_of, step_all

GAME = Tug(max_steps=6)
LANES = 6
SIZE = {"num_simulations": 120, "horizon": 4, "population": 8}
TOKENS = [0, 1, 0, -1, 1, 0]


def keys_of(seed):
    return jax.random.split(jax.random.key(seed), LANES)


@functools.cache
def made(name, game=GAME, **settings):
    planner = presets.by_name(game, name, **{**SIZE, **settings})
    run = jax.jit(lambda keys, memory, views, active: planner.plan(None, keys, memory, views, SEATS, active))

    def plan(*arguments):
        found, memory = run(*arguments)
        return jax.device_get(found), memory

    return planner, plan


ONES = np.ones(LANES, bool)
SEATS = np.zeros(LANES, np.int32)  # all seats are planned for
BOTH = pytest.mark.parametrize("name", ["oep", pytest.param("rolling_horizon", marks=pytest.mark.slow)])


@BOTH
def test_whoever_evolves_wins(name):
    """Against random play, which pulls one time in three; pulling always wins nearly always."""
    planner, plan = made(name)
    won, random = [], np.random.default_rng(0)
    for turn in range(10):
        states, memory = states_of(GAME, [0] * LANES), planner.init(LANES)
        for move in range(GAME.max_steps):
            keys = keys_of(GAME.max_steps * turn + move)
            found, memory = plan(keys, memory, states, ONES)
            others = random.integers(0, 3, LANES, np.int32)
            states = step_all(GAME, states, np.stack([found.actions[:, 0], others], -1), keys)
        won.append(np.where(abs(states.token) == GAME.length, np.sign(states.token), 0))
    won = np.stack(won)
    assert (won == 1).mean() > 0.85
    assert (won == -1).mean() < 0.05


@BOTH
def test_what_a_plan_tells(name):
    planner, plan = made(name)
    found, _ = plan(keys_of(0), planner.init(LANES), states_of(GAME, TOKENS), ONES)
    assert (np.asarray(found.actions) == PULL).mean() > 0.6
    # The choice is that of the best string, whatever the others begin with.
    taken = np.asarray(found.arms == found.actions[..., None])
    assert (taken.sum(-1) == 1).all()
    np.testing.assert_array_equal(found.action_weights, taken)
    # Those who have survived have met others again and again.
    visits = found.visit_counts.sum(-1)
    assert (visits > 2 * SIZE["population"]).all() and (visits <= SIZE["num_simulations"]).all()
    np.testing.assert_array_equal(found.visit_counts > 0, found.qvalues > -1)
    np.testing.assert_allclose(found.root_value, found.qvalues.max(-1))
    # The action is that of an arm of the highest value.
    best = (found.arms == found.actions[..., None]) & (found.qvalues == found.qvalues.max(-1, keepdims=True))
    assert np.asarray(best).any(-1).all()


@dataclasses.dataclass(frozen=True)
class Deserted(Tug):
    """The second player is out where the token is not in the middle, and may only rest."""

    def in_play(self, state):
        return jnp.array([True, False]) | (state.token == 0)

    def legal_actions(self, state):
        return jnp.where(self.in_play(state)[:, None], super().legal_actions(state), jnp.arange(3) == REST)


DESERTED = Deserted(max_steps=6, slips=True)
legal_of = jax.jit(jax.vmap(DESERTED.legal_actions))


@pytest.mark.parametrize("name", [pytest.param("oep", marks=pytest.mark.slow), "rolling_horizon"])
def test_actions_are_legal_and_nothing_for_who_is_out(name):
    planner, plan = made(name, DESERTED, num_simulations=8)  # hardly evolved
    states, memory, seen = states_of(DESERTED, TOKENS), planner.init(LANES), 0
    for move in range(5):
        legal = np.asarray(legal_of(states))
        found, memory = plan(keys_of(move), memory, states, ONES)
        for lane in np.flatnonzero(~np.asarray(states.terminated)):
            seen += 1
            assert legal[lane, [0, 1], np.asarray(found.actions)[lane]].all()
        going = ~np.asarray(states.terminated)
        assert (found.actions[going & (states.token != 0), 1] == REST).all() and np.isfinite(found.root_value).all()
        assert move or np.ptp(found.root_value[:, 0]) > 0
        states = step_all(DESERTED, states, found.actions, keys_of(100 + move))
    assert seen > 10


ALL_BUT_ONE = np.array([True, True, False, True, True, True])
pick = functools.partial(jax.tree.map, lambda leaf: np.asarray(leaf)[ALL_BUT_ONE])


@BOTH
def test_a_lane_does_not_depend_on_the_others(name):
    planner, plan = made(name)
    memory, order = planner.init(LANES), np.array([4, 2, 0, 5, 3, 1])
    found, _ = plan(keys_of(1), memory, states_of(GAME, TOKENS), ALL_BUT_ONE)
    turned, _ = plan(keys_of(1)[order], memory, states_of(GAME, np.array(TOKENS)[order]), ALL_BUT_ONE[order])
    chex.assert_trees_all_equal(pick(jax.tree.map(lambda leaf: leaf[np.argsort(order)], turned)), pick(found))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["oep", "rolling_horizon"])
def test_lanes_that_think_in_parts_think_the_same(name):
    (planner, whole), (_, parts) = made(name), made(name, microbatch_size=2)
    given = keys_of(1), planner.init(LANES), states_of(GAME, TOKENS), ALL_BUT_ONE
    chex.assert_trees_all_equal(*(pick(plan(*given)) for plan in (whole, parts)))


def test_a_string_is_played_on_until_the_game_takes_another_way():
    planner, plan = made("oep")
    states = states_of(GAME, TOKENS)
    first, memory = plan(keys_of(0), planner.init(LANES), states, ONES)
    np.testing.assert_array_equal(memory.next, 1)
    after = step_all(GAME, states, first.actions, keys_of(9))
    # Both pull, so nothing moves; whoever finds the token elsewhere thinks again.
    moved = dataclasses.replace(after, token=np.where(np.arange(LANES) == 0, 1, after.token).astype(np.int32))
    second, memory = plan(keys_of(2), memory, moved, np.array([True] * 5 + [False]))
    np.testing.assert_array_equal(memory.next, [1, 2, 2, 2, 2, 1])
    np.testing.assert_array_equal(second.visit_counts[1:5].sum(-1), 1)
    assert (second.visit_counts[0].sum(-1) > SIZE["population"]).all()
    np.testing.assert_array_equal(planner.reset(memory, np.arange(LANES) == 2).next, [1, 2, SIZE["horizon"], 2, 2, 1])


def test_a_population_moves_on_with_the_game():
    planner, plan = made("rolling_horizon", DESERTED, num_simulations=8)
    memory = planner.init(LANES)
    assert (np.asarray(memory) == -1).all()
    _, memory = plan(keys_of(0), memory, states_of(DESERTED, TOKENS), np.array([True] * 5 + [False]))
    strings = np.asarray(memory)
    assert (strings[:5, ..., -1] == -1).all() and (strings[:5, ..., :-1] >= 0).all()
    assert (strings[5] == -1).all()
    # The strings of the last move are those of the next: nothing of them is drawn again but what was missing.
    _, later = plan(keys_of(1), memory, states_of(DESERTED, TOKENS), ONES)
    np.testing.assert_array_equal(np.asarray(later)[:5, ..., :-2], strings[:5, ..., 1:-1])
    cleared = np.asarray(planner.reset(memory, np.arange(LANES) == 1))
    assert (cleared[1] == -1).all() and (cleared[0] == strings[0]).all()


@pytest.mark.parametrize(
    ("make_it", "message"),
    [
        (lambda: Settings(num_simulations=9), "num_simulations=9: must be at least population=10"),
        (lambda: Settings(population=1), "population=1: must be >= 4"),
        (lambda: Settings(horizon=0), "horizon=0"),
        (lambda: Settings(horizon=1024), "horizon=1024: must be < 1024"),
        (lambda: Settings(survivors=0.01), r"survivors=0\.01"),
        (lambda: Settings(mutation=1.1), r"mutation=1\.1"),
        (lambda: presets.by_name(GAME, "oep", leaf_parallelism=4), "leaf_parallelism=4: oep takes values, num_simulations"),
        (lambda: presets.by_name(GAME, "evolve"), "must be one of fdts"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(make_it, message):
    with pytest.raises(ValueError, match=message) as error:
        make_it()
    assert "\n" not in str(error.value)
