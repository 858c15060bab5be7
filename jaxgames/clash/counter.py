"""A strong rule-based player: it counters threats, builds pushes behind a tank, and spends spells and elixir on value.

It looks at the arena and its own hand alone.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.agent import Agent
from jaxgames.clash import bots, rules, zones
from jaxgames.clash.config import ClashConfig
from jaxgames.clash.constants import (
    ELIXIR,
    HEIGHT,
    NUM_TILES,
    TILE,
    TOWER_Y,
    WIDTH,
)
from jaxgames.clash.counter_push import best_push
from jaxgames.clash.counter_sides import (
    CENT,
    NOTHING,
    PRINCESSES,
    RANGED,
    SIEGE,
    TOWER_WORTH,
    Idea,
    Side,
    is_full,
    of_place,
    of_slot,
    sides,
    worth,
)
from jaxgames.clash.counter_spell import best_spell
from jaxgames.clash.game import Clash
from jaxgames.clash.integers import square
from jaxgames.clash.kinds import others_of, own_of
from jaxgames.clash.state import State
from jaxgames.clash.tables import card_columns, unit_columns

_THREAT_ROW = 16_500  # enemies nearer than this are on their way to the towers
_MEET_ROW = 12_000  # own troops meet them no further than this
_GROUP = 4_000  # enemies so near to the strongest are met together with it
_TOWER_DAMAGE = 136  # per second, of a tower that helps
_HELP = 6_000  # own units so near to it defend already
_MOST_HARM = 600  # that one enemy does to towers
_SPLASHED = 3  # enemies hit at once beside the first, at most
_LONG = 30  # seconds: nothing is planned further ahead


def counter_agent(game: Clash) -> Agent:
    """Counters the strongest threat, builds pushes behind a tank, spends spells on value, and keeps elixir for defence."""
    return bots.agent_of("counter", functools.partial(counter_actions, game.config))


def counter_actions(config: ClashConfig, state: State) -> Array:
    """Gives the actions of the bot for both players, int32 [2].

    A tower that a spell can fell comes first, then threats, spells that pay, and pushes.
    """
    hand = zones.hands(config, state)
    own, enemy = sides(config, state)
    usable = hand.affordable & hand.has_room
    spell = best_spell(config, state, enemy, hand, usable)
    counter = best_counter(config, state, own, enemy, hand, usable)
    push = best_push(config, state, own, enemy, hand, usable)
    # Elixir that comes while the bar is full is lost: then any spell is better than nothing.
    wasted = is_full(state) & (push.gain <= 0) & (counter.gain <= 0) & (spell.gain > NOTHING)
    casts = ((spell.gain > 0) & (spell.gain >= counter.gain)) | wasted
    action = jnp.full(2, rules.WAIT, jnp.int32)
    for idea, chosen in ((push, push.gain > 0), (counter, counter.gain > 0), (spell, casts)):
        action = jnp.where(chosen, 1 + idea.place * NUM_TILES + idea.tile, action)
    return jnp.where(zones.must_wait(config, state), rules.WAIT, action).astype(jnp.int32)


class _Threat(NamedTuple):
    """The strongest threat to each player and what comes with it.

    Attributes:
      comes: bool [2], whether there is one.
      x, y, unit: int32 [2], of the strongest enemy on its way; x and y in the player's frame.
      group: bool [2, H], it and the enemies around it.
      stops: int32 [2, H], what is gained by the death of each enemy: what it is worth, and the harm that it would do.
    """

    comes: Array
    x: Array
    y: Array
    unit: Array
    group: Array
    stops: Array


class _Fight(NamedTuple):
    """What fights of some units against a threat are made of, int32: hit points, damage per second, and what they are worth."""

    hp: Array
    damage: Array
    worth: Array


def best_counter(config: ClashConfig, state: State, own: Side, enemy: Side, hand: zones.Hand, usable: Array) -> Idea:
    """Meets the strongest threat, and what comes with it, with the card that gains most beside those who defend already.

    What it gains: what more is destroyed before all defenders have died, a tower helping, and what harm to towers that prevents;
    what more of them is left afterwards; less its cost.
    """
    threat = _threat_of(config, enemy)
    gain = _gains(config, enemy, threat, _defenders(config, own, threat), hand)
    troops = jnp.asarray(card_columns(config).is_spell)[hand.row] == 0
    gain = jnp.where(usable & troops & threat.comes[:, None], gain, NOTHING)
    place = jnp.argmax(gain, axis=1)
    return Idea(place, _meeting_tile(config, state, threat, hand, place), of_place(gain, place))


def _threat_of(config: ClashConfig, enemy: Side) -> _Threat:
    """Finds the strongest enemy that is near, or so far away that it can still shoot at towers."""
    shoots_from = TOWER_Y[0] + 3 * TILE // 2 + jnp.asarray(unit_columns(config).reach[0])[enemy.unit]
    comes = enemy.there & (enemy.y < jnp.maximum(_THREAT_ROW, shoots_from)) & jnp.asarray(_attacks(config))[enemy.unit]
    stops = enemy.worth + _harm(config, enemy)
    focus = jnp.argmax(jnp.where(comes, stops * (2 * HEIGHT - enemy.y) // HEIGHT, -1), axis=1)
    x, y, unit = (of_slot(each, focus) for each in (enemy.x, enemy.y, enemy.unit))
    group = enemy.there & (square(enemy.x - x[:, None]) + square(enemy.y - y[:, None]) < _GROUP**2)
    return _Threat(comes.any(1), x, y, unit, group, stops)


def _defenders(config: ClashConfig, own: Side, threat: _Threat) -> _Fight:
    """Those who are near and can hit it, together: [2, 1]."""
    columns = unit_columns(config)
    layer, accepts = jnp.asarray(columns.layer[0]), jnp.asarray(columns.accepts[0])
    near = square(own.x - threat.x[:, None]) + square(own.y - threat.y[:, None]) < _HELP**2
    helps = own.there & near & ((accepts[own.unit] & layer[threat.unit][:, None]) != 0)
    each_of = own.hp, own_of(worth(config).damage, own.unit), own.worth
    return _Fight(*(jnp.where(helps, each, 0).sum(1)[:, None] for each in each_of))


def _gains(config: ClashConfig, enemy: Side, threat: _Threat, defenders: _Fight, hand: zones.Hand) -> Array:
    """What each card of a hand gains against a threat, beside those who defend already: int32 [2, 4].

    `NOTHING` where it hits nobody; the numbers of spells mean nothing.
    """
    cards, columns, values = card_columns(config), unit_columns(config), worth(config)
    layer, accepts = jnp.asarray(columns.layer[0]), jnp.asarray(columns.accepts[0])
    unit = jnp.asarray(cards.unit)[hand.row]  # [2, 4]

    def sum_of(which: Array, each: Array) -> Array:
        return jnp.where(which & threat.group[:, None], each[:, None], 0).sum(-1)

    can_hit = (accepts[unit][..., None] & layer[enemy.unit][:, None]) != 0  # [2, 4, H]
    is_hit = (accepts[enemy.unit][:, None] & layer[unit][..., None]) != 0
    harm = others_of(values.damage, enemy.unit)
    harms = sum_of(is_hit, harm)
    # Those who splash hurt several units of a card at once.
    extra = jnp.clip(jnp.asarray(cards.count)[hand.row] - 1, 0, _SPLASHED)
    harms += extra * sum_of(is_hit & (jnp.asarray(columns.splash_radius[0])[enemy.unit] > 0)[:, None], harm)
    enemy_hp, enemy_worth = sum_of(can_hit, enemy.hp), sum_of(can_hit, threat.stops)
    at_once = sum_of(can_hit, jnp.ones_like(enemy.hp)) - 1
    more = jnp.where(jnp.asarray(columns.splash_radius[0])[unit] > 0, jnp.clip(at_once, 0, _SPLASHED), 0)
    cost = jnp.asarray(cards.cost)[hand.row] * CENT // ELIXIR

    def result(side: _Fight) -> Array:
        """What a fight destroys and leaves, in hundredths of elixir; times to kill and to be killed in tenths of a second."""
        kill = 1 + jnp.minimum(enemy_hp * 10 // (side.damage + _TOWER_DAMAGE), 10 * _LONG)
        die = 1 + jnp.minimum(side.hp * 10 // jnp.maximum(harms, 1), 10 * _LONG)
        return enemy_worth * jnp.minimum(kill, die) // kill + side.worth * jnp.maximum(die - kill, 0) // die * 2 // 3

    damage = own_of(values.card_damage, hand.row) * (1 + more)
    with_card = _Fight(
        hp=defenders.hp + own_of(values.card_hp, hand.row), damage=defenders.damage + damage, worth=defenders.worth + cost
    )
    return jnp.where(enemy_hp > 0, result(with_card) - result(defenders) - cost, NOTHING)


def _meeting_tile(config: ClashConfig, state: State, threat: _Threat, hand: zones.Hand, place: Array) -> Array:
    """Where the card of a place (int32 [2]) meets a threat: before it, further back if it shoots; a building in the middle."""
    cards, (x, y) = card_columns(config), (threat.x, threat.y)
    reach = of_place(jnp.asarray(unit_columns(config).reach[0])[jnp.asarray(cards.unit)[hand.row]], place)
    back = jnp.where(reach > RANGED, jnp.minimum(reach - TILE, 4 * TILE), TILE)
    inward = jnp.where(x > WIDTH // 2, -1, 1) * jnp.where(reach > RANGED, 3 * TILE // 2, 0)
    building = of_place(jnp.asarray(cards.is_building)[hand.row], place) > 0
    furthest = jnp.where(y > _THREAT_ROW, 14 * TILE + TILE // 2, _MEET_ROW)
    # In the middle it draws from both lanes.
    at_x = jnp.where(building, jnp.where(x > WIDTH // 2, 10 * TILE, 8 * TILE), x + inward)
    at_y = jnp.where(building, 10 * TILE + TILE // 2, jnp.clip(y - back, 2 * TILE, furthest))
    return bots.nearest_open(config, state, place, at_x, at_y)


@functools.lru_cache(maxsize=64)
def _attacks(config: ClashConfig) -> np.ndarray:
    """Says which units come to towers or reach them from afar: bool [U]."""
    columns = unit_columns(config)
    far = (columns.reach[0] > SIEGE) & (columns.accepts[0] > 0)
    return (columns.speed[0] > 0) | far


def _harm(config: ClashConfig, enemy: Side) -> Array:
    """What each enemy would do to a tower until that has killed it, in hundredths of elixir: int32 [2, H]."""
    damage = others_of(worth(config).damage, enemy.unit)
    full = own_of(unit_columns(config).hp, PRINCESSES)
    return jnp.minimum(damage * jnp.minimum(enemy.hp, 6_000) // _TOWER_DAMAGE * 8 // full * (TOWER_WORTH // 8), _MOST_HARM)
