"""New units: from cards, from units that die or make others, and from spells that bring them."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.clash.config import ClashConfig
from jaxgames.clash.constants import BARREL_DEPLOY_TICKS, HEIGHT, WIDTH
from jaxgames.clash.integers import divide
from jaxgames.clash.kinds import Kinds
from jaxgames.clash.state import State, free_slots
from jaxgames.clash.tables import children, unit_columns


class Births(NamedTuple):
    """Units that come into slots, [2, H] each; int32 but for `new`.

    Attributes:
      new: bool, the slots.
      unit: rows of the table.
      x, y: wanted place.
      deploying: ticks until they act; -1: as their kind.
    """

    new: Array
    unit: Array
    x: Array
    y: Array
    deploying: Array


class Children(NamedTuple):
    """Whose children come into slots, [2, H] each.

    Attributes:
      new: bool, the slots.
      parent: int32, the slot of a unit; from H on, that of a spell.
      number: int32, which of its children.
    """

    new: Array
    parent: Array
    number: Array


def born(config: ClashConfig, state: State, births: Births) -> State:
    """Puts new units into their slots."""
    columns = unit_columns(config)
    player = np.arange(2)[:, None]
    unit = jnp.where(births.new, births.unit, 0)

    def of_kind(column: np.ndarray) -> Array:
        return jnp.asarray(column)[player, unit]

    radius = of_kind(columns.radius)
    deploying = jnp.where(births.deploying < 0, of_kind(columns.deploy_ticks), births.deploying)

    def put(value: Array | int, old: Array) -> Array:
        return jnp.where(births.new, jnp.asarray(value).astype(old.dtype), old)

    return dataclasses.replace(
        state,
        alive=state.alive | births.new,
        unit=put(unit, state.unit),
        x=put(jnp.clip(births.x, radius, WIDTH - radius), state.x),
        y=put(jnp.clip(births.y, radius, HEIGHT - radius), state.y),
        hp=put(of_kind(columns.hp), state.hp),
        shield=put(of_kind(columns.shield), state.shield),
        cooldown=put(of_kind(columns.hit_ticks), state.cooldown),
        deploying=put(deploying, state.deploying),
        target=put(-1, state.target),
        age=put(0, state.age),
        turn=put(0, state.turn),
        stun=put(0, state.stun),
        slow=put(0, state.slow),
        slow_pct=put(0, state.slow_pct),
    )


def ranks(free: Array) -> Array:
    """Numbers free slots from the lowest: int32 [2, H]."""
    return jnp.cumsum(free, axis=1, dtype=jnp.int32) - 1


def waves_due(state: State, kinds: Kinds) -> Array:
    """Says who makes units in this tick, if it survives it: bool [2, H]."""
    units = kinds.units
    since = state.age.astype(jnp.int32) - units.spawn_first
    period = jnp.maximum(units.spawn_period, 1)
    late = jnp.maximum(since, 0)
    on_time = late == divide(late, period) * period
    return state.alive & (units.spawn_count > 0) & (since >= 0) & on_time


def whose_children(state: State, kinds: Kinds, died: Array, due: Array, landed: Array) -> Children:
    """Says whose children take which slots: of units by slot, then of spells; who finds no slot is lost.

    Args:
      state: after all who die have died.
      kinds: looked up before.
      died: bool [2, H].
      due: bool [2, H], whose waves come if it lives; see `waves_due`.
      landed: bool [2, S], spells whose wave has come.
    """
    units = kinds.units
    of_units = jnp.where(died, units.death_count, jnp.where(due & state.alive, units.spawn_count, 0))
    count = jnp.concatenate([of_units, jnp.where(landed, kinds.spells.spawn_count, 0)], axis=1).astype(jnp.int32)
    last = jnp.cumsum(count, axis=1)
    free = free_slots(state)
    rank = ranks(free)
    mine = (rank[:, :, None] < last[:, None, :]) & (rank[:, :, None] >= (last - count)[:, None, :])  # [2, H, H + S]
    number = jnp.where(mine, rank[:, :, None] - (last - count)[:, None, :], 0).sum(-1)
    return Children(free & mine.any(-1), jnp.argmax(mine, axis=-1), number)


def bring_children(
    config: ClashConfig, state: State, before: State, kinds: Kinds, died: Array, due: Array, landed: Array
) -> State:
    """Lets the children of a tick be born (end of step 10).

    Args:
      config: the battle.
      state: as of `whose_children`, and so are the rest.
      before: at the start of the tick; of it, where spells land, whose slots bombs may have taken since.
      kinds: see above.
      died: see above.
      due: see above.
      landed: see above.
    """
    units, spells, places = kinds.units, kinds.spells, children(config)
    bring = whose_children(state, kinds, died, due, landed)

    def joined(of_units: Array, of_spells: Array) -> Array:
        return jnp.concatenate([of_units.astype(jnp.int32), of_spells.astype(jnp.int32)], axis=1)

    child = joined(jnp.where(died, units.death_unit, units.spawn_unit), spells.spawn_unit)
    x, y = joined(state.x, before.spell_x), joined(state.y, before.spell_y)
    deploying = joined(jnp.full(units.hp.shape, -1), jnp.full(spells.radius.shape, BARREL_DEPLOY_TICKS))
    offset = jnp.concatenate(
        [
            jnp.where(died[..., None, None], jnp.asarray(places.death)[state.unit], jnp.asarray(places.wave)[state.unit]),
            jnp.asarray(places.spell)[jnp.minimum(before.spell, len(places.spell) - 1)],
        ],
        axis=1,
    )  # [2, H + S, K, 2]
    player, parent = np.arange(2)[:, None], bring.parent
    return born(
        config,
        state,
        Births(
            new=bring.new,
            unit=child[player, parent],
            x=x[player, parent] + offset[player, parent, bring.number, 0],
            y=y[player, parent] + offset[player, parent, bring.number, 1],
            deploying=deploying[player, parent],
        ),
    )


def whose_bombs(state: State, kinds: Kinds, died: Array) -> tuple[Array, Array]:
    """Says which of the lowest idle spell slots bombs take, bool [2, S], and whose, int32; bombs without one are lost."""
    has = died & (kinds.units.bomb_ticks > 0)
    idle = state.spell_ticks == 0
    number = jnp.cumsum(has, axis=1, dtype=jnp.int32)
    mine = has[:, None, :] & (number[:, None, :] - 1 == ranks(idle)[:, :, None])  # [2, S, H]
    return idle & mine.any(-1), jnp.argmax(mine, axis=-1)


def lay_bombs(config: ClashConfig, state: State, kinds: Kinds, died: Array) -> State:
    """Lets the bombs of those who died tick."""
    new, owner = whose_bombs(state, kinds, died)
    player = np.arange(2)[:, None]

    def put(values: Array, old: Array) -> Array:
        return jnp.where(new, values[player, owner].astype(old.dtype), old)

    return dataclasses.replace(
        state,
        spell=put(state.unit.astype(jnp.int32) + len(config.table.cards), state.spell),
        spell_ticks=put(kinds.units.bomb_ticks, state.spell_ticks),
        spell_x=put(state.x, state.spell_x),
        spell_y=put(state.y, state.spell_y),
        spell_waves=jnp.where(new, 1, state.spell_waves).astype(jnp.int8),
    )
