"""Where cards may be played: tiles of the own frame, by the towers that stand.

Which tiles are open to troops depends on five towers alone, so all 32 cases are worked out once, beside everywhere and nowhere.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.clash.config import ClashConfig
from jaxgames.clash.constants import (
    BACK_ROW_COLUMNS,
    COLUMNS,
    DEPLOY_ROWS,
    FOOTPRINTS,
    NUM_TILES,
    POCKET_COLUMNS,
    POCKET_ROWS,
    ROWS,
    TILE,
    TOWERS,
)
from jaxgames.clash.integers import square
from jaxgames.clash.kinds import places_of
from jaxgames.clash.state import State, free_slots
from jaxgames.clash.tables import card_columns, unit_columns

EVERYWHERE = 32  # the case of spells
NOWHERE = 33  # that of cards that cannot be played


class Zones(NamedTuple):
    """All cases [34]: own towers that stand as bits 0 to 2, the enemy's princess towers as bits 3 and 4; everywhere; nowhere.

    Attributes:
      mask: bool [34, 576], the open tiles.
      tiles: int16 [34, 576], the open tiles in order, then 0.
      sizes: int32 [34], how many.
    """

    mask: np.ndarray
    tiles: np.ndarray
    sizes: np.ndarray


@functools.cache
def zones() -> Zones:
    """Works all cases out."""
    masks = np.stack([*map(_open_tiles, range(EVERYWHERE)), np.ones(NUM_TILES, bool), np.zeros(NUM_TILES, bool)])
    tiles = np.zeros(masks.shape, np.int16)
    for case, mask in enumerate(masks):
        tiles[case, : mask.sum()] = np.flatnonzero(mask)
    return Zones(masks, tiles, masks.sum(1).astype(np.int32))


def _open_tiles(case: int) -> np.ndarray:
    board = np.zeros((ROWS, COLUMNS), bool)
    board[:DEPLOY_ROWS] = True
    board[0] = False
    board[0, slice(*BACK_ROW_COLUMNS)] = True
    for tower, (left, bottom, right, top) in enumerate(FOOTPRINTS):
        if case >> tower & 1:
            board[bottom:top, left:right] = False
    for tower, columns in enumerate(POCKET_COLUMNS):
        if not case >> (TOWERS + tower) & 1:
            board[slice(*POCKET_ROWS), slice(*columns)] = True
    return board.reshape(-1)


def centres() -> tuple[np.ndarray, np.ndarray]:
    """Gives the centre of each tile, int32 [576] each: x and y."""
    x, y = centre_of(np.arange(NUM_TILES, dtype=np.int32))
    return x, y


def centre_of(tile: Any) -> tuple[Any, Any]:
    """Gives x and y of the centre of tiles, integers of any shape."""
    return tile % COLUMNS * TILE + TILE // 2, tile // COLUMNS * TILE + TILE // 2


def cases(config: ClashConfig, state: State) -> Array:
    """Gives the case of `zones` for each card of both hands: int32 [2, 4]."""
    weights = np.array([1, 2, 4], np.int32)
    own = (state.alive[:, :TOWERS] * weights).sum(1)
    enemy = (state.alive[::-1, : TOWERS - 1] * weights[: TOWERS - 1]).sum(1) << TOWERS
    spell = jnp.asarray(card_columns(config).is_spell)[state.hand]
    return jnp.where(spell > 0, EVERYWHERE, (own + enemy)[:, None]).astype(jnp.int32)


def beside_buildings(config: ClashConfig, state: State, rows: Array, tiles: Array) -> Array:
    """Says where a building would touch a living one (of kind building, of either side).

    Args:
      config: the battle.
      state: the battle.
      rows: int [2, N], some cards of each player, such as `state.hand`.
      tiles: int32 [2, N, K], tiles of the own frame for each of these cards.

    Returns:
      bool [2, N, K]; False for cards that are no buildings.
    """
    cards = card_columns(config)
    building = jnp.asarray(cards.is_building)[rows] > 0
    units = unit_columns(config)
    stands = state.alive & (np.arange(config.slots) >= TOWERS) & (jnp.asarray(units.mass[0])[state.unit] == 0)
    places = places_of(state.x, state.y)
    radius = jnp.asarray(units.radius[0])[state.unit]

    def both(own: Array, other: Array) -> Array:
        return jnp.concatenate([own, other], axis=1)[:, None, None, :]

    x, y = centre_of(tiles)
    away_x, away_y = x[..., None] - both(places.x, places.other_x), y[..., None] - both(places.y, places.other_y)
    least = jnp.asarray(cards.radius)[rows][:, :, None, None] + both(radius, radius[::-1])
    touches = both(stands, stands[::-1]) & (square(away_x) + square(away_y) < square(least))
    return building[..., None] & touches.any(-1)


def has_buildings(config: ClashConfig) -> bool:
    """Says whether buildings can be played."""
    return any(card.type == "building" for cards in config.cards_of for card in cards)


class Hand(NamedTuple):
    """What each card of both hands can do now, bool [2, 4] each (row: which in the table, int32).

    Attributes:
      row: int32.
      affordable: there is elixir for it.
      has_room: there are slots for it.
    """

    row: Array
    affordable: Array
    has_room: Array


def hands(config: ClashConfig, state: State) -> Hand:
    """Looks at the cards of both hands."""
    cards, row = card_columns(config), state.hand.astype(jnp.int32)
    affordable = jnp.asarray(cards.cost)[row] <= state.elixir[:, None]
    free = free_slots(state).sum(1)[:, None]
    idle = (state.spell_ticks == 0).any(1)[:, None]
    room = jnp.where(jnp.asarray(cards.is_spell)[row] > 0, idle, jnp.asarray(cards.count)[row] <= free)
    return Hand(row, affordable, room)


def must_wait(config: ClashConfig, state: State) -> Array:
    """Says who saves for a card and cannot pay for it yet, bool [2]."""
    place = jnp.maximum(state.saving, 0).astype(jnp.int32)
    row = jnp.where(np.arange(state.hand.shape[1]) == place[:, None], state.hand, 0).sum(1)
    return (state.saving >= 0) & (state.elixir < jnp.asarray(card_columns(config).cost)[row])
