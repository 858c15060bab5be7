"""Strategies in hand-made battles: each with the smallest change that makes it none."""

import numpy as np
import pytest

import jaxgames
from jaxgames.clash import strategies
from jaxgames.clash.scene import Scene
from jaxgames.clash.state import State
from jaxgames.clash.strategies import Moment

CONFIG = jaxgames.make("clash", "toy", slots=12).config
STEPS = 30


class Film:
    """States of a battle in which units are where they are put; positions are in the owner's frame."""

    def __init__(self):
        first = Scene(CONFIG).arrays
        self.arrays = {name: np.stack([value] * (STEPS + 1)) for name, value in first.items()}
        self.arrays["tick"][:] = 5 * np.arange(STEPS + 1)
        self.arrays["age"][:, :, :3] = (5 * np.arange(STEPS + 1))[:, None, None]

    def unit(self, player, name, slot, places, *, begin=0, end=STEPS + 1, target=-1):
        """A unit that goes from place to place, one per state, and stays at the last."""
        for step in range(begin, end):
            x, y = places[min(step - begin, len(places) - 1)]
            values = {"alive": True, "unit": CONFIG.table.unit_ids[name], "x": x, "y": y, "age": 5 * (step - begin), "hp": 100}
            for field, value in (values | {"target": target}).items():
                self.arrays[field][step, player, slot] = value

    def play(self, player, key, column, row, step):
        """A card is played in a step."""
        self.arrays["past"][step + 1, player, 0] = CONFIG.table.card_ids[key], column, row

    def found(self, name):
        return strategies.find(CONFIG, State(**self.arrays))[name]


def test_a_tank_in_front():
    for follower, behind, counts in (("Musketeer", 4000, True), ("Knight", 4000, False), ("Musketeer", 8000, False)):
        film = Film()
        film.unit(0, "Giant", 3, [(4000, 18_000)], begin=2)
        film.unit(0, follower, 4, [(4000, 18_000 - behind)], begin=2)
        assert film.found("tank") == ([Moment(2 + 4, 0, "Giant")] if counts else [])
    film = Film()
    film.unit(0, "Giant", 3, [(4000, 18_000)])
    film.unit(0, "Musketeer", 4, [(14_000, 15_000)])  # in the other lane
    film.unit(1, "Giant", 3, [(4000, 18_000)], end=4)  # not for two seconds
    film.unit(1, "Musketeer", 4, [(4000, 15_000)])
    assert film.found("tank") == []
    film.unit(0, "Musketeer", 4, [(4000, 15_000)])
    film.unit(0, "Minion", 5, [(4000, 20_000)])  # in front of the tank
    assert film.found("tank") == []


@pytest.mark.parametrize(
    ("enemy", "place", "end", "counts"),
    [
        ("Knight", (9000, 20_000), 15, True),
        ("Knight", (9000, 20_000), STEPS + 1, False),  # it lives on
        ("Minion", (9000, 20_000), 15, False),  # a knight cannot hit it
        ("Knight", (9000, 14_000), 15, False),  # it is still on its own half
        ("Knight", (16_000, 20_000), 15, False),  # too far away
    ],
)
def test_a_counter(enemy, place, end, counts):
    film = Film()
    film.unit(1, enemy, 3, [place], end=end)
    film.play(0, "knight", 8, 10, 5)
    assert film.found("counter") == ([Moment(6, 0, "Knight")] if counts else [])


def test_a_hedge():
    film = Film()
    film.play(0, "giant", 8, 2, 3)
    film.play(0, "arrows", 8, 2, 5)  # no troop
    film.play(0, "giant", 4, 2, 7)  # to the left
    film.play(0, "giant", 8, 8, 9)  # too far forward
    assert film.found("hedge") == [Moment(4, 0, "Giant")]
    film.unit(1, "Knight", 3, [(9000, 20_000)])  # somebody attacks
    assert film.found("hedge") == []


def test_kiting():
    """A giant is out of it, as it aims at towers alone; a knight on its way to the left tower follows archers to the middle."""

    def walk(way, turns, after="Archer"):
        film = Film()
        # The enemy's frame: the left tower of player 0 is at (3500, 6500), which it sees at (14500, 25500).
        film.unit(1, "Knight", 3, [(14_500, 19_000)], end=6, target=0)
        film.unit(1, "Knight", 3, [(14_500 - way * step, 19_000) for step in range(STEPS)], begin=6, target=3 if turns else 0)
        film.arrays["age"][:, 1, 3] = 5 * np.arange(STEPS + 1)  # the same knight
        film.unit(0, after, 3, [(9000, 13_000)], begin=6)
        film.play(0, "archers", 8, 12, 5)
        return film.found("kite")

    assert walk(400, True) == [Moment(6, 0, "Archers")]
    assert walk(100, True) == []  # it has not gone far
    assert walk(400, False) == []  # it still aims at the tower
    assert walk(400, True, after="Minion") == []  # this one came in the same step, but of another card


def test_a_race():
    def battle(second_lane, defends=False):
        film = Film()
        film.unit(0, "Giant", 3, [(3500, 23_500)], target=1)  # the enemy's right tower is on the left of player 0
        film.unit(1, "Giant", 3, [(3500 if second_lane == "left" else 14_500, 23_500)], target=1 if second_lane == "left" else 0)
        if defends:
            film.play(0, "knight", 14, 10, 2)
        return film.found("race")

    # Player 1 attacks on its left, which is the right of player 0: different lanes.
    assert battle("left") == [Moment(4, 0, "both"), Moment(4, 1, "both")]
    assert battle("right") == []  # they meet in one lane
    late = battle("left", defends=True)
    assert [moment.step for moment in late] == [7, 7]  # it begins again after the defence
