"""Hex and DarkHex on a page: the board as one player sees it; a click tries a cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jaxgames import page
from jaxgames.game import hides_something
from jaxgames.hex.geometry import BLACK, WHITE
from jaxgames.hex.honeycomb import Honeycomb
from jaxgames.hex.interop import board, cell_name, view_codes
from jaxgames.hex.view import winning_chain
from jaxgames.page import Move, words

_SIDE = 34.0
_MARGIN = 44.0
_CELL, _LINE, _LABEL = "#f1ede2", "#c4bda9", "#8b877c"
_EDGES = ("#2b313c", "#e0a92e")
_STONES = (("#4a5364", "#171a20"), ("#ffffff", "#d9cfb2"))  # light and shade
_CHAIN = "#2f9e57"


class Page(page.Board):
    """The board of `jaxgames.page` for Hex; `game` is a `Hex`."""

    game: Any

    @property
    def _comb(self) -> Honeycomb:
        return Honeycomb(self.game.config.board_size, _SIDE, _MARGIN)

    def picture(self, state: Any, seat: int | None) -> str:
        config = self.game.config
        seen = board(config, state) if seat is None or not config.is_dark else np.sign(view_codes(config, state, seat))
        size, comb = config.board_size, self._comb
        right, bottom = comb.middle(config.num_cells - 1)
        wide, high = right + comb.wide / 2 + _MARGIN, bottom + _SIDE + _MARGIN
        parts = [_gradient(player) for player in (BLACK, WHITE)]
        for player, points in comb.edges(1.13):
            parts.append(
                f"<polyline points='{points}' fill='none' stroke='{_EDGES[player]}' stroke-width='9' stroke-linejoin='round' "
                "stroke-linecap='round'/>"
            )
        outlines = map(comb.outline, range(config.num_cells))
        parts += [f"<polygon points='{outline}' fill='{_CELL}' stroke='{_LINE}'/>" for outline in outlines]
        for number in range(size):
            x, y = comb.middle(number)
            parts.append(words(x - 10, y - _SIDE - 12, chr(ord("a") + number), 14, _LABEL))
            x, y = comb.middle(number * size)
            parts.append(words(x - comb.wide / 2 - 18, y + 5, str(number + 1), 14, _LABEL))
        for cell in np.flatnonzero(seen).tolist():
            x, y = comb.middle(cell)
            player = BLACK if seen[cell] > 0 else WHITE
            parts.append(f"<circle cx='{x + 1:.1f}' cy='{y + 2.5:.1f}' r='{0.66 * _SIDE:.1f}' fill='#0003'/>")
            parts.append(f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{0.66 * _SIDE:.1f}' fill='url(#stone{player})'/>")
        if state.terminated and state.last >= 0:  # the chain, where all of it is seen
            chains = (winning_chain(config, seen, player) for player in (BLACK, WHITE))
            for points in (" ".join(f"{x:.1f},{y:.1f}" for x, y in map(comb.middle, chain)) for chain in chains if chain):
                line = f"fill='none' stroke='{_CHAIN}' stroke-width='8' stroke-linecap='round' stroke-linejoin='round'"
                parts.append(f"<polyline class='chain' points='{points}' {line} opacity='.8'/>")
        return f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {wide:.0f} {high:.0f}'>{''.join(parts)}</svg>"

    def spots(self) -> Mapping[str, str]:
        return {f"c{cell}": f"<polygon points='{self._comb.outline(cell)}'/>" for cell in range(self.game.config.num_cells)}

    def moves(self, state: Any, seat: int, actions: Sequence[int]) -> list[Move]:
        del state, seat
        passes = self.game.pass_action
        return [
            Move(action, "pass") if action == passes else Move(action, cell_name(self.game.config, action), (f"c{action}",))
            for action in actions
        ]

    def status(self, state: Any, seat: int | None) -> str:
        ways = ("black joins top and bottom", "white joins left and right")
        told = "; ".join(ways) if seat is None else ways[seat].replace(" joins", ": you join")
        return (
            f"{told}; stones of the other are hidden until you meet them"
            if hides_something(self.game) and seat is not None
            else told
        )


def _gradient(player: int) -> str:
    light, shade = _STONES[player]
    stops = f"<stop offset='0' stop-color='{light}'/><stop offset='1' stop-color='{shade}'/>"
    return f"<radialGradient id='stone{player}' cx='.35' cy='.3' r='.8'>{stops}</radialGradient>"
