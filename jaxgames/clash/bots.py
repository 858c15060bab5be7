"""Rule-based players."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames import random_bits
from jaxgames.agent import Agent, memoryless
from jaxgames.clash import rules, zones
from jaxgames.clash.config import ClashConfig
from jaxgames.clash.constants import COLUMNS, ELIXIR, HAND, HEIGHT, NUM_TILES, TILE, TOWERS, WIDTH
from jaxgames.clash.game import Clash
from jaxgames.clash.integers import square
from jaxgames.clash.kinds import own_of
from jaxgames.clash.state import State
from jaxgames.clash.tables import card_columns, spell_columns, unit_columns
from jaxgames.random_bits import LaneKey


def random_actions(config: ClashConfig, state: State, lane: LaneKey) -> Array:
    """Picks a card of the hand for each player, saves up for it, and plays it on any of its tiles: int32 [2].

    A tile beside a building, where a building cannot stand, or a card without a slot, waits.
    """
    cases = zones.cases(config, state)
    words = random_bits.bits(lane, np.arange(4).reshape(2, 2))
    place = random_bits.below(words[:, 0], HAND)
    case = jnp.where(np.arange(HAND) == place[:, None], cases, 0).sum(1)
    table = zones.zones()
    tile = jnp.asarray(table.tiles)[case, random_bits.below(words[:, 1], jnp.asarray(table.sizes)[case])]
    return 1 + place * NUM_TILES + tile.astype(jnp.int32)


def random_agent(game: Clash) -> Agent:
    """Picks any card of the hand, saves up for it, and plays it on any of its tiles."""

    def choose(state: State, key: Array, seat: Array) -> Array:
        return _of_seat(random_actions(game.config, state, random_bits.lane_key(key)), seat)

    return _agent("random", choose, draws=True)


def guard_agent(game: Clash) -> Agent:
    """Meets the enemy with most hit points near the river or past it; else saves up and attacks the lane of the weaker tower.

    A fallen tower is the weakest: through its lane troops go on to the king's.

    A spell goes where it destroys enemies worth more than it costs.
    """
    return agent_of("guard", functools.partial(guard_actions, game.config))


def agent_of(name: str, actions: Callable[[State], Array]) -> Agent:
    """Makes a player of a function that gives the actions of both players, int32 [2]."""

    def choose(state: State, key: Array, seat: Array) -> Array:
        del key
        return _of_seat(actions(state), seat)

    return _agent(name, choose, draws=False)


def _agent(name: str, choose: Any, *, draws: bool) -> Agent:
    """A player without memory. It looks at the state, but at nothing that is hidden from its seat."""

    def chosen(params: None, keys: Array, views: State, seats: Array) -> Array:
        del params
        return jax.vmap(choose)(views, keys, seats).astype(jnp.int32)

    return memoryless(name, chosen, sees_state=True, uses_hidden=False, draws=draws)


def _of_seat(actions: Array, seat: Array) -> Array:
    return jnp.where(seat == 1, actions[1], actions[0])


# Of the guard bot: elixir to begin an attack with, how far forward an enemy is a threat.
_ATTACK_FROM = 8
_DEFEND_BELOW = 18_500
_WORTH = 150  # damage that a spell should do per elixir


def guard_actions(config: ClashConfig, state: State) -> Array:
    """Gives the actions of the guard bot for both players, int32 [2]."""
    cards, units = card_columns(config), unit_columns(config)
    hand = zones.hands(config, state)
    row = hand.row
    slot = np.arange(config.slots)
    threat = (state.alive & (slot >= TOWERS))[::-1]
    enemy_x, enemy_y = WIDTH - state.x[::-1].astype(jnp.int32), HEIGHT - state.y[::-1].astype(jnp.int32)
    enemy_hp = jnp.where(threat, state.hp[::-1], 0).astype(jnp.int32)
    close = threat & (enemy_y < _DEFEND_BELOW)
    worst = jnp.argmax(jnp.where(close, enemy_hp, -1), axis=1)
    player = np.arange(2)
    is_near = close.any(1)
    worst_x, worst_y = enemy_x[player, worst], enemy_y[player, worst]
    layer = jnp.asarray(units.layer[0])[state.unit[::-1][player, worst]]

    # What each card is good for against that enemy: whether it can hit it, then its damage per second.
    unit = jnp.asarray(cards.unit)[row]
    can_hit = (jnp.asarray(units.accepts[0])[unit] & layer[:, None]) != 0
    is_spell = jnp.asarray(cards.is_spell)[row] > 0
    blow = own_of(units.damage, unit) * jnp.asarray(cards.count)[row] * 10 // jnp.asarray(units.hit_ticks[0])[unit]
    defends = jnp.where(can_hit & ~is_spell & hand.affordable & hand.has_room, blow, -1)
    best_defence = jnp.argmax(defends, axis=1)
    defended = is_near & (defends.max(1) > 0)

    # Attack: the troop with the most hit points, in the lane of the enemy's weaker tower, or of one that has fallen.
    hp = own_of(units.hp, unit) * (~is_spell & (jnp.asarray(cards.is_building)[row] == 0))
    attack = jnp.argmax(jnp.where(hand.affordable & hand.has_room, hp, -1), axis=1)
    full = state.elixir >= _ATTACK_FROM * ELIXIR
    # The enemy's tower 0 is on my right.
    tower_hp = state.hp[::-1, : TOWERS - 1].astype(jnp.int32)
    weaker_right = jnp.where(tower_hp[:, 0] <= tower_hp[:, 1], 1, 0)
    lane_x = jnp.where(weaker_right > 0, 14, 3) * TILE + TILE // 2

    spell_tile, spell_place, spell_pays = _best_spell(config, state, enemy_x, enemy_y, enemy_hp, hand)
    at_x = jnp.where(defended, worst_x, lane_x)
    at_y = jnp.where(defended, jnp.minimum(worst_y - 3 * TILE, 13 * TILE), 9 * TILE + TILE // 2)
    place = jnp.where(defended, best_defence, attack)
    tile = nearest_open(config, state, place, at_x, at_y)
    acts = defended | (full & (hp[player, attack] > 0))
    action = jnp.where(acts, 1 + place * NUM_TILES + tile, rules.WAIT)
    action = jnp.where(spell_pays, 1 + spell_place * NUM_TILES + spell_tile, action)
    return jnp.where(zones.must_wait(config, state), rules.WAIT, action).astype(jnp.int32)


def _best_spell(config: ClashConfig, state: State, x: Array, y: Array, hp: Array, hand: zones.Hand) -> tuple[Array, Array, Array]:
    """Looks for the enemy around which a spell of the hand does the most; it pays if that is worth its elixir."""
    cards, spells = card_columns(config), spell_columns(config)
    row = hand.row
    damage = own_of(spells.damage, row) * jnp.asarray(cards.waves)[row]
    layer = jnp.asarray(unit_columns(config).layer[0])[state.unit[::-1]]
    squared = square(x[:, :, None] - x[:, None, :]) + square(y[:, :, None] - y[:, None, :])
    radius = own_of(spells.radius, row)[:, :, None, None]
    reached = (squared[:, None] <= square(radius)) & ((own_of(spells.layers, row)[:, :, None] & layer[:, None, :]) != 0)[
        :, :, None, :
    ]
    done = jnp.where(reached, jnp.minimum(hp[:, None, None, :], damage[:, :, None, None]), 0).sum(-1)  # [2, 4, H]
    usable = (jnp.asarray(cards.is_spell)[row] > 0) & hand.affordable & hand.has_room
    gain = jnp.where(usable[..., None] & (hp > 0)[:, None], done - _WORTH * jnp.asarray(cards.cost)[row][..., None] // ELIXIR, -1)
    flat = gain.reshape(2, -1)
    best = jnp.argmax(flat, axis=1)
    place, enemy = best // x.shape[1], best % x.shape[1]
    player = np.arange(2)
    column = jnp.clip(x[player, enemy] // TILE, 0, COLUMNS - 1)
    tile = column + jnp.clip(y[player, enemy] // TILE, 0, HEIGHT // TILE - 1) * COLUMNS
    return tile, place, flat.max(1) > 0


def nearest_open(config: ClashConfig, state: State, place: Array, x: Array, y: Array) -> Array:
    """Gives the open tile of a card of each hand that is nearest to a point, int32 [2]; buildings keep apart from others."""
    chosen = np.arange(HAND) == place[:, None]
    open_tiles = jnp.asarray(zones.zones().mask)[jnp.where(chosen, zones.cases(config, state), 0).sum(1)]
    if zones.has_buildings(config):
        row = jnp.where(chosen, state.hand, 0).sum(1).astype(jnp.int32)
        every = jnp.broadcast_to(jnp.arange(NUM_TILES), (2, 1, NUM_TILES))
        open_tiles &= ~zones.beside_buildings(config, state, row[:, None], every)[:, 0]
    centre_x, centre_y = (jnp.asarray(each) for each in zones.centres())
    squared = square(centre_x - x[:, None]) + square(centre_y - y[:, None])
    return jnp.argmin(jnp.where(open_tiles, squared, np.int32(2**31 - 1)), axis=1).astype(jnp.int32)
