"""Batched, jitted simulation of multiplayer games.

Importing this starts no JAX backend: call `jaxgames.runtime.prepare()` before the first array. `make` gives a game and `games`
lists all; `in_words` says what an action is; `Environment` and `MultiEnvironment` are for training; `check_game` tests a game of
your own and `register` adds it.
"""

from jaxgames.agent import Agent
from jaxgames.contract import check_game
from jaxgames.encoder import Encoder
from jaxgames.env import Environment
from jaxgames.game import Game
from jaxgames.gif import write_gif
from jaxgames.multi_env import MultiEnvironment
from jaxgames.registration import Registration, encoder_of, game_names, games, make, register, registration
from jaxgames.show import show
from jaxgames.telling import in_words, turn_in_words

__version__ = "0.1.0"
__all__ = [
    "Agent",
    "Encoder",
    "Environment",
    "Game",
    "MultiEnvironment",
    "Registration",
    "check_game",
    "encoder_of",
    "game_names",
    "games",
    "in_words",
    "make",
    "register",
    "registration",
    "show",
    "turn_in_words",
    "write_gif",
]
