"""What searches choose among: waiting, and each card of the hand at a sample of its tiles."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames import random_bits
from jaxgames.clash import zones
from jaxgames.clash.config import ClashConfig
from jaxgames.clash.constants import HAND, NUM_TILES
from jaxgames.clash.integers import divide
from jaxgames.clash.rules import WAIT
from jaxgames.clash.state import State, state_key
from jaxgames.random_bits import LaneKey


def _primes(low: int, high: int) -> np.ndarray:
    sieve = np.ones(high, bool)
    for number in range(2, int(high**0.5) + 1):
        sieve[number * number :: number] = False
    found = np.flatnonzero(sieve)
    return found[found > low].astype(np.int32)


# Larger than any number of tiles, so each of them is coprime to it, and its multiples meet every remainder once.
STRIDES = _primes(NUM_TILES, 8192)


def num_arms(config: ClashConfig) -> int:
    """Gives K: waiting, and so many positions for each card of the hand."""
    return 1 + HAND * config.positions


def groups(config: ClashConfig) -> tuple[int, ...]:
    """Gives 0 for waiting, and 1 to 4 for all positions of a card of the hand."""
    return (0, *(1 + place for place in range(HAND) for _ in range(config.positions)))


def search_arms(config: ClashConfig, state: State) -> tuple[Array, Array]:
    """Gives arms, int32 [2, K], and which of them count, bool [2, K].

    The positions of a card are different open tiles: from a random one of them on, in steps of a random length around the list
    of all. They follow from the state alone, so a state met again offers the same. A card that cannot be paid has one arm, that
    saves for it. Tiles on which a building would touch another one do not count.
    """
    positions = config.positions
    cases = zones.cases(config, state)
    count = jnp.asarray(zones.zones().sizes)[cases]
    key = state_key(state)
    word = random_bits.bits(LaneKey(key[0], key[1]), np.arange(2 * HAND * 2).reshape(2, HAND, 2))
    begin = random_bits.below(word[..., 0], count)[..., None]
    stride = jnp.asarray(STRIDES)[random_bits.below(word[..., 1], len(STRIDES))]
    stride = (stride - divide(stride, count) * count)[..., None]
    number = np.arange(positions, dtype=np.int32)
    rank = begin + stride * number  # below 2**20
    size = count[..., None]
    rank = rank - divide(rank, size) * size
    tile = jnp.asarray(zones.zones().tiles)[cases[..., None], rank].astype(jnp.int32)
    hand = zones.hands(config, state)
    free = ~(zones.must_wait(config, state) | state.terminated)[:, None, None]
    legal = (number < size) & (hand.affordable & hand.has_room)[..., None]
    if zones.has_buildings(config):
        legal &= ~zones.beside_buildings(config, state, state.hand, tile)
    saves = ~hand.affordable[..., None] & (number == 0)
    tile = jnp.where(hand.affordable[..., None], tile, 0)
    arms = 1 + jnp.arange(HAND, dtype=jnp.int32)[:, None] * NUM_TILES + tile
    legal = (legal | saves) & free
    arms = jnp.where(legal, arms, WAIT)

    def joined(first: Array, rest: Array) -> Array:
        return jnp.concatenate([first, rest.reshape(2, -1)], axis=1)

    return joined(jnp.full((2, 1), WAIT, jnp.int32), arms), joined(jnp.ones((2, 1), bool), legal)
