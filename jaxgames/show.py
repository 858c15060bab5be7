"""Pictures of states that show themselves in notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from jaxgames import checks, shapes
from jaxgames.abilities import can_be_drawn
from jaxgames.game import Game


class Picture:
    """A drawing that a notebook shows by itself.

    Attributes:
      svg: the drawing, a whole SVG as text.
    """

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def __str__(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"Picture of {len(self.svg)} characters; str() gives its SVG"

    def _repr_html_(self) -> str:
        return f'<div style="overflow-x:auto">{self.svg}</div>'

    def _repr_svg_(self) -> str:
        return self.svg


def show(
    game: Game, state: Any, actions: Any = None, *, lane: int | None = None, names: Sequence[str] = (), caption: str = ""
) -> Picture:
    """Draws a state for a notebook, or lets a whole game play there.

    Args:
      game: the game.
      state: one state; or states with a leading axis of time, which make an animation, or of a batch, of which `lane` is shown.
      actions: int [T, P] of each step of an animation; None where they are not known.
      lane: which state of a batch.
      names: of the players, or none for the usual ones.
      caption: of one state.

    Raises:
      ValueError: there are no pictures of this game, this is no state of it, or there is no such lane.
    """
    if not can_be_drawn(game):
        raise ValueError(f"game={game.name!r}: has no pictures")
    extra = shapes.leading_axes(game, state)
    if extra not in (0, 1) or (lane is not None and not extra):
        raise ValueError(f"state with {extra} leading axes, lane={lane}: must be one state, or states with one leading axis")
    state = jax.device_get(state)
    if lane is not None:
        count = len(jax.tree.leaves(state)[0])
        if checks.as_integer(lane) not in range(count):
            raise ValueError(f"lane={lane!r}: must be in 0..{count - 1}")
        state, extra = jax.tree.map(lambda leaf: leaf[lane], state), 0
    if extra:
        return Picture(game.animate(state, actions, names=names))
    return Picture(game.draw(state, names=names, caption=caption))
