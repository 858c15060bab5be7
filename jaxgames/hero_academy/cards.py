"""Every number of cards, hands and decks. Hands and decks are counts by kind, kept as fields of two bits in one word."""

from __future__ import annotations

import numpy as np

from jaxgames.hero_academy import units

NUM_CARDS = 11
NUM_UNIT_CARDS = 5  # the first ones, in the order of `units.UNITS`
INFERNO, POTION, RUNEMETAL, SCROLL, DRAGONSCALE, HELM = range(5, 11)
CARD_NAMES = (*units.UNIT_NAMES[1:6], "inferno", "potion", "runemetal", "scroll", "dragonscale", "shining helm")
ITEM_OF_CARD = {RUNEMETAL: units.RUNEMETAL, SCROLL: units.SCROLL, DRAGONSCALE: units.DRAGONSCALE, HELM: units.HELM}

HAND_SIZE = 6
FIRST_UNITS = 3  # unit cards in the first hand, exactly
MOST_OF_A_KIND = 3

FIELD_BITS = 2
LOW_BITS = np.uint32(sum(1 << (FIELD_BITS * card) for card in range(NUM_CARDS)))
HIGH_BITS = np.uint32(int(LOW_BITS) << 1)
UNIT_FIELDS = np.uint32((1 << (FIELD_BITS * NUM_UNIT_CARDS)) - 1)

# Deck seeds of the deterministic draws.
NUM_SEEDS = 1000
SEED_LIMIT = 100_000  # a larger one is divided by ten, a smaller one grows

# What a card in hand or deck is worth.
UNIT_CARD_VALUE = np.array([units.BASE_HIT_POINTS[kind] * 7 // 4 for kind in units.UNITS], np.int32)
INFERNO_VALUE = 750
