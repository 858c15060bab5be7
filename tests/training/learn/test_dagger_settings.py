"""Settings of learning from an oracle: which targets they choose, and which are refused."""

import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames import runtime
from tests.training import tiny
from tests.training.learn.dagger_by_hand import PLAYERS
from training.learn.dagger import Dagger, DaggerConfig
from training.models.policy_value import masked_log_softmax

# --- targets -----------------------------------------------------------------------------------------------------------


def test_targets():
    """Evenly among the best, the first of them, or a softmax of the values over what is legal."""
    who, oracle, random = tiny.network(), tiny.drawing_oracle(), np.random.default_rng(0)
    legal = random.random((3, PLAYERS, 6)) < 0.7
    legal[..., 0] = True
    values = np.where(legal, random.integers(1, 5, legal.shape) / 10, -1).astype(np.float32)
    best = values == values.max(-1, keepdims=True)
    plan = types.SimpleNamespace(qvalues=values, legal=legal, action_weights=best / best.sum(-1, keepdims=True))

    def target(**settings):
        settings = {"lanes": 4, "buffer_size": 64, **settings}
        return np.asarray(jax.jit(lambda: Dagger(DaggerConfig(**settings), who, oracle, runtime.data_mesh())._weights(plan))())

    assert (best.sum(-1) > 1).any()
    np.testing.assert_allclose(target(target="best"), best / best.sum(-1, keepdims=True), rtol=1e-6)
    np.testing.assert_array_equal(target(target="first_best"), np.eye(6)[best.argmax(-1)])
    weights = np.where(legal, np.exp(values / 2 / 0.2), 0)  # as chances to win
    np.testing.assert_allclose(
        target(target="values", temperature=0.2), weights / weights.sum(-1, keepdims=True), rtol=1e-5, atol=1e-7
    )


def test_values_count_as_chances_to_win_whatever_their_range():
    """Those between 0 and 1 as they are, bit for bit."""
    oracle, legal = tiny.drawing_oracle(), np.array([[[True, True, True, False]]])
    chances = np.array([[[0.5, 0.75, 0.25, 0.9]]], np.float32)
    found = []
    for value_range, values in (((0.0, 1.0), chances), ((-1.0, 1.0), 2 * chances - 1)):
        config = DaggerConfig(lanes=4, buffer_size=64, target="values", temperature=0.3)
        dagger = Dagger(config, tiny.network(), oracle._replace(value_range=value_range), runtime.data_mesh())
        plan = types.SimpleNamespace(qvalues=values, legal=legal)
        found.append(jax.device_get(jax.jit(lambda: (dagger._weights(plan), dagger._advantage(plan)))()))  # noqa: B023
    (weights, advantage), others = found
    np.testing.assert_allclose(weights, others[0], rtol=1e-6)
    assert advantage == others[1] == 0.25
    expected = jax.jit(lambda: jnp.exp(masked_log_softmax(jnp.asarray(chances) / 0.3, legal)))()
    np.testing.assert_array_equal(weights, expected)


# --- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "imitating"}, "method='imitating': must be one of dagger, cloning"),
        ({"target": "all"}, "target='all': must be one of best, first_best, values"),
        ({"stop_rule": "on"}, "stop_rule='on': must be one of off, unchanged, released"),
        ({"episodes": 0}, "episodes=0: must be >= 1"),
        ({"lanes": 0}, "lanes=0: must be >= 1"),
        ({"steps": -1}, "steps=-1: must be >= 1"),
        ({"batch_size": 0}, "batch_size=0: must be >= 1"),
        ({"updates_per_step": -0.5}, "updates_per_step=-0.5: must be >= 0"),
        ({"updates_per_step": float("nan")}, "updates_per_step=nan: must be finite and >= 0"),
        ({"updates_per_step": float("inf")}, "updates_per_step=inf: must be finite and >= 0"),
        ({"value_weight": float("nan")}, "value_weight=nan: must be finite and >= 0"),
        ({"value_weight": float("inf")}, "value_weight=inf: must be finite and >= 0"),
        ({"advantage_weight": float("inf")}, "advantage_weight=inf: must be finite and >= 0"),
        ({"averaging": 1.0}, "averaging=1.0: must be at least 0 and below 1"),
        ({"averaging": "no"}, "averaging='no': must be a number"),
        ({"averaging": float("nan")}, "averaging=nan: must be at least 0 and below 1"),
        ({"stop_when_quiet": -1}, "stop_when_quiet=-1: must be >= 0"),
        ({"learning_rate": 0.0}, "learning_rate=0.0: must be > 0"),
        ({"learning_rate": float("nan")}, "learning_rate=nan: must be finite and > 0"),
        ({"learning_rate": float("inf")}, "learning_rate=inf: must be finite and > 0"),
        ({"temperature": -1.0}, "temperature=-1.0: must be > 0"),
        ({"buffer_size": 31}, "buffer_size=31: must be at least batch_size=32"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError) as error:  # noqa: PT011
        DaggerConfig(**settings)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("devices", "settings", "message"),
    [
        (1, {"lanes": 64, "buffer_size": 255}, "buffer_size=255: must hold one step of all lanes, 256 samples"),
        (2, {"lanes": 3}, "lanes=3: must be a multiple of the 2 devices"),
        (2, {"batch_size": 7}, "batch_size=7: must be a multiple of the 2 devices"),
        (2, {"buffer_size": 1001}, "buffer_size=1001: must be a multiple of the 2 devices"),
        (2, {"episodes": 1}, "episodes=1: must be at least the 2 devices"),
    ],
)
def test_numbers_that_do_not_go_together(devices, settings, message):
    mesh = types.SimpleNamespace(devices=np.zeros(devices))  # as much of one as is looked at before anything is compiled
    with pytest.raises(ValueError) as error:  # noqa: PT011
        Dagger(DaggerConfig(**settings), tiny.network(), tiny.drawing_oracle(), mesh)
    assert str(error.value) == message
