"""Recorded games of both reference implementations replay without a difference, and damage is noticed."""

import functools

import numpy as np
import pytest

from jaxgames.replay import BadRecording, read_npz
from jaxgames.stratego import interop, notation
from jaxgames.stratego.config import StrategoConfig, preset
from jaxgames.stratego.replay import replay
from tests import recordings
from tests.jaxgames.stratego.samples import GAMES, SAMPLES, cut

QUICK = ("yorktown_barrage",)
WHOLE, beside = recordings.whole("stratego")
check = functools.partial(recordings.replayed, replay)
BARRAGE = "MBCAAAAAAAKAAAAAAAAAAAAAADAAAAAAEADAAALAAA__AA__AAAA__AA__AAPAAAWNAOXAQPAAAYAAAAAAAAAAAAAAAAAAAAAAAA r 0"
FULL = "FEBMBEFEEFBGIBHIBEDBGJDDDHCGJGDHDLIFKDDHAA__AA__AAAA__AA__AASTQQNSQPTSUPWPVRPXPURNQONNQSNVPTNQRRTYUP r 0"


@pytest.mark.parametrize("stem", [*QUICK, *(pytest.param(stem, marks=pytest.mark.slow) for stem in GAMES if stem not in QUICK)])
def test_replays_without_a_difference(stem):
    count, findings = check(read_npz(SAMPLES / f"{stem}.npz"))
    assert count > 90
    assert findings.count == 0, findings.lines


def begun_at(arrays, row):
    """A recording of one game of stratego_env without its first rows."""
    count, legal = len(arrays["p1"]), int(arrays["legal_offsets"][row])
    later = {name: array[row:] if array.ndim and len(array) == count else array for name, array in arrays.items()}
    codes = np.arange(1, 13)[:, None, None, None]
    left = [(later[name] == codes).sum((2, 3)) for name in ("p1", "p2")]
    return later | {
        "offsets": np.array([0, count - row]),
        "legal_offsets": arrays["legal_offsets"][row:] - legal,
        "legal": arrays["legal"][legal:],
        "captured_counts": np.array([[each[:, 0] - each[:, -1] for each in left]], np.int8),
    }


def begun_where_moves_are_remembered():
    """A recording, and another that begins where its two-square rule forbids something."""
    whole = cut(read_npz(SAMPLES / "stratego_env_barrage_osc.npz"), (1,))
    forbids = [whole[name].min((1, 2)) == -3 for name in ("rm1", "rm2")]
    later = begun_at(whole, int(np.flatnonzero(forbids[0] | forbids[1])[0]))
    assert later["rm1"][0].any() and later["rm2"][0].any()
    return whole, later


def test_a_recording_may_begin_where_the_two_square_rule_remembers_moves():
    whole, later = begun_where_moves_are_remembered()
    count, findings = check(later)
    assert 0 < count == len(later["p1"]) - 1 < len(whole["p1"]) - 1 and findings.count == 0, findings.lines


def test_what_the_two_square_rule_remembers_is_checked():
    _, later = begun_where_moves_are_remembered()
    later["rm1"] = np.where(later["rm1"] < 0, -5, later["rm1"])
    with pytest.raises(BadRecording, match=r"must be a start and an end, -1 or a cell, and a level in 0\.\.3"):
        check(later)


@pytest.mark.slow
@beside
@pytest.mark.parametrize("stem", GAMES)
def test_replays_whole_files(stem):
    count, findings = check(read_npz(WHOLE / f"{stem}.npz"))
    assert count > 2000
    assert findings.count == 0, findings.lines


@pytest.mark.slow
@pytest.mark.parametrize(("stem", "game"), [("yorktown_barrage", 0), ("stratego_env_barrage_osc", 2)])
def test_notices_damage_to_every_field(stem, game):
    whole = cut(read_npz(SAMPLES / f"{stem}.npz"), (game,))
    for field, array in whole.items():
        damaged = array.copy()
        if field in ("offsets", "legal_offsets", "setup_kind", "max_turns"):
            continue  # places of games, of which less may be whole too; where nothing follows of the field in these games
        index = (len(damaged) // 2,) + (0,) * (damaged.ndim - 1)
        if array.dtype.kind == "U":
            damaged[index] = ("x" if damaged[index][:1] != "x" else "y") + damaged[index][1:]
        elif field in ("visible", "moved"):
            damaged[index] ^= 0x80
        elif field == "legal":
            damaged[index] += 1 if damaged[index] + 1 not in array[index[0] : index[0] + 2] else -1
        elif field.startswith("p") and array.ndim == 3:
            damaged[index] = 3 if damaged[index] != 3 else 4
        else:
            damaged[index] += 1
        try:
            _, findings = check({**whole, field: damaged})
        except BadRecording:
            continue
        assert findings.count > 0, field


def test_refuses_what_is_no_recording(tmp_path):
    whole = read_npz(SAMPLES / "yorktown_barrage.npz")
    with pytest.raises(BadRecording, match="lacks piece"):
        check({"board": whole["piece"]})
    with pytest.raises(BadRecording, match="uci: missing"):
        check({name: array for name, array in whole.items() if name != "uci"})
    with pytest.raises(BadRecording, match="owner: shape"):
        check({**whole, "owner": whole["owner"][:, :8]})
    np.savez(tmp_path / "less.npz", **{name: array for name, array in whole.items() if name != "offsets"})
    with pytest.raises(BadRecording, match="lacks offsets"):
        check(read_npz(tmp_path / "less.npz"))
    with pytest.raises(BadRecording, match="offsets"):
        check({**whole, "offsets": whole["offsets"][::-1]})
    with pytest.raises(BadRecording, match="action: dtype float64, must be an integer type"):
        check({**whole, "action": whole["action"].astype(float)})
    with pytest.raises(BadRecording, match="returns: dtype int64, must be a type of floats"):
        check({**whole, "returns": whole["returns"].astype(int)})
    with pytest.raises(BadRecording, match="uci: dtype int64, must be text"):
        check({**whole, "uci": np.zeros(len(whole["uci"]), int)})


def perft(config: StrategoConfig, state, depth: int) -> int:
    moves = interop.legal_list(config, state)
    if depth == 1:
        return len(moves)
    return sum(perft(config, interop.play(config, state, move), depth - 1) for move in moves)


@pytest.mark.slow
@pytest.mark.parametrize("mode, fen, counts", [("barrage", BARRAGE, (36, 1037)), ("stratego", FULL, (10, 50, 636))])
def test_counts_the_games_of_a_few_moves(mode, fen, counts):
    config = preset(mode)
    assert [perft(config, notation.read(config, fen), depth) for depth in range(1, len(counts) + 1)] == list(counts)


@pytest.mark.slow
@pytest.mark.parametrize("mode, fen, depth, count", [("barrage", BARRAGE, 3, 34381), ("stratego", FULL, 4, 5974)])
def test_counts_the_games_of_more_moves(mode, fen, depth, count):
    config = preset(mode)
    assert perft(config, notation.read(config, fen), depth) == count
