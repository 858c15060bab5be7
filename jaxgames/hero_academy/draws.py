"""Drawing cards: by the seed of a deck, or by random words.

(Source: Justesen et al., Playing Multi-Action Adversarial Games: Online Evolutionary Planning versus Tree Search, section III;
seeded draws as in the released program.)
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames import random_bits
from jaxgames.hero_academy import cards
from jaxgames.hero_academy.config import HeroAcademyConfig
from jaxgames.platforms import by_platform

MOST_SEED = 13 * cards.SEED_LIMIT // 10 + 7  # no seed is followed by a larger one
_MOST_DEALS = 1000


def count(fields: Array) -> Array:
    """Counts the cards of a hand or deck, int32 []."""
    ones = jax.lax.population_count(fields & cards.LOW_BITS)
    twos = jax.lax.population_count(fields & cards.HIGH_BITS)
    return (ones + (twos << 1)).astype(jnp.int32)


def next_seed(seed: Array) -> Array:
    """Gives the seed after a seed, int32 []."""
    unsigned = seed.astype(jnp.uint32)
    return jnp.where(seed > cards.SEED_LIMIT, unsigned // 10, (13 * unsigned) // 10 + 7).astype(jnp.int32)


def draw(hand: Array, deck: Array, seed: Array, words: Array | None, going: Array) -> tuple[Array, Array, Array]:
    """Draws cards until the hand is full or the deck is empty.

    Args:
      hand: uint32 [], counts of cards.
      deck: uint32 [].
      seed: int32 [], of the deck.
      words: uint32 [6], random; None where the seed decides.
      going: bool [], whether anything is drawn.

    Returns:
      Hand, deck and seed.
    """
    left, held = count(deck), count(hand)
    for number in range(cards.HAND_SIZE):
        draws = going & (held < cards.HAND_SIZE) & (left > 0)
        if words is None:
            seed = jnp.where(draws, next_seed(seed), seed)
            rank = remainder(seed, left)
        else:
            rank = random_bits.below(words[number], left)
        one = jnp.where(draws, card_at(deck, rank), jnp.uint32(0))
        hand, deck = hand + one, deck - one
        taken = draws.astype(jnp.int32)
        left, held = left - taken, held + taken
    return hand, deck, seed


def remainder(number: Array, divisor: Array) -> Array:
    """Gives `number % divisor` for int32 [] below 2**22 and a divisor from 1, by a division of floats, which vectorizes.

    Accelerators may round a quotient to the float beside it, so it can come out one too small or too large. A CPU rounds right.
    """
    return by_platform(number, jnp.maximum(divisor, 1), cpu=_rest, default=_rest_of_about)


def _rest(number: Array, divisor: Array) -> Array:
    whole = jnp.floor(number.astype(jnp.float32) / divisor.astype(jnp.float32)).astype(jnp.int32)
    return number - whole * divisor


def _rest_of_about(number: Array, divisor: Array) -> Array:
    rest = _rest(number, divisor)
    return rest + jnp.where(rest < 0, divisor, 0) - jnp.where(rest >= divisor, divisor, 0)


def card_at(deck: Array, rank: Array) -> Array:
    """Gives the card with so many (int32 []) cards of the deck before it, as a word with 1 in its field."""
    before, shift = jnp.zeros_like(rank), jnp.zeros_like(deck)
    for card in range(cards.NUM_CARDS - 1):
        before = before + ((deck >> (cards.FIELD_BITS * card)) & 3).astype(jnp.int32)
        shift = shift + jnp.where(rank >= before, jnp.uint32(cards.FIELD_BITS), jnp.uint32(0))
    return jnp.uint32(1) << shift


def first_hand(config: HeroAcademyConfig, key: Array) -> Array:
    """Draws a first hand, uint32 []: six cards, exactly three of them units.

    Every such hand comes as often as by dealing again until it fits.
    """
    deck = np.uint32(config.deck_word)
    lane = random_bits.lane_key(key)
    hand = jnp.uint32(0)
    for number in range(cards.HAND_SIZE):
        fields = cards.UNIT_FIELDS if number < cards.FIRST_UNITS else np.uint32(~cards.UNIT_FIELDS)
        rest = (deck - hand) & fields
        rank = random_bits.below(random_bits.bits(lane, number), count(rest))
        hand = hand + card_at(rest, rank)
    return hand


@functools.cache
def seeded_hands(deck: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Gives the first hand and the seed after dealing it for every seed, uint32 and int32 [1000].

    A hand goes back and six cards are dealt again until exactly three are units.

    Raises:
      ValueError: with this deck some seed never gets that far; no deck of a `HeroAcademyConfig` is such.
    """
    hands, seeds = np.zeros(cards.NUM_SEEDS, np.uint32), np.zeros(cards.NUM_SEEDS, np.int32)
    for first in range(cards.NUM_SEEDS):
        seed, hand, deals = first, [0] * cards.NUM_CARDS, 0
        while sum(hand[: cards.NUM_UNIT_CARDS]) != cards.FIRST_UNITS:
            deals += 1
            if deals > _MOST_DEALS:
                raise ValueError(f"deck={deck}: seed {first} never deals {cards.FIRST_UNITS} units; take draws='random'")
            left, hand = list(deck), [0] * cards.NUM_CARDS
            for _ in range(cards.HAND_SIZE):
                seed = seed // 10 if seed > cards.SEED_LIMIT else 13 * seed // 10 + 7
                card = int(np.searchsorted(np.cumsum(left), seed % sum(left), side="right"))
                left[card] -= 1
                hand[card] += 1
        hands[first] = sum(number << (cards.FIELD_BITS * card) for card, number in enumerate(hand))
        seeds[first] = seed
    return hands, seeds
