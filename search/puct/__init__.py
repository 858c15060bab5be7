"""Search guided by a network: PUCT trees, and worlds drawn from what a player knows."""

from search.puct.search import puct
from search.puct.settings import ALPHAZE, MCTX, Settings

__all__ = ["ALPHAZE", "MCTX", "Settings", "puct"]
