"""Hex and DarkHex: join your two edges of a rhombus; in DarkHex without seeing the other's stones."""

from jaxgames.hex.config import HexConfig
from jaxgames.hex.game import Hex, make

__all__ = ["Hex", "HexConfig", "make"]
