"""Clash on a page: the arena, and the cards of one player, which are dragged onto it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jaxgames import page, svg
from jaxgames.clash import view
from jaxgames.clash.constants import (
    COLUMNS,
    ELIXIR,
    HAND,
    HEIGHT,
    MOST_ELIXIR,
    NUM_TILES,
    TILE,
    WIDTH,
)
from jaxgames.clash.rules import WAIT
from jaxgames.page import Move, words

_LEFT, _TOP = view.LEFT, view.TOP
_TILE = TILE * view.SCALE
_WIDE, _HIGH = WIDTH * view.SCALE, HEIGHT * view.SCALE
_PANEL, _CARD_WIDE, _CARD_HIGH, _GAP = _LEFT + _WIDE + 24, 92, 116, 10
_ELIXIR, _SOFT = "#b03fd0", "#6b7280"
_BOLD = 0.7  # width of a bold letter, as a share of its size


class Page(page.Board):
    """The board of `jaxgames.page` for Clash; `game` is a `Clash`."""

    game: Any

    @property
    def keys(self) -> Mapping[str, int]:
        return {" ": WAIT}

    def picture(self, state: Any, seat: int | None) -> str:
        config = self.game.config
        wide, high = round(_PANEL + 2 * (_CARD_WIDE + _GAP) + 14), round(_TOP + _HIGH + 16)
        parts = [*view.ground(), *view.things(config, state), *_towers(state), self._time(state)]
        seats = (0, 1) if seat is None else (seat,)
        for place, each in enumerate(seats):
            parts.append(self._hand(state, each, self._panel_top(place if seat is None else 0), small=seat is None))
        return f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {wide} {high}' {view.FONT}>{''.join(parts)}</svg>"

    def spots(self) -> Mapping[str, str]:
        found = {}
        seat = self._seat()
        for tile in range(NUM_TILES):
            row, column = divmod(NUM_TILES - 1 - tile if seat else tile, COLUMNS)
            left, top, side = _LEFT + column * _TILE, _TOP + _HIGH - (row + 1) * _TILE, _TILE
            found[f"t{tile}"] = f"<rect x='{left:g}' y='{top:g}' width='{side:g}' height='{side:g}'/>"
        for place in range(HAND):
            left, top = self._card_corner(place, self._panel_top(0))
            found[f"k{place}"] = f"<rect x='{left:g}' y='{top:g}' width='{_CARD_WIDE}' height='{_CARD_HIGH}' rx='9'/>"
        return found

    def moves(self, state: Any, seat: int, actions: Sequence[int]) -> list[Move]:
        names = [self.game.config.table.cards[int(row)].name for row in state.hand[seat]]
        costs = [self.game.config.table.cards[int(row)].cost for row in state.hand[seat]]
        elixir = int(state.elixir[seat])
        found, saved_for = [], set()
        for action in actions:
            if action == WAIT:
                found.append(Move(action, "wait"))
                continue
            place, tile = divmod(action - 1, NUM_TILES)
            if costs[place] * ELIXIR > elixir:  # saved for, whatever the tile
                spots = () if place in saved_for else (f"k{place}",)
                if spots:
                    found.append(Move(action, f"save for {names[place]}", spots))
                saved_for.add(place)
            else:
                where = f"{tile % COLUMNS}, {tile // COLUMNS}"
                found.append(Move(action, f"{names[place]} at {where}", (f"k{place}", f"t{tile}")))
        return found

    def status(self, state: Any, seat: int | None) -> str:
        if seat is None:
            return ""
        saves = int(state.saving[seat])
        name = self.game.config.table.cards[int(state.hand[seat, saves])].name if saves >= 0 else ""
        told = f"saving for {name}" if name else "drag a card onto the arena, or wait (space)"
        return f"You are {view.NAMES[seat]}, at the {'top' if seat else 'bottom'}; {told}"

    def told(self, state: Any, seat: int, action: int, viewer: int | None) -> str:
        """All see a card that is played; that one is saved for is known to its player alone."""
        if action == WAIT:
            return "wait" if viewer in (None, seat) else ""
        move = self.moves(state, seat, [action])[0]
        return "" if viewer not in (None, seat) and len(move.spots) < 2 else move.name

    def happened(self, before: Any, after: Any, seat: int, action: int, viewer: int | None) -> str:
        """What could not be played there, or was chosen while another card is saved for, has been waiting."""
        plays = len(self.moves(before, seat, [action])[0].spots) > 1
        waits = int(before.saving[seat]) >= 0 or (plays and int(after.past[seat, 0, 0]) < 0)
        return self.told(before, seat, WAIT if waits else action, viewer)

    def _seat(self) -> int:
        """The seat of whoever clicks."""
        return self.names.index("you") if "you" in self.names else 0

    def _panel_top(self, place: int) -> float:
        return _TOP + 40 + place * _HIGH / 2

    def _card_corner(self, place: int, top: float) -> tuple[float, float]:
        return _PANEL + place % 2 * (_CARD_WIDE + _GAP), top + 44 + place // 2 * (_CARD_HIGH + _GAP)

    def _time(self, state: Any) -> str:
        return words(_LEFT, _TOP - 14, view.clock(self.game.config, int(state.tick)), 20, anchor="start", bold=True)

    def _hand(self, state: Any, seat: int, top: float, *, small: bool) -> str:
        config, wide = self.game.config, 2 * _CARD_WIDE + _GAP
        elixir = int(state.elixir[seat]) / ELIXIR
        name, size = svg.fitted(self.names[seat], 15, wide, _BOLD)
        parts = [
            words(_PANEL, top - 10, name, size, view.COLOURS[seat], anchor="start", bold=True),
            f"<rect x='{_PANEL}' y='{top}' width='{wide}' height='16' rx='8' fill='#8884'/>",
            f"<rect x='{_PANEL}' y='{top}' width='{wide * elixir / MOST_ELIXIR:.1f}' height='16' rx='8' fill='{_ELIXIR}'/>",
            words(_PANEL + wide / 2, top + 12.5, f"{elixir:.1f} elixir", 12, bold=True),
        ]
        for place, row in enumerate(np.asarray(state.hand[seat]).tolist()):
            x, y = self._card_corner(place, top)
            parts.append(_card(x, y, config.table.cards[row], elixir, int(state.saving[seat]) == place))
        following = config.table.cards[int(state.queue[seat][0])].name
        y = top + 36 if small else top + 60 + 2 * (_CARD_HIGH + _GAP)
        return "".join([*parts, words(_PANEL, y, f"next: {following}", 13, _SOFT, anchor="start")])


def _towers(state: Any) -> list[str]:
    """The hit points of the towers."""
    return [words(x, y, points, 11, "#1d2330", bold=True) for x, y, points in view.tower_points(state)]


def _card(x: float, y: float, card: Any, elixir: float, saved_for: bool) -> str:
    """A card with its cost; pale while it cannot be paid, in a thick frame while it is saved for."""
    frame = f"stroke='{_ELIXIR}' stroke-width='4'" if saved_for else "stroke='#9aa1ad' stroke-width='1.2'"
    faint = " opacity='.55'" if card.cost > elixir else ""
    middle, lines = x + _CARD_WIDE / 2, card.name.replace(".", "").split()
    parts = [f"<rect x='{x}' y='{y}' width='{_CARD_WIDE}' height='{_CARD_HIGH}' rx='9' fill='{view.CARDS[card.type]}' {frame}/>"]
    for number, line in enumerate(lines):
        top = y + _CARD_HIGH / 2 + 8 + 17 * (number - (len(lines) - 1) / 2)
        parts.append(words(middle, top, line, 15 if len(line) < 9 else 12, "#2a2f3a", bold=True))
    parts.append(words(middle, y + _CARD_HIGH - 10, card.type, 10, _SOFT))
    parts.append(f"<circle cx='{x + 16}' cy='{y + 16}' r='12' fill='{_ELIXIR}' stroke='#fff' stroke-width='1.5'/>")
    parts.append(words(x + 16, y + 21, str(card.cost), 14, "#fff", bold=True))
    return f"<g{faint}>{''.join(parts)}</g>"
