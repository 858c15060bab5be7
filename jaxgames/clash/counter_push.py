"""The pushes of the counter bot: troops behind a leader, or the beginning of a new attack."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.clash import bots, zones
from jaxgames.clash.config import ClashConfig
from jaxgames.clash.constants import (
    AIR_BUILDING,
    ELIXIR,
    GROUND_BUILDING,
    HEIGHT,
    KING,
    TILE,
    TOWER_X,
    TOWER_Y,
    TOWERS,
    WIDTH,
)
from jaxgames.clash.counter_sides import (
    CENT,
    PRINCESSES,
    RANGED,
    SIEGE,
    TOWER_WORTH,
    Idea,
    Side,
    is_full,
    of_place,
    of_slot,
    worth,
)
from jaxgames.clash.kinds import others_of, own_of
from jaxgames.clash.state import State
from jaxgames.clash.tables import card_columns, spell_columns, unit_columns

_BUILDINGS = GROUND_BUILDING | AIR_BUILDING
_LEADER_HP = 600  # of a unit that others may follow
_BEGIN, _BEGIN_FAST = 9, 8  # elixir to begin a push with, and when it comes twice as fast
_FOLLOW, _FOLLOW_FAR = 7, 5  # to follow a leader, one that has come far
_QUICK = 150  # speed of those who run


class _Lane(NamedTuple):
    """Where a push goes, of each player.

    Attributes:
      right: int32 [2], 1 for the right lane, else 0.
      tower_stands: bool [2], the enemy's tower there.
      led: bool [2], whether there are troops to follow.
      x, y: int32 [2], of the hardiest of these.
    """

    right: Array
    tower_stands: Array
    led: Array
    x: Array
    y: Array


def best_push(config: ClashConfig, state: State, own: Side, enemy: Side, hand: zones.Hand, usable: Array) -> Idea:
    """Goes on with a push, or begins one when there is elixir to spare.

    A push goes where own troops are and the enemy's tower is weak. Behind a leader come those who do most damage; without one,
    the hardiest troop begins behind the king, and runners that only look for buildings at the bridge.
    """
    lane, kinds = _lane_of(config, state, own, enemy), _kinds(config, hand)
    score = _push_scores(config, state, lane, kinds, hand, usable)
    place = jnp.argmax(score, axis=1)
    return Idea(place, _push_tile(config, state, lane, kinds, place), of_place(score, place))


def _lane_of(config: ClashConfig, state: State, own: Side, enemy: Side) -> _Lane:
    """Chooses the lane of a push, and finds whom to follow there."""
    columns, right = unit_columns(config), np.arange(2)[:, None]
    in_lane = own.there[:, None] & (own.right[:, None] == right)  # [2, lane, H]
    against = jnp.where(enemy.there[:, None] & (enemy.right[:, None] == right), enemy.worth[:, None], 0).sum(-1)
    walks = jnp.asarray(columns.speed[0])[own.unit] > 0
    with_us = jnp.where(in_lane & walks[:, None], own.worth[:, None], 0).sum(-1)
    tower = jnp.where(state.alive[::-1, : TOWERS - 1], state.hp[::-1, : TOWERS - 1].astype(jnp.int32), 0)[:, ::-1]
    full = others_of(columns.hp, PRINCESSES)
    weak = jnp.where(tower > 0, (full - tower) * TOWER_WORTH // full, -CENT)
    choice = jnp.argmax(2 * with_us + weak - against // 2, axis=1)
    leads = own.there & walks & (own.right == choice[:, None]) & (own.hp >= _LEADER_HP) & (own.y > 2 * TILE)
    leader = jnp.argmax(jnp.where(leads, own.hp, -1), axis=1)
    stands = jnp.where(np.arange(2) == choice[:, None], tower, 0).sum(1) > 0
    return _Lane(choice, stands, leads.any(1), of_slot(own.x, leader), of_slot(own.y, leader))


class _Kinds(NamedTuple):
    """What each card of a hand is, bool [2, 4].

    Attributes:
      spell: of any kind.
      brings: a spell that brings troops.
      siege: a building that shoots at towers, and `stays` for any other.
      stays: see `siege`.
      makes: a building that makes troops.
      only_buildings: it looks for buildings alone, and `runs` for one that is quick.
      runs: see `only_buildings`.
      shoots: from afar.
    """

    spell: Array
    brings: Array
    siege: Array
    stays: Array
    makes: Array
    only_buildings: Array
    runs: Array
    shoots: Array


def _kinds(config: ClashConfig, hand: zones.Hand) -> _Kinds:
    """Sorts the cards of both hands."""
    cards, columns = card_columns(config), unit_columns(config)
    unit = jnp.asarray(cards.unit)[hand.row]

    def of_unit(column: np.ndarray) -> Array:
        return jnp.asarray(column[0])[unit]

    spell, building = jnp.asarray(cards.is_spell)[hand.row] > 0, jnp.asarray(cards.is_building)[hand.row] > 0
    siege = building & (of_unit(columns.reach) > SIEGE)
    stays = building & ~siege
    only_buildings = (of_unit(columns.accepts) & ~_BUILDINGS) == 0
    return _Kinds(
        spell=spell,
        brings=spell & (jnp.asarray(spell_columns(config).spawn_count[0])[hand.row] > 0),
        siege=siege,
        stays=stays,
        makes=stays & (of_unit(columns.spawn_count) > 0),
        only_buildings=only_buildings,
        runs=only_buildings & (of_unit(columns.speed) >= _QUICK) & ~spell & ~building,
        shoots=of_unit(columns.reach) > RANGED,
    )


def _push_scores(config: ClashConfig, state: State, lane: _Lane, kinds: _Kinds, hand: zones.Hand, usable: Array) -> Array:
    """How well each card of a hand goes on with a push or begins one: int32 [2, 4], 0 for what is not to be played now."""
    cards, values = card_columns(config), worth(config)
    cost = jnp.asarray(cards.cost)[hand.row] * CENT // ELIXIR
    # To follow: damage per elixir. To begin: hit points, runners, and barrels.
    follows = own_of(values.card_damage, hand.row) * CENT // cost
    follows += jnp.where(kinds.only_buildings, 0, 40) + jnp.where(kinds.shoots, 40, 0)
    begins = own_of(values.card_hp, hand.row) // 20 + jnp.where(kinds.runs | kinds.brings | kinds.siege, 150, 0)
    score = jnp.where(kinds.stays, 1, jnp.where(lane.led[:, None], follows, begins) + 1)
    useful = (~kinds.spell | kinds.brings) & (~kinds.stays | kinds.makes | is_full(state)[:, None])
    begin = jnp.where(state.tick >= config.double_from_tick, _BEGIN_FAST, _BEGIN)
    needed = jnp.where(lane.led, jnp.where(lane.y > 12 * TILE, _FOLLOW_FAR, _FOLLOW), begin)
    can_spare = state.elixir.astype(jnp.int32) * CENT // ELIXIR >= needed * CENT
    return jnp.where(usable & useful & can_spare[:, None], score, 0)


def _push_tile(config: ClashConfig, state: State, lane: _Lane, kinds: _Kinds, place: Array) -> Array:
    """Where the card of a place (int32 [2]) goes in a push."""
    side = lane.right * 2 - 1
    jumps, flies, waits = (of_place(each, place) > 0 for each in (kinds.runs | kinds.siege, kinds.brings, kinds.stays))
    lane_x = jnp.where(lane.right > 0, WIDTH - TOWER_X[0], TOWER_X[0])
    behind = jnp.clip(lane.y - 5 * TILE // 2, TILE // 2, 14 * TILE + TILE // 2)
    at_x = jnp.where(jumps, lane_x, jnp.where(lane.led, lane.x, WIDTH // 2 + side * 5 * TILE // 2))
    at_y = jnp.where(jumps, 14 * TILE + TILE // 2, jnp.where(lane.led, behind, TILE // 2))
    # Barrels fly to the tower itself.
    at_x = jnp.where(flies, jnp.where(lane.tower_stands, lane_x, WIDTH // 2), at_x)
    at_y = jnp.where(flies, HEIGHT - jnp.where(lane.tower_stands, TOWER_Y[0], TOWER_Y[KING]), at_y)
    at_x, at_y = jnp.where(waits, WIDTH // 2 + side * TILE, at_x), jnp.where(waits, 10 * TILE, at_y)
    return bots.nearest_open(config, state, place, at_x, at_y)
