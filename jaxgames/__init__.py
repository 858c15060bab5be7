"""Batched, jitted simulation of multiplayer games. Importing this starts no JAX backend."""

from jaxgames.agent import Agent
from jaxgames.contract import check_game
from jaxgames.encoder import Encoder
from jaxgames.game import Game
from jaxgames.registration import Registration, encoder_of, game_names, make, register, registration

__version__ = "0.1.0"
__all__ = [
    "Agent",
    "Encoder",
    "Game",
    "Registration",
    "check_game",
    "encoder_of",
    "game_names",
    "make",
    "register",
    "registration",
]
