"""Search guided by a network: PUCT trees, and worlds drawn from what a player knows."""

from search.puct.search import ALPHAZE, MCTX, Settings, puct

__all__ = ["ALPHAZE", "MCTX", "Settings", "puct"]
