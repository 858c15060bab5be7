"""What the counter bot sees: the troops of both sides, what units and cards are worth, and ideas of what to play.

Values are counted in hundredths of elixir, in whole numbers, so that all devices choose alike.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.clash.config import ClashConfig
from jaxgames.clash.constants import (
    ELIXIR,
    HAND,
    MOST_ELIXIR,
    PRINCESS_UNIT,
    TICKS_PER_STEP,
    TOWERS,
    WIDTH,
)
from jaxgames.clash.kinds import own_of, places_of
from jaxgames.clash.state import State
from jaxgames.clash.tables import unit_columns

CENT = 100  # of an elixir
NOTHING = np.int32(-(1 << 20))  # the gain of what is not to be played
TOWER_WORTH = 800  # of a full tower of a princess
SIEGE = 10_000  # reach of buildings that shoot at towers
RANGED = 2_500  # reach of troops that stay back
PRINCESSES = np.full((2, 1), PRINCESS_UNIT, np.int32)  # their rows, for look-ups


class Worth(NamedTuple):
    """What units and cards are worth and can do; first axis the player, whose level counts.

    Attributes:
      unit: int32 [2, U], hundredths of elixir of a healthy one.
      damage: int32 [2, U], per second.
      card_hp, card_damage: int32 [2, C], of all units of a card; damage per second.
    """

    unit: np.ndarray
    damage: np.ndarray
    card_hp: np.ndarray
    card_damage: np.ndarray


@functools.lru_cache(maxsize=64)
def worth(config: ClashConfig) -> Worth:
    """Gives what a game's units and cards are worth: of units their share of `config.deployers`, or by their numbers."""
    table, columns = config.table, unit_columns(config)
    damage = columns.damage * 10 // np.maximum(columns.hit_ticks, 1)
    unit = (columns.hp + 5 * damage) // 9
    for name, card in config.deployers.items():
        unit[:, table.unit_ids[name]] = card.cost * CENT // card.count
    unit[:, :2] = 0
    of_card = np.array([table.unit_ids.get(card.unit, 0) for card in table.cards])
    count = np.array([card.count for card in table.cards])
    return Worth(unit, damage, (columns.hp + columns.shield)[:, of_card] * count, damage[:, of_card] * count)


class Side(NamedTuple):
    """Troops and buildings of one side as each player sees them, [2, H] each, int32 but for `there`.

    Attributes:
      there: bool, alive and no tower.
      x, y: in the player's frame.
      hp: left.
      worth: of what is left of it.
      unit: rows.
      right: 1 in the right half of the arena, else 0.
    """

    there: Array
    x: Array
    y: Array
    hp: Array
    worth: Array
    unit: Array
    right: Array


class Idea(NamedTuple):
    """A card to play, [2] each: place in the hand, tile, and what is gained by it, in hundredths of elixir."""

    place: Array
    tile: Array
    gain: Array


def sides(config: ClashConfig, state: State) -> tuple[Side, Side]:
    """Gives the own troops of each player and those of its enemy."""
    values, columns = worth(config), unit_columns(config)
    places = places_of(state.x, state.y)
    there = state.alive & (np.arange(config.slots) >= TOWERS)
    unit = state.unit.astype(jnp.int32)
    hp = jnp.where(there, state.hp.astype(jnp.int32) + state.shield, 0)
    full = own_of(columns.hp + columns.shield, unit)
    left = own_of(values.unit, unit) * hp // jnp.maximum(full, 1)

    def side(x: Array, y: Array, turn: slice) -> Side:
        return Side(there[turn], x, y, hp[turn], left[turn], unit[turn], (x > WIDTH // 2).astype(jnp.int32))

    return side(places.x, places.y, np.s_[:]), side(places.other_x, places.other_y, np.s_[::-1])


def of_place(values: Array, place: Array) -> Array:
    """Takes of int32 [2, 4] the value of one card of each hand: [2]."""
    return jnp.where(np.arange(HAND) == place[:, None], values, 0).sum(1)


def of_slot(values: Array, slot: Array) -> Array:
    """Takes of int32 [2, H] the value of one unit of each player's: [2]."""
    return jnp.where(np.arange(values.shape[1]) == slot[:, None], values, 0).sum(1)


def is_full(state: State) -> Array:
    """Says whether elixir that comes now would be lost, or soon: bool [2]."""
    return state.elixir >= MOST_ELIXIR * ELIXIR - 2 * TICKS_PER_STEP
