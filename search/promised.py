"""A game in which undecided positions are worth what they promise, for searches that back up the game's heuristic."""

from __future__ import annotations

import dataclasses
from typing import Any

from jax import Array

from jaxgames.abilities import has_prospects
from jaxgames.game import Game


@dataclasses.dataclass(frozen=True)
class Promised:
    """A game whose `heuristic` is its hand-crafted evaluation, `Game.prospects`; all else is as in the game.

    A search by Thompson sampling needs a bandit of `bandits.graded` for it: else only the sign of a value counts.

    Attributes:
      game: one that says what its positions promise.

    Raises:
      ValueError: it does not.
    """

    game: Any

    def __post_init__(self) -> None:
        if not has_prospects(self.game):
            told = "does not say what its positions promise; take heuristic"
            raise ValueError(f"values='prospects': game={self.game.name!r} {told}")

    def __getattr__(self, name: str) -> Any:
        if name == "game" or name.startswith("__"):  # what copies and pickles ask before there is a game
            raise AttributeError(name)
        return getattr(self.game, name)

    @property
    def open_game(self) -> Game:
        """The same of the game with nothing hidden."""
        return Promised(self.game.open_game)

    def heuristic(self, state: Any) -> Array:
        """What a position promises, float32 [P]."""
        return self.game.prospects(state)
