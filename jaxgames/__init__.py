"""Batched, jitted simulation of multiplayer games. Importing this starts no JAX backend."""

from jaxgames.agent import Agent
from jaxgames.game import Game, game_names, make

__all__ = ["Agent", "Game", "game_names", "make"]
