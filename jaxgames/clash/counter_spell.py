"""The spells of the counter bot: what they would destroy, where enemies will be when they land."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.clash import zones
from jaxgames.clash.config import ClashConfig
from jaxgames.clash.constants import (
    COLUMNS,
    ELIXIR,
    HEIGHT,
    KING,
    ROWS,
    TILE,
    TOWER_X,
    TOWER_Y,
    TOWERS,
    WIDTH,
)
from jaxgames.clash.counter_sides import CENT, NOTHING, PRINCESSES, TOWER_WORTH, Idea, Side
from jaxgames.clash.integers import root, square
from jaxgames.clash.kinds import others_of, own_of, places_of
from jaxgames.clash.state import State
from jaxgames.clash.tables import card_columns, spell_columns, unit_columns

_LATE_TICKS = 300  # before the end


class _Targets(NamedTuple):
    """Where each card of a hand would find the units and towers of the enemy, when it lands.

    Attributes:
      there: bool [2, H], alive.
      x, y: int32 [2, 4, H], in the player's frame.
    """

    there: Array
    x: Array
    y: Array


def best_spell(config: ClashConfig, state: State, enemy: Side, hand: zones.Hand, usable: Array) -> Idea:
    """Looks for the enemy or tower around which a spell of the hand destroys most, where enemies will be when it lands.

    A spell gains what it destroys less its cost; a tower that it fells is worth more than any cost, and with little time left
    damage to towers counts twice.
    """
    cards, spells, row = card_columns(config), spell_columns(config), hand.row
    targets = _targets(config, state, enemy, hand)
    x, y, radius = targets.x, targets.y, jnp.asarray(spells.radius[0])[row]
    squared = square(x[..., :, None] - x[..., None, :]) + square(y[..., :, None] - y[..., None, :])  # [2, 4, H, H]
    reached = squared <= square(radius)[..., None, None]
    total = jnp.where(reached, _destroyed(config, state, enemy, hand)[..., None, :], 0).sum(-1)
    gain = total - (jnp.asarray(cards.cost)[row] * CENT // ELIXIR)[..., None]
    harms = (jnp.asarray(cards.is_spell)[row] > 0) & (jnp.asarray(spells.layers[0])[row] > 0) & usable
    gain = jnp.where(harms[..., None] & targets.there[:, None], gain, NOTHING).reshape(2, -1)
    best = jnp.argmax(gain, axis=1)
    to_x, to_y = (each.reshape(2, -1)[np.arange(2), best] for each in (x, y))
    column, line = jnp.clip(to_x // TILE, 0, COLUMNS - 1), jnp.clip(to_y // TILE, 0, ROWS - 1)
    return Idea(best // config.slots, column + line * COLUMNS, gain.max(1))


def _targets(config: ClashConfig, state: State, enemy: Side, hand: zones.Hand) -> _Targets:
    """Lets who is out of reach of its target walk on, until a spell lands."""
    cards = card_columns(config)
    away = root(square(enemy.x - TOWER_X[KING]) + square(enemy.y - TOWER_Y[KING]))
    speed, first_wave = jnp.asarray(cards.speed)[hand.row][..., None], jnp.asarray(cards.first_wave)[hand.row][..., None]
    flight = jnp.where(speed > 0, away[:, None] // jnp.maximum(speed, 1), first_wave)
    pace = jnp.asarray(unit_columns(config).speed[0])[enemy.unit] * ~_fights(config, state)
    y = jnp.maximum(enemy.y[:, None] - flight * pace[:, None], 0)
    x = jnp.broadcast_to(enemy.x[:, None], y.shape)
    tower, others = np.arange(config.slots) < TOWERS, (0, config.slots - TOWERS)
    x = jnp.where(tower, jnp.pad(WIDTH - TOWER_X, others), x)
    y = jnp.where(tower, jnp.pad(HEIGHT - TOWER_Y, others), y)
    return _Targets(enemy.there | jnp.pad(_towers(state) > 0, ((0, 0), others)), x, y)


def _destroyed(config: ClashConfig, state: State, enemy: Side, hand: zones.Hand) -> Array:
    """What each card of a hand would destroy of each unit and tower that it reached: int32 [2, 4, H]."""
    spells, columns, row = spell_columns(config), unit_columns(config), hand.row

    def of_spell(column: np.ndarray) -> Array:
        return own_of(column, row)[..., None]

    waves = jnp.asarray(card_columns(config).waves)[row][..., None]
    damage, crown = of_spell(spells.damage) * waves, of_spell(spells.crown_damage) * waves
    hits = (of_spell(spells.layers) & jnp.asarray(columns.layer[0])[enemy.unit][:, None]) != 0
    share = jnp.minimum(enemy.hp[:, None], damage)
    killed = enemy.hp[:, None] <= damage
    done = enemy.worth[:, None] * share // jnp.maximum(enemy.hp[:, None], 1)
    # What a spell leaves alive still fights, though not while it is stunned.
    held = enemy.worth[:, None] * of_spell(spells.stun_ticks) // CENT
    done = jnp.where(hits & enemy.there[:, None], jnp.where(killed, done, done // 2 + held), 0)
    late = (state.tick + _LATE_TICKS > config.last_tick) | (state.tick >= config.regular_ticks)
    towers = _towers(state)[:, None]
    on_tower = TOWER_WORTH * jnp.minimum(crown, towers) // others_of(columns.hp, PRINCESSES)[..., None]  # [2, 4, 3]
    on_tower = jnp.where(late, 2 * on_tower, on_tower)
    on_tower = jnp.where((towers > 0) & (towers <= crown), 10 * CENT, on_tower)
    return jnp.concatenate([on_tower, done[..., TOWERS:]], axis=-1)


def _towers(state: State) -> Array:
    """Hit points of the enemy's towers, int32 [2, 3]."""
    return jnp.where(state.alive[::-1, :TOWERS], state.hp[::-1, :TOWERS].astype(jnp.int32), 0)


def _fights(config: ClashConfig, state: State) -> Array:
    """Says which enemies stand and strike, or cannot move yet: bool [2, H]."""
    columns = unit_columns(config)
    places = places_of(state.x, state.y)
    target = jnp.maximum(state.target, 0).astype(jnp.int32)
    player = np.arange(2)[:, None]
    # Of every unit, the place of its target in its owner's frame.
    x, y = places.other_x[player, target], places.other_y[player, target]
    unit, aimed = state.unit.astype(jnp.int32), state.unit[::-1][player, target].astype(jnp.int32)
    reach = jnp.asarray(columns.reach[0])[unit] + jnp.asarray(columns.radius[0])[aimed]
    inside = square(places.x - x) + square(places.y - y) <= square(reach)
    return ((state.deploying > 0) | (state.stun > 0) | ((state.target >= 0) & inside))[::-1]
