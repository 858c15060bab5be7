"""A game that differs from another in what a subclass defines."""

from __future__ import annotations

from typing import Any


class ChangedGame:
    """All that a subclass does not define is as in another game.

    Attributes:
      game: the other game.
    """

    game: Any

    def __getattr__(self, name: str) -> Any:
        if name == "game" or name.startswith("__"):  # what copies and pickles ask before there is a game
            raise AttributeError(name)
        return getattr(self.game, name)
