"""The spells of the counter bot: what they would destroy, where enemies will be when they land."""

from __future__ import annotations

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
from jaxgames.clash.counter_sides import CENT, NOTHING, TOWER_WORTH, Idea, Side
from jaxgames.clash.integers import root, square
from jaxgames.clash.kinds import places_of
from jaxgames.clash.state import State
from jaxgames.clash.tables import card_columns, spell_columns, unit_columns


def best_spell(config: ClashConfig, state: State, enemy: Side, hand: zones.Hand, usable: Array) -> Idea:
    """Looks for the enemy or tower around which a spell of the hand destroys most, where enemies will be when it lands.

    A spell gains what it destroys less its cost; a tower that it fells is worth more than any cost, and with little time left
    damage to towers counts twice.
    """
    cards, spells, columns = card_columns(config), spell_columns(config), unit_columns(config)
    row = hand.row

    def of_spell(column: np.ndarray) -> Array:
        return jnp.asarray(column[0])[row]

    waves = jnp.asarray(cards.waves)[row]
    damage, crown = of_spell(spells.damage) * waves, of_spell(spells.crown_damage) * waves
    cost = jnp.asarray(cards.cost)[row] * CENT // ELIXIR
    # Where enemies are when it lands: who is out of reach of its target walks on.
    away = root(square(enemy.x - TOWER_X[KING]) + square(enemy.y - TOWER_Y[KING]))
    speed = jnp.asarray(cards.speed)[row]
    flight = jnp.where(
        speed[..., None] > 0, away[:, None] // jnp.maximum(speed, 1)[..., None], jnp.asarray(cards.first_wave)[row][..., None]
    )
    pace = jnp.asarray(columns.speed[0])[enemy.unit] * ~_fights(config, state)
    y = jnp.maximum(enemy.y[:, None] - flight * pace[:, None], 0)  # [2, 4, H]
    x = jnp.broadcast_to(enemy.x[:, None], y.shape)
    tower_x, tower_y = WIDTH - TOWER_X, HEIGHT - TOWER_Y
    towers = jnp.where(state.alive[::-1, :TOWERS], state.hp[::-1, :TOWERS].astype(jnp.int32), 0)
    x = jnp.where(np.arange(config.slots) < TOWERS, jnp.pad(tower_x, (0, config.slots - TOWERS)), x)
    y = jnp.where(np.arange(config.slots) < TOWERS, jnp.pad(tower_y, (0, config.slots - TOWERS)), y)
    there = enemy.there | jnp.pad(towers > 0, ((0, 0), (0, config.slots - TOWERS)))

    squared = square(x[..., :, None] - x[..., None, :]) + square(y[..., :, None] - y[..., None, :])  # [2, 4, H, H]
    reached = squared <= square(of_spell(spells.radius))[..., None, None]
    hits = (of_spell(spells.layers)[..., None] & jnp.asarray(columns.layer[0])[enemy.unit][:, None]) != 0
    share = jnp.minimum(enemy.hp[:, None], damage[..., None])
    killed = enemy.hp[:, None] <= damage[..., None]
    done = enemy.worth[:, None] * share // jnp.maximum(enemy.hp[:, None], 1)
    # What a spell leaves alive still fights, though not while it is stunned.
    held = enemy.worth[:, None] * of_spell(spells.stun_ticks)[..., None] // CENT
    done = jnp.where(hits & enemy.there[:, None], jnp.where(killed, done, done // 2 + held), 0)
    late = (state.tick + 300 > config.last_tick) | (state.tick >= config.regular_ticks)
    full = jnp.asarray(columns.hp[0, 0])
    on_tower = TOWER_WORTH * jnp.minimum(crown[..., None], towers[:, None]) // full  # [2, 4, 3]
    on_tower = jnp.where(late, 2 * on_tower, on_tower)
    falls = (towers[:, None] > 0) & (towers[:, None] <= crown[..., None])
    on_tower = jnp.where(falls, 10 * CENT, on_tower)
    done = jnp.concatenate([on_tower, done[..., TOWERS:]], axis=-1)
    total = jnp.where(reached, done[..., None, :], 0).sum(-1)
    gain = total - cost[..., None]
    harms = (jnp.asarray(cards.is_spell)[row] > 0) & (of_spell(spells.layers) > 0) & usable
    gain = jnp.where(harms[..., None] & there[:, None], gain, NOTHING).reshape(2, -1)
    best = jnp.argmax(gain, axis=1)
    place, player = best // config.slots, np.arange(2)
    to_x, to_y = (each.reshape(2, -1)[player, best] for each in (x, y))
    column, line = jnp.clip(to_x // TILE, 0, COLUMNS - 1), jnp.clip(to_y // TILE, 0, ROWS - 1)
    return Idea(place, column + line * COLUMNS, gain.max(1))


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
