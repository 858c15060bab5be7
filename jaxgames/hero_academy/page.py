"""Hero Academy on a page: the board, and the cards of one player; units, cards and cells are clicked or dragged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jaxgames import page
from jaxgames.hero_academy import cards, decoded, shapes, units
from jaxgames.hero_academy import words as telling
from jaxgames.hero_academy.decoded import Decoded, decode
from jaxgames.page import Move, words

_CELL, _MARGIN, _HEAD = 84, 30, 30
_CARD_WIDE, _CARD_HIGH, _GAP = 66, 78, 8
_GRID, _SOFT = "#cdc7b8", "#8b8577"
_SHAPE_SIZE, _LETTER_SIZE = 0.8, 13  # of a unit in its circle or on its card


class Page(page.Board):
    """The board of `jaxgames.page` for Hero Academy; `game` is a `HeroAcademy`."""

    game: Any

    def picture(self, state: Any, seat: int | None) -> str:
        config = self.game.config
        arrays = telling.arrays_of(config, state)
        wide, high = self._size()
        parts = []
        for cell, kind in enumerate("".join(config.board)):
            x, y = self._corner(cell)
            fill = shapes.SQUARES.get(kind, shapes.PLAIN)
            parts.append(f"<rect x='{x}' y='{y}' width='{_CELL}' height='{_CELL}' fill='{fill}' stroke='{_GRID}'/>")
            if kind in shapes.MARKS:
                parts.append(words(x + _CELL / 2, y + _CELL - 5, shapes.MARKS[kind], 10, _SOFT))
        columns = config.grid.columns
        for column in range(columns):
            x = self._corner(column)[0] + _CELL / 2
            parts.append(words(x, _HEAD - 10, telling.column_name(column), 14, _SOFT))
        for row in range(config.grid.rows):
            y = self._corner(row * columns)[1] + _CELL / 2 + 5
            parts.append(words(self._corner(0)[0] - 16, y, str(row + 1), 14, _SOFT))
        kinds, owners = arrays["unit_class"], arrays["unit_owner"]
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
        arrays = telling.arrays_of(config, state)
        ninja = telling.ninja_of(arrays, seat)
        for action in actions:
            said = decode(config, seat, action)
            if said is None or (said.kind == decoded.TRADE and ninja < 0):
                found.append(Move(action, f"action {action}, which is not legal"))  # of a saved game, or a careless agent
            else:
                found.append(Move(action, telling.planned(config, arrays, seat, said), _spots(said, ninja)))
        return found

    def status(self, state: Any, seat: int | None) -> str:
        points, turn = int(state.action_points), int(state.turn)
        left = f"{points} action point{'' if points == 1 else 's'} left"
        if seat is not None:
            return f"You play {shapes.COLOUR_NAMES[seat]}. Turn {turn}, {left}"
        return f"Turn {turn}" if state.terminated else f"Turn {turn}, {self._called(int(state.player))} to move, {left}"

    def told(self, state: Any, seat: int, action: int, viewer: int | None) -> str:
        """All actions are seen but for a card that is swapped."""
        said = decode(self.game.config, seat, action)
        hidden = self.game.config.hidden_hands and viewer not in (None, seat)
        if hidden and said is not None and said.kind == decoded.SWAP:
            return "swap a card"
        return self.moves(state, seat, [action])[0].name

    def happened(self, before: Any, after: Any, seat: int, action: int, viewer: int | None) -> str:
        """Hit points and who has left the board beside the words, which all see."""
        config, told = self.game.config, self.told(before, seat, action, viewer)
        arrays, said = telling.arrays_of(config, before), decode(config, seat, action)
        if said is None or said.kind == decoded.SWAP or (said.kind == decoded.TRADE and telling.ninja_of(arrays, seat) < 0):
            return told
        return telling.happened(config, arrays, telling.arrays_of(config, after), seat, said)

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

    def _called(self, seat: int) -> str:
        """A player by colour and name, without its settings."""
        return f"{shapes.COLOUR_NAMES[seat]} ({self.names[seat].partition(':')[0]})"

    @staticmethod
    def _hand_of(seat: int | None) -> int:
        """Whose hand lies open below the board."""
        return seat or 0

    # --- what is drawn -------------------------------------------------------------------------------------------------

    def _unit(self, cell: int, kind: int, owner: int, arrays: Mapping[str, np.ndarray]) -> str:
        x, y = self._corner(cell)
        x, y = x + _CELL / 2, y + _CELL / 2 - 6
        points, items = int(arrays["unit_hp"][cell]), int(arrays["unit_equip"][cell])
        most = int(units.most_hit_points(np.array(kind), np.array(items)))
        colour = shapes.COLOURS[owner] if points else shapes.PALE[owner]
        if kind == units.CRYSTAL:
            shape = f"<path d='{shapes.UNITS[kind]}' transform='translate({x} {y}) scale(1.25)' fill='{colour}' stroke='#fff'/>"
        else:
            shape = f"<circle cx='{x}' cy='{y + 2}' r='27' fill='#0002'/><circle cx='{x}' cy='{y}' r='26' fill='{colour}'/>"
            shape += _figure(kind, x, y, "#fff", colour)
            if not points:
                shape += f"<path d='M{x - 16} {y - 16}l32 32m0-32l-32 32' stroke='#8b2a22' stroke-width='4'/>"
        held = [number for number in range(len(units.ITEM_NAMES)) if (items >> number) & 1]
        for number in held:
            left = x - 27 + 18 * number
            shape += f"<circle cx='{left}' cy='{y - 27}' r='7' fill='{shapes.ITEM_COLOURS[number]}' stroke='#fff'/>"
            shape += words(left, y - 23.5, shapes.ITEM_LETTERS[number], 10, "#fff")
        share = 60 * points / max(most, 1)
        bar = f"<rect x='{x - 30}' y='{y + 30}' width='60' height='6' rx='3' fill='#0002'/>"
        bar += f"<rect x='{x - 30}' y='{y + 30}' width='{share:.1f}' height='6' rx='3' fill='#3b9b54'/>"
        told = ", ".join([f"{units.UNIT_NAMES[kind]}: {points} of {most} hit points", *(units.ITEM_NAMES[each] for each in held)])
        return f"<g><title>{told}</title>{shape}{bar}</g>"

    def _hand(self, seat: int, hand: np.ndarray) -> str:
        parts = []
        for card, count in enumerate(hand.tolist()):
            x, y = self._card_corner(card)
            faint = "" if count else " opacity='.25'"
            parts.append(f"<g{faint}>{_card(x, y, cards.CARD_NAMES[card], shapes.COLOURS[seat])}")
            parts.append(_symbol(card, x + _CARD_WIDE / 2, y + 34, shapes.COLOURS[seat]))
            if count > 1:
                parts.append(f"<circle cx='{x + _CARD_WIDE - 8}' cy='{y + 8}' r='10' fill='{shapes.COLOURS[seat]}'/>")
                parts.append(words(x + _CARD_WIDE - 8, y + 12, str(count), 12, "#fff"))
            parts.append("</g>")
        x, y = self._deck_corner()
        size = f"width='{_CARD_WIDE}' height='{_CARD_HIGH}' rx='9'"
        back = f"<rect x='{x}' y='{y}' {size} fill='{shapes.COLOURS[seat]}' opacity='.8'/>"
        return "".join([*parts, back, words(x + _CARD_WIDE / 2, y + 44, "swap", 12, "#fff")])

    def _other(self, seat: int | None, arrays: Mapping[str, np.ndarray]) -> str:
        """A line about the other's hand, and about the decks."""
        own = self._hand_of(seat)
        other, held = 1 - own, arrays["hand"][1 - own]
        decks = [f"{int(deck.sum())} in its deck" for deck in arrays["deck"]]
        if seat is not None and self.game.config.hidden_hands:
            told = f"the other holds {int(held.sum())} cards, {decks[other]}"
        else:
            names = ", ".join(f"{count} {name}" for name, count in zip(cards.CARD_NAMES, held.tolist(), strict=True) if count)
            whose = f"{self._called(other)} holds" if seat is None else "the other's hand"
            told = f"{whose}: {names or 'nothing'}; {decks[other]}"
        y = _HEAD + self.game.config.grid.rows * _CELL + 24
        below = f"Below: {self._called(own)}, {decks[own]}" if seat is None else f"Your deck: {int(arrays['deck'][own].sum())}"
        return words(self._size()[0] / 2, y, f"{told}. {below}", 13, _SOFT)


def _spots(said: Decoded, ninja: int) -> tuple[str, ...]:
    """What an action is clicked on."""
    match said.kind:
        case decoded.UNIT:
            return f"c{said.start}", f"c{said.end}"
        case decoded.TRADE:
            return f"c{ninja}", f"c{said.end}"
        case decoded.DEPLOY | decoded.CARD:
            return f"h{said.card}", f"c{said.end}"
        case decoded.SWAP:
            return f"h{said.card}", "deck"
    return ()


def _figure(kind: int, x: float, y: float, fill: str, letter: str) -> str:
    """The shape of a unit with its letter."""
    shape = f"<path d='{shapes.UNITS[kind]}' transform='translate({x:.1f} {y:.1f}) scale({_SHAPE_SIZE})' fill='{fill}'/>"
    down = _LETTER_SIZE * 0.36 + _SHAPE_SIZE * shapes.LETTER_DOWN.get(kind, 0)
    return shape + words(x, y + down, shapes.LETTERS[kind], _LETTER_SIZE, letter, bold=True)


def _symbol(card: int, x: float, y: float, colour: str) -> str:
    """The shape of a card."""
    if card < cards.NUM_UNIT_CARDS:
        return _figure(units.UNITS[card], x, y, colour, "#fff")
    style = f"fill='none' stroke='{colour}' stroke-width='2.6' stroke-linejoin='round' stroke-linecap='round'"
    path = shapes.CARDS[card - cards.NUM_UNIT_CARDS]
    return f"<path transform='translate({x:.1f} {y:.1f}) scale(1.05)' d='{path}' {style}/>"


def _card(x: float, y: float, name: str, colour: str) -> str:
    size = f"x='{x}' y='{y}' width='{_CARD_WIDE}' height='{_CARD_HIGH}' rx='9'"
    body = f"<rect {size} fill='#fffdf6' stroke='{colour}' stroke-width='1.5'/>"
    return body + words(x + _CARD_WIDE / 2, y + _CARD_HIGH - 9, name, 9.5, "#333")
