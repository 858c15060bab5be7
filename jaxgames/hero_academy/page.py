"""Hero Academy on a page: the board, and the cards of one player; units, cards and cells are clicked or dragged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from jaxgames import page
from jaxgames.hero_academy import cards, decoded, interop, units
from jaxgames.hero_academy.decoded import Decoded, decode
from jaxgames.page import Move, words

_CELL, _MARGIN, _HEAD = 84, 30, 30
_CARD_WIDE, _CARD_HIGH, _GAP = 66, 78, 8
_SQUARES = {"d": "#dde7f6", "D": "#f6dfdc", "S": "#d5e8cf", "A": "#f2e0ae", "P": "#e5d8f0"}
_MARKS = {"d": "deploy", "D": "deploy", "S": "defense", "A": "assault", "P": "power"}
_PLAIN, _GRID, _SOFT = "#f7f5ef", "#cdc7b8", "#8b8577"
_COLOURS, _PALE = ("#2f5d9e", "#b8403a"), ("#a9bddb", "#e0b3b0")
_ITEM_COLOURS = ("#5b8c5a", "#6e7f94", "#d0a020", "#b98adf")
_SHAPES = (  # of units, around (0, 0): shield and sword, bow, cross, star, blade; and of cards that are none
    "M-13-12h26v10q0 12-13 18q-13-6-13-18zM0-9v20M-6-3h12",
    "M-9-15q20 15 0 30M-9-15v30M-12 0h22M10 0l-6-4M10 0l-6 4",
    "M-4-14h8v10h10v8h-10v10h-8v-10h-10v-8h10z",
    "M0-15l4 11h11l-9 7l4 12l-10-8l-10 8l4-12l-9-7h11z",
    "M-12 12l18-22l6-3l-3 7l-18 20zM-9 4l8 8",
    "M0-14q4 7 9 11q6 6 2 12q-4 6-11 6q-7 0-10-6q-3-7 3-12q1 4 3 4q0-8 4-15z",
    "M-4-14h8v8l7 12q2 8-6 8h-10q-8 0-6-8l7-12z",
    "M-10 10l10-24l10 24zM-5 3h10",
    "M-10-12h20v24h-20zM-6-6h12M-6 0h12M-6 6h8",
    "M0-14l12 5q0 16-12 23q-12-7-12-23z",
    "M-12 8q0-20 12-20q12 0 12 20zM-12 8h24",
)


class Page(page.Board):
    """The board of `jaxgames.page` for Hero Academy; `game` is a `HeroAcademy`."""

    game: Any

    def picture(self, state: Any, seat: int | None) -> str:
        config = self.game.config
        arrays = {name: rows[0] for name, rows in interop.to_arrays(config, jax.tree.map(_batched, state)).items()}
        wide, high = self._size()
        parts = []
        for cell, kind in enumerate("".join(config.board)):
            x, y = self._corner(cell)
            fill = _SQUARES.get(kind, _PLAIN)
            parts.append(f"<rect x='{x}' y='{y}' width='{_CELL}' height='{_CELL}' fill='{fill}' stroke='{_GRID}'/>")
            if kind in _MARKS:
                parts.append(words(x + _CELL / 2, y + _CELL - 5, _MARKS[kind], 10, _SOFT))
        columns = config.grid.columns
        for column in range(columns):
            x = self._corner(column)[0] + _CELL / 2
            parts.append(words(x, _HEAD - 10, chr(ord("a") + column), 14, _SOFT))
        for row in range(config.grid.rows):
            y = self._corner(row * columns)[1] + _CELL / 2 + 5
            parts.append(words(self._corner(0)[0] - 16, y, str(row + 1), 14, _SOFT))
        kinds, owners = arrays["unit_class"].ravel(), arrays["unit_owner"].ravel()
        units_there = np.flatnonzero(kinds).tolist()
        parts += [self._unit(cell, int(kinds[cell]), int(owners[cell]) - 1, arrays) for cell in units_there]
        parts.append(self._hand(self._hand_of(seat), arrays["hand"][self._hand_of(seat)]))
        parts.append(self._other(seat, arrays))
        return f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {wide} {high}'>{''.join(parts)}</svg>"

    def spots(self) -> Mapping[str, str]:
        config = self.game.config
        inside = f"width='{_CELL - 4}' height='{_CELL - 4}' rx='8'"
        found = {f"c{cell}": "<rect x='{}' y='{}' {}/>".format(*self._spot(cell), inside) for cell in range(config.num_cells)}
        for card in range(cards.NUM_CARDS):
            x, y = self._card_corner(card)
            found[f"h{card}"] = f"<rect x='{x}' y='{y}' width='{_CARD_WIDE}' height='{_CARD_HIGH}' rx='9'/>"
        x, y = self._deck_corner()
        return {**found, "deck": f"<rect x='{x}' y='{y}' width='{_CARD_WIDE}' height='{_CARD_HIGH}' rx='9'/>"}

    def moves(self, state: Any, seat: int, actions: Sequence[int]) -> list[Move]:
        config, found = self.game.config, []
        kinds, ninja = self._kinds(state, seat)
        for action in actions:
            said = decode(config, seat, action)
            if said is None or (said.kind == decoded.TRADE and ninja < 0):
                found.append(Move(action, f"action {action}, which is not legal"))  # of a saved game, or a careless agent
            else:
                found.append(Move(action, *self._said(said, kinds, ninja)))
        return found

    def _said(self, said: Decoded, kinds: np.ndarray, ninja: int) -> tuple[str, tuple[str, ...]]:
        """An action in words, and the spots that it is clicked on."""
        card, start, end = said.card, said.start, said.end
        match said.kind:
            case decoded.UNIT:
                verb = " acts on " if kinds[end] else "–"
                return f"{units.UNIT_NAMES[kinds[start]]} {self._name(start)}{verb}{self._name(end)}", (f"c{start}", f"c{end}")
            case decoded.TRADE:
                return f"ninja {self._name(ninja)} changes places with {self._name(end)}", (f"c{ninja}", f"c{end}")
            case decoded.DEPLOY:
                return f"{cards.CARD_NAMES[card]} to {self._name(end)}", (f"h{card}", f"c{end}")
            case decoded.CARD:
                return f"{cards.CARD_NAMES[card]} on {self._name(end)}", (f"h{card}", f"c{end}")
            case decoded.SWAP:
                return f"swap {cards.CARD_NAMES[card]}", (f"h{card}", "deck")
        return "end turn" if said.kind == decoded.END else "pass", ()

    def status(self, state: Any, seat: int | None) -> str:
        points, turn = int(state.action_points), int(state.turn)
        whose = "" if seat is None else "You play blue. " if seat == 0 else "You play red. "
        return f"{whose}Turn {turn}, {points} action point{'' if points == 1 else 's'} left"

    def told(self, state: Any, seat: int, action: int, viewer: int | None) -> str:
        """All actions are seen but for a card that is swapped."""
        said = decode(self.game.config, seat, action)
        hidden = self.game.config.hidden_hands and viewer not in (None, seat)
        if hidden and said is not None and said.kind == decoded.SWAP:
            return "swap a card"
        return self.moves(state, seat, [action])[0].name

    def marks(self, state: Any, seat: int, action: int, viewer: int | None) -> tuple[str, ...]:
        """One hand is shown; the cards and the deck of the other have no place on the board."""
        spots = super().marks(state, seat, action, viewer)
        return spots if seat == self._hand_of(viewer) else tuple(spot for spot in spots if spot.startswith("c"))

    # --- where things are ----------------------------------------------------------------------------------------------

    def _size(self) -> tuple[int, int]:
        grid = self.game.config.grid
        hand = 2 * _MARGIN + (cards.NUM_CARDS + 1) * (_CARD_WIDE + _GAP) + 14
        return max(grid.columns * _CELL + 2 * _MARGIN, hand), _HEAD + grid.rows * _CELL + _CARD_HIGH + 74

    def _corner(self, cell: int) -> tuple[float, float]:
        row, column = divmod(cell, self.game.config.grid.columns)
        left = (self._size()[0] - self.game.config.grid.columns * _CELL) / 2
        return left + column * _CELL, _HEAD + row * _CELL

    def _spot(self, cell: int) -> tuple[float, float]:
        x, y = self._corner(cell)
        return x + 2, y + 2

    def _card_corner(self, card: int) -> tuple[float, float]:
        return _MARGIN + card * (_CARD_WIDE + _GAP), _HEAD + self.game.config.grid.rows * _CELL + 44

    def _deck_corner(self) -> tuple[float, float]:
        x, y = self._card_corner(cards.NUM_CARDS)
        return x + 14, y

    def _name(self, cell: int) -> str:
        row, column = divmod(cell, self.game.config.grid.columns)
        return f"{chr(ord('a') + column)}{row + 1}"

    def _kinds(self, state: Any, seat: int) -> tuple[np.ndarray, int]:
        """What stands on each cell, int [cells], and the cell of a seat's ninja (-1: it has none)."""
        grid, board = self.game.config.grid, state.board
        kinds = sum(grid.to_numpy(plane).astype(int) << digit for digit, plane in enumerate(board.kinds))
        own = grid.to_numpy(board.second) == seat
        ninjas = np.flatnonzero((kinds == units.NINJA) & own & (grid.to_numpy(board.alive) > 0))
        return kinds, int(ninjas[0]) if len(ninjas) else -1

    @staticmethod
    def _hand_of(seat: int | None) -> int:
        """Whose hand lies open below the board."""
        return seat or 0

    # --- what is drawn -------------------------------------------------------------------------------------------------

    def _unit(self, cell: int, kind: int, owner: int, arrays: Mapping[str, np.ndarray]) -> str:
        x, y = self._corner(cell)
        x, y = x + _CELL / 2, y + _CELL / 2 - 6
        points, items = int(arrays["unit_hp"].ravel()[cell]), int(arrays["unit_equip"].ravel()[cell])
        most = int(units.most_hit_points(np.array(kind), np.array(items)))
        colour = _COLOURS[owner] if points else _PALE[owner]
        if kind == units.CRYSTAL:
            shape = f"<path d='M{x} {y - 30}l19 25l-19 25l-19-25z' fill='{colour}' stroke='#fff' stroke-width='2'/>"
            shape += f"<path d='M{x} {y - 30}v50M{x - 19} {y - 5}h38' stroke='#fff' stroke-opacity='.35'/>"
        else:
            shape = f"<circle cx='{x}' cy='{y + 2}' r='27' fill='#0002'/><circle cx='{x}' cy='{y}' r='26' fill='{colour}'/>"
            shape += _symbol(kind - 1, x, y, "#fff", 1.0)
            if not points:
                shape += f"<path d='M{x - 16} {y - 16}l32 32m0-32l-32 32' stroke='#8b2a22' stroke-width='4'/>"
        for number, name in enumerate(units.ITEM_NAMES):
            if (items >> number) & 1:
                left = x - 27 + 18 * number
                shape += f"<circle cx='{left}' cy='{y - 27}' r='7' fill='{_ITEM_COLOURS[number]}' stroke='#fff'/>"
                shape += words(left, y - 23, name[0], 10, "#fff")
        share = 60 * points / max(most, 1)
        bar = f"<rect x='{x - 30}' y='{y + 30}' width='60' height='6' rx='3' fill='#0002'/>"
        bar += f"<rect x='{x - 30}' y='{y + 30}' width='{share:.1f}' height='6' rx='3' fill='#3b9b54'/>"
        title = f"<title>{units.UNIT_NAMES[kind]}: {points} of {most} hit points</title>"
        return f"<g>{title}{shape}{bar}</g>"

    def _hand(self, seat: int, hand: np.ndarray) -> str:
        parts = []
        for card, count in enumerate(hand.tolist()):
            x, y = self._card_corner(card)
            faint = "" if count else " opacity='.25'"
            parts.append(f"<g{faint}>{_card(x, y, cards.CARD_NAMES[card], _COLOURS[seat])}")
            parts.append(_symbol(card, x + _CARD_WIDE / 2, y + 34, _COLOURS[seat], 1.05))
            if count > 1:
                parts.append(f"<circle cx='{x + _CARD_WIDE - 8}' cy='{y + 8}' r='10' fill='{_COLOURS[seat]}'/>")
                parts.append(words(x + _CARD_WIDE - 8, y + 12, str(count), 12, "#fff"))
            parts.append("</g>")
        x, y = self._deck_corner()
        back = f"<rect x='{x}' y='{y}' width='{_CARD_WIDE}' height='{_CARD_HIGH}' rx='9' fill='{_COLOURS[seat]}' opacity='.8'/>"
        return "".join([*parts, back, words(x + _CARD_WIDE / 2, y + 44, "swap", 12, "#fff")])

    def _other(self, seat: int | None, arrays: Mapping[str, np.ndarray]) -> str:
        """A line about the other's hand, and about the decks."""
        own = self._hand_of(seat)
        other, held = 1 - own, arrays["hand"][1 - own]
        if seat is not None and self.game.config.hidden_hands:
            told = f"the other holds {int(held.sum())} cards, {int(arrays['deck'][other].sum())} in its deck"
        else:
            names = ", ".join(f"{count} {name}" for name, count in zip(cards.CARD_NAMES, held.tolist(), strict=True) if count)
            told = f"the other's hand: {names or 'nothing'}; {int(arrays['deck'][other].sum())} in its deck"
        y = _HEAD + self.game.config.grid.rows * _CELL + 24
        line = f"{told}. Your deck: {int(arrays['deck'][own].sum())}" if seat is not None else told
        return words(self._size()[0] / 2, y, line, 13, _SOFT)


def _batched(leaf: Any) -> np.ndarray:
    return np.asarray(leaf)[None]


def _symbol(number: int, x: float, y: float, colour: str, scale: float) -> str:
    style = f"fill='none' stroke='{colour}' stroke-width='2.6' stroke-linejoin='round' stroke-linecap='round'"
    return f"<path transform='translate({x:.1f} {y:.1f}) scale({scale})' d='{_SHAPES[number]}' {style}/>"


def _card(x: float, y: float, name: str, colour: str) -> str:
    size = f"x='{x}' y='{y}' width='{_CARD_WIDE}' height='{_CARD_HIGH}' rx='9'"
    body = f"<rect {size} fill='#fffdf6' stroke='{colour}' stroke-width='1.5'/>"
    return body + words(x + _CARD_WIDE / 2, y + _CARD_HIGH - 9, name, 9.5, "#333")
