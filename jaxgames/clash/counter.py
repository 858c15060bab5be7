"""A strong rule-based player: it counters threats, builds pushes behind a tank, and spends spells and elixir on value.

Values are counted in hundredths of elixir, in whole numbers, so that all devices choose alike. It looks at the arena and its own
hand alone.
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
    AIR_BUILDING,
    COLUMNS,
    ELIXIR,
    GROUND_BUILDING,
    HAND,
    HEIGHT,
    KING,
    MOST_ELIXIR,
    NUM_TILES,
    ROWS,
    TICKS_PER_STEP,
    TILE,
    TOWER_X,
    TOWER_Y,
    TOWERS,
    WIDTH,
)
from jaxgames.clash.game import Clash
from jaxgames.clash.integers import root, square
from jaxgames.clash.kinds import places_of
from jaxgames.clash.state import State
from jaxgames.clash.tables import card_columns, spell_columns, unit_columns

_CENT = 100  # of an elixir
_BUILDINGS = GROUND_BUILDING | AIR_BUILDING
_THREAT_ROW = 16_500  # enemies nearer than this are on their way to the towers
_MEET_ROW = 12_000  # own troops meet them no further than this
_GROUP = 4_000  # enemies so near to the strongest are met together with it
_TOWER_DAMAGE = 136  # per second, of a tower that helps
_HELP = 6_000  # own units so near to it defend already
_MOST_HARM = 600  # that one enemy does to towers
_SIEGE = 10_000  # reach of buildings that shoot at towers
_TOWER_WORTH = 800  # of a full tower of a princess
_LEADER_HP = 600  # of a unit that others may follow
_RANGED = 2_500
_BEGIN, _FOLLOW, _FOLLOW_FAR = 9, 7, 5  # elixir to begin a push with, to follow a leader, one that has come far
_SPLASHED = 3  # enemies hit at once beside the first, at most
_LONG = 30  # seconds: nothing is planned further ahead
_NOTHING = np.int32(-(1 << 20))


class Worth(NamedTuple):
    """What units and cards are worth and can do.

    Attributes:
      unit: int32 [U], hundredths of elixir of a healthy one.
      damage: int32 [U], per second.
      card_hp, card_damage: int32 [C], of all units of a card; damage per second.
    """

    unit: np.ndarray
    damage: np.ndarray
    card_hp: np.ndarray
    card_damage: np.ndarray


@functools.lru_cache(maxsize=64)
def worth(config: ClashConfig) -> Worth:
    """Gives what a game's units and cards are worth: their share of the cost; of units that no card deploys, by their numbers."""
    table, columns = config.table, unit_columns(config)
    damage = columns.damage[0] * 10 // np.maximum(columns.hit_ticks[0], 1)
    unit = (columns.hp[0] + 5 * damage) // 9
    for card in table.cards:
        if card.unit:
            unit[table.unit_ids[card.unit]] = card.cost * _CENT // card.count
    unit[:2] = 0
    of_card = np.array([table.unit_ids.get(card.unit, 0) for card in table.cards])
    count = np.array([card.count for card in table.cards])
    return Worth(unit, damage, (columns.hp[0] + columns.shield[0])[of_card] * count, damage[of_card] * count)


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
    wasted = _is_full(state) & (push.gain <= 0) & (counter.gain <= 0) & (spell.gain > _NOTHING)
    casts = ((spell.gain > 0) & (spell.gain >= counter.gain)) | wasted
    action = jnp.full(2, rules.WAIT, jnp.int32)
    for idea, chosen in ((push, push.gain > 0), (counter, counter.gain > 0), (spell, casts)):
        action = jnp.where(chosen, 1 + idea.place * NUM_TILES + idea.tile, action)
    return jnp.where(zones.must_wait(config, state), rules.WAIT, action).astype(jnp.int32)


def sides(config: ClashConfig, state: State) -> tuple[Side, Side]:
    """Gives the own troops of each player and those of its enemy."""
    values, columns = worth(config), unit_columns(config)
    places = places_of(state.x, state.y)
    there = state.alive & (np.arange(config.slots) >= TOWERS)
    unit = state.unit.astype(jnp.int32)
    hp = jnp.where(there, state.hp.astype(jnp.int32) + state.shield, 0)
    full = jnp.asarray(columns.hp + columns.shield)[np.arange(2)[:, None], unit]
    left = jnp.asarray(values.unit)[unit] * hp // jnp.maximum(full, 1)

    def side(x: Array, y: Array, turn: slice) -> Side:
        return Side(there[turn], x, y, hp[turn], left[turn], unit[turn], (x > WIDTH // 2).astype(jnp.int32))

    return side(places.x, places.y, np.s_[:]), side(places.other_x, places.other_y, np.s_[::-1])


def best_counter(config: ClashConfig, state: State, own: Side, enemy: Side, hand: zones.Hand, usable: Array) -> Idea:
    """Meets the strongest threat, and what comes with it, with the card that gains most beside those who defend already.

    What it gains: what more is destroyed before all defenders have died, a tower helping, and what harm to towers that prevents;
    what more of them is left afterwards; less its cost.
    """
    cards, columns, values = card_columns(config), unit_columns(config), worth(config)
    layer, accepts = jnp.asarray(columns.layer[0]), jnp.asarray(columns.accepts[0])
    unit = jnp.asarray(cards.unit)[hand.row]  # [2, 4]
    # Who is near, or so far away that it can still shoot at towers.
    shoots_from = TOWER_Y[0] + 3 * TILE // 2 + jnp.asarray(columns.reach[0])[enemy.unit]
    comes = enemy.there & (enemy.y < jnp.maximum(_THREAT_ROW, shoots_from)) & jnp.asarray(_attacks(config))[enemy.unit]
    stops = enemy.worth + _harm(config, enemy)
    focus = jnp.argmax(jnp.where(comes, stops * (2 * HEIGHT - enemy.y) // HEIGHT, -1), axis=1)

    def of_focus(each: Array) -> Array:
        return jnp.where(np.arange(config.slots) == focus[:, None], each, 0).sum(1)

    x, y = of_focus(enemy.x), of_focus(enemy.y)
    group = enemy.there & (square(enemy.x - x[:, None]) + square(enemy.y - y[:, None]) < _GROUP**2)
    near = square(own.x - x[:, None]) + square(own.y - y[:, None]) < _HELP**2
    helps = own.there & near & ((accepts[own.unit] & layer[of_focus(enemy.unit)][:, None]) != 0)
    help_hp, help_worth, help_damage = (
        jnp.where(helps, each, 0).sum(1)[:, None] for each in (own.hp, own.worth, jnp.asarray(values.damage)[own.unit])
    )

    def sum_of(which: Array, each: Array) -> Array:
        return jnp.where(which & group[:, None], each[:, None], 0).sum(-1)

    can_hit = (accepts[unit][..., None] & layer[enemy.unit][:, None]) != 0  # [2, 4, H]
    is_hit = (accepts[enemy.unit][:, None] & layer[unit][..., None]) != 0
    harm = jnp.asarray(values.damage)[enemy.unit]
    harms = sum_of(is_hit, harm)
    # Those who splash hurt several units of a card at once.
    extra = jnp.clip(jnp.asarray(cards.count)[hand.row] - 1, 0, _SPLASHED)
    harms += extra * sum_of(is_hit & (jnp.asarray(columns.splash_radius[0])[enemy.unit] > 0)[:, None], harm)
    enemy_hp, enemy_worth = sum_of(can_hit, enemy.hp), sum_of(can_hit, stops)
    at_once = sum_of(can_hit, jnp.ones_like(enemy.hp)) - 1
    more = jnp.where(jnp.asarray(columns.splash_radius[0])[unit] > 0, jnp.clip(at_once, 0, _SPLASHED), 0)

    def fight(hp: Array, damage: Array) -> tuple[Array, Array]:
        """Gives how long it takes to kill them, and to be killed, in tenths of a second, 1 or more."""
        kill = 1 + jnp.minimum(enemy_hp * 10 // (damage + _TOWER_DAMAGE), 10 * _LONG)
        return kill, 1 + jnp.minimum(hp * 10 // jnp.maximum(harms, 1), 10 * _LONG)

    cost = jnp.asarray(cards.cost)[hand.row] * _CENT // ELIXIR

    def result(worth: Array, hp: Array, damage: Array) -> Array:
        """What a fight destroys and leaves, in hundredths of elixir."""
        kill, die = fight(hp, damage)
        return enemy_worth * jnp.minimum(kill, die) // kill + worth * jnp.maximum(die - kill, 0) // die * 2 // 3

    with_card = result(
        help_worth + cost,
        help_hp + jnp.asarray(values.card_hp)[hand.row],
        help_damage + jnp.asarray(values.card_damage)[hand.row] * (1 + more),
    )
    gain = with_card - result(help_worth, help_hp, help_damage) - cost
    troops = jnp.asarray(cards.is_spell)[hand.row] == 0
    gain = jnp.where(usable & troops & (enemy_hp > 0) & comes.any(1)[:, None], gain, _NOTHING)
    place = jnp.argmax(gain, axis=1)
    reach = _of_place(jnp.asarray(columns.reach[0])[unit], place)
    back = jnp.where(reach > _RANGED, jnp.minimum(reach - TILE, 4 * TILE), TILE)
    inward = jnp.where(x > WIDTH // 2, -1, 1) * jnp.where(reach > _RANGED, 3 * TILE // 2, 0)
    building = _of_place(jnp.asarray(cards.is_building)[hand.row], place) > 0
    furthest = jnp.where(y > _THREAT_ROW, 14 * TILE + TILE // 2, _MEET_ROW)
    # A building stands in the middle, where it draws from both lanes.
    at_x = jnp.where(building, jnp.where(x > WIDTH // 2, 10 * TILE, 8 * TILE), x + inward)
    at_y = jnp.where(building, 10 * TILE + TILE // 2, jnp.clip(y - back, 2 * TILE, furthest))
    tile = bots.nearest_open(config, state, place, at_x, at_y)
    return Idea(place, tile, _of_place(gain, place))


@functools.lru_cache(maxsize=64)
def _attacks(config: ClashConfig) -> np.ndarray:
    """Says which units come to towers or reach them from afar: bool [U]."""
    columns = unit_columns(config)
    far = (columns.reach[0] > _SIEGE) & (columns.accepts[0] > 0)
    return (columns.speed[0] > 0) | far


def _harm(config: ClashConfig, enemy: Side) -> Array:
    """What each enemy would do to a tower until that has killed it, in hundredths of elixir: int32 [2, H]."""
    damage = jnp.asarray(worth(config).damage)[enemy.unit]
    full = int(unit_columns(config).hp[0, 0])
    return jnp.minimum(damage * jnp.minimum(enemy.hp, 6_000) // _TOWER_DAMAGE * 8 // full * (_TOWER_WORTH // 8), _MOST_HARM)


def _of_place(values: Array, place: Array) -> Array:
    """Takes of int32 [2, 4] the value of one card of each hand: [2]."""
    return jnp.where(np.arange(HAND) == place[:, None], values, 0).sum(1)


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
    cost = jnp.asarray(cards.cost)[row] * _CENT // ELIXIR
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
    held = enemy.worth[:, None] * of_spell(spells.stun_ticks)[..., None] // _CENT
    done = jnp.where(hits & enemy.there[:, None], jnp.where(killed, done, done // 2 + held), 0)
    late = (state.tick + 300 > config.last_tick) | (state.tick >= config.regular_ticks)
    full = jnp.asarray(columns.hp[0, 0])
    on_tower = _TOWER_WORTH * jnp.minimum(crown[..., None], towers[:, None]) // full  # [2, 4, 3]
    on_tower = jnp.where(late, 2 * on_tower, on_tower)
    falls = (towers[:, None] > 0) & (towers[:, None] <= crown[..., None])
    on_tower = jnp.where(falls, 10 * _CENT, on_tower)
    done = jnp.concatenate([on_tower, done[..., TOWERS:]], axis=-1)
    total = jnp.where(reached, done[..., None, :], 0).sum(-1)
    gain = total - cost[..., None]
    harms = (jnp.asarray(cards.is_spell)[row] > 0) & (of_spell(spells.layers) > 0) & usable
    gain = jnp.where(harms[..., None] & there[:, None], gain, _NOTHING).reshape(2, -1)
    best = jnp.argmax(gain, axis=1)
    place, player = best // config.slots, np.arange(2)
    to_x, to_y = (each.reshape(2, -1)[player, best] for each in (x, y))
    column, line = jnp.clip(to_x // TILE, 0, COLUMNS - 1), jnp.clip(to_y // TILE, 0, ROWS - 1)
    return Idea(place, column + line * COLUMNS, gain.max(1))


def _is_full(state: State) -> Array:
    return state.elixir >= MOST_ELIXIR * ELIXIR - 2 * TICKS_PER_STEP


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


def best_push(config: ClashConfig, state: State, own: Side, enemy: Side, hand: zones.Hand, usable: Array) -> Idea:
    """Goes on with a push, or begins one when there is elixir to spare.

    A push goes where own troops are and the enemy's tower is weak. Behind a leader come those who do most damage; without one,
    the hardiest troop begins behind the king, and runners that only look for buildings at the bridge.
    """
    cards, columns, values = card_columns(config), unit_columns(config), worth(config)
    row = hand.row
    unit = jnp.asarray(cards.unit)[row]
    right = np.arange(2)[:, None]  # of lanes
    in_lane = own.there[:, None] & (own.right[:, None] == right)  # [2, lane, H]
    against = jnp.where(enemy.there[:, None] & (enemy.right[:, None] == right), enemy.worth[:, None], 0).sum(-1)
    walks = jnp.asarray(columns.speed[0])[own.unit] > 0
    with_us = jnp.where(in_lane & walks[:, None], own.worth[:, None], 0).sum(-1)
    tower = jnp.where(state.alive[::-1, : TOWERS - 1], state.hp[::-1, : TOWERS - 1].astype(jnp.int32), 0)[:, ::-1]
    full = int(columns.hp[0, 0])
    weak = jnp.where(tower > 0, (full - tower) * _TOWER_WORTH // full, -_CENT)
    choice = jnp.argmax(2 * with_us + weak - against // 2, axis=1)
    side = choice * 2 - 1

    leads = own.there & walks & (own.right == choice[:, None]) & (own.hp >= _LEADER_HP) & (own.y > 2 * TILE)
    leader = jnp.argmax(jnp.where(leads, own.hp, -1), axis=1)
    has_leader = leads.any(1)

    def of_leader(each: Array) -> Array:
        return jnp.where(np.arange(config.slots) == leader[:, None], each, 0).sum(1)

    spell = jnp.asarray(cards.is_spell)[row] > 0
    brings = spell & (jnp.asarray(spell_columns(config).spawn_count[0])[row] > 0)
    building = jnp.asarray(cards.is_building)[row] > 0
    siege = building & (jnp.asarray(columns.reach[0])[unit] > _SIEGE)
    only_buildings = (jnp.asarray(columns.accepts[0])[unit] & ~_BUILDINGS) == 0
    runs = only_buildings & (jnp.asarray(columns.speed[0])[unit] >= 150) & ~spell & ~building
    cost = jnp.asarray(cards.cost)[row] * _CENT // ELIXIR
    # To follow: damage per elixir. To begin: hit points, runners, and barrels.
    shoots = jnp.asarray(columns.reach[0])[unit] > _RANGED
    follows = jnp.asarray(values.card_damage)[row] * _CENT // cost + jnp.where(only_buildings, 0, 40) + jnp.where(shoots, 40, 0)
    begins = jnp.asarray(values.card_hp)[row] // 20 + jnp.where(runs | brings | siege, 150, 0)
    score = jnp.where(has_leader[:, None], follows, begins) + 1
    stays = building & ~siege
    makes = stays & (jnp.asarray(columns.spawn_count[0])[unit] > 0)
    fit = usable & (~spell | brings) & (~stays | makes | _is_full(state)[:, None])
    score = jnp.where(stays, 1, score)
    fast = state.tick >= config.double_from_tick
    elixir = state.elixir.astype(jnp.int32) * _CENT // ELIXIR
    spare = (
        jnp.where(has_leader, jnp.where(of_leader(own.y) > 12 * TILE, _FOLLOW_FAR, _FOLLOW), jnp.where(fast, 8, _BEGIN)) * _CENT
    )
    score = jnp.where(fit & (elixir >= spare)[:, None], score, 0)
    place = jnp.argmax(score, axis=1)
    jumps = _of_place(runs | siege, place) > 0
    lane_x = jnp.where(choice > 0, WIDTH - TOWER_X[0], TOWER_X[0])
    behind = jnp.clip(of_leader(own.y) - 5 * TILE // 2, TILE // 2, 14 * TILE + TILE // 2)
    at_x = jnp.where(jumps, lane_x, jnp.where(has_leader, of_leader(own.x), WIDTH // 2 + side * 5 * TILE // 2))
    at_y = jnp.where(jumps, 14 * TILE + TILE // 2, jnp.where(has_leader, behind, TILE // 2))
    # Barrels fly to the tower itself.
    flies = _of_place(brings, place) > 0
    up = _of_lane(tower, choice) > 0
    at_x = jnp.where(flies, jnp.where(up, lane_x, WIDTH // 2), at_x)
    at_y = jnp.where(flies, HEIGHT - jnp.where(up, TOWER_Y[0], TOWER_Y[KING]), at_y)
    waits = _of_place(stays, place) > 0
    at_x, at_y = jnp.where(waits, WIDTH // 2 + side * TILE, at_x), jnp.where(waits, 10 * TILE, at_y)
    tile = bots.nearest_open(config, state, place, at_x, at_y)
    return Idea(place, tile, _of_place(score, place))


def _of_lane(values: Array, lane: Array) -> Array:
    return jnp.where(np.arange(2) == lane[:, None], values, 0).sum(1)
