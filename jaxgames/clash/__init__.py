"""Clash: an arena battle in real time, played by both sides at once with hidden hands of cards."""

from jaxgames.clash.card_file import standard_table
from jaxgames.clash.card_table import Table
from jaxgames.clash.cards import Card, Unit
from jaxgames.clash.config import ClashConfig
from jaxgames.clash.game import Clash, make

__all__ = ["Card", "Clash", "ClashConfig", "Table", "Unit", "make", "standard_table"]
