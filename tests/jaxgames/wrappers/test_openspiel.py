"""Our agents at OpenSpiel's table."""

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import evaluate_bots
from open_spiel.python.bots import uniform_random

import jaxgames
from jaxgames.agent import memoryless
from jaxgames.wrappers.openspiel import OpenSpielBot, game_of

HEX = {"board_size": 3}
DARK = {"board_size": 3, "gameversion": "adh", "obstype": "reveal-nothing"}


def won(game, bots, games):
    """Plays; gives how many games the bot in the first seat won."""
    wins = 0
    for _ in range(games):
        state = game.new_initial_state()
        while not state.is_terminal():
            action = bots[state.current_player()].step(state)
            assert action in state.legal_actions()
            state.apply_action(action)
        wins += state.returns()[0] > 0
    return wins


@pytest.mark.parametrize(("name", "settings"), [pytest.param("hex", HEX, marks=pytest.mark.slow), ("dark_hex", DARK)])
def test_a_bot_plays_and_wins(name, settings):
    game = pyspiel.load_game(name, settings)
    bot = OpenSpielBot(game, 0, "path")
    assert bot.player_id() == 0
    assert won(game, [bot, uniform_random.UniformRandomBot(1, np.random.RandomState(0))], 8) >= 7
    state = game.new_initial_state()
    state.apply_action(0)
    with pytest.raises(ValueError, match="current_player=1: must be 0"):
        bot.step(state)


def test_bots_begin_in_the_middle_of_a_game():
    game = pyspiel.load_game("hex", HEX)
    bots = [OpenSpielBot(game, seat, "path", seed=seat) for seat in range(2)]
    assert sorted(evaluate_bots.evaluate_bots(game.new_initial_state(), bots, np.random.RandomState(0))) == [-1, 1]
    state = game.new_initial_state()
    for cell in (4, 0, 1, 2):
        state.apply_action(cell)
    assert evaluate_bots.evaluate_bots(state, bots, np.random.RandomState(0)) == [1, -1], "one cell is left to join"
    other = pyspiel.load_game("hex", {"num_rows": 5, "num_cols": 5})
    with pytest.raises(ValueError, match="for which the bot was made"):
        bots[0].restart_at(other.new_initial_state())


def test_a_bot_sees_what_its_seat_may_see():
    seen = []

    def first_empty(params, keys, infos, seats):
        view = infos.view
        seen.append((infos, seats))
        grid = jaxgames.make("hex-adh-3-v1").config.grid
        import jax
        import jax.numpy as jnp

        return jax.vmap(lambda own, known: jnp.argmin(grid.to_bool(own | known).reshape(-1)))(view.own, view.known)

    game = pyspiel.load_game("dark_hex", DARK)
    bot = OpenSpielBot(game, 1, memoryless("first", first_empty))
    state = game.new_initial_state()
    state.apply_action(0)
    assert bot.step(state) == 0, "it does not know of the stone there"
    state.apply_action(0)
    state.apply_action(1)
    assert bot.step(state) == 1, "it has learnt of one stone, and not of the other"
    another = game.new_initial_state()
    for cell in (4, 2, 1):
        another.apply_action(cell)
    assert bot.step(another) == 0, "after as many moves of another game it knows nothing of this one"


@pytest.mark.parametrize(
    ("name", "settings", "told"),
    [
        ("tic_tac_toe", {}, "game='tic_tac_toe': must be one of hex, dark_hex"),
        ("hex", {"num_rows": 3, "num_cols": 4}, "must be square"),
        ("hex", {"swap": True}, "swap=True: must be False"),
        ("dark_hex", DARK | {"obstype": "reveal-numturns"}, "obstype='reveal-numturns'"),
    ],
)
def test_other_games_are_refused(name, settings, told):
    with pytest.raises(ValueError, match=told):
        game_of(pyspiel.load_game(name, settings))


def test_who_sees_what_is_hidden_may_not_play():
    agent = memoryless("oracle", lambda params, keys, states, seats: seats, sees_state=True)
    assert agent.uses_hidden
    with pytest.raises(ValueError, match="agent='oracle': sees what is hidden; take one that plays by what it knows"):
        OpenSpielBot(pyspiel.load_game("dark_hex", DARK), 0, agent)
    OpenSpielBot(pyspiel.load_game("dark_hex", DARK), 0, agent._replace(uses_hidden=False))
    OpenSpielBot(pyspiel.load_game("hex", HEX), 0, agent)


def test_wrong_seats_and_names_are_told():
    game = pyspiel.load_game("hex", HEX)
    with pytest.raises(ValueError, match="player_id=2"):
        OpenSpielBot(game, 2)
    with pytest.raises(ValueError, match="player_id=True"):
        OpenSpielBot(game, True)
    with pytest.raises(ValueError, match="seed='a': must be in"):
        OpenSpielBot(game, 0, seed="a")
    with pytest.raises(ValueError, match="opponent='nobody'"):
        OpenSpielBot(game, 0, "nobody")
    with pytest.raises(ValueError, match="game='hex': must be a game of OpenSpiel"):
        OpenSpielBot("hex", 0)
    other = pyspiel.load_game("hex", {"num_rows": 5, "num_cols": 5})
    with pytest.raises(ValueError, match="for which the bot was made"):
        OpenSpielBot(game, 0).step(other.new_initial_state())
