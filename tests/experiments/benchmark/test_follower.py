"""The benchmark of imitation learns on the devices that it is measured on."""

from experiments.benchmark import follower
from jaxgames import runtime


def test_the_learner_has_the_devices_that_are_measured(monkeypatch):
    made = []
    monkeypatch.setattr(follower, "Dagger", lambda config, who, oracle, mesh: made.append((config.lanes, mesh.devices.size)))
    everybody = runtime.data_mesh()
    settings = [dict(follower.iterations(8, *mesh).settings) for mesh in ((), (runtime.data_mesh(1),), (everybody,))]
    assert made == [(8, 1), (8, 1), (8 * everybody.devices.size, everybody.devices.size)]
    assert settings[0]["steps_per_repeat"] == follower.STEPS, "a round of its loop is a step, and not a simulation"
