"""What a player can tell of the other's cards and elixir, and full states that fit it.

Every card that is played is seen, so the other's elixir is known exactly: it starts with what all start with, grows with the
clock, and each card costs what it costs. A card that has been played goes to the end of the queue, so its place there is known
until four others have followed; what then comes into the hand is known to be in one of its places, which do not matter to the
rules but are drawn evenly. Cards never seen are drawn from those that the deck may hold.
"""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames import random_bits
from jaxgames.clash import observation as observations
from jaxgames.clash.config import ClashConfig
from jaxgames.clash.constants import DECK, ELIXIR, HAND, MOST_ELIXIR, QUEUE, TICKS_PER_STEP
from jaxgames.clash.observation import Observation
from jaxgames.clash.state import State
from jaxgames.clash.tables import card_columns
from jaxgames.clash.tick import elixir_gain

UNKNOWN = -1
# Children of the lane's key.
_OTHER_DECK, _OTHER_HAND, _OWN_QUEUE, _HAND_ORDER = 0, 1, 2, 5


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Information:
    """What a player knows: its view, and what it remembers. Cards are rows; -1: not known.

    Attributes:
      view: the latest `Observation`.
      own_queue: int8 [4], the own queue as far as it is known.
      other_queue: int8 [4], the other's queue.
      other_hand: bool [C], cards that are known to be in the other's hand.
      other_seen: bool [C], cards of the other's deck that have been seen.
      other_elixir: int16 [], in 28ths.
    """

    view: Observation
    own_queue: Array
    other_queue: Array
    other_hand: Array
    other_seen: Array
    other_elixir: Array


def init_information(config: ClashConfig, observation: Observation) -> Information:
    """Gives what a player knows of its first view."""
    rows = np.arange(len(config.table.cards))
    nothing = jnp.zeros(len(rows), bool)
    queue = jnp.where(np.arange(QUEUE) == 0, observation.next_card, UNKNOWN).astype(jnp.int8)
    return Information(
        view=observation,
        own_queue=queue,
        other_queue=jnp.full(QUEUE, UNKNOWN, jnp.int8),
        other_hand=nothing,
        other_seen=nothing,
        other_elixir=jnp.int16(config.start_units),
    )


def update_information(config: ClashConfig, info: Information, observation: Observation) -> Information:
    """Adds the view after a step: which cards were played in it stands in the view itself."""
    rows = np.arange(len(config.table.cards))
    ran = observation.tick != info.view.tick  # a battle that is over goes no further, and its record stands still
    own = jnp.where(ran, observation.past[0, 0], UNKNOWN)
    other = jnp.where(ran, observation.other_past[0, 0], UNKNOWN)
    own_queue = _pushed(info.own_queue, own)
    own_queue = jnp.where(np.arange(QUEUE) == 0, observation.next_card, own_queue).astype(jnp.int8)
    drawn = info.other_queue[0]
    played = other >= 0
    hand = jnp.where(played, (info.other_hand & (rows != other)) | (rows == drawn), info.other_hand)
    cost = jnp.where(played, jnp.asarray(card_columns(config).cost)[jnp.maximum(other, 0).astype(jnp.int32)], 0)
    return Information(
        view=observation,
        own_queue=own_queue,
        other_queue=_pushed(info.other_queue, other),
        other_hand=hand,
        other_seen=info.other_seen | (rows == other),
        other_elixir=_elixir_after(config, info.other_elixir - cost, info.view.tick, observation.tick),
    )


def _pushed(queue: Array, card: Array) -> Array:
    """Gives a queue after a card (int []; -1: none) was played: its first has left it, the card is its last."""
    return jnp.where(card >= 0, jnp.append(queue[1:], card.astype(jnp.int8)), queue)


def _elixir_after(config: ClashConfig, elixir: Array, before: Array, after: Array) -> Array:
    """Lets elixir come for the ticks between two times, at most as many as a step has."""
    elixir = elixir.astype(jnp.int32)
    for number in range(TICKS_PER_STEP):
        tick = before.astype(jnp.int32) + number
        more = jnp.minimum(elixir + elixir_gain(config, tick), MOST_ELIXIR * ELIXIR)
        elixir = jnp.where(tick < after, more, elixir)
    return elixir.astype(jnp.int16)


def sample(config: ClashConfig, key: Array, info: Information) -> State:
    """Draws a full state that fits what a player knows.

    Which cards never seen the other's deck holds, which of its cards whose place is not known are in its hand and which in the
    queue, and in which order: all ways are as likely. What the other saves for is drawn as nothing. Of the own queue, cards
    whose place is not known are put there in any order.
    """
    lane = random_bits.lane_key(key)
    view = info.view
    other_hand, other_queue = _other_cards(info, _pool(config, 1 - view.viewer), lane)
    placed = (np.arange(view.deck.shape[0]) == jnp.append(view.hand, info.own_queue)[:, None]).any(0)
    fresh = _draw(view.deck & ~placed, random_bits.fold(lane, _OWN_QUEUE), QUEUE)
    own_queue = _filled(info.own_queue, fresh)
    return state_of(view, own_queue, other_hand.astype(jnp.int8), other_queue.astype(jnp.int8), info.other_elixir)


def state_of(view: Observation, own_queue: Array, other_hand: Array, other_queue: Array, other_elixir: Array) -> State:
    """Gives the state that a player sees, with int8 [4] each of what it does not see, and the other's elixir, int16 []."""
    second = view.viewer == 1

    def pair(own: Array, other: Array) -> Array:
        own, other = jnp.asarray(own), jnp.asarray(other)
        is_own = (np.arange(2) == second).reshape(2, *[1] * own.ndim)
        return jnp.where(is_own, own[None], other[None]).astype(own.dtype)

    rewards = jnp.where(second, view.rewards[::-1], view.rewards)
    return State(
        **observations.arena_of(view),
        elixir=pair(view.elixir, other_elixir),
        hand=pair(view.hand, other_hand),
        queue=pair(own_queue, other_queue),
        saving=pair(view.saving, jnp.int8(-1)),
        past=pair(view.past, view.other_past),
        tick=view.tick,
        winner=observations.winner_of(view),
        terminated=view.outcome != 0,
        seat_rewards=rewards,
    )


def _pool(config: ClashConfig, player: Array) -> Array:
    """Says which cards a player's deck may hold: bool [C]."""
    rows = np.zeros((2, len(config.table.cards)), bool)
    for seat, cards in enumerate(config.cards_of):
        for card in cards:
            rows[seat, config.table.card_ids[card.key]] = True
    return jnp.where(player == 1, rows[1], rows[0])


def _other_cards(info: Information, pool: Array, lane: random_bits.LaneKey) -> tuple[Array, Array]:
    """Draws the other's hand and queue, int32 [4] each."""
    rows = np.arange(pool.shape[0])
    in_queue = (rows == info.other_queue[:, None]).any(0)
    # The deck: what has been seen, and of the rest as many as are missing.
    missing = DECK - info.other_seen.sum()
    more = _first(_draw(pool & ~info.other_seen, random_bits.fold(lane, _OTHER_DECK), DECK), missing)
    deck = info.other_seen | (rows == more[:, None]).any(0)
    # Of cards whose place is not known, some fill the hand, the rest the queue.
    floating = deck & ~info.other_hand & ~in_queue
    order = _draw(floating, random_bits.fold(lane, _OTHER_HAND), DECK)
    in_hand = HAND - info.other_hand.sum()
    hand = info.other_hand | (rows == _first(order, in_hand)[:, None]).any(0)
    rest = jnp.where(np.arange(QUEUE) + in_hand < DECK, order[jnp.minimum(np.arange(QUEUE) + in_hand, DECK - 1)], UNKNOWN)
    return _draw(hand, random_bits.fold(lane, _HAND_ORDER), HAND), _filled(info.other_queue, rest)


def _first(cards: Array, count: Array) -> Array:
    """Keeps so many cards of a list, -1 for the others."""
    return jnp.where(np.arange(cards.shape[0]) < count, cards, UNKNOWN)


def _filled(queue: Array, cards: Array) -> Array:
    """Puts cards (int32 [4], in order) into the unknown places of a queue."""
    open_place = queue < 0
    number = jnp.cumsum(open_place) - 1
    return jnp.where(open_place, cards[jnp.maximum(number, 0)], queue).astype(queue.dtype)


def _draw(among: Array, lane: random_bits.LaneKey, count: int) -> Array:
    """Draws so many different cards of bool [C] in random order: int32 [count], -1 where there are no more."""
    words = random_bits.bits(lane, np.arange(among.shape[0]))
    # The lowest bits give way to what sorts cards that are not there last.
    order = jnp.argsort(jnp.where(among, words >> 1, jnp.uint32(1 << 31)))[:count]
    return jnp.where(among[order], order, UNKNOWN).astype(jnp.int32)
