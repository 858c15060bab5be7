"""A game that is valued by its `prospects`, for searches that back up the game's heuristic."""

from __future__ import annotations

import dataclasses
from typing import Any

from jax import Array

from jaxgames.abilities import has_prospects
from jaxgames.game import Game
from search.changed_game import ChangedGame


@dataclasses.dataclass(frozen=True)
class ByProspects(ChangedGame):
    """A game whose `heuristic` is its hand-crafted evaluation, `Game.prospects`; all else is as in the game.

    Thompson sampling counts the signs of values; `bandits.counting_means` makes a bandit that counts how much they are.

    Attributes:
      game: one that has `prospects`.

    Raises:
      ValueError: it has none.
    """

    game: Any

    def __post_init__(self) -> None:
        if not has_prospects(self.game):
            raise ValueError(f"game={self.game.name!r}: does not say what its positions promise; take its heuristic")

    @property
    def open_game(self) -> Game:
        """The same of the game with nothing hidden."""
        return ByProspects(self.game.open_game)

    def heuristic(self, state: Any) -> Array:
        """Values a position by hand, float32 [P]."""
        return self.game.prospects(state)
