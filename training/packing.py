"""Trees of small numbers as rows of words: see `jaxgames.packing`."""

from jaxgames.packing import Packing, packing_of

__all__ = ["Packing", "packing_of"]
