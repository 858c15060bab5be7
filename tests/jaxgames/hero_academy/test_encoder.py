"""The encoder of Hero Academy: both players see themselves on the left, and every action that can be has an output."""

import dataclasses

import jax
import numpy as np
import pytest

import jaxgames
from jaxgames.hero_academy.encoder import CHANNELS, ENCODERS, output_actions
from tests.jaxgames.hero_academy.positions import GAME, LAYOUT, act, cell, legal, play, position

ENCODER = ENCODERS["observation"](GAME)
SEATS = (0, 1)
actions_of, outputs_of = jax.jit(ENCODER.actions), jax.jit(ENCODER.outputs)


@jax.jit
def look(state, seat):
    view = ENCODER.view(state, seat)
    return ENCODER.planes(view), ENCODER.legal(view)


def test_outputs_and_actions_are_inverse():
    outputs, actions = np.arange(ENCODER.num_outputs), np.arange(-2, GAME.num_actions + 3)
    for seat in SEATS:
        assert np.array_equal(outputs_of(actions_of(outputs, seat), seat), outputs)
        numbered = np.asarray(outputs_of(actions, seat))
        known = numbered >= 0
        assert sorted(numbered[known]) == list(range(ENCODER.num_outputs)) and not known[[0, 1, -3, -2, -1]].any()
        assert np.array_equal(actions_of(numbered, seat), np.where(known, actions, GAME.pass_action))
    assert outputs_of(GAME.pass_action, 0) == -1 and actions_of(-1, 1) == GAME.pass_action


def test_the_second_player_acts_to_the_left_where_the_first_acts_to_the_right():
    def same(first, second):
        return int(outputs_of(first, 0)) == int(outputs_of(second, 1)) >= 0

    assert same(act((0, 0), (2, 1)), act((8, 0), (6, 1)))
    assert same(play("inferno", (7, 3)), play("inferno", (1, 3)))
    assert same(LAYOUT.trade_with(cell(2, 4)), LAYOUT.trade_with(cell(6, 4)))
    assert same(LAYOUT.deploy(2, 1), LAYOUT.deploy(2, 1)) and same(LAYOUT.end_turn, LAYOUT.end_turn)
    assert outputs_of(LAYOUT.unit(0, cell(0, 0)), 0) == -1, "three rows up from the first one"


def test_deploy_squares_in_one_row_are_mirrored_too():
    game = jaxgames.make("hero_academy", board=("dd.DD", "..P..", "c...C"))
    first, second = output_actions(game.config)
    places = [(a % 32 % 3, b % 32 % 3) for a, b in zip(first, second, strict=True) if a // 32 == game.layout.plain and a % 32 < 3]
    assert places == [(0, 1), (1, 0)]


THINGS = {
    (2, 1): ("N", 500, 8),
    (0, 0): "K",
    (4, 0): ("C", 0, 0),
    (3, 3): "A",
    (5, 2): ("w", None, 1),
    (6, 3): ("k", 0, 0),
    (5, 3): "a",
    (8, 4): "c",
}
HAND, OTHER_HAND = ("archer", "archer", "inferno", "scroll"), ("wizard", "potion")


def turned(things):
    """The same position with sides changed."""
    shown = {}
    for (x, y), thing in things.items():
        letter, *rest = thing if isinstance(thing, tuple) else (thing,)
        shown[8 - x, y] = (letter.swapcase(), *rest) if rest else letter.swapcase()
    return shown


def test_both_players_see_themselves_on_the_left():
    state = position(THINGS, hand=HAND, other_hand=OTHER_HAND, points=3)
    other = position(turned(THINGS), hand=OTHER_HAND, other_hand=HAND, points=3, player=1)
    for viewer in SEATS:
        (first, first_legal), (second, second_legal) = look(state, viewer), look(other, 1 - viewer)
        np.testing.assert_array_equal(first[..., :-1], second[..., :-1])
        assert (first[..., -1] == viewer).all() and (second[..., -1] == 1 - viewer).all()
        np.testing.assert_array_equal(first_legal, second_legal)
        assert first_legal.any() == (viewer == 0), "who is not to move has no legal output"


@pytest.mark.parametrize("seat", SEATS)
def test_legal_outputs_are_the_legal_actions(seat):
    things, mine, theirs = (THINGS, HAND, OTHER_HAND) if seat == 0 else (turned(THINGS), OTHER_HAND, HAND)
    for points in (0, 2):
        state = position(things, hand=mine, other_hand=theirs, points=points, player=seat)
        outputs = np.flatnonzero(look(state, seat)[1])
        assert set(np.asarray(actions_of(outputs, seat)).tolist()) == legal(state)
        assert (len(outputs) == 1) == (points == 0), "then the turn can only be ended"
        assert not look(dataclasses.replace(state, terminated=np.bool_(True)), seat)[1].any()


def test_planes_by_name():
    shown = np.asarray(look(position(THINGS, hand=HAND, other_hand=OTHER_HAND, points=4, turn=20), 0)[0])
    assert shown.shape == ENCODER.shape and len(set(CHANNELS)) == len(CHANNELS) == shown.shape[-1]
    plane = {name: shown[..., number] for number, name in enumerate(CHANNELS)}

    def cells(name):
        return [(x, y) for y, x in np.argwhere(plane[name]).tolist()]

    assert (cells("own deploy"), cells("other deploy")) == ([(0, 0), (0, 4)], [(8, 0), (8, 4)])
    assert (cells("defense"), cells("assault"), cells("power")) == ([(4, 0)], [(4, 4)], [(2, 2), (6, 2)])
    assert (cells("own ninja"), cells("own crystal"), cells("other crystal")) == ([(2, 1)], [(0, 2)], [(8, 2)])
    assert (cells("other knight"), cells("other wizard"), cells("own wizard")) == ([(6, 3)], [(5, 2)], [])
    assert cells("knocked down") == [(4, 0), (6, 3)] and (2, 1) in cells("hurt") and (0, 0) not in cells("hurt")
    assert (cells("scroll"), cells("dragonscale"), cells("runemetal")) == ([(2, 1)], [(5, 2)], [])
    assert plane["hit points"][1, 2] == np.float32(0.5) and plane["hit points"][2, 0] == np.float32(4.5)
    for name, count in {
        "own hand: archer": 2 / 3,
        "own hand: knight": 0,
        "own deck: potion": 1 / 3,
        "other hand: wizard": 1 / 3,
        "other cards: potion": 2 / 3,
        "other hand size": 2 / 6,
        "action points": 4 / 5,
        "turn": 20 / 100,
        "own turn": 1,
    }.items():
        np.testing.assert_allclose(plane[name], count, rtol=1e-6)


def test_a_hidden_hand_is_not_shown():
    encoder = ENCODERS["observation"](jaxgames.make("hero_academy", "hidden"))
    states = [position(THINGS, hand=HAND, other_hand=hand) for hand in (("wizard",), ("potion",))]
    states = [dataclasses.replace(state, decks=(state.decks[0], states[1 - i].hands[1])) for i, state in enumerate(states)]
    first, second = (np.asarray(jax.jit(lambda state: encoder.planes(encoder.view(state, 0)))(state)) for state in states)
    np.testing.assert_array_equal(first, second)
    assert not first[..., CHANNELS.index("other hand: wizard")].any()
