"""What a person sees of a game on a page, and what can be clicked there.

Every game has such a board. A game without one of its own is drawn by its `draw`, and its actions are a list of buttons; one that
tells what its players know and hides something (`hides_something`) shows what the seat observes, as text. A game with a partial
`observe` alone is shown whole. A better board is a class of the game's folder, named by its registration.
All of it is worked out on the host, from states with numpy leaves.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames import svg
from jaxgames.abilities import can_be_drawn
from jaxgames.game import Game, hides_something
from jaxgames.registration import registered

_FONT = "font-family='ui-monospace,Menlo,Consolas,monospace'"


class Move(NamedTuple):
    """An action as a person makes it.

    Attributes:
      action: its number.
      name: in words.
      spots: names of the spots that are clicked one after another, or between which something is dragged; (): only by its name.
    """

    action: int
    name: str
    spots: tuple[str, ...] = ()


class Board:
    """The board that every game has; to be derived from.

    Attributes:
      game: the game.
      names: of the seats, one each.
    """

    def __init__(self, game: Game, names: Sequence[str] = ()) -> None:
        self.game = game
        self.names = svg.names_of(names, [f"player {seat}" for seat in range(game.num_players)])

    @property
    def keys(self) -> Mapping[str, int]:
        """Actions by the name of the key that a browser tells."""
        return {}

    @property
    def seconds(self) -> float:
        """How long a step takes, where all move at once and the clock runs."""
        return 0.5

    def picture(self, state: Any, seat: int | None) -> str:
        """Draws what a seat sees of a state, or all (None), as SVG."""
        if can_be_drawn(self.game) and (seat is None or not hides_something(self.game)):
            return self.game.draw(state, names=self.names)
        shown = state if seat is None else self.game.observe(state, jnp.int32(seat))
        return text_picture(_lines(shown))

    def spots(self) -> Mapping[str, str]:
        """Gives what can be clicked: SVG shapes in the coordinates of the picture, by name, without colours."""
        return {}

    def moves(self, state: Any, seat: int, actions: Sequence[int]) -> list[Move]:
        """Tells how a person makes some of a seat's legal actions."""
        del state, seat
        passes = self.game.pass_action
        return [Move(action, "pass" if action == passes else f"action {action}") for action in actions]

    def status(self, state: Any, seat: int | None) -> str:
        """Says in words what a seat, or somebody who sees all (None), should know beside the picture."""
        del state, seat
        return ""

    def told(self, state: Any, seat: int, action: int, viewer: int | None) -> str:
        """Gives a seat's action in this state as a viewer (None: of all) may read it; "": the viewer does not know it."""
        if viewer not in (None, seat) and hides_something(self.game):
            return ""
        return self.moves(state, seat, [action])[0].name

    def happened(self, before: Any, after: Any, seat: int, action: int, viewer: int | None) -> str:
        """Gives what a seat's action has done, by the states before and after the step, as a viewer may read it; as `told`."""
        del after
        return self.told(before, seat, action, viewer)

    def marks(self, state: Any, seat: int, action: int, viewer: int | None) -> tuple[str, ...]:
        """Gives the spots of a seat's action in this state that are marked for a viewer: none, unless all of it is told."""
        move = self.moves(state, seat, [action])[0]
        return move.spots if self.told(state, seat, action, viewer) == move.name else ()


def board_of(game: Game, names: Sequence[str] = ()) -> Board:
    """Makes the board of a game: its own where its registration names one."""
    known = registered(game.name)
    if not (known and known.page):
        return Board(game, names)
    module, _, name = known.page.partition(":")
    made: Board = getattr(importlib.import_module(module), name)(game, names)
    return made


def words(
    x: float, y: float, text: str, size: float, fill: str = "currentColor", *, anchor: str = "middle", bold: bool = False
) -> str:
    """Draws a line of text."""
    weight = " font-weight='700'" if bold else ""
    style = f"font-size='{size:g}' text-anchor='{anchor}' fill='{fill}'{weight} font-family='system-ui,sans-serif'"
    return f"<text x='{x:.1f}' y='{y:.1f}' {style}>{svg.plain(text)}</text>"


def text_picture(lines: Sequence[str]) -> str:
    """Draws lines of text."""
    wide, high = 24 + 7.3 * max(map(len, lines), default=1), 24 + 16 * len(lines)
    style = f"xml:space='preserve' {_FONT} font-size='12' fill='currentColor'"
    rows = "".join(f"<text x='12' y='{24 + 16 * row}' {style}>{svg.plain(line)}</text>" for row, line in enumerate(lines))
    return f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {wide:.0f} {high}'>{rows}</svg>"


def _lines(tree: Any) -> list[str]:
    """Lines that tell the leaves of a tree by their paths."""
    lines = []
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        values = " ".join(np.array2string(np.asarray(leaf), max_line_width=10_000, threshold=64).split())
        lines.append(f"{jax.tree_util.keystr(path, simple=True, separator=' ') or 'view'}: {values}"[:140])
    return lines
