"""How rollouts choose actions: first a unit or a card, then what to do with it.

(Source: Justesen et al., Playing Multi-Action Adversarial Games: Online Evolutionary Planning versus Tree Search, section IV,
and the released program.)
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames import random_bits
from jaxgames.bits import Bits, select, union
from jaxgames.hero_academy import actions, cards, ratings, units
from jaxgames.hero_academy.config import MOST_DEPLOY_SQUARES, HeroAcademyConfig
from jaxgames.hero_academy.legal import Sides, legal_set
from jaxgames.hero_academy.state import State
from jaxgames.random_bits import LaneKey

HAND_FIRST = 0.25
_ORDER, _UNIT, _CARD, _GREEDY, _ACTION = range(5)  # counters of the key


def rollout_action(config: HeroAcademyConfig, state: State, key: LaneKey, greediness: float) -> Array:
    """Chooses a random unit or card that can do something, and one of its actions.

    Args:
      config: the variant.
      state: one game that goes on.
      key: uint32 [] each.
      greediness: the chance that the action is the highest rated of the unit or card, else it is any of them.

    Returns:
      int32 [], a legal action.
    """
    legal = legal_set(config, state)
    sides = Sides(config, state)
    of_unit, of_card = _unit_actions(config, state, sides, legal, key), _card_actions(config, state, sides, legal, key)
    hand_first = random_bits.uniform(random_bits.bits(key, _ORDER)) < HAND_FIRST
    takes_card = of_card.any() & (hand_first | ~of_unit.any())
    # With nothing on either side only End Turn is left.
    chosen = select(takes_card, of_card, select(of_unit.any(), of_unit, legal))
    action = chosen.pick(random_bits.below(random_bits.bits(key, _ACTION), chosen.count()))
    if greediness <= 0:
        return action
    best = ratings.best(config, state, chosen)
    if greediness >= 1:
        return best
    return jnp.where(random_bits.uniform(random_bits.bits(key, _GREEDY)) < greediness, best, action)


def _unit_actions(config: HeroAcademyConfig, state: State, sides: Sides, legal: Bits, key: LaneKey) -> Bits:
    """All actions of one unit that has any, every unit as likely; empty if there is none."""
    layout = actions.layout(config)
    width = layout.words
    by_offset = [Bits(legal.words[word : word + width]) for word in range(0, layout.trade, width)]
    trades = Bits(legal.words[layout.trade : layout.plain])
    ninjas = sides.own_units & state.board.of_kind(units.NINJA)
    able = union(by_offset) | ninjas.when(trades.any())
    cell = able.pick(random_bits.below(random_bits.bits(key, _UNIT), able.count()))
    spot = config.grid.one_hot(cell) & able
    words = [word for cells in by_offset for word in (cells & spot).words]
    words += trades.when(spot.overlaps(ninjas)).words
    nothing = jnp.zeros_like(words[0])
    return Bits((*words, *[nothing] * (layout.num_words - len(words))))


def _card_actions(config: HeroAcademyConfig, state: State, sides: Sides, legal: Bits, key: LaneKey) -> Bits:
    """All actions of one card in the hand that has any, every card of the hand as likely; empty if there is none."""
    layout = actions.layout(config)
    hand = sides.mine(state.hands)
    plain = legal.words[layout.plain]
    parts: list[tuple[Array, Bits | None]] = []
    for card in range(cards.NUM_CARDS):
        of_card = np.uint32(1 << (actions.SWAP_CARD + card))
        if card < cards.NUM_UNIT_CARDS:
            places = (1 << MOST_DEPLOY_SQUARES) - 1
            of_card = of_card | np.uint32(places << (actions.DEPLOY + MOST_DEPLOY_SQUARES * card))
            parts.append((plain & of_card, None))
        else:
            word = layout.card_word(card)
            parts.append((plain & of_card, Bits(legal.words[word : word + layout.words])))
    counts = []
    for card, (bits, cells) in enumerate(parts):
        some = (bits != 0) if cells is None else (bits != 0) | cells.any()
        counts.append(jnp.where(some, ((hand >> (cards.FIELD_BITS * card)) & 3).astype(jnp.int32), 0))
    rank = random_bits.below(random_bits.bits(key, _CARD), sum(counts))
    words: list[Array] = [jnp.uint32(0)] * layout.plain
    plain_bits, before = jnp.uint32(0), jnp.int32(0)
    card_words: list[Array] = []
    for count, (bits, cells) in zip(counts, parts, strict=True):
        chosen = (rank >= before) & (rank < before + count)
        before = before + count
        plain_bits = plain_bits | jnp.where(chosen, bits, jnp.uint32(0))
        if cells is not None:
            card_words += cells.when(chosen).words
    return Bits((*words, plain_bits, *card_words))
