"""Stratego and Barrage: capture a flag among pieces of which you see only the backs."""

from jaxgames.stratego.config import StrategoConfig
from jaxgames.stratego.game import Stratego, make

__all__ = ["Stratego", "StrategoConfig", "make"]
