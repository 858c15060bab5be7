"""Stratego and Barrage on a page: the board as one player sees it; a piece is clicked, then where it goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jaxgames import page
from jaxgames.page import Move, words
from jaxgames.stratego.constants import FILES, KIND_NAMES, NUM_KINDS, PLAYERS, SYMBOLS
from jaxgames.stratego.interop import to_arrays
from jaxgames.stratego.moves import cell_name, table
from jaxgames.stratego.state import count_of

_CELL, _MARGIN = 60.0, 34.0
_GROUND, _GROUND_2, _GRID, _LAKE, _LABEL = "#e7e3d0", "#e0dbc5", "#cfc8ae", "#8dbbd6", "#8b877c"
_COLOURS, _RIMS = ("#c2483b", "#3a68ad"), ("#7f231a", "#1d3f72")
_LAST = "#f2c230"


class Page(page.Board):
    """The board of `jaxgames.page` for Stratego; `game` is a `Stratego`."""

    game: Any

    def picture(self, state: Any, seat: int | None) -> str:
        config = self.game.config
        arrays = to_arrays(config, state)
        side = _CELL - 2
        parts = []
        for cell, kind in enumerate(arrays["piece"].tolist()):
            x, y = self._corner(cell)
            ground = _LAKE if kind < 0 else (_GROUND, _GROUND_2)[sum(divmod(cell, config.columns)) % 2]
            parts.append(f"<rect x='{x}' y='{y}' width='{_CELL}' height='{_CELL}' fill='{ground}' stroke='{_GRID}'/>")
        for x, y in (self._corner(cell) for cell in arrays["last"].tolist() if cell >= 0):
            parts.append(f"<rect x='{x + 1}' y='{y + 1}' width='{side}' height='{side}' fill='{_LAST}' fill-opacity='.45'/>")
        for cell in np.flatnonzero(arrays["piece"] > 0).tolist():
            owner, open_ = int(arrays["owner"][cell]), bool(arrays["visible"][cell])
            known = seat in (None, owner) or open_ or config.true_sight
            parts.append(self._piece(cell, int(arrays["piece"][cell]) if known else 0, owner, open_, bool(arrays["moved"][cell])))
        high = config.rows * _CELL + 2 * _MARGIN
        middle = _MARGIN + _CELL / 2
        parts += [words(middle + _CELL * column, high - 12, FILES[column], 14, _LABEL) for column in range(config.columns)]
        rows = [(row, self._corner(row * config.columns)[1] + _CELL / 2 + 5) for row in range(config.rows)]
        parts += [words(_MARGIN / 2, y, str(row + 1), 14, _LABEL) for row, y in rows]
        wide = config.columns * _CELL + 2 * _MARGIN
        return f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {wide:.0f} {high:.0f}'>{''.join(parts)}</svg>"

    def spots(self) -> Mapping[str, str]:
        size = f"width='{_CELL - 4}' height='{_CELL - 4}' rx='9'"
        corners = {f"c{cell}": self._corner(cell) for cell in range(self.game.config.num_cells)}
        return {name: f"<rect x='{x + 2}' y='{y + 2}' {size}/>" for name, (x, y) in corners.items()}

    def moves(self, state: Any, seat: int, actions: Sequence[int]) -> list[Move]:
        del state
        config, ways = self.game.config, table(self.game.config, seat)
        found = []
        for action in actions:
            if action == self.game.pass_action:
                found.append(Move(action, "pass"))
                continue
            if not 0 <= action < len(ways.inside) or not ways.inside[action]:
                found.append(Move(action, f"action {action}, which is not legal"))  # of a saved game, or a careless agent
                continue
            ends = int(ways.start[action]), int(ways.end[action])
            found.append(Move(action, "–".join(cell_name(config, cell) for cell in ends), tuple(f"c{cell}" for cell in ends)))
        return found

    def status(self, state: Any, seat: int | None) -> str:
        if seat is None or self.game.config.true_sight:
            return ""
        counts = {KIND_NAMES[kind - 1]: int(count_of(state.unknown[1 - seat], kind)) for kind in range(1, NUM_KINDS + 1)}
        told = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
        return f"You are {PLAYERS[seat]}. Hidden: {told or 'nothing'}"

    def told(self, state: Any, seat: int, action: int, viewer: int | None) -> str:
        """Everybody sees who moves where."""
        del viewer
        return self.moves(state, seat, [action])[0].name

    def _corner(self, cell: int) -> tuple[float, float]:
        """The upper left corner of a cell; row 0 is at the bottom."""
        row, column = divmod(cell, self.game.config.columns)
        return _MARGIN + _CELL * column, _MARGIN + _CELL * (self.game.config.rows - 1 - row)

    def _piece(self, cell: int, kind: int, owner: int, is_open: bool, moved: bool) -> str:
        """A piece with its rank and name, or its back (kind 0); an open eye where both sides know it, a dot if it has moved."""
        x, y = self._corner(cell)
        middle = x + _CELL / 2
        body = (
            f"<rect x='{x + 7}' y='{y + 9}' width='{_CELL - 12}' height='{_CELL - 12}' rx='8' fill='#0003'/>"
            f"<rect x='{x + 6}' y='{y + 6}' width='{_CELL - 12}' height='{_CELL - 12}' rx='8' fill='{_COLOURS[owner]}' "
            f"stroke='{_RIMS[owner]}' stroke-width='1.5'/>"
        )
        if kind:
            body += words(middle, y + 36, SYMBOLS[kind - 1], 22, "#fff", bold=True)
            body += words(middle, y + 48, KIND_NAMES[kind - 1], 9, "#fff")
        else:
            body += words(middle, y + 38, "?", 24, "#ffffff90")
        if moved:
            body += f"<circle cx='{x + _CELL - 14}' cy='{y + 14}' r='3' fill='#fff' fill-opacity='.9'/>"
        if is_open:
            body += f"<circle cx='{x + 15}' cy='{y + 14}' r='3.6' fill='none' stroke='#fff' stroke-width='2'/>"
        return body
