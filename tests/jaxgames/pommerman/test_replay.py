"""Recorded games of the official environment are replayed without a difference.

The replay notices damage to any field of a recording, and says in one line what is wrong with a file that is none.
"""

import functools
import io
import zipfile

import numpy as np
import pytest

from jaxgames import replay
from jaxgames.pommerman import interop, recording
from jaxgames.pommerman import replay as pommerman_replay
from jaxgames.replay import BadRecording, Findings
from tests.jaxgames.pommerman import recordings
from tests.jaxgames.pommerman.damage import damaged, faults, small
from tests.jaxgames.pommerman.samples import take_episodes, write_samples

PLACES = 3  # damaged elements per field


@functools.cache
def sound(name):
    """Some episodes in which nothing is wrong."""
    assert faults(small(name)) == 0
    return small(name)


OWN_TESTS = ("a_action", "a_message", "ep_kind")  # not every change of these can be noticed
FIELDS = [(name, field) for name in recordings.GAMES for field in recordings.sample(name) if field not in OWN_TESTS]


IN_SHORT = ("ffa_simple", "ffa_kick")  # games in the quick tests
GAMES = [name if name in IN_SHORT else pytest.param(name, marks=pytest.mark.slow) for name in recordings.GAMES]


@pytest.mark.parametrize(
    ("name", "field"), [one if one[0] == "ffa_kick" else pytest.param(*one, marks=pytest.mark.slow) for one in FIELDS]
)
def test_any_damaged_element_is_noticed(name, field):
    arrays = sound(name)
    rng = np.random.default_rng(FIELDS.index((name, field)))
    for change in (1, -1, 1)[:PLACES]:
        index = tuple(rng.integers(size) for size in arrays[field].shape)
        assert faults(damaged(arrays, field, index, change)) > 0, (index, arrays[field][index], change)


@pytest.mark.parametrize("name", GAMES)
def test_an_impossible_action_is_noticed(name):
    arrays = small(name)
    rng = np.random.default_rng(1)
    for value in (6, -1, 127):
        index = tuple(rng.integers(size) for size in arrays["a_action"].shape)
        assert faults(damaged(arrays, "a_action", index, value - int(arrays["a_action"][index]))) > 0


@pytest.mark.parametrize("name", GAMES)
def test_another_action_is_noticed_where_it_has_another_effect(name):
    """A living agent in the open that walks, alone: every other action has another effect."""
    arrays = small(name)
    first = np.concatenate([np.arange(a, a + n) for a, n in zip(arrays["ep_state0"], arrays["ep_len"], strict=True)])
    agents, after = arrays["s_agents"][first], arrays["s_agents"][first + 1]
    walked = (agents[..., 2] == 1) & (agents[..., :2] != after[..., :2]).any(-1)
    found = np.argwhere(walked)
    for row, seat in found[np.linspace(0, len(found) - 1, 2 * PLACES).astype(int)]:
        other = 5 - arrays["a_action"][row, seat]  # up and right, down and left change places
        assert faults(damaged(arrays, "a_action", (row, seat), int(other) - int(arrays["a_action"][row, seat]))) > 0


COLLAPSE = pytest.param(recording.EpisodeKind.COLLAPSE, marks=pytest.mark.slow)  # compiles another variant


@pytest.mark.parametrize("kind", [COLLAPSE if kind == recording.EpisodeKind.COLLAPSE else kind for kind in range(10)])
@pytest.mark.parametrize("name", GAMES)
def test_another_kind_of_episode_is_noticed(name, kind):
    arrays = small(name)
    for episode in range(min(2, len(arrays["ep_kind"]))):
        recorded = int(arrays["ep_kind"][episode])
        too_short = name == "radio" and arrays["ep_len"][episode] < 20  # to tell who plays
        if kind != recorded and not too_short:
            assert faults(damaged(arrays, "ep_kind", episode, kind - recorded)) > 0, (episode, recorded)


def test_the_whole_column_of_kinds_may_be_wrong():
    arrays = small("ffa_simple")
    assert faults({**arrays, "ep_kind": np.zeros_like(arrays["ep_kind"])}) > 0
    arrays = small("ffa_random")
    assert faults({**arrays, "ep_kind": np.ones_like(arrays["ep_kind"])}) > 0


WHOLE_SET = {"ffa_random": 4131, "ffa_simple": 8046, "ffa_kick": 4088, "ffa_conflict": 8274}
WHOLE_SET |= {"ffa_collapse": 529, "team": 3684, "radio": 2111, "simple_cases": 3000}
# These take long to compile; `ffa_collapse` and `radio` are replayed in test_end.py, which compiles them.
OTHERS = ("ffa_collapse", "team", "radio", "simple_cases")
ALL = [pytest.param(name, marks=pytest.mark.slow) if name in OTHERS else name for name in WHOLE_SET]


@pytest.mark.parametrize("name", ALL)
def test_samples(name):
    arrays = recordings.sample(name)
    count = len(arrays["a_action"]) if "a_action" in arrays else len(arrays["board"])
    code, out, _ = run(recordings.SAMPLES / f"{name}.npz")
    assert out.splitlines()[-1] == f"{count} transitions, 0 mismatches", out
    assert code == 0


@pytest.mark.slow
@recordings.beside
@pytest.mark.parametrize("name", WHOLE_SET)
def test_whole_recordings(name):
    code, out, _ = run(recordings.WHOLE / f"{name}.npz")
    assert out.splitlines()[-1] == f"{WHOLE_SET[name]} transitions, 0 mismatches", out
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


@pytest.fixture
def without_draws(monkeypatch):
    """Leaves out the comparison of decisions, which has tests of its own."""
    from jaxgames.pommerman import interop_simple

    monkeypatch.setattr(interop_simple, "check_simple_cases", lambda arrays, draws: (len(arrays["board"]), []))


# What a recorded decision does not tell otherwise: facts that the agent does not look at, within their range.
UNKNOWABLE = ("bomb_life", "bomb_moving_direction", "flame_life", "can_kick", "ammo", "blast_strength", "prev_direction")
UNKNOWABLE += ("n_memory_appended", "n_prev_changed", "recent", "bomb_blast_strength")


@pytest.mark.parametrize("field", list(recordings.sample(recordings.CASES)))
def test_a_damaged_decision_is_noticed(field, without_draws):
    arrays = recordings.sample(recordings.CASES)
    rng = np.random.default_rng(2)
    noticed = 0
    for _ in range(8):
        index = tuple(rng.integers(size) for size in arrays[field].shape)
        noticed += faults(damaged(arrays, field, index, 1)) > 0
        assert faults(damaged(arrays, field, index, 100)) > 0, "out of its range"
    assert noticed == 8 or field in (*UNKNOWABLE, "board")
    if field in ("bomb_life", "bomb_moving_direction", "flame_life", "bomb_blast_strength", "board"):
        assert noticed >= 4, "most cells are empty, and have to stay so"


# --- files -------------------------------------------------------------------------------------------------------------


def run(*paths, game="pommerman", shown=10):
    out, err = io.StringIO(), io.StringIO()
    code = replay.replay_files(game, paths, shown=shown, out=out, err=err)
    return code, out.getvalue(), err.getvalue()


def one_line(text):
    return text.count("\n") == 1 and text.endswith("\n")


def test_differences_are_told_field_by_field(tmp_path):
    arrays = small("ffa_kick")
    broken = damaged(damaged(arrays, "s_agents", (5, 2, 3), 1), "a_reward", (7, 1), 1)
    path = tmp_path / "broken.npz"
    np.savez(path, **broken)
    code, out, err = run(path)
    lines = out.splitlines()
    assert code == 1
    assert err == ""
    assert any("s_agents of agent 2, ammo: recorded" in line for line in lines)
    assert any("a_reward of agent 1: recorded 1, expected 0" in line for line in lines)
    transitions, mismatches = len(arrays["a_action"]), int(lines[-1].split()[2])
    assert lines[-1] == f"{transitions} transitions, {mismatches} mismatches"
    assert lines[-2] == f"{path}: {transitions} transitions, {mismatches} mismatches"
    assert mismatches == len(lines) - 2


def test_only_the_first_differences_are_shown(tmp_path):
    arrays = small("ffa_kick")
    path = tmp_path / "broken.npz"
    np.savez(path, **{**arrays, "a_reward": arrays["a_reward"] + 1, "a_result": arrays["a_result"] + 1})
    code, out, _ = run(path, shown=4)
    lines = out.splitlines()
    assert code == 1
    assert len(lines) == 4 + 3
    assert lines[4].startswith("  ... and ")
    assert run(path, shown=0)[1].count("\n") == 2


def test_several_files_are_added_up(tmp_path):
    first, second = (recordings.SAMPLES / f"{name}.npz" for name in ("ffa_kick", "ffa_random"))
    counts = [len(recordings.sample(name)["a_action"]) for name in ("ffa_kick", "ffa_random")]
    code, out, _ = run(first, second)
    assert (code, out.splitlines()[-1]) == (0, f"{sum(counts)} transitions, 0 mismatches")
    torn = tmp_path / "torn.npz"
    torn.write_bytes(first.read_bytes()[:2000])
    code, out, err = run(first, torn)
    assert (code, out.splitlines()[-1]) == (2, f"{counts[0]} transitions, 0 mismatches")
    assert one_line(err)
    assert str(torn) in err


def test_a_file_without_transitions_is_no_success(tmp_path):
    arrays = take_episodes(recordings.sample("ffa_kick"), [0])
    path = tmp_path / "empty.npz"
    np.savez(path, **{name: array[:0] for name, array in arrays.items()})
    code, out, _ = run(path)
    assert (code, out.splitlines()[-1]) == (1, "0 transitions, 0 mismatches")


def test_arrays_that_nobody_knows_are_mentioned(tmp_path):
    path = tmp_path / "more.npz"
    np.savez(path, **small("ffa_kick"), weather=np.zeros(3))
    code, out, _ = run(path)
    assert code == 0
    assert "(not checked, as unknown: weather)" in out


def write_text(path):
    path.write_text("no archive")


def write_torn(path):
    np.savez_compressed(path, **small("ffa_kick"))
    path.write_bytes(path.read_bytes()[:-200])


def write_flipped(path):
    np.savez(path, **small("ffa_kick"))
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 1
    path.write_bytes(content)


def write_single_array(path):
    with open(path, "wb") as file:
        np.save(file, np.zeros(3))


def write_objects(path):
    np.savez(path, s_board=np.array([{}], object))


def write_other_archive(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")


def write_foreign(path):
    np.savez(path, moves=np.zeros(4))


def write_member_without_header(path):
    arrays = small("ffa_kick")
    np.savez(path, **{name: array for name, array in arrays.items() if name != "s_board"})
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("s_board", arrays["s_board"].tobytes())


def write_immense(path):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "|u1", "fortran_order": False, "shape": (10**15,)})
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("s_board.npy", header.getvalue())


def write_nothing(path):
    path.write_bytes(b"")


@pytest.mark.parametrize(
    ("write", "told"),
    [
        (lambda path: None, "cannot be read: No such file"),
        (write_text, "not an npz file"),
        (write_nothing, "npz file"),
        (write_torn, "npz file"),
        (write_flipped, "npz file"),
        (write_single_array, "a single array, must be an npz file"),
        (write_objects, "not an npz file of plain arrays"),
        (write_other_archive, "no Pommerman recording"),
        (write_foreign, "no Pommerman recording: has moves"),
        (write_member_without_header, "s_board: shape ()"),
        (write_immense, "an array larger than the memory"),
    ],
)
def test_files_that_are_no_recording(tmp_path, write, told):
    path = tmp_path / "file.npz"
    write(path)
    code, out, err = run(path)
    assert (code, out) == (2, "")
    assert one_line(err)
    assert err.startswith(f"error: {path}: ")
    assert told in err


@pytest.mark.parametrize("name", ["ffa_kick", "team", "radio", recordings.CASES])
def test_missing_arrays_are_named(name, without_draws):
    arrays = recordings.sample(name)
    for field in arrays:
        with pytest.raises(BadRecording, match=rf"^{field}: missing"):
            pommerman_replay.replay({key: array for key, array in arrays.items() if key != field}, Findings())


@pytest.mark.parametrize("name", ["ffa_kick", "radio", recordings.CASES])
def test_wrong_shapes_and_types_are_named(name, without_draws):
    arrays = recordings.sample(name)
    for field, array in arrays.items():
        wrong = [array.astype(np.float32), array[..., None], array.reshape(-1)[0], array.astype(str)]
        wrong += [] if field in ("s_board", "a_action", "ep_len", "board") else [array[:-1]]
        for other in wrong:
            with pytest.raises(BadRecording) as caught:
                pommerman_replay.replay({**arrays, field: other}, Findings())
            assert "\n" not in str(caught.value)
            assert "must be" in str(caught.value)


def test_a_shorter_column_is_noticed():
    arrays = small("ffa_kick")
    for field in ("s_board", "a_action", "ep_len"):
        assert faults({**arrays, field: arrays[field][:-1]}) > 0


def test_wrong_calls():
    with pytest.raises(ValueError, match="game='chess': must be one of pommerman"):
        run("x.npz", game="chess")
    with pytest.raises(ValueError, match="no file named"):
        run()
    with pytest.raises(ValueError, match="shown=-1: must be >= 0"):
        run("x.npz", shown=-1)


def test_samples_need_the_whole_recordings_and_leave_nothing_half_written(tmp_path):
    source, target = recordings.SAMPLES, tmp_path / "samples"
    with pytest.raises(ValueError, match=r"ffa_random\.npz: cannot be read"):
        write_samples(source.parent, target)
    assert not target.exists()
    assert sorted(path.name for path in write_samples(source, target)) == sorted(path.name for path in source.iterdir())
