"""Pommerman on bit planes: free-for-all, team, radio, one-against-one and the collapsing board."""

from jaxgames.pommerman.config import PRESETS, PommermanConfig, preset
from jaxgames.pommerman.constants import Cell, Move
from jaxgames.pommerman.game import Pommerman, make
from jaxgames.pommerman.observation import Observation
from jaxgames.pommerman.state import Bomber, Bombs, State

__all__ = ["PRESETS", "Bomber", "Bombs", "Cell", "Move", "Observation", "Pommerman", "PommermanConfig", "State", "make", "preset"]
