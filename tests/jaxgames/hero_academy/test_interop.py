"""Arrays of states that cannot be are refused in one line; what can be comes back as it was."""

import numpy as np
import pytest

from jaxgames.hero_academy import draws, interop, units
from jaxgames.hero_academy.cards import CARD_NAMES
from jaxgames.hero_academy.config import MOST_ACTION_POINTS, MOST_TURNS
from tests.jaxgames.hero_academy.positions import GAME, board, position


def arrays(**changes):
    """A state twice, with the second one changed: name=value for all of an array, or name=(index, value)."""
    one = board(position({(2, 3): "N", (6, 3): "k"}, hand=("potion", "potion", "scroll")))
    both = {name: np.stack([row, row]).astype(np.int32) for name, row in one.items()}
    for name, change in changes.items():
        index, value = change if isinstance(change, tuple) else ((), change)
        both[name][(1, *index)] = value
    return both


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ap": 1000}, "ap: 1000 is out of range, must be in 0..25"),
        ({"ap": -5}, "ap: -5 is out of range, must be in 0..25"),
        ({"turn": 70_000}, "turn: 70000 is out of range, must be in 1..10000"),
        ({"turn": 0}, "turn: 0 is out of range, must be in 1..10000"),
        ({"terminal": 2}, "terminal: 2 is out of range, must be in 0..1"),
        ({"winner": 7}, "winner: 7 is out of range, must be in -1..2"),
        ({"winner": 1}, "winner: 1, must be -1 while the game runs, in state 1"),
        ({"terminal": 1}, "winner: -1, must be 0..2 where the game is over, in state 1"),
        ({"deck_seed": ((1,), 10**9)}, "deck_seed: 1000000000 is out of range, must be in 0..130007"),
        ({"deck_seed": ((0,), -1)}, "deck_seed: -1 is out of range, must be in 0..130007"),
        ({"hand": 3}, "hand: 33 cards of player 1, must be at most 6, in state 1"),
        ({"hand": ((1,), [3, 3, 1, *[0] * 8])}, "hand: 7 cards of player 2, must be at most 6, in state 1"),
        ({"hand": ((0,), [2, *[0] * 10]), "deck": ((0,), [2, *[0] * 10])}, "deck: 4 cards knight of player 1 in hand and deck"),
        ({"unit_class": ((3, 6), units.NINJA), "unit_hp": ((3, 6), 0), "unit_owner": ((3, 6), 1)}, "2 ninjas of player 1"),
        ({"unit_hp": ((3, 6), 1001)}, "unit_hp: 1001 of a knight, in state 1"),
        ({"unit_hp": ((2, 0), 0)}, "unit_hp: 0 of a crystal, which would not stand any more, in state 1"),
        ({"unit_equip": ((2, 8), 1)}, "unit_equip: 1 on a crystal, must be 0 there, in state 1"),
        ({"unit_equip": ((0, 1), 2)}, "unit_equip: 2 on an empty cell, must be 0 there, in state 1"),
        ({"unit_owner": ((3, 6), 0)}, "unit_owner: must be 1 or 2 where something stands"),
    ],
)
def test_states_that_cannot_be_are_refused(changes, message):
    with pytest.raises(ValueError, match=message) as error:
        interop.from_arrays(GAME.config, arrays(**changes))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", interop.FIELDS)
def test_shapes_and_types_are_named(name):
    sound = arrays()
    wrong = (sound[name].astype(float), sound[name].astype(str), sound[name] > 0, sound[name][..., None], np.int32(1))
    for other in wrong:
        with pytest.raises(ValueError, match=r"must be") as error:
            interop.from_arrays(GAME.config, sound | {name: other})
        assert "\n" not in str(error.value)
    with pytest.raises(ValueError, match=f"lacks {name}"):
        interop.from_arrays(GAME.config, {other: array for other, array in sound.items() if other != name})


def test_what_can_just_be_comes_back():
    most = arrays(ap=MOST_ACTION_POINTS, turn=MOST_TURNS, deck_seed=draws.MOST_SEED, terminal=1, winner=2, deck=3)
    most["unit_class"][1, 3, 6], most["unit_hp"][1, 3, 6] = units.NINJA, 0  # a ninja each
    most["hand"][1] = np.eye(len(CARD_NAMES), dtype=int)[[0, 5]] * 3
    most["deck"][1] -= most["hand"][1]
    back = interop.to_arrays(GAME.config, interop.from_arrays(GAME.config, most))
    for name in interop.FIELDS:
        np.testing.assert_array_equal(back[name], most[name], err_msg=name)
