"""Recorded games of the official environment are replayed without a difference."""

import io

import numpy as np
import pytest

from jaxgames import replay
from jaxgames.pommerman import interop
from tests.jaxgames.pommerman import recordings
from tests.jaxgames.pommerman.test_replay import damaged, faults, small

ALL = (*recordings.GAMES, recordings.CASES)
SLOW = ("team", recordings.CASES)  # to compile; radio games have the rules of teams, too
WHOLE_SET = {"ffa_random": 4131, "ffa_simple": 8046, "ffa_kick": 4088, "ffa_conflict": 8274}
WHOLE_SET |= {"ffa_collapse": 529, "team": 3684, "radio": 2111, "simple_cases": 3000}


def run(paths):
    out, err = io.StringIO(), io.StringIO()
    code = replay.replay_files("pommerman", paths, out=out, err=err)
    return code, out.getvalue().splitlines(), err.getvalue()


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in ALL])
def test_samples(name):
    arrays = recordings.sample(name)
    count = len(arrays["a_action"]) if "a_action" in arrays else len(arrays["board"])
    code, lines, _ = run([recordings.SAMPLES / f"{name}.npz"])
    assert lines[-1] == f"{count} transitions, 0 mismatches", "\n".join(lines)
    assert code == 0


def test_words_of_the_living_are_noticed():
    arrays = small("radio")
    first = np.concatenate([np.arange(a, a + n) for a, n in zip(arrays["ep_state0"], arrays["ep_len"], strict=True)])
    living = np.argwhere(arrays["s_agents"][first][..., 2] == 1)
    for row, seat in living[:: len(living) // 4]:
        change = 1 if arrays["a_message"][row, seat, 1] < 8 else -1
        assert faults(damaged(arrays, "a_message", (row, seat, 1), change)) > 0
    assert faults(damaged(arrays, "a_message", (3, 2, 0), 9)) > 0


@pytest.mark.slow
@recordings.beside
@pytest.mark.parametrize("name", ALL)
def test_whole_recordings(name):
    code, lines, _ = run([recordings.WHOLE / f"{name}.npz"])
    assert lines[-1] == f"{WHOLE_SET[name]} transitions, 0 mismatches", "\n".join(lines)
    assert code == 0


def test_samples_are_small():
    assert sum(path.stat().st_size for path in recordings.SAMPLES.iterdir()) < 300_000


@pytest.mark.parametrize("name", recordings.GAMES)
def test_states_survive_the_way_there_and_back(name):
    config, arrays, state = recordings.states(name)
    expected = interop.sort_bombs({field: arrays[field] for field in interop.STATE_FIELDS})
    returned = interop.to_arrays(config, state)
    for field in interop.STATE_FIELDS:
        assert np.array_equal(returned[field], expected[field]), field
        assert returned[field].dtype == expected[field].dtype, field
