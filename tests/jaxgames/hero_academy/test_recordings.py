"""Recorded games of the released program replay without a difference, and damage is noticed."""

from pathlib import Path

import numpy as np
import pytest

from jaxgames.hero_academy.replay import replay
from jaxgames.replay import BadRecording, Findings

SAMPLES = Path(__file__).resolve().parents[2] / "data" / "hero_academy"
WHOLE = Path(__file__).resolve().parents[4] / "shared" / "data" / "hero_academy"
FILES = sorted(WHOLE.glob("*.npz")) or sorted(SAMPLES.glob("*.npz"))


def load(path):
    with np.load(path) as file:
        return dict(file)


def check(arrays):
    findings = Findings()
    return replay(arrays, findings), findings


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_replays_without_a_difference(path):
    count, findings = check(load(path))
    assert count > 500
    assert findings.count == 0, findings.lines


STATE = ("player", "turn", "ap", "unit_hp", "unit_class", "unit_owner", "unit_equip", "hand", "deck")
LOOKED_AT = ("heur", "n_pruned", "legal_index", "legal_rating")


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("games_stochastic", (*STATE, *LOOKED_AT, "action", "draw_card", "deal_card")),
        ("games_deterministic", ("deck_seed", "deal_seed")),
        ("synthetic_steps", (*STATE, *LOOKED_AT, "t_action", *(f"t_next_{field}" for field in STATE))),
    ],
)
def test_notices_damage(name, fields):
    whole = load(SAMPLES / f"{name}.npz")
    for field in fields:
        damaged = whole[field].copy()
        flat = damaged.reshape(-1)
        index = np.flatnonzero(flat > 0)[len(np.flatnonzero(flat > 0)) // 2]
        flat[index] -= 1
        try:
            noticed = check({**whole, field: damaged})[1].count
        except BadRecording:
            noticed = 1
        assert noticed, field


def test_refuses_what_is_no_recording():
    whole = load(SAMPLES / "games_deterministic.npz")
    with pytest.raises(BadRecording, match="lacks heur"):
        check({name: array for name, array in whole.items() if name != "heur"})
    with pytest.raises(BadRecording, match="unit_hp: shape"):
        check({**whole, "unit_hp": whole["unit_hp"][:, :4]})
    with pytest.raises(BadRecording, match="unit_class: 9 is out of range"):
        check({**whole, "unit_class": np.where(whole["unit_class"] == 6, 9, whole["unit_class"])})
    with pytest.raises(BadRecording, match="game_offset"):
        check({**whole, "game_offset": whole["game_offset"][::-1]})
