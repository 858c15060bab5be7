"""The best reply to a random player, against OpenSpiel."""

import jax
import pyspiel
import pytest
from open_spiel.python import policy as policies
from open_spiel.python.algorithms import best_response

import jaxgames
from jaxgames.hex import bots
from training.play.random_bound import best_against_random
from training.play.tournament import play_pair


def test_two_by_two_as_open_spiel_says():
    game = pyspiel.load_game("dark_hex", {"board_size": 2, "gameversion": "adh", "obstype": "reveal-nothing"})
    uniform = policies.UniformRandomPolicy(game)
    for player, found in enumerate(best_against_random(2)):
        value = best_response.BestResponsePolicy(game, player, uniform).value(game.new_initial_state())
        assert found == pytest.approx((1 + value) / 2, abs=1e-6)


@pytest.mark.slow
def test_three_by_three_is_more_than_random_play_makes_and_does_not_win_always():
    first, second = best_against_random(3)
    assert (first, second) == (pytest.approx(0.954015, abs=1e-6), pytest.approx(0.808590, abs=1e-6))
    game = jaxgames.make("hex", "adh-3")
    points = play_pair(game, (bots.random_agent(game), bots.random_agent(game)), jax.random.key(0), 1000)
    assert points[:500].mean() < first
    assert points[500:].mean() < second


@pytest.mark.parametrize("size", [1, 4])
def test_other_sizes(size):
    with pytest.raises(ValueError, match=f"board_size={size}"):
        best_against_random(size)
