"""Recorded games of OpenSpiel replay without a difference, and damage is noticed."""

import functools

import pytest

from jaxgames.hex.replay import replay
from jaxgames.replay import BadRecording, read_npz
from tests import recordings

SAMPLES = recordings.SAMPLES / "hex"
WHOLE, beside = recordings.whole("dark_hex")
check = functools.partial(recordings.replayed, replay)
NAMES = [f"{rules}_{size}x{size}" for rules in ("hex", "adh", "cdh") for size in (3, 5, 8, 11)]


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("hex_5x5", "adh_5x5", "cdh_5x5")]


@pytest.mark.parametrize("name", ["hex_3x3", "adh_3x3", "cdh_3x3", *SLOW])
def test_replays_without_a_difference(name):
    count, findings = check(read_npz(SAMPLES / f"{name}.npz"))
    assert count > 100
    assert findings.count == 0, findings.lines


@pytest.mark.slow
@beside
@pytest.mark.parametrize("name", NAMES)
def test_replays_whole_files(name):
    count, findings = check(read_npz(WHOLE / f"{name}.npz"))
    assert count > 100
    assert findings.count == 0, findings.lines


@pytest.mark.parametrize("name", ["adh_3x3", *(pytest.param(name, marks=pytest.mark.slow) for name in ("hex_3x3", "cdh_3x3"))])
def test_notices_damage_to_every_field(name):
    whole = read_npz(SAMPLES / f"{name}.npz")
    for field, array in whole.items():
        damaged = array.copy()
        index = (len(damaged) // 2,) + (0,) * (damaged.ndim - 1)
        if field == "offsets":
            damaged[index] += 1
        elif array.dtype.kind == "U":
            damaged[index] = damaged[index].replace(".", "x", 1) if "." in damaged[index] else damaged[index] + "x"
        elif field == "legal":
            damaged[index] ^= 0x80
        else:
            damaged[index] += 1
        _, findings = check({**whole, field: damaged})
        assert findings.count > 0, field


def test_refuses_what_is_no_recording():
    whole = read_npz(SAMPLES / "adh_3x3.npz")
    with pytest.raises(BadRecording, match="lacks view1"):
        check({name: array for name, array in whole.items() if name != "view1"})
    with pytest.raises(BadRecording, match="board: shape"):
        check({**whole, "board": whole["board"][:, :8]})
    with pytest.raises(BadRecording, match="offsets"):
        check({**whole, "offsets": whole["offsets"][::-1]})
    with pytest.raises(BadRecording, match=r"action: float64 of shape \(\d+,\), must be an integer type, of shape"):
        check({**whole, "action": whole["action"].astype(float)})
