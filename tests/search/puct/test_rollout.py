"""Values by random play: against the exact chances on boards that are nearly full, and what they depend on."""

import dataclasses
import functools
import math
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames import random_bits
from jaxgames.hex import Hex, interop
from search.entries import WithValues
from search.puct.rollout import random_rollouts, with_prospects
from tests.jaxgames.hex.playing import at, joined, random_games
from tests.random_tree import RandomTree
from tests.rivalry import Rivalry
from tests.tug import states_of

OPEN, ABRUPT = (jaxgames.make("hex", mode) for mode in ("hex-3", "adh-3"))
GAMES = 2000


@functools.lru_cache
def rollouts(game, number):
    return jax.jit(random_rollouts(game, number))


@functools.cache
def outcomes_of(game):
    return jax.jit(jax.vmap(game.outcome))


def positions(game, steps, count):
    """States after so many random attempts, finished ones too."""
    states, _, _ = random_games(game, jax.random.split(jax.random.key(1), count), 8)
    return at(states, slice(None), steps)


@functools.cache
def exact(board, found, player, dark):
    """The mean result of the first player if both play at random; found: for each player, the stones of the other it has met."""
    sign = 1 if player == 0 else -1
    own = [cell for cell in range(9) if board[cell] == sign]
    hits = found[player]
    free = [cell for cell in range(9) if cell not in own and not hits[cell] and (dark or not board[cell])]
    total = 0.0
    for cell in free:
        if board[cell]:
            met = tuple(hit or place == cell for place, hit in enumerate(hits))
            views = (met, found[1]) if player == 0 else (found[0], met)
            total += exact(board, views, 1 - player, dark)
            continue
        after = (*board[:cell], sign, *board[cell + 1 :])
        won = joined(np.array(after).reshape(3, 3), sign)
        total += sign if won else exact(after, found, 1 - player, dark)
    return total / len(free)


def test_games_that_are_cut_short_are_worth_the_heuristic():
    states = positions(ABRUPT, 8, 12)
    seats = np.arange(12, dtype=np.int32) % 2
    _, values = jax.jit(random_rollouts(ABRUPT, 1, rollout_steps=0))(None, states, seats)
    outcomes = np.asarray(outcomes_of(ABRUPT)(states))
    assert values.tolist() == outcomes[np.arange(12), seats].tolist() and (outcomes != 0).any() and (outcomes == 0).any()


class Counted(Hex):
    """Hex in which positions are worth the attempts so far."""

    def heuristic(self, state):
        return jnp.full(2, state.attempts.astype(jnp.float32))


def test_games_go_on_for_so_many_moves():
    game = Counted(OPEN.config)
    states = jax.tree.map(lambda leaf: np.asarray(leaf)[None], game.init())
    _, values = jax.jit(random_rollouts(game, 2, rollout_steps=3))(None, states, np.zeros(1, np.int32))
    assert values.tolist() == [3]


class Chancy(RandomTree):
    """Positions are worth the key by which they came about, one half of it to each player."""

    def step(self, state, actions, key=None):
        words = (jax.random.key_data(key) >> 8).astype(jnp.float32)
        return dataclasses.replace(super().step(state, actions), rewards=words, terminated=jnp.bool_(False))

    def heuristic(self, state):
        return state.rewards


def test_chance_has_keys_that_are_no_words_of_a_games_key():
    game, seats = Chancy(), np.arange(2, dtype=np.int32)
    judge = random_rollouts(game, 1, rollout_steps=1)

    @jax.jit
    def both(key):
        states = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), game.init(key))
        lane = random_bits.fold(random_bits.lane_key(jax.random.wrap_key_data(states.place[0])), 0)
        return judge(None, states, seats)[1], (random_bits.bits(lane, jnp.arange(2)) >> 8).astype(jnp.float32)

    values, words = both(jax.random.key(0))
    assert (np.asarray(values) != words).all() and (np.asarray(values) > 0).all()


@pytest.mark.parametrize("game, steps", [pytest.param(OPEN, 6, marks=pytest.mark.slow), (ABRUPT, 8)], ids=["hex", "abrupt"])
def test_values_are_the_chances_of_random_play(game, steps):
    states = positions(game, steps, 12)
    seats = np.arange(12, dtype=np.int32) % 2
    logits, values = jax.device_get(rollouts(game, GAMES)(None, states, seats))
    outcomes = np.asarray(outcomes_of(game)(states))
    boards = interop.board(game.config, states)
    expected = []
    for lane in range(12):
        found = tuple(tuple((game.config.grid.to_numpy(at(met, lane)) != 0).reshape(-1).tolist()) for met in states.found)
        value = float(outcomes[lane, 0])
        if not states.terminated[lane]:
            value = exact(tuple(boards[lane].tolist()), found, int(states.player[lane]), game.config.is_dark)
        expected.append(value if seats[lane] == 0 else -value)
    assert np.asarray(states.terminated).any() and (np.abs(expected) < 0.9).sum() > 5
    error = np.sqrt((1 - np.square(expected)) / GAMES)
    assert (np.abs(values - np.array(expected)) <= 4.5 * error + 1e-6).all()
    assert logits.shape == (12, 1) and not np.asarray(logits).any()


def test_values_depend_on_the_seed_and_the_state_alone():
    states = positions(ABRUPT, 2, 12)
    seats = states.player.astype(np.int32)

    def judge(*arguments):
        return jax.device_get(rollouts(ABRUPT, 3)(*arguments))

    values = {seed: judge(np.uint32(seed), states, seats)[1] for seed in (0, 1)}
    np.testing.assert_array_equal(judge(None, states, seats)[1], values[0])
    assert not np.array_equal(values[0], values[1])
    backwards = jax.tree.map(lambda leaf: leaf[::-1], states)
    np.testing.assert_array_equal(judge(None, backwards, seats[::-1])[1][::-1], values[0])
    np.testing.assert_array_equal(judge(None, states, 1 - seats)[1], -values[0])
    thirds = np.round(3 * np.asarray(values[0]))
    np.testing.assert_allclose(values[0], thirds / 3, atol=1e-6)
    assert set(thirds.tolist()) <= {-3, -1, 1, 3} and len(set(thirds.tolist())) > 2


@pytest.mark.slow
def test_games_of_different_seeds_are_different_ones():
    """Three games of seed 1 are none of the three of seed 0: together they are the six of one seed."""
    states = positions(OPEN, 2, 12)
    seats = states.player.astype(np.int32)
    halves = [np.asarray(rollouts(OPEN, 3)(np.uint32(seed), states, seats)[1]) for seed in (0, 1)]
    together = rollouts(OPEN, 6)(None, states, seats)[1]
    np.testing.assert_allclose((halves[0] + halves[1]) / 2, together, atol=1e-6)


def test_the_number_of_games_is_checked():
    with pytest.raises(ValueError, match=r"^num_rollouts=0: must be >= 1$"):
        random_rollouts(OPEN, 0)
    with pytest.raises(ValueError, match=r"^rollout_steps=-1: must be >= 0, or None$"):
        random_rollouts(OPEN, 1, -1)
    for number in (1.5, True, "2"):
        with pytest.raises(ValueError, match=rf"^num_rollouts={number!r}: must be a whole number$"):
            random_rollouts(OPEN, number)
    for steps in (math.nan, 2.5):
        with pytest.raises(ValueError, match=rf"^rollout_steps={steps}: must be a whole number, or None$"):
            random_rollouts(OPEN, 1, steps)
    with pytest.raises(ValueError, match=r"^rollout_steps=1099511627776: must be < 2147483648, or None$"):
        WithValues(rollout_steps=2**40)  # also where they are settings


@pytest.mark.parametrize("params", [{"weights": np.zeros(2)}, np.zeros(3, np.uint32), np.float32(1), "1", True, (), 0.5])
def test_parameters_of_a_network_are_no_seed(params):
    judge = random_rollouts(OPEN)
    with pytest.raises(ValueError, match=rf"^params={re.escape(repr(params))}: must be a seed \(uint32 \[\]\) or None"):
        judge(params, positions(OPEN, 0, 12), np.zeros(12, np.int32))


def test_seeds_of_any_integer_type():
    states, seats = positions(OPEN, 2, 12), np.zeros(12, np.int32)
    for seed in (1, np.int64(1), jnp.int32(1)):
        assert jax.eval_shape(random_rollouts(OPEN), seed, states, seats)[1].shape == (12,)


def test_values_are_in_part_what_the_game_says_to_be_promised():
    game, seats = Rivalry(length=4), np.array([0, 1, 0, 1], np.int32)
    states = states_of(game, [1, 2, -1, 0])

    def evaluate(params, states, seats):
        return jnp.full((4, game.num_actions), 2.0), jnp.full(4, 0.5)

    promised = np.array([0.5, -0.5, -0.5, 0])
    for share in (0.25, 1):
        logits, values = jax.jit(with_prospects(game, evaluate, share))(None, states, seats)
        assert (logits == 2).all()
        np.testing.assert_allclose(values, (1 - share) * 0.5 + share * promised, atol=1e-6)
