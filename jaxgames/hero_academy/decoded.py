"""What the number of an action says, on the host, for pages and pictures. In programs `actions.Layout.parse` does this."""

from __future__ import annotations

from typing import NamedTuple

from jaxgames.bits import WORD_BITS
from jaxgames.hero_academy import actions, cards
from jaxgames.hero_academy.actions import OFFSETS
from jaxgames.hero_academy.config import MOST_DEPLOY_SQUARES, HeroAcademyConfig

UNIT, TRADE, CARD, DEPLOY, SWAP, END, PASS = "unit", "trade", "card", "deploy", "swap", "end", "pass"
NOWHERE = -1


class Decoded(NamedTuple):
    """An action taken apart.

    Attributes:
      kind: `UNIT` (acts on a cell), `TRADE` (the ninja changes places with a unit), `CARD` (one that is no unit), `DEPLOY`,
        `SWAP` (a card goes back into the deck), `END` (of the turn), or `PASS`.
      card: that leaves the hand; -1: none does.
      start: the cell of the unit that acts; `NOWHERE`: none does, or it is the ninja that changes places.
      end: the cell that it acts on; `NOWHERE`: it acts on none.
    """

    kind: str
    card: int = -1
    start: int = NOWHERE
    end: int = NOWHERE


def decode(config: HeroAcademyConfig, seat: int, action: int) -> Decoded | None:
    """Takes the number of an action of a seat apart. Returns None if there is no such action, as for cells off the board."""
    layout = actions.layout(config)
    word, bit = divmod(action, WORD_BITS)
    if word == layout.plain:
        return _plain(config, seat, bit)
    if not 0 <= word < layout.num_words:
        return None
    number, half = divmod(word - (word > layout.plain), layout.words)
    cell = WORD_BITS * half + bit
    if cell >= config.num_cells:
        return None
    if word > layout.plain:
        return Decoded(CARD, card=number - (len(OFFSETS) + 1) + cards.NUM_UNIT_CARDS, end=cell)
    if word >= layout.trade:
        return Decoded(TRADE, end=cell)
    row, column = divmod(cell, config.grid.columns)
    right, down = OFFSETS[number]
    if not (0 <= row + down < config.grid.rows and 0 <= column + right < config.grid.columns):
        return None
    return Decoded(UNIT, start=cell, end=cell + down * config.grid.columns + right)


def _plain(config: HeroAcademyConfig, seat: int, bit: int) -> Decoded | None:
    """What a bit of the word of cards without a cell says."""
    if bit >= actions.END_TURN:
        return {actions.END_TURN: Decoded(END), actions.PASS: Decoded(PASS)}.get(bit)
    if bit >= actions.SWAP_CARD:
        return Decoded(SWAP, card=bit - actions.SWAP_CARD)
    card, place = divmod(bit - actions.DEPLOY, MOST_DEPLOY_SQUARES)
    squares = config.deploy_cells[seat]
    return Decoded(DEPLOY, card, end=int(squares[place])) if place < len(squares) else None
