"""Actions as numbers: the bits of a set of words, so that the legal ones are one set and drawing one is picking a bit.

Number `32 * word + bit`, with W words per board:

    24 W words   a unit acts on the cell at one of `OFFSETS`; the bit is the cell that it stands on
    W words      the ninja changes places with the own unit on a cell
    1 word       cards that need no cell: see `DEPLOY` to `PASS`
    6 W words    inferno, potion, runemetal, scroll, dragonscale, shining helm on a cell
"""

from __future__ import annotations

import dataclasses
import functools
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.bits import WORD_BITS, Bits
from jaxgames.hero_academy import cards
from jaxgames.hero_academy.config import MOST_DEPLOY_SQUARES, HeroAcademyConfig

REACH = 3
# (right, down) from a unit to the cell that it acts on.
OFFSETS = tuple(
    (right, down)
    for down in range(-REACH, REACH + 1)
    for right in range(-REACH, REACH + 1)
    if 0 < abs(right) + abs(down) <= REACH
)
DISTANCES = tuple(abs(right) + abs(down) for right, down in OFFSETS)

# Bits of the word of cards without a cell.
DEPLOY = 0  # + MOST_DEPLOY_SQUARES * card + number of the own deploy square
SWAP_CARD = DEPLOY + MOST_DEPLOY_SQUARES * cards.NUM_UNIT_CARDS  # + card
END_TURN = SWAP_CARD + cards.NUM_CARDS
PASS = END_TURN + 1  # all that the player who is not to move can do


class Action(NamedTuple):
    """An action taken apart; all [].

    Attributes:
      is_unit: bool, a unit acts on another cell, or stays where it is and attacks, heals, ...
      is_trade: bool, the ninja changes places.
      is_deploy, is_swap_card, is_end: bool.
      is_card: bool, a card on a cell, no unit.
      right, down: int32, where a unit acts.
      cell: int32, of the unit that acts, or the target of a card or the ninja.
      card: int32, the card that leaves the hand; -1 for none.
      place: int32, number of the own deploy square.
    """

    is_unit: Array
    is_trade: Array
    is_deploy: Array
    is_swap_card: Array
    is_end: Array
    is_card: Array
    right: Array
    down: Array
    cell: Array
    card: Array
    place: Array


@dataclasses.dataclass(frozen=True)
class Layout:
    """Which number stands for which action.

    Attributes:
      words: of a board, W.
    """

    words: int

    @property
    def trade(self) -> int:
        """The first word of the ninja's exchanges."""
        return len(OFFSETS) * self.words

    @property
    def plain(self) -> int:
        """The word of cards without a cell."""
        return self.trade + self.words

    def card_word(self, card: int) -> int:
        """The first word of a card that is no unit, on a cell."""
        return self.plain + 1 + (card - cards.NUM_UNIT_CARDS) * self.words

    @property
    def num_words(self) -> int:
        return self.card_word(cards.NUM_CARDS)

    @property
    def num_actions(self) -> int:
        return WORD_BITS * self.num_words

    @property
    def end_turn(self) -> int:
        return WORD_BITS * self.plain + END_TURN

    @property
    def pass_action(self) -> int:
        return WORD_BITS * self.plain + PASS

    def unit(self, offset: int, cell: int) -> int:
        """The number of a unit on a cell acting at `OFFSETS[offset]`."""
        return WORD_BITS * self.words * offset + cell

    def trade_with(self, cell: int) -> int:
        return WORD_BITS * self.trade + cell

    def deploy(self, card: int, place: int) -> int:
        return WORD_BITS * self.plain + DEPLOY + MOST_DEPLOY_SQUARES * card + place

    def swap_card(self, card: int) -> int:
        return WORD_BITS * self.plain + SWAP_CARD + card

    def play(self, card: int, cell: int) -> int:
        """The number of a card that is no unit, on a cell."""
        return WORD_BITS * self.card_word(card) + cell

    def parse(self, action: Array) -> Action:
        """Takes a number (int32 []) apart; for a number out of range all flags are False."""
        word, bit = action >> 5, action & (WORD_BITS - 1)
        inside = (action >= 0) & (word < self.num_words)
        is_unit = inside & (word < self.trade)
        is_trade = inside & (word >= self.trade) & (word < self.plain)
        is_plain = word == self.plain
        is_card = inside & (word > self.plain)
        is_deploy = is_plain & (bit < SWAP_CARD)
        is_swap_card = is_plain & (bit >= SWAP_CARD) & (bit < END_TURN)
        # Words of all sets, with the one of plain cards left out, by set and half.
        word_of_set = jnp.where(is_card, word - 1, word)
        number, half = (word_of_set >> 1, word_of_set & 1) if self.words == 2 else (word_of_set, jnp.zeros_like(word_of_set))
        offset = jnp.clip(number, 0, len(OFFSETS) - 1)
        coded = jnp.asarray(_coded_offsets())[offset]
        deployed = (bit * -(-32 // MOST_DEPLOY_SQUARES)) >> 5  # bit // MOST_DEPLOY_SQUARES, for these few bits
        card = jnp.where(is_card, number - (len(OFFSETS) + 1) + cards.NUM_UNIT_CARDS, -1)
        card = jnp.where(is_deploy, deployed, jnp.where(is_swap_card, bit - SWAP_CARD, card))
        return Action(
            is_unit=is_unit,
            is_trade=is_trade,
            is_deploy=is_deploy,
            is_swap_card=is_swap_card,
            is_end=is_plain & (bit == END_TURN),
            is_card=is_card,
            right=(coded & 15) - REACH,
            down=(coded >> 4) - REACH,
            cell=WORD_BITS * half + bit,
            card=card,
            place=bit - MOST_DEPLOY_SQUARES * deployed,
        )


def layout(config: HeroAcademyConfig) -> Layout:
    """Gives the numbering of a variant."""
    return Layout(config.grid.num_words)


@functools.cache
def _coded_offsets() -> np.ndarray:
    return np.array([(right + REACH) | ((down + REACH) << 4) for right, down in OFFSETS], np.int32)


def has(actions: Bits, action: Array) -> Array:
    """Says whether an action (int32 []; out of range: no) is in a set. Returns bool []."""
    return actions.has(action) & (action >= 0) & (action < WORD_BITS * len(actions.words))
