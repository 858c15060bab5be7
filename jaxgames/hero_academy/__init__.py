"""Hero Academy: turns of several actions, on a board of units and crystals, with cards."""

from jaxgames.hero_academy.config import HeroAcademyConfig
from jaxgames.hero_academy.game import HeroAcademy, make

__all__ = ["HeroAcademy", "HeroAcademyConfig", "make"]
