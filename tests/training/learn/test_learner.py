"""Gradient steps on drawn samples: each sample is shown in a symmetry of its own."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jaxgames import runtime
from training.learn.learner import Mean, Programs, Updates

KEY, SAMPLES, BATCH = jax.random.key(4), 64, 32


def learnt(num_symmetries, key=KEY):
    """What is told of 40 gradient steps whose loss tells the symmetries in which samples are shown."""
    return jax.device_get(_learning(num_symmetries)(key))


@functools.cache
def _learning(num_symmetries):

    def loss(params, samples, games, which):
        del games
        first = (which == which[0]).mean()
        shares = {f"share {each}": (which == each).mean() for each in range(4)}
        return (params * samples).mean(), {**shares, "as the first": first, "sample": samples.mean()}

    updates = Updates(loss, optax.sgd(0.1), jnp.float32(0), BATCH, SAMPLES, num_symmetries=num_symmetries)
    programs = Programs(runtime.data_mesh(1))

    def run(key):
        learner = updates.init(jnp.float32(1), ())
        ring = updates.store(learner.ring, jnp.arange(SAMPLES, dtype=jnp.float32), jnp.ones(SAMPLES, bool))
        return updates.learn(key, dataclasses.replace(learner, ring=ring), 40)[1]

    return programs.compile(run, (programs.same,), programs.same)


def test_each_sample_of_a_step_has_a_symmetry_of_its_own():
    told = learnt(4)
    shares = [told[f"share {each}"] for each in range(4)]
    assert sum(shares) == pytest.approx(1)
    assert all(0.15 < share < 0.35 for share in shares)
    assert told["as the first"] < 0.5
    again, other = learnt(4), learnt(4, jax.random.key(5))
    assert again == told != other


def test_without_symmetries_the_same_samples_are_drawn():
    upright, turned = learnt(1), learnt(4)
    assert upright["share 0"] == 1
    np.testing.assert_array_equal(upright["sample"], turned["sample"])


def test_a_mean_weighs_by_what_counts_and_not_by_steps_or_devices():
    """Of two devices one has few samples that count. Without a step, or without such samples, there is none."""

    def loss(params, samples, games, which):
        del games, which
        counts = samples > 0
        some, none = Mean(jnp.where(counts, samples, 0).sum(), counts.sum()), Mean(jnp.float32(0), jnp.int32(0))
        return (params * samples).mean(), {"some": some, "none": none, "total": some.total, "count": some.number / 1}

    updates = Updates(loss, optax.sgd(0.1), jnp.float32(0), 2 * BATCH, 2 * SAMPLES, num_devices=2)

    def learnt(rows, number):
        learner = updates.init(jnp.float32(1), ())
        ring = updates.store(learner.ring, rows, jnp.ones(SAMPLES, bool))
        return updates.learn(KEY, dataclasses.replace(learner, ring=ring), number)[1]

    rows = jnp.stack([jnp.full(SAMPLES, 1.0), jnp.where(jnp.arange(SAMPLES) % 8 == 0, 5.0, -1.0)])
    on_both = jax.jit(jax.vmap(learnt, (0, None), axis_name="data"), static_argnums=1)
    told = {name: value[0] for name, value in jax.device_get(on_both(rows, 10)).items()}
    assert told["some"] == pytest.approx(told["total"] / told["count"]) and 1 < told["some"] < 2
    assert np.isnan(told["none"]) and told["finite"]
    idle = {name: value[0] for name, value in jax.device_get(on_both(rows, 0)).items()}
    assert all(np.isnan(idle[name]) for name in ("loss", "gradient_norm", "some", "total")) and idle["finite"]


def test_devices_learn_what_all_their_samples_say():
    """However many count on each: the gradient is that of the mean which is told."""

    def loss(params, samples, games, which):
        del games, which
        found = Mean(jnp.where(samples > 0, params * samples, 0).sum(), (samples > 0).sum())
        return found.over_devices(), {"loss": found}

    updates = Updates(loss, optax.sgd(1.0), jnp.float32(0), 2 * BATCH, 2 * SAMPLES, num_devices=2)

    def learnt(rows):
        learner = updates.init(jnp.float32(1), ())
        ring = updates.store(learner.ring, rows, jnp.ones(SAMPLES, bool))
        learner, told = updates.learn(KEY, dataclasses.replace(learner, ring=ring), 1)
        return learner.params, told["loss"]

    rows = jnp.stack([jnp.full(SAMPLES, 1.0), jnp.where(jnp.arange(SAMPLES) % 8 == 0, 5.0, -1.0)])
    on_both = jax.jit(jax.vmap(learnt, axis_name="data"))
    params, told = jax.device_get(on_both(rows))
    assert params[0] == params[1] == pytest.approx(1 - told[0]) and 1 < told[0] < 2
    nobody = jax.device_get(on_both(-jnp.abs(rows)))
    assert nobody[0].tolist() == [1, 1] and np.isnan(nobody[1]).all()


@pytest.mark.parametrize("counts", [False, True])
def test_devices_exchange_one_message_per_gradient_step(counts):
    """Of all parameters; and one before it where a loss asks how many samples count."""

    def loss(params, samples, games, which):
        del games, which
        total = (params["slope"] * samples).sum() + params["height"].sum()
        found = Mean(total, jnp.int32(len(samples)))
        return found.over_devices() if counts else total, {"one": samples.mean(), "two": samples.sum()}

    updates = Updates(loss, optax.sgd(0.1), jnp.float32(0), BATCH, SAMPLES)
    programs = Programs(runtime.data_mesh(1))
    learner = updates.init({"slope": jnp.float32(1), "height": jnp.ones((2, 3))}, ())
    learn = programs.compile(
        lambda key, learner: updates.learn(key, learner, 5), (programs.same, programs.learner), programs.same
    )
    assert learn.lower(KEY, learner).as_text().count("stablehlo.all_reduce") == 1 + counts
