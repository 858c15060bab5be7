"""Cloning an oracle: what is stored, whatever the number of lanes and devices."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames.packing import packing_of
from tests.processes import output_of
from tests.training import cloning_on_devices
from tests.training.learn.dagger_by_hand import Episode
from tests.training.tiny import as_set, rows_of


@pytest.fixture(scope="module")
def cloned():
    return cloning_on_devices.clone(lanes=4, steps=8)


@pytest.mark.slow
def test_samples_of_cloning(cloned):
    """Those of the oracle's own episodes, played one by one to their ends; with values as targets."""
    dagger, learner, metrics = cloned
    episodes = [Episode(dagger, cloning_on_devices.root_key(), number) for number in range(cloning_on_devices.BATTLES)]
    rows = np.concatenate([episode.rest() for episode in episodes])
    got = rows_of(learner.ring)
    assert len(got) == len(rows) and metrics["steps"] == sum(episode.clock for episode in episodes)
    # Targets and weights are computed in another way here: equal but for rounding; the rest is equal bit for bit.
    found, expected = (jax.device_get(jax.vmap(dagger.updates.packing.unpack)(jnp.asarray(part))) for part in (got, rows))
    packing = packing_of(jax.tree.map(lambda leaf: leaf[0], found.view))
    seen, wanted = (np.asarray(jax.vmap(packing.pack)(part.view)) for part in (found, expected))
    order, expected_order = (np.lexsort(part.T[::-1]) for part in (seen, wanted))
    np.testing.assert_array_equal(seen[order], wanted[expected_order])
    assert len(np.unique(seen, axis=0)) == len(got), "no two are alike, so that the order is the same"
    for name in ("target", "value", "weight"):
        numbers, others = getattr(found, name)[order], getattr(expected, name)[expected_order]
        np.testing.assert_allclose(numbers, others, atol=1e-5)
    assert len(np.unique(found.target)) > 10 and found.weight.max() > 0.1


@pytest.mark.slow
def test_samples_of_cloning_do_not_depend_on_the_number_of_lanes(cloned):
    _, learner, metrics = cloned
    _, other, other_metrics = cloning_on_devices.clone(lanes=2, steps=3)
    assert as_set(rows_of(other.ring)) == as_set(rows_of(learner.ring))
    expected = cloning_on_devices.summary(learner, metrics)
    assert cloning_on_devices.summary(other, other_metrics) == expected
    assert expected["busy"] == 0 and expected["episodes"] == cloning_on_devices.BATTLES and expected["finite"]


@pytest.mark.slow
def test_samples_of_cloning_do_not_depend_on_the_number_of_devices(cloned):
    """And all devices learn the same."""
    _, learner, metrics = cloned
    devices, same, found = json.loads(output_of("from tests.training.cloning_on_devices import main; main(2)"))
    assert devices == 2 and same
    assert found == cloning_on_devices.summary(learner, metrics)
