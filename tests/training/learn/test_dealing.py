"""Learners that go on with another number of devices: samples and results are dealt again, and games begin again."""

import dataclasses

import jax
import numpy as np
import pytest

from jaxgames import runtime
from tests.training import cloning_on_devices, tiny, tiny_alphaze
from training.learn.dagger import Dagger
from training.learn.dealing import deal_results, deal_rows
from training.learn.replay_buffer import Ring
from training.learn.self_play import UNFINISHED


def test_rows_are_dealt_by_age():
    rows = np.arange(12, dtype=np.uint32)[:, None]
    ring = Ring(rows, np.array([2, 4], np.int32), np.array([6, 4], np.int32))  # the first is full, and its oldest is at 2
    found = deal_rows(ring, 1, 8)
    assert found.rows[:8, 0].tolist() == [4, 6, 5, 7, 0, 8, 1, 9]
    assert (found.added.tolist(), found.size.tolist()) == ([0], [8])
    found = deal_rows(ring, 3, 4, lambda rows: rows[:, 0] % 3)
    dealt = [part[:size, 0].tolist() for part, size in zip(found.rows.reshape(3, 4, 1), found.size, strict=True)]
    assert dealt == [[3, 6, 0, 9], [4, 7, 1], [2, 5, 8]]


def test_results_are_dealt_to_the_devices_of_their_games():
    before, remembered, devices = 2, 6, 3
    results = np.full((before * remembered, 1), -1, np.int16)
    for number in range(9):  # games 0 to 8 have begun, 9 and 10 not
        results[number % before * remembered + number // before % remembered] = number
    found, first = deal_results(results, np.array([10, 9], np.int32), devices, 99)
    assert first == 12 and len(found) == before * remembered
    kept = found.reshape(devices, -1)
    assert [kept[number % devices, number // devices].item() for number in range(12)] == [*range(9), 99, 99, 99]


def as_saved(learner):
    """The learner as a checkpoint of other devices gives it."""
    spread = jax.tree.map(np.asarray, (learner.ring, learner.games))
    return dataclasses.replace(learner, ring=spread[0], games=spread[1])


@pytest.mark.slow
def test_self_play_goes_on_with_its_samples_and_their_results():
    key, programs = jax.random.key(2), tiny_alphaze.programs()
    params = jax.jit(tiny_alphaze.player().init)(key)
    learner, _ = programs.play["fair"](key, params, programs.init(key, params))
    saved = as_saved(learner)
    dealt = programs.deal(key, saved)
    size = int(saved.ring.size[0])
    assert sorted(map(bytes, np.asarray(dealt.ring.rows[:size]))) == sorted(map(bytes, saved.ring.rows[:size]))
    samples = jax.vmap(programs.updates.packing.unpack)(dealt.ring.rows[:size])
    over = programs.games.outcomes_of(learner.games, samples)
    np.testing.assert_array_equal(programs.games.outcomes_of(dealt.games, samples), over)
    assert len(np.unique(over)) == 3  # won, lost, not over
    assert int(dealt.games.lanes.number.min()) == int(saved.games.lanes.next_number[0])
    dealt, metrics = programs.learn(key, dealt)
    assert bool(metrics["finite"])


@pytest.mark.slow
def test_games_that_have_just_begun_have_no_results():
    """Where their results go were those of games long ago."""
    key, programs = jax.random.key(2), tiny_alphaze.programs()
    saved = as_saved(programs.init(key, jax.jit(tiny_alphaze.player().init)(key)))
    lanes, results = saved.games.lanes, np.ones_like(saved.games.results)
    old = dataclasses.replace(lanes, next_number=lanes.next_number + 2 * len(results))
    dealt = programs.deal(key, dataclasses.replace(saved, games=dataclasses.replace(saved.games, lanes=old, results=results)))
    begun = np.isin(np.arange(len(results)), np.asarray(dealt.games.lanes.number) % len(results))
    found = np.asarray(dealt.games.results)
    assert (found[begun] == UNFINISHED + 1).all() and (found[~begun] == 1).all() and begun.sum() == programs.config.lanes


@pytest.mark.slow
def test_imitation_ends_after_as_many_episodes():
    key = cloning_on_devices.root_key()
    config = dataclasses.replace(cloning_on_devices.CONFIG, lanes=4, steps=8)
    dagger = Dagger(config, tiny.network(), tiny.drawing_oracle(), runtime.data_mesh())
    learner, metrics = dagger.iterate(key, None, dagger.init(key, jax.jit(dagger.who.init)(key)))
    while not 0 < int(metrics["episodes"]) < config.episodes:
        learner, metrics = dagger.iterate(key, None, learner)
    saved, before = as_saved(learner), int(metrics["episodes"])
    learner = dagger.deal(key, saved)
    first = int(saved.games.lanes.next_number.max())
    assert np.asarray(learner.games.lanes.number).tolist() == [first + lane for lane in range(4)], "that nobody has played"
    while int(metrics["episodes"]) < config.episodes:
        learner, metrics = dagger.iterate(key, None, learner)
    assert int(metrics["episodes"]) == config.episodes and before < config.episodes
    samples = np.asarray(learner.ring.rows[: int(learner.ring.size[0])])
    assert len(samples) > int(saved.ring.size[0]) and len(np.unique(samples, axis=0)) == len(samples), "none comes twice"
