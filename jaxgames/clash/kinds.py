"""What a tick needs to know of every unit and spell, looked up once. Arrays of a tick have the battles as their LAST axis."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.clash.config import ClashConfig
from jaxgames.clash.constants import HEIGHT, WIDTH
from jaxgames.clash.state import State
from jaxgames.clash.tables import SpellColumns, UnitColumns, spell_columns, unit_columns


class Kinds(NamedTuple):
    """Columns of the tables for all slots.

    Attributes:
      units: int32 [2, H, B] each.
      spells: int32 [2, S, B] each.
    """

    units: UnitColumns
    spells: SpellColumns


def look_up(config: ClashConfig, state: State) -> Kinds:
    """Looks up all that a tick may need, of battles [..., B]."""
    table = config.table
    rows = np.array([table.unit_ids[unit.name] for unit in config.units])
    units = _columns(unit_columns(config), rows, state.unit)
    cards = [table.card_ids[card.key] for card in config.spells]
    bombs = [len(table.cards) + table.unit_ids[unit.name] for unit in config.units if unit.death_damage]
    spells = _columns(spell_columns(config), np.array([*cards, *bombs] or [0]), state.spell)
    # After a barrier, or the look-ups are done again for every pair of units.
    return jax.lax.optimization_barrier(Kinds(UnitColumns(*units), SpellColumns(*spells)))


def _columns(columns: tuple[np.ndarray, ...], rows: np.ndarray, index: Array) -> list[Array]:
    """Takes the row of each slot (int [2, ..., B]) from columns [2, U], of which only some rows can come."""
    player = np.arange(2)[:, None, None]
    result = []
    for column in columns:
        used = column[:, rows]
        if (used == used[0, 0]).all():
            result.append(jnp.full(index.shape, used[0, 0], jnp.int32))
        else:
            result.append(jnp.asarray(column)[player, index.astype(jnp.int32)])
    return result


def own_of(column: np.ndarray, rows: Array | np.ndarray) -> Array:
    """Takes from a column, [2, U] by the player, the rows (int [2, ...]) of what each player has itself.

    Where levels are equal, as mostly, one row of the table serves both.
    """
    if (column[0] == column[1]).all():
        return jnp.asarray(column[0])[rows]
    return jnp.asarray(column)[np.arange(2).reshape(2, *[1] * (rows.ndim - 1)), rows]


def others_of(column: np.ndarray, rows: Array | np.ndarray) -> Array:
    """Takes the same of what the other player has, rows int [2, ...] as each player sees them."""
    return own_of(column[::-1], rows)


class Places(NamedTuple):
    """Positions as a player sees them: int32 [2, H, ...] each.

    Attributes:
      x, y: of the own units, in the own frame.
      other_x, other_y: of the other's units, in the same frame.
    """

    x: Array
    y: Array
    other_x: Array
    other_y: Array


def places_of(x: Array, y: Array) -> Places:
    """Sees positions, int [2, H, ...] in the owners' frames, with the eyes of both players."""
    x, y = x.astype(jnp.int32), y.astype(jnp.int32)
    return Places(x, y, WIDTH - x[::-1], HEIGHT - y[::-1])
