"""Actions in words: what is about to be done, and what has come of it."""

import jax
import numpy as np
import pytest

import jaxgames
from jaxgames.hero_academy.cards import CARD_NAMES
from jaxgames.page import board_of
from tests.jaxgames.hero_academy.positions import GAME, LAYOUT, STEP, act, cell, play, position

BOARD = board_of(GAME)
THINGS = {
    (1, 1): "K",
    (2, 1): ("n", 150, 0),
    (4, 1): "N",
    (5, 1): "w",
    (6, 1): ("c", 0, 0),
    (1, 3): "C",
    (2, 3): ("A", 100, 0),
    (1, 4): ("K", 0, 0),
    (4, 4): "W",
    (6, 4): "k",
    (7, 4): "a",
}
HELD = ("knight", "inferno", "potion", "scroll")


def numbers_of(state):
    return jax.tree.map(np.asarray, state)


def told(action, things=THINGS, **settings):
    """An action of the player to move, as it is offered, and what has come of it."""
    before = numbers_of(position(things, hand=HELD, **settings))
    seat = int(before.player)
    after = numbers_of(STEP(before, np.int32(action)))
    return BOARD.moves(before, seat, [action])[0].name, BOARD.happened(before, after, seat, action, 1 - seat)


@pytest.mark.parametrize(
    ("action", "before", "more"),
    [
        (act((1, 1), (1, 0)), "knight b2–b1", ""),
        (act((1, 1), (2, 1)), "knight b2 attacks ninja c2", " (150 damage, knocked down)"),
        (act((4, 1), (5, 1)), "ninja e2 attacks wizard f2", " (400 damage, 400 left)"),
        (act((4, 1), (6, 1)), "ninja e2 stomps cleric g2", ""),
        (act((1, 3), (2, 3)), "cleric b4 heals archer c4", " (600 more hit points, now 700)"),
        (act((1, 3), (1, 4)), "cleric b4 revives knight b5", " (400 more hit points, now 400)"),
        (act((4, 4), (6, 4)), "wizard e5 attacks knight g5", " (200 damage, 800 left), archer h5 (150 damage, 650 left)"),
        (play("potion", (2, 3)), "potion on c4", " (700 more hit points, now 800)"),
        (play("scroll", (2, 3)), "scroll on c4", ""),
        (play("inferno", (5, 2)), "inferno on f3", ": wizard f2 (315 damage, 485 left), cleric g2 (taken out)"),
        (LAYOUT.deploy(0, 1), "knight to a5", ""),
        (LAYOUT.trade_with(cell(1, 1)), "ninja e2 changes places with b2", ""),
        (LAYOUT.swap_card(CARD_NAMES.index("scroll")), "swap scroll", ""),
        (LAYOUT.end_turn, "end turn", ": knight b5 is taken out"),
        (act((1, 1), (1, 4)), "knight b2 stomps knight b5", ", which is not legal"),
    ],
)
def test_what_an_action_is_and_what_it_does(action, before, more):
    assert told(action) == (before, before + more)


def test_the_second_player_and_crystals():
    things = {(7, 2): "X", (6, 2): "k", (0, 0): ("X", 100, 0), (1, 0): "n"}
    assert told(act((6, 2), (7, 2)), things, player=1)[1] == "knight g3 attacks crystal h3 (300 damage, 4200 left)", (
        "from a power square"
    )
    assert told(act((1, 0), (0, 0)), things, player=1)[1] == "ninja b1 attacks crystal a1 (100 damage, destroyed)"


def test_one_who_is_pushed_away_has_lost_what_he_has_lost():
    assert told(act((3, 3), (4, 3)), {(3, 3): "K", (4, 3): "a"})[1] == "knight d4 attacks archer e4 (200 damage, 600 left)"


def test_a_turn_is_told_to_its_end():
    turn = [act((4, 1), (6, 1)), play("scroll", (6, 1)), act((6, 1), (5, 1)), LAYOUT.end_turn, act((1, 1), (1, 0)), -1]
    words = jaxgames.turn_in_words(GAME, position(THINGS, hand=HELD), np.array(turn))
    assert words == [
        "ninja e2 stomps cleric g2",
        "scroll on g2",
        "ninja g2 attacks wizard f2 (800 damage, knocked down)",
        "end turn: knight b5 is taken out",
    ]
