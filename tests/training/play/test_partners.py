"""Those who play along where one seat of each game learns."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames import runtime
from jaxgames.agent import Agent
from tests.training import tiny
from training.learn.dagger import Dagger, DaggerConfig
from training.learn.episodes import EpisodeRules
from training.models import policy_value
from training.models.policy_value import PolicyValueConfig
from training.play.lanes import Pool
from training.play.partners import Partners

LANES, PLAYERS = 6, 4


def act(params, keys, memory, views, seats, active):
    """Plays the number of the own seat and counts."""
    del params, keys, views
    return seats + 1, memory + active


AGENT = Agent(
    "counting", lambda size: jnp.zeros(size, jnp.int32), lambda memory, lanes: jnp.where(lanes, 0, memory), act, sees_state=True
)
POOL = Pool(tiny.GAME, LANES)
PARTNERS = Partners(POOL, AGENT)
KEYS = jax.random.split(jax.random.key(1), LANES)


@pytest.fixture(scope="module")
def moved():
    """The lanes, and what was done in them."""

    @jax.jit
    def move(key):
        lanes = POOL.start(key, jnp.int32(0))
        return lanes, *PARTNERS.move(KEYS, lanes, PARTNERS.init())

    return jax.device_get(move(jax.random.key(0)))


def test_they_play_all_seats_but_that_of_the_number_of_the_game(moved):
    lanes, actions, memory = moved
    own = np.arange(PLAYERS) == np.asarray(lanes.number)[:, None] % PLAYERS
    assert own.sum(0).tolist() == [2, 2, 1, 1]
    np.testing.assert_array_equal(actions, np.where(own, tiny.GAME.pass_action, np.arange(PLAYERS) + 1))
    np.testing.assert_array_equal(memory.reshape(PLAYERS, LANES).T, ~own)


def test_they_forget_games_that_are_over(moved):
    _, _, memory = moved
    over = np.arange(LANES) == 2
    left = np.asarray(jax.jit(PARTNERS.reset)(memory, over)).reshape(PLAYERS, LANES)
    np.testing.assert_array_equal(left, np.where(over, 0, memory.reshape(PLAYERS, LANES)))


def test_the_network_plays_one_seat_of_an_episode_among_opponents(moved):
    _, actions, _ = moved
    rules = EpisodeRules(POOL, tiny.drawing_oracle(), partner=AGENT)

    @jax.jit
    def play(key):
        return rules.among_others(KEYS, rules.start(key, jnp.int32(0)), jnp.full((LANES, PLAYERS), 5, jnp.int32))

    chosen, after = jax.device_get(play(jax.random.key(0)))
    np.testing.assert_array_equal(chosen, np.where(actions == tiny.GAME.pass_action, 5, actions))
    assert after.partners.sum() == LANES * (PLAYERS - 1)
    alone = EpisodeRules(POOL, tiny.drawing_oracle())
    assert alone.among_others(KEYS, after, chosen)[0] is chosen


def test_an_unknown_opponent_is_told():
    config, who = DaggerConfig(lanes=LANES, opponent="nobody"), policy_value.make(PolicyValueConfig("hex", "hex-3"))
    with pytest.raises(ValueError, match="nobody"):
        Dagger(config, who, tiny.drawing_oracle(who.game), runtime.data_mesh())
