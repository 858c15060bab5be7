"""Episodes by hand: when they end early, what begins next, and that lanes without an episode rest."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from jaxgames.pommerman.constants import Move
from search.all_seats import for_all_seats
from search.planner import Plan, memoryless
from tests.training import tiny
from training.learn.episodes import DRAW, WINDOW, EpisodeRules
from training.play.lanes import Pool, fold

LANES, PLAYERS, WORDS, LAST = 3, 4, 9, 40
KEY = jax.random.key(4)
STEPS = {}  # by the `id` of rules


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class State:
    """A state of `Waiting`: leaves uint32 [2, 2], int32 [], bool []."""

    board: Array
    step_count: Array
    terminated: Array


@dataclasses.dataclass(frozen=True)
class Waiting:
    """A game in which time passes until it is over; a move comes with a word, as in the radio mode."""

    num_players: int = PLAYERS

    def init(self, key):
        return State(jax.random.bits(key, (2, 2)), jnp.int32(0), jnp.bool_(False))

    def step(self, state, actions, key):
        del actions, key
        return State(state.board, state.step_count + 1, state.step_count + 1 >= LAST)

    def keeps_going(self, actions):
        return actions // WORDS == Move.BOMB


STAY = np.full((LANES, PLAYERS), WORDS - 1, np.int32)
BOMB = np.full((LANES, PLAYERS), int(Move.BOMB) * WORDS, np.int32)
CHOICES = np.zeros((LANES, PLAYERS), np.int32)


@functools.cache
def rules_of(episodes=100, num_devices=1, **settings):
    """The same rules are made once, and a step by them is compiled once."""
    pool = Pool(Waiting(), LANES, num_devices, episodes)
    rules = EpisodeRules(pool, tiny.drawing_oracle(Waiting()), **settings)

    @jax.jit
    def step(episodes, actions, choices):
        return rules.advance(KEY, pool.step_keys(KEY, episodes.lanes), episodes, actions, choices)

    STEPS[id(rules)] = step
    return rules


def advance(episodes, actions, choices, rules):
    """One step; returns the lanes and which of them ended."""
    episodes, ended = jax.device_get(STEPS[id(rules)](episodes, actions, choices))
    return episodes, ended.tolist()


def board(number):
    return np.asarray(Waiting().init(jax.random.fold_in(jax.random.fold_in(KEY, number), 0)).board)


def at(episodes, *steps):
    """The lanes at these steps of their games."""
    return in_lanes(episodes, states=dataclasses.replace(episodes.lanes.states, step_count=np.array(steps, np.int32)))


def in_lanes(episodes, **changes):
    """Changes the lanes of episodes."""
    return dataclasses.replace(episodes, lanes=dataclasses.replace(episodes.lanes, **changes))


@pytest.fixture(scope="module")
def begun():
    return jax.device_get(jax.jit(rules_of().start)(KEY, jnp.int32(0)))


def with_past(episodes, past, clock=WINDOW):
    """Lanes in which the oracle has chosen `past` (int [10, P], the oldest first) and that stand at some clock of ten or more."""
    recent = np.roll(np.asarray(past, np.int32), clock % WINDOW, axis=0)
    episodes = in_lanes(episodes, clock=np.full(LANES, clock, np.int32))
    return dataclasses.replace(episodes, recent=np.tile(recent, (LANES, 1, 1)), quiet=np.zeros(LANES, np.int32))


def test_the_first_battles(begun):
    assert begun.lanes.number.tolist() == [0, 1, 2] and begun.lanes.next_number.tolist() == [3]
    assert not begun.lanes.clock.any() and not begun.quiet.any()
    np.testing.assert_array_equal(begun.lanes.states.board, [board(number) for number in range(LANES)])


def test_battles_of_the_second_of_three_devices():
    episodes = jax.device_get(jax.jit(rules_of(num_devices=3).start)(KEY, jnp.int32(1)))
    assert episodes.lanes.number.tolist() == [1, 4, 7] and episodes.lanes.next_number.tolist() == [10]
    np.testing.assert_array_equal(episodes.lanes.states.board, [board(number) for number in (1, 4, 7)])
    after, _ = advance(at(episodes, 39, 0, 39), BOMB, CHOICES, rules_of(num_devices=3))
    assert after.lanes.number.tolist() == [10, 4, 13] and after.lanes.next_number.tolist() == [16]


@pytest.mark.parametrize("clock", [WINDOW, WINDOW + 7])
def test_choices_that_stand_still(begun, clock):
    """Ten steps like this one, for all players; one other choice within them, of one player, and the episode goes on."""
    past = np.tile([1, 2, 3, 4], (WINDOW, 1))
    choices = np.tile([1, 2, 3, 4], (LANES, 1)).astype(np.int32)
    choices[1, 2] = 0
    episodes = with_past(begun, past, clock)
    after, ended = advance(episodes, BOMB, choices, rules_of(stop_rule="unchanged"))
    assert ended == [True, False, True]
    assert after.lanes.number.tolist() == [3, 1, 4] and after.lanes.next_number.tolist() == [5]
    assert after.lanes.clock.tolist() == [0, clock + 1, 0]
    assert not after.recent[0].any() and after.recent[1, clock % WINDOW].tolist() == [1, 2, 0, 4]
    for when in range(WINDOW):
        other = past.copy()
        other[when, 3] = 5
        assert advance(with_past(begun, other, clock), BOMB, choices, rules_of(stop_rule="unchanged"))[1] == [False] * 3


def test_the_released_rule(begun):
    """The sum over all players of now and of ten steps ago; what was between does not count."""
    past = np.random.default_rng(0).integers(0, 6, (WINDOW, PLAYERS))
    past[0] = [5, 1, 0, 3]
    choices = np.array([[3, 3, 3, 0], [5, 1, 0, 3], [5, 1, 0, 4]], np.int32)
    for clock in (WINDOW, WINDOW + 4):
        episodes = with_past(begun, past, clock)
        assert advance(episodes, BOMB, choices, rules_of(stop_rule="released"))[1] == [True, True, False]
        assert advance(episodes, BOMB, choices, rules_of(stop_rule="off"))[1] == [False] * 3
        assert advance(episodes, BOMB, choices, rules_of(stop_rule="unchanged"))[1] == [False] * 3


@pytest.mark.parametrize("rule", ["unchanged", "released"])
def test_no_battle_stands_still_before_ten_steps_are_over(begun, rule):
    episodes = with_past(begun, np.zeros((WINDOW, PLAYERS)), WINDOW - 1)
    assert advance(episodes, BOMB, CHOICES, rules_of(stop_rule=rule))[1] == [False] * 3
    assert advance(with_past(begun, np.zeros((WINDOW, PLAYERS))), BOMB, CHOICES, rules_of(stop_rule=rule))[1] == [True] * 3


def test_battles_without_bombs(begun):
    episodes = dataclasses.replace(begun, quiet=np.array([4, 3, 5], np.int32))
    rules = rules_of(stop_rule="off", stop_when_quiet=4)
    after, ended = advance(episodes, STAY, CHOICES, rules)
    assert ended == [True, False, True], "after more steps than that"
    assert after.quiet.tolist() == [0, 4, 0]
    one = STAY.copy()
    one[0, 3] = one[2, 0] = int(Move.BOMB) * WORDS + 5
    after, ended = advance(episodes, one, CHOICES, rules)
    assert ended == [False] * 3 and after.quiet.tolist() == [0, 4, 0]
    assert advance(episodes, STAY, CHOICES, rules_of(stop_rule="off", stop_when_quiet=0))[1] == [False] * 3


def test_the_end_of_a_game(begun):
    """By the rules of the game, whatever the stop rules."""
    after, ended = advance(at(begun, 39, 38, 39), BOMB, CHOICES, rules_of(stop_rule="off"))
    assert ended == [True, False, True]
    assert after.lanes.states.step_count.tolist() == [0, 39, 0] and not after.lanes.states.terminated.any()
    np.testing.assert_array_equal(after.lanes.states.board, [board(number) for number in (3, 1, 4)])


def test_the_oracle_forgets_where_a_battle_ends(begun):
    episodes = dataclasses.replace(at(begun, 39, 5, 39), memory=np.array([7, 8, 9], np.int32))
    assert advance(episodes, BOMB, CHOICES, rules_of(stop_rule="off"))[0].memory.tolist() == [0, 8, 0]


def test_no_battle_is_left(begun):
    """Lanes rest as soon as all episodes are given away, and end no more."""
    rules = rules_of(4, stop_rule="off")
    episodes, ended = advance(at(begun, 39, 39, 39), BOMB, CHOICES, rules)
    assert ended == [True] * 3 and episodes.lanes.number.tolist() == [3, 4, 5]
    assert np.asarray(rules.pool.busy(episodes.lanes)).tolist() == [True, False, False]
    episodes, ended = advance(at(episodes, 39, 39, 39), BOMB, CHOICES, rules)
    assert ended == [True, False, False]
    assert not np.asarray(rules.pool.busy(episodes.lanes)).any()
    assert advance(at(episodes, 39, 39, 39), BOMB, CHOICES, rules)[1] == [False] * 3


def test_keys_depend_on_battle_and_clock_alone(begun):
    rules = rules_of()
    some = in_lanes(begun, number=np.array([5, 9, 5], np.int32), clock=np.array([2, 2, 3], np.int32))
    moved = in_lanes(begun, number=np.array([9, 5, 5], np.int32), clock=np.array([2, 3, 2], np.int32))
    one, other = (jax.random.key_data(rules.pool.step_keys(KEY, episodes.lanes)).tolist() for episodes in (some, moved))
    assert one == [other[2], other[0], other[1]] and len({tuple(words) for words in one}) == 3


def word_of(keys):
    """The first word of each key."""
    return jax.random.key_data(keys)[..., 0]


class Noting(tiny.Dwindling):
    """Writes down with which key a step was made."""

    def step(self, state, actions, key=None):
        after = super().step(state, actions)
        return after if key is None else dataclasses.replace(after, word=word_of(key))


def noting_oracle():
    """One that is asked seat by seat, and tells with which key."""

    def plan(params, keys, memory, views, seats, active):
        del params, views, active
        nothing = jnp.zeros((len(seats), 1, 1))
        arms, told = nothing.astype(jnp.int32), {"words": word_of(keys)}
        return Plan(arms[:, 0], arms, nothing == 0, nothing, arms, nothing, nothing[:, 0], told), memory

    return memoryless("noting", plan, own_first=True)


def test_no_key_of_a_step_is_used_twice():
    """Those of an oracle that is asked seat by seat, of the draw of what is done, and of chance."""
    pool = Pool(Noting(), LANES)
    rules = EpisodeRules(pool, for_all_seats(pool.game, noting_oracle()))

    @jax.jit
    def one_step():
        episodes = rules.start(KEY, jnp.int32(0))
        keys = pool.step_keys(KEY, episodes.lanes)
        plan, episodes = rules.label(None, keys, episodes)
        after, _ = rules.advance(KEY, keys, episodes, jnp.zeros((LANES, PLAYERS), jnp.int32), jnp.asarray(CHOICES))
        others = jnp.stack([word_of(keys), word_of(fold(keys, DRAW)), after.lanes.states.word], 1)
        return jnp.concatenate([plan.metrics["words"], others], 1)

    found = np.asarray(one_step())
    assert found.shape == (LANES, PLAYERS + 3) and len(np.unique(found)) == found.size
