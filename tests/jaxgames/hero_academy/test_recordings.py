"""Recorded games of the released program replay without a difference, and damage is noticed."""

import functools

import numpy as np
import pytest

from jaxgames.hero_academy.replay import replay
from jaxgames.replay import BadRecording, read_npz
from tests import recordings

SAMPLES = recordings.SAMPLES / "hero_academy"
WHOLE, beside = recordings.whole("hero_academy")
check = functools.partial(recordings.replayed, replay)
NAMES = ("games_deterministic", "games_stochastic", "synthetic_steps")
FEWER = [pytest.param(name, marks=pytest.mark.slow if name == "games_stochastic" else ()) for name in NAMES]


@pytest.mark.parametrize("name", FEWER)
def test_replays_without_a_difference(name):
    count, findings = check(read_npz(SAMPLES / f"{name}.npz"))
    assert count > 500
    assert findings.count == 0, findings.lines


@pytest.mark.slow
@beside
@pytest.mark.parametrize("name", NAMES)
def test_replays_whole_files(name):
    count, findings = check(read_npz(WHOLE / f"{name}.npz"))
    assert count > 500
    assert findings.count == 0, findings.lines


STATE = ("player", "turn", "ap", "unit_hp", "unit_class", "unit_owner", "unit_equip", "hand", "deck")
LOOKED_AT = ("heur", "n_pruned", "legal_index", "legal_rating")


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        pytest.param("games_stochastic", (*STATE, *LOOKED_AT, "action", "draw_card", "deal_card"), marks=pytest.mark.slow),
        ("games_deterministic", ("deck_seed", "deal_seed")),
        ("synthetic_steps", (*STATE, *LOOKED_AT, "t_action", *(f"t_next_{field}" for field in STATE))),
    ],
)
def test_notices_damage(name, fields):
    whole = read_npz(SAMPLES / f"{name}.npz")
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
    whole = read_npz(SAMPLES / "games_deterministic.npz")
    with pytest.raises(BadRecording, match="lacks heur"):
        check({name: array for name, array in whole.items() if name != "heur"})
    with pytest.raises(BadRecording, match="unit_hp: shape"):
        check({**whole, "unit_hp": whole["unit_hp"][:, :4]})
    with pytest.raises(BadRecording, match="unit_class: 9 is out of range"):
        check({**whole, "unit_class": np.where(whole["unit_class"] == 6, 9, whole["unit_class"])})
    with pytest.raises(BadRecording, match="game_offset"):
        check({**whole, "game_offset": whole["game_offset"][::-1]})


END = 2531
ILLEGAL = (
    (0, 3, 1, "action 1 is not legal"),
    (0, 5, -1, "action -1 is not legal"),
    (0, 6, END + 1, "action 2532 is not legal"),
    (1, 0, 32_000, "action 32000 is not legal"),
    (1, -1, 5, "action 5 comes after the end, must be -1"),
    (2, -1, END, "action 2531 comes after the end, must be -1"),
)


def test_illegal_actions_of_games_are_named():
    whole = read_npz(SAMPLES / "games_deterministic.npz")
    action, offsets, expected = whole["action"].copy(), whole["game_offset"], []
    for game, state, value, told in ILLEGAL:
        row = offsets[game] + state if state >= 0 else offsets[game + 1] - 1
        action[row] = value
        expected.append(f"game {game}, state {row - offsets[game]}: {told}")
    count, findings = check({**whole, "action": action})
    assert findings.lines == expected
    assert (findings.count, count) == (len(expected), len(action) - len(offsets) + 1)


def test_illegal_actions_from_positions_are_named_and_none_follows_the_end():
    whole = read_npz(SAMPLES / "synthetic_steps.npz")
    action, values = whole["t_action"].copy(), (-1, 0, END + 1)
    action[7:10] = values
    told = [
        f"position {source}: action {value} is not legal" for source, value in zip(whole["t_source"][7:10], values, strict=True)
    ]
    assert check({**whole, "t_action": action})[1].lines == told
    games = read_npz(SAMPLES / "games_deterministic.npz")
    row = games["game_offset"][1] - 2
    over = {name: games[name].copy() for name in ("terminal", "winner")}
    over["terminal"][row], over["winner"][row] = 1, 0
    lines = check({**games, **over})[1].lines
    assert f"game 0, state {row}: action {games['action'][row]} comes after the end" in lines


def without_tail(array):
    return array[:-1]


def too_large(array):
    changed = array.copy()
    changed.reshape(-1)[2] = 30_000
    return changed


def falling(array):
    changed = array.copy()
    changed[1] = -1
    return changed


@pytest.mark.parametrize(
    ("name", "field", "change", "told"),
    [
        ("games_stochastic", "action", lambda array: array.astype(float), "action: dtype float64, must be an integer type"),
        ("games_stochastic", "action", without_tail, r"action: shape \(803,\), must be \(804,\)"),
        ("games_stochastic", "game_offset", without_tail, r"game_offset: shape \(5,\), must be \(6,\)"),
        ("games_stochastic", "game_offset", falling, "game_offset: must rise from 0"),
        ("games_stochastic", "legal_offset", without_tail, r"legal_offset: shape \(804,\), must be \(805,\)"),
        ("games_stochastic", "legal_offset", falling, "legal_offset: must rise from 0"),
        ("games_stochastic", "legal_index", too_large, r"legal_index: 30000 is out of range, must be in 0\.\.2531"),
        ("games_stochastic", "legal_index", without_tail, "legal_index: shape"),
        ("games_stochastic", "legal_rating", lambda array: array.astype(str), "legal_rating: dtype <U6, must be an integer type"),
        ("games_stochastic", "heur", without_tail, "heur: shape"),
        ("games_stochastic", "n_pruned", lambda array: array > 0, "n_pruned: dtype bool"),
        ("games_stochastic", "draw_offset", without_tail, "draw_offset: shape"),
        ("games_stochastic", "draw_card", lambda array: array + 11, "draw_card: 1[0-9] is out of range"),
        ("games_stochastic", "draw_player", lambda array: array * 0, r"draw_player: 0 is out of range, must be in 1\.\.2"),
        ("synthetic_steps", "t_source", too_large, r"t_source: 30000 is out of range, must be in 0\.\.149"),
        ("synthetic_steps", "t_source", lambda array: -1 - array, "t_source: -1 is out of range"),
        ("synthetic_steps", "t_source", lambda array: array[0], "t_source: shape"),
        ("synthetic_steps", "t_action", lambda array: array.astype(np.float32), "t_action: dtype float32"),
        ("synthetic_steps", "t_draw_offset", without_tail, "t_draw_offset: shape"),
        ("synthetic_steps", "t_next_unit_hp", without_tail, "t_next_unit_hp: shape"),
        ("synthetic_steps", "t_next_ap", lambda array: array.astype(float), "t_next_ap: dtype float64"),
    ],
)
def test_forms_and_ranges_are_checked_before_anything_is_played(name, field, change, told):
    whole = read_npz(SAMPLES / f"{name}.npz")
    with pytest.raises(BadRecording, match=told) as error:
        check({**whole, field: change(whole[field])})
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("field", "change", "told"),
    [
        ("deal_seed", lambda array: array[:-1], r"deal_seed: shape \(4, 2\), must be \(5, 2\)"),
        ("deal_offset", without_tail, "deal_offset: shape"),
        ("deal_card", lambda array: array.astype(float), "deal_card: dtype float64"),
        ("deal_player", lambda array: np.where(np.arange(len(array)) == 0, 2, array), "game 0: 5 cards are dealt to player 1"),
    ],
)
def test_deals_are_checked(field, change, told):
    whole = read_npz(SAMPLES / "games_stochastic.npz")
    with pytest.raises(BadRecording, match=told):
        check({**whole, field: change(whole[field])})


def test_a_card_that_is_not_in_the_deck_is_told_with_its_place():
    whole = read_npz(SAMPLES / "games_stochastic.npz")
    deck = whole["deck"].copy()
    row = int(np.flatnonzero(np.diff(whole["draw_offset"]))[0])
    drawn = whole["draw_offset"][row]
    deck[row, whole["draw_player"][drawn] - 1, whole["draw_card"][drawn]] = 0
    with pytest.raises(BadRecording, match=rf"^game 0, state {row}, player [12]: draw 0: no .* is left in the deck$"):
        check({**whole, "deck": deck})
