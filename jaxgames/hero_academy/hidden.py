"""States that fit what a player knows: as it knows them, and drawn at random."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import random_bits
from jaxgames.hero_academy import cards, draws
from jaxgames.hero_academy.config import HeroAcademyConfig
from jaxgames.hero_academy.observation import Observation
from jaxgames.hero_academy.state import State


def known_state(config: HeroAcademyConfig, state: State) -> State:
    """Gives the state as the player to move knows it: with hidden hands the other's hand is back in its deck.

    Seeds of seeded draws tell what cards come, so they are not known either: others stand in their place, the same for all states
    that look the same, and the same throughout a turn. (The released program leaves them in.)
    """
    if not config.hidden_hands:
        return state
    second = state.player == 1
    (first_hand, second_hand), (first_deck, second_deck) = state.hands, state.decks
    nothing = jnp.zeros_like(first_hand)
    seeds = state.seeds
    if config.draws == "seeded":
        stand_in = state.turn.astype(jnp.int32) % cards.NUM_SEEDS
        seeds = (stand_in, stand_in)
    return dataclasses.replace(
        state,
        seeds=seeds,
        hands=(jnp.where(second, nothing, first_hand), jnp.where(second, second_hand, nothing)),
        decks=(jnp.where(second, first_deck + first_hand, first_deck), jnp.where(second, second_deck, second_deck + second_hand)),
    )


def sample(config: HeroAcademyConfig, key: Array, seen: Observation) -> State:
    """Draws a full state that fits what a player knows.

    The other's hand is drawn from its cards that have not been seen, every card as likely. As long as the other has not moved,
    its hand holds exactly three units, as every first hand; what it has kept or played later is no evidence here. With hidden
    hands and seeded draws the seeds of the decks are drawn again.

    Args:
      config: the variant.
      key: one key.
      seen: of the player.
    """
    hand_key, *seed_keys = jax.random.split(key, 3)
    hand = drawn_hand(config, hand_key, seen) if config.hidden_hands else seen.other_hand
    seeds = seen.seeds
    if config.hidden_hands and config.draws == "seeded":
        fresh = [jax.random.randint(each, (), 0, cards.NUM_SEEDS, jnp.int32) for each in seed_keys]
        seeds = (fresh[0], fresh[1])
    return state_of(seen, hand, seeds)


def state_of(seen: Observation, other_hand: Array, seeds: tuple[Array, Array]) -> State:
    """Gives the state that a player sees, with a hand of the other (uint32 []) and seeds of the decks (int32 [] each)."""
    second = seen.viewer == 1

    def pair(mine: Array, theirs: Array) -> tuple[Array, Array]:
        return jnp.where(second, theirs, mine), jnp.where(second, mine, theirs)

    return State(
        board=seen.board,
        hands=pair(seen.hand, other_hand),
        decks=pair(seen.deck, seen.other_cards - other_hand),
        seeds=seeds,
        player=seen.player,
        action_points=seen.action_points,
        turn=seen.turn,
        winner=seen.winner,
        terminated=seen.terminated,
        seat_rewards=seen.seat_rewards,
    )


def drawn_hand(config: HeroAcademyConfig, key: Array, seen: Observation) -> Array:
    """Draws the other's hand, uint32 []."""
    lane = random_bits.lane_key(key)
    # The other has not moved before its first turn, nor in it as long as it has all its points.
    second = seen.viewer == 1
    first_turn, points = jnp.where(second, 1, 2), jnp.where(second, config.first_action_points, config.action_points)
    untouched = (seen.turn < first_turn) | ((seen.turn == first_turn) & (seen.action_points == points))
    hand = jnp.uint32(0)
    for number in range(cards.HAND_SIZE):
        of_units = cards.UNIT_FIELDS if number < cards.FIRST_UNITS else ~cards.UNIT_FIELDS
        fields = jnp.where(untouched, jnp.uint32(of_units), jnp.uint32(0xFFFFFFFF))
        rest = (seen.other_cards - hand) & fields
        rank = random_bits.below(random_bits.bits(lane, number), draws.count(rest))
        hand = hand + jnp.where(number < seen.other_hand_size, draws.card_at(rest, rank), jnp.uint32(0))
    return hand
