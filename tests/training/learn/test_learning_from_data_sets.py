"""Data sets are learnt from: samples in their order, games counted where their end is told, and what is refused."""

import dataclasses
import types

import jax
import numpy as np
import pytest
import zarr
from rich.console import Console

from jaxgames import runtime
from search.planner import size_in_bytes
from tests.recordings import DATA_SET
from tests.training.learn.small_expert import KEY, WHO
from tests.training.tiny import on_one_device
from training.jobs.train_expert import ExpertJob, TrainConfig
from training.learn.expert_iteration import ExpertConfig
from training.learn.from_data_sets import DataSetLearning
from training.learn.learner import Learner
from training.learn.self_play import UNFINISHED
from training.models.policy_value import PolicyValueConfig


def learning(rounds=2, **changes):
    settings = {"samples": 140, "kept": 2, "epochs": 1, "lanes": 4, "updates": 4, "batch_size": 35} | changes
    config = ExpertConfig(source="data_sets", data_sets=(str(DATA_SET),), **settings)
    return DataSetLearning(config, WHO, runtime.data_mesh(1), rounds)


def test_samples_come_in_their_order():
    """Each once; the last ones of a round are fewer."""
    programs, stored = learning(), []
    programs.rows, have = 100, 0
    programs._store = lambda samples, use, learner: stored.append((jax.device_get(samples), np.asarray(use))) or (learner, {})
    for count in (100, 40, 100, 40):
        programs.play(KEY, types.SimpleNamespace(progress={"samples": have}))
        have += count
        assert stored[-1][1].sum() == count
    policies = np.concatenate([samples.policy[use] for samples, use in stored])
    np.testing.assert_array_equal(policies, zarr.open_group(DATA_SET, mode="r")["pol"][:280])


def test_games_are_counted_where_their_end_is_told():
    programs = learning()
    programs.updates = types.SimpleNamespace(store=lambda ring, samples, use: ring)
    learner = Learner(params=(), optimizer_state=(), averaged=None, updates=0, progress={"samples": 0}, ring=(), games=())
    samples = jax.tree.map(lambda leaf: leaf[[0] * 6], programs.read(0, 1))
    samples = samples._replace(
        result=np.array([1, -1, 0, UNFINISHED, UNFINISHED, 1], np.int8), left=np.array([1, 1, 1, 1, 5, 2], np.int16)
    )
    told = on_one_device(lambda samples, use: programs._add(samples, use, learner)[1])(samples, np.ones(6, bool))
    assert (told["samples"], told["games"]) == (6, 3)
    np.testing.assert_allclose([told["wins"], told["draws"]], 1 / 3)


@pytest.mark.slow  # to compile
def test_samples_are_learnt_from_in_their_order():
    programs = learning()
    learner = programs.init(KEY, jax.jit(WHO.init)(KEY))
    learner, told = programs.play(KEY, learner)
    assert told["samples"] == 140 and told["action_shares"].sum() == pytest.approx(1)
    learner, told = programs.play(KEY, learner)
    assert told["samples"] == 280
    assert size_in_bytes(learner.ring.rows) == 280 * 4 * programs.updates.packing.num_words
    held = jax.jit(jax.vmap(programs.updates.packing.unpack))(learner.ring.rows)
    np.testing.assert_array_equal(held.policy, zarr.open_group(DATA_SET, mode="r")["pol"][:280])
    first, learnt = None, None
    for _ in range(8):
        learner, learnt = programs.learn(KEY, learner)
        first = first or float(learnt["loss"])
    assert learnt["finite"] and learnt["loss"] < first


def test_more_samples_than_there_are_and_wrong_settings():
    with pytest.raises(ValueError, match=r"^samples=140: 9 rounds of so many: 1260 are needed, and \d+ are in 1 data set$"):
        learning(rounds=9)
    with pytest.raises(ValueError, match=r"^source=data_sets: needs .*: give --learn.data-sets FOLDER \.\.\.$"):
        ExpertConfig(source="data_sets")
    with pytest.raises(ValueError, match=r"^data_sets=here: are read with --learn.source data_sets alone, and source=search$"):
        dataclasses.replace(ExpertConfig(), data_sets=("here",))


def test_lanes_take_no_memory_where_samples_are_read(tmp_path, monkeypatch):
    """The buffer does."""
    monkeypatch.setattr(runtime, "free_memory", lambda: 2 * 10**8)
    learn = ExpertConfig(source="data_sets", data_sets=(str(DATA_SET),), samples=140, kept=1, lanes=10**9, batch_size=2)
    who = PolicyValueConfig("pommerman", "ffa", encoder="pommerlearn", network="compact")
    config = TrainConfig(who=who, learn=learn, rounds=1, rate_games=0, output=str(tmp_path / "run"))
    ExpertJob(config, Console(quiet=True))
    monkeypatch.setattr(runtime, "free_memory", lambda: 10**4)
    with pytest.raises(ValueError, match=r"^learn\.samples=140: the run needs .* take less$"):
        ExpertJob(config, Console(quiet=True))
