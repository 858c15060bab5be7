"""Q-MC: it explores as often as it should, learns from outcomes alone, and gets to play well in a tiny game."""

import copy
import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames import runtime
from tests.tic_tac_toe.bots import random_agent
from tests.tic_tac_toe.encoder import encoder as cells
from tests.tic_tac_toe.game import TicTacToe
from tests.training.tiny import drawn, on_one_device
from training.learn.monte_carlo import MonteCarlo, MonteCarloConfig, explorer
from training.models.networks import follower
from training.models.networks.follower import NetworkConfig
from training.models.policy_value import PolicyValue
from training.play import counting, evaluate

KEY = jax.random.key(0)
GAME = TicTacToe()
CONFIG = MonteCarloConfig(
    lanes=32, steps=4, updates=32, batch_size=64, buffer_size=4096, learning_rate=3e-3, epsilon=0.2, symmetries=True
)


@pytest.fixture(scope="module")
def who():
    encoder = cells(GAME)
    return PolicyValue(GAME, encoder, follower.make(NetworkConfig(width=16, layers=1), encoder.shape, 9), {})


@pytest.fixture(scope="module")
def params(who):
    return drawn(who.init)


@pytest.fixture(scope="module")
def program(who):
    return MonteCarlo(CONFIG, who, runtime.data_mesh(1))


@pytest.mark.slow
def test_it_gets_to_win(who, params):
    program = MonteCarlo(dataclasses.replace(CONFIG, steps=8), who, runtime.data_mesh(1))
    learner = program.init(KEY, params)
    losses = []
    for _ in range(40):
        learner, metrics = program.iterate(KEY, learner)
        losses.append(float(metrics["loss"]))
        assert metrics["finite"]
    assert learner.progress["samples"] == 40 * 8 * 32
    assert np.mean(losses[-5:]) < 0.8 * losses[0]  # of what has learnt nothing; later games are others
    games = evaluate.play(GAME, [who.agent(learner.params), random_agent(GAME)], KEY, 200, batch_size=100)
    assert counting.count(games).wins > 150


def test_it_does_what_is_valued_most_or_anything_legal(who, params):
    taken = jax.device_get(jax.jit(lambda key: GAME.step(GAME.init(key), jnp.array([4, 9]), key))(KEY))
    states = jax.tree.map(lambda leaf: np.broadcast_to(leaf, (2000, *leaf.shape)), taken)
    seats, ones = np.ones(2000, np.int32), np.ones(2000, bool)
    for epsilon, others in ((0.0, (0, 0)), (0.5, (0.37, 0.51))):
        planner = explorer(who, epsilon)
        plan_in = jax.jit(planner.plan)
        loud, _ = plan_in(jax.tree.map(lambda leaf: 100 * leaf, params), jax.random.split(KEY, 2000), (), states, seats, ones)
        assert np.abs(loud.root_value).max() == 1, "however much a network says"
        plan, _ = plan_in(params, jax.random.split(KEY, 2000), (), states, seats, ones)
        actions = np.asarray(plan.actions[:, 0])
        counts = np.bincount(actions, minlength=10)
        assert counts[4] == counts[9] == 0
        assert others[0] <= 1 - counts.max() / 2000 <= others[1]
        if epsilon:
            assert np.sort(counts[[cell for cell in range(9) if cell != 4]])[0] > 2000 * 0.5 / 8 * 0.6


def test_only_what_was_done_in_games_that_are_over_is_taught(who, params, program):
    learner = program.init(KEY, params)
    for _ in range(3):
        learner, _ = program.iterate(KEY, learner)
    discounting = copy.copy(program)
    discounting.config = dataclasses.replace(CONFIG, discount=0.5)

    @on_one_device
    def told(params, ring, games):
        batch = program.updates.draw(ring, KEY, 64)
        logits, value = who.apply(params, batch.view)
        policies = jax.vmap(program.games.targets.unpack)(batch.policy)
        loss = discounting._loss(params, batch, games, jnp.zeros(64, jnp.int32))
        values, ends = logits + value[:, None], program.games.outcomes_of(games, batch)
        return loss, values, policies, ends, program.games.steps_left(games, batch)

    (loss, parts), values, policies, over, left = jax.device_get(told(learner.params, learner.ring, learner.games))
    ended = over != 2
    assert ended.sum() > 0 and parts["finished"] == ended.mean() and left[ended].min() == 1 < left[ended].max()
    error = (values[np.arange(64), policies.argmax(-1)] - over * 0.5 ** (left - 1.0)) ** 2  # in the last step all of it
    np.testing.assert_allclose(loss, error[ended].mean(), rtol=1e-5)
    np.testing.assert_allclose(parts["loss"], (error[ended].sum(), ended.sum()), rtol=1e-5)


def test_what_no_game_has_shown_is_not_told(params, program):
    """In four steps no game ends: nothing is learnt from them, and nothing told of how games went."""
    learner, metrics = program.iterate(KEY, program.init(KEY, params))
    assert metrics["games"] == metrics["finished"] == 0 and metrics["finite"]
    assert all(np.isnan(metrics[name]) for name in ("loss", "mean_length", "first_player_wins"))
    jax.tree.map(np.testing.assert_array_equal, learner.params, params)


def test_what_it_refuses():
    for changes, words in (
        ({"epsilon": 1.5}, "epsilon"),
        ({"lanes": 0}, "lanes"),
        ({"averaging": 1.0}, "averaging"),
        ({"buffer_size": 8}, "buffer_size"),
    ):
        with pytest.raises(ValueError, match=words):
            MonteCarloConfig(**changes)
