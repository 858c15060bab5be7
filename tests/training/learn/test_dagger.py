"""Learning from an oracle: what is stored, who plays, how often the network learns, and what stops it."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jaxgames import runtime
from tests.training import tiny
from tests.training.learn.dagger_by_hand import PLAYERS, Episode, unpacked
from tests.training.tiny import GAME, as_set, rows_of
from training.learn.dagger import Dagger, DaggerConfig

KEY = jax.random.key(2)
BATTLES, LANES, STEPS, RATE = 6, 4, 4, 2.25
TINY = DaggerConfig(
    episodes=BATTLES,
    lanes=LANES,
    steps=STEPS,
    updates_per_step=RATE,
    batch_size=8,
    learning_rate=3e-3,
    final_rate=0.25,
    buffer_size=2048,
    advantage_weight=0.1,
    averaging=0.75,
    stop_when_quiet=8,
)


@pytest.fixture(scope="module")
def dagger():
    """The follower plays, and what it meets is labelled: the one program that most tests share."""
    return Dagger(TINY, tiny.network(), tiny.drawing_oracle(), runtime.data_mesh())


@functools.cache
def _fresh_params(dagger):
    return tiny.drawn(dagger.who.init)


def begin(dagger):
    return dagger.init(KEY, _fresh_params(dagger))


@pytest.fixture(scope="module")
def first(dagger):
    """One iteration: the learner before and after, and the metrics."""
    before = jax.device_get(begin(dagger))
    return before, *jax.device_get(dagger.iterate(KEY, None, begin(dagger)))


@pytest.fixture(scope="module")
def whole(dagger):
    """All episodes: the metrics of every iteration, and the last learner."""
    learner, told = begin(dagger), []
    for _ in range(BATTLES * GAME.max_steps):
        learner, metrics = dagger.iterate(KEY, None, learner)
        told.append(jax.device_get(metrics))
        if told[-1]["episodes"] >= BATTLES:
            return told, jax.device_get(learner)
    raise AssertionError("no end")


def on_device(dagger, learner):
    """A copy to iterate on, which uses up what it is given; laid out as `init` does, so that nothing is compiled again."""
    return jax.tree.map(jax.device_put, learner, _shardings(dagger))


@functools.cache
def _shardings(dagger):
    return jax.tree.map(lambda leaf: leaf.sharding, begin(dagger))


# --- what is stored ----------------------------------------------------------------------------------------------------


def test_what_is_stored(dagger, first):
    """What the living see and the oracle's plans for them, step by step and lane by lane; the follower has drawn the moves."""
    before, after, metrics = first
    episodes = [Episode(dagger, KEY, number, before.params) for number in range(LANES)]
    rows = np.concatenate([episode.step() for _ in range(STEPS) for episode in episodes])
    np.testing.assert_array_equal(rows_of(after.ring), rows)
    assert not any(episode.over for episode in episodes) and after.games.lanes.clock.tolist() == [STEPS] * LANES
    assert metrics["new_samples"] == len(rows) == metrics["buffer"] and metrics["new_steps"] == STEPS * LANES
    states = jax.tree.map(lambda *leaves: np.stack(leaves), *[jax.device_get(episode.state) for episode in episodes])
    jax.tree.map(np.testing.assert_array_equal, after.games.lanes.states, states)


def test_the_dead_are_not_stored(dagger, whole):
    told, after = whole
    samples = sum(metrics["new_samples"] for metrics in told)
    steps = sum(metrics["new_steps"] for metrics in told)
    assert samples == told[-1]["buffer"] == after.ring.size[0] and steps == told[-1]["steps"]
    assert 2 * steps < samples < PLAYERS * steps
    stored = unpacked(dagger, after.ring)
    assert stored.view.alive.all()
    np.testing.assert_allclose(stored.target.sum(-1), 1, rtol=1e-5)
    assert ((stored.value >= 0) & (stored.value <= 1)).all()


# --- episodes ----------------------------------------------------------------------------------------------------------


def test_so_many_battles_are_played_and_no_more(dagger, whole):
    told, after = whole
    assert [metrics["episodes"] for metrics in told] == sorted(metrics["episodes"] for metrics in told)
    assert told[-1]["episodes"] == BATTLES == after.progress["episodes"]
    assert sorted(after.games.lanes.number) == list(range(BATTLES, BATTLES + LANES)) and after.games.lanes.next_number == [
        BATTLES + LANES
    ]
    # All lanes are idle: nothing more is played, stored or learnt.
    later, metrics = jax.device_get(dagger.iterate(KEY, None, on_device(dagger, after)))
    assert metrics["new_steps"] == metrics["new_samples"] == 0 and metrics["episodes"] == BATTLES and metrics["finite"]
    assert metrics["updates"] == after.updates and metrics["steps"] == after.progress["steps"]
    for name in ("params", "optimizer_state", "ring"):
        jax.tree.map(np.testing.assert_array_equal, getattr(later, name), getattr(after, name))
    np.testing.assert_array_equal(later.games.memory, after.games.memory)


def test_lanes_rest_one_after_another(whole):
    told, _ = whole
    busy = [metrics["new_steps"] for metrics in told]
    assert busy[0] == LANES * STEPS and busy[-1] < LANES * STEPS and min(busy) > 0


def test_the_number_of_updates_follows_the_steps(whole):
    """Also where it is no whole number per iteration."""
    told, after = whole
    for metrics in told:
        assert metrics["updates"] == int(RATE * metrics["steps"])
    assert any(RATE * metrics["steps"] % 1 for metrics in told)
    assert after.progress["owed"] == RATE * after.progress["steps"] % 1


def test_metrics(whole):
    told, _ = whole
    for metrics in told:
        assert all(np.isfinite(value).all() for value in metrics.values()) and metrics["finite"]
        assert 0 <= metrics["agreement"] <= 1 and 0 <= metrics["entropy"] <= np.log(6) + 1e-5
        for name in ("outputs", "oracle_outputs"):
            assert metrics[name].shape == (6,)
            np.testing.assert_allclose(metrics[name].sum(), 1, rtol=1e-5)
        assert metrics["gradient_norm"] > 0 and metrics["loss"] >= metrics["cross_entropy"] > 0


# --- learning ----------------------------------------------------------------------------------------------------------


def loss_on(dagger, params, buffer):
    """Loss and cross-entropy on all that a buffer holds."""
    return _losses(dagger)[0](params, unpacked(dagger, buffer))


@functools.cache
def _losses(dagger):
    """Compiled once: loss and cross-entropy, and the same with the gradient."""
    loss = functools.partial(loss_by_hand, dagger)
    return jax.jit(loss), jax.jit(jax.value_and_grad(loss, has_aux=True))


def loss_by_hand(dagger, params, stored):
    """Cross-entropy, weighed by what is at stake, with half the squared error of the value; and the cross-entropy."""
    logits, value = dagger.who.apply(params, stored.view)
    weight = stored.weight + TINY.advantage_weight
    entropy = -(stored.target * jax.nn.log_softmax(logits)).sum(-1) @ weight / weight.sum()
    return entropy + 0.5 * jnp.square(value - (2 * stored.value - 1)).mean(), entropy


@jax.jit
def first_step(params, gradient, scale):
    """Parameters after the first step of Adam."""
    optimizer = optax.adam(TINY.learning_rate)
    change, _ = optimizer.update(gradient, optimizer.init(params))
    return optax.apply_updates(params, optax.tree.scale(scale, change))


def idle(learner, *, owed, ended=0, **changes):
    """A learner that plays no more and makes the gradient steps that it owes; so many episodes are over."""
    lanes = dataclasses.replace(learner.games.lanes, number=np.full(LANES, BATTLES, np.int32))
    games, progress = (
        dataclasses.replace(learner.games, lanes=lanes),
        learner.progress | {"owed": np.float32(owed), "episodes": np.int32(ended)},
    )
    return dataclasses.replace(learner, games=games, progress=progress, **changes)


def test_learning_lowers_the_loss_on_what_is_stored(dagger, first, whole):
    """On a buffer that stays as it is."""
    before, buffer = first[0], whole[1].ring
    after, metrics = jax.device_get(dagger.iterate(KEY, None, on_device(dagger, idle(before, ring=buffer, owed=400))))
    assert metrics["updates"] == 400 and metrics["finite"]
    jax.tree.map(np.testing.assert_array_equal, after.ring, buffer)
    old, new = (loss_on(dagger, learner.params, buffer) for learner in (before, after))
    assert new[0] < 0.9 * old[0] and new[1] < 0.95 * old[1]
    # What is told is the mean on the way from one to the other, in mini-batches.
    assert 0.95 * new[0] < metrics["loss"] < old[0]
    assert 0.95 * new[1] < metrics["cross_entropy"] < old[1]


@pytest.mark.parametrize(("ended", "scale"), [(0, 1), (2, 3 / 4), (BATTLES, 0.25)])
def test_one_update_is_one_step_of_adam(dagger, first, whole, ended, scale):
    """By another way, with a buffer that is just one mini-batch, of samples of all weights; steps fall with the episodes."""
    before, buffer = first[0], whole[1].ring
    weights = unpacked(dagger, buffer).weight
    rows = buffer.rows[np.argsort(weights)[np.linspace(0, len(weights) - 1, TINY.batch_size).astype(int)]]
    rows = np.concatenate([rows, buffer.rows[len(rows) :]])
    batch = dataclasses.replace(buffer, rows=rows, size=np.array([TINY.batch_size], np.int32))
    learner = idle(before, ring=batch, owed=1.5, ended=ended, updates=np.int32(9))
    later, metrics = jax.device_get(dagger.iterate(KEY, None, on_device(dagger, learner)))
    assert metrics["updates"] == 10 and later.progress["owed"] == 0.5
    stored = unpacked(dagger, batch)
    assert np.ptp(stored.weight) > 0.1
    (loss, entropy), gradient = jax.device_get(_losses(dagger)[1](before.params, stored))
    expected = first_step(before.params, gradient, scale)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), later.params, expected)
    np.testing.assert_allclose(metrics["loss"], loss, rtol=1e-4)
    np.testing.assert_allclose(metrics["cross_entropy"], entropy, rtol=1e-4)
    norm = np.sqrt(sum(np.square(leaf).sum() for leaf in jax.tree.leaves(gradient)))
    np.testing.assert_allclose(metrics["gradient_norm"], norm, rtol=1e-3)
    # The running mean takes a quarter of the new.
    mean = jax.tree.map(lambda new, old: 0.25 * new + 0.75 * old, later.params, before.averaged)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-6), later.averaged, mean)


def test_the_running_mean_forgets_the_first_parameters(dagger, first):
    before, after, metrics = first
    assert metrics["updates"] == RATE * STEPS * LANES
    learner = idle(before, ring=after.ring, owed=1)
    later, _ = jax.device_get(dagger.iterate(KEY, None, on_device(dagger, learner)))
    jax.tree.map(np.testing.assert_array_equal, later.averaged, later.params)
    assert not np.array_equal(after.averaged["policy"]["kernel"], after.params["policy"]["kernel"])


def test_same_key_same_result(dagger, first):
    _, after, metrics = first
    again = jax.device_get(dagger.iterate(KEY, None, begin(dagger)))
    jax.tree.map(np.testing.assert_array_equal, again, (after, metrics))
    other, _ = dagger.iterate(jax.random.key(3), None, dagger.init(jax.random.key(3), after.params))
    assert as_set(rows_of(other.ring)) != as_set(rows_of(after.ring))


def spoilt(tree):
    return jax.tree.map(lambda leaf: np.full_like(leaf, np.nan) if np.issubdtype(leaf.dtype, np.floating) else leaf, tree)


def test_parameters_that_are_no_numbers_are_told(dagger):
    learner = jax.device_get(begin(dagger))
    learner = on_device(dagger, dataclasses.replace(learner, params=spoilt(learner.params)))
    _, metrics = dagger.iterate(KEY, None, learner)
    assert not metrics["finite"]
    assert metrics["outputs"].tolist() == [1, 0, 0, 0, 0, 0], "and the follower stands still"


def test_a_last_update_that_spoils_the_parameters_is_told_at_once(dagger, first):
    """Its loss and gradient were numbers; what it made must not be saved as good."""
    before, after, _ = first
    learner = idle(before, ring=after.ring, owed=1, optimizer_state=jax.device_get(spoilt(before.optimizer_state)))
    learner, metrics = jax.device_get(dagger.iterate(KEY, None, on_device(dagger, learner)))
    assert metrics["updates"] == 1 and np.isfinite(metrics["loss"]) and np.isfinite(metrics["gradient_norm"])
    assert not np.isfinite(jax.tree.leaves(learner.params)[0]).any()
    assert not metrics["finite"]
