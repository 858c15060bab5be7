"""The follower as a player: it takes what is legal, by what it sees alone, also where its network fails."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxgames.pommerman.replay import observe_batch
from tests.jaxgames.pommerman import recordings
from tests.jaxgames.pommerman.positions import position
from training.models import follower
from training.models.follower import FollowerConfig, masked_log_softmax

COUNT = 40


@pytest.fixture(scope="module")
def who():
    return follower.make(FollowerConfig())


@pytest.fixture(scope="module")
def params(who):
    return jax.jit(who.init)(jax.random.key(0))


@pytest.fixture(scope="module")
def states():
    return recordings.states("ffa_random", COUNT)[2]


def act(who, params, views, *, greedy=True, seed=0):
    count = len(views.step_count)
    agent, keys = who.agent(params, greedy=greedy), jax.random.split(jax.random.key(seed), count)
    actions, _ = jax.jit(agent.act)(params, keys, agent.init(count), views, np.zeros(count, np.int32), np.ones(count, bool))
    return np.asarray(actions)


def test_policy_over_what_is_legal(who, params, states):
    for seat in (0, 2):
        views = observe_batch(who.game.config, states, seat)
        policy = np.exp(jax.jit(who.policy)(params, views))
        legal = np.asarray(jax.jit(jax.vmap(who.game.known_arms))(views))
        np.testing.assert_allclose(policy.sum(-1), 1, rtol=1e-5)
        assert (policy[~legal] == 0).all() and (policy[legal] > 0).all() and (~legal).any()
        logits, _ = jax.jit(who.apply)(params, views)
        np.testing.assert_array_equal(act(who, params, views), np.argmax(np.where(legal, logits, -np.inf), axis=-1))


def test_draws_follow_the_policy(who, params):
    view = observe_batch(who.game.config, position("... .0. .........1"), 0)
    views = jax.tree.map(lambda leaf: np.repeat(leaf, 1500, axis=0), view)
    policy = np.exp(jax.jit(who.policy)(params, view), dtype=np.float64)[0]
    counts = np.bincount(act(who, params, views, greedy=False), minlength=6)
    assert (policy > 0).all() and stats.chisquare(counts, 1500 * policy / policy.sum()).pvalue > 1e-3
    assert act(who, params, view) == np.argmax(policy)


@pytest.mark.parametrize("greedy", [True, False])
def test_a_network_that_fails_stops(who, params, states, greedy):
    views = observe_batch(who.game.config, states, 1)
    for bad in (np.nan, np.inf, -np.inf):
        broken = jax.tree.map(lambda leaf, bad=bad: jnp.full_like(leaf, bad), params)
        np.testing.assert_array_equal(act(who, broken, views, greedy=greedy), 0)


def test_the_dead_stop(who, params):
    view = observe_batch(who.game.config, position("...2.....1"), 0)
    assert act(who, params, view, greedy=False).tolist() == [0]


def test_what_a_search_is_told(states):
    """Logits and values of the given seats, by what each of them sees."""
    who = follower.make(FollowerConfig(network="paper_value"))
    source = np.random.default_rng(0)
    params = jax.jit(who.init)(jax.random.key(0))
    params["value"]["kernel"] = source.normal(0, 0.01, params["value"]["kernel"].shape).astype(np.float32)
    seats = np.arange(COUNT) % 4
    logits, values = jax.jit(who.evaluate)(params, states, seats)
    assert (logits.shape, values.shape) == ((COUNT, 6), (COUNT,)) and np.ptp(values) > 0
    apply = jax.jit(who.apply)
    for seat in range(4):
        expected = apply(params, observe_batch(who.game.config, states, seat))
        for got, wanted in zip((logits, values), expected, strict=True):
            np.testing.assert_allclose(got[seats == seat], wanted[seats == seat], rtol=1e-4, atol=1e-5)


def test_in_radio_mode_it_moves_without_a_word():
    who = follower.make(FollowerConfig(mode="radio", planes="extended"))
    config, _, states = recordings.states("radio", COUNT)
    actions = act(who, jax.jit(who.init)(jax.random.key(1)), observe_batch(config, states, 3), greedy=False)
    assert (actions % 81 == 0).all() and len(set(actions.tolist())) > 3 and actions.max() <= 5 * 81


@pytest.mark.parametrize("mode", ["ffa", "one_vs_one", "team"])
@pytest.mark.parametrize("planes", ["paper", "extended"])
def test_what_identifies_its_parameters(mode, planes):
    config = FollowerConfig(mode=mode, planes=planes)
    who = follower.make(config)
    assert who.meta == {"kind": "follower", "game": "pommerman", "version": 1, **dataclasses.asdict(config)}
    shapes = jax.eval_shape(who.init, jax.random.key(0))
    size = who.game.config.board_size
    assert shapes["policy"]["kernel"].shape == (size * size * 32, 6)
    assert shapes["entry"]["kernel"].shape == (3, 3, len(who.planes.channels), 32)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mode": "duel"}, "mode='duel': must be one of ffa, "),
        ({"planes": "all"}, "planes='all': must be one of paper, "),
        ({"network": "vit"}, "network='vit': must be one of paper, "),
    ],
)
def test_unknown_names(settings, message):
    with pytest.raises(ValueError, match=f"^{message}") as error:
        follower.make(FollowerConfig(**settings))
    assert "\n" not in str(error.value)


# --- masks -------------------------------------------------------------------------------------------------------------


def test_masked_log_softmax():
    logits = np.array([[1.0, 2.0, 3.0], [1000.0, -1000.0, 0.0]], np.float32)
    legal = np.array([[True, False, True], [False, True, True]])
    got = np.exp(masked_log_softmax(logits, legal))
    expected = np.exp([1.0, 3.0]) / np.exp([1.0, 3.0]).sum()
    np.testing.assert_allclose(got, [[expected[0], 0, expected[1]], [0, 0, 1]], atol=1e-6)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_logits_that_are_no_numbers(bad):
    """Where such a one is legal, the first arm is taken; where it is not, it does not matter."""
    logits = np.array([[0.0, bad, 1.0], [0.0, bad, 1.0]], np.float32)
    got = np.exp(masked_log_softmax(logits, np.array([[True, True, True], [True, False, True]])))
    np.testing.assert_array_equal(got[0], [1, 0, 0])
    np.testing.assert_allclose(got[1], [1 / (1 + np.e), 0, np.e / (1 + np.e)], rtol=1e-5)


def test_nothing_legal():
    got = masked_log_softmax(np.array([[5.0, 1.0, 2.0]], np.float32), np.zeros((1, 3), bool))
    np.testing.assert_array_equal(np.exp(got), [[1, 0, 0]])
    assert not np.isnan(got).any()


def test_gradients_behind_a_mask_are_numbers():
    legal = np.array([[True, False, True], [False, False, False]])

    def loss(logits):
        return masked_log_softmax(logits, legal)[:, 0].sum()

    gradient = jax.grad(loss)(jnp.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]))
    assert np.isfinite(gradient).all() and gradient[0, 1] == 0 and not gradient[1].any()
