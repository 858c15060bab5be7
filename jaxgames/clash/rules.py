"""A step of agents: both players' actions, then half a second of battle. Actions and what is legal.

Action 0 waits; action `1 + place * 576 + row * 18 + column` plays a card of the hand on a tile of the own frame. A card that
cannot be paid yet is saved for, whatever the tile: until it can be paid, waiting is all that its player can do. A card that
may not be played there, or finds no slot, counts as waiting.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.clash import zones
from jaxgames.clash.config import ClashConfig
from jaxgames.clash.constants import COLUMNS, HAND, KING, NUM_TILES, TICKS_PER_STEP, TOWER_X, TOWER_Y
from jaxgames.clash.integers import divide, root, square
from jaxgames.clash.spawning import Births, born, ranks
from jaxgames.clash.state import State, free_slots
from jaxgames.clash.tables import CardColumns, card_columns
from jaxgames.clash.tick import run
from jaxgames.fusion import worked_out

WAIT = 0
NUM_ACTIONS = 1 + HAND * NUM_TILES


class Play(NamedTuple):
    """What both players do, [2] each.

    Attributes:
      plays: bool, a card is played.
      saves: bool, a card is saved for.
      place: int32, of the card in the hand.
      tile: int32.
      row: int32, of the card in the table.
    """

    plays: Array
    saves: Array
    place: Array
    tile: Array
    row: Array


def step(config: ClashConfig, state: State, actions: Array) -> State:
    """Plays one step of agents.

    Args:
      config: the battle.
      state: before it.
      actions: int32 [2]; what is no action, or not legal, counts as waiting.
    """
    before = dataclasses.replace(state, seat_rewards=jnp.zeros_like(state.seat_rewards))
    play = read(config, state, actions)
    # On a battle that was over nothing is played, so only rewards differ; saving stays as it is.
    return save_on(config, run(config, deploy(config, before, play), TICKS_PER_STEP))


def save_on(config: ClashConfig, after: State) -> State:
    """Ends a step: a card that can be paid now is no longer saved for."""
    saving = jnp.where(zones.must_wait(config, after), after.saving, -1).astype(jnp.int8)
    return dataclasses.replace(after, saving=saving)


def read(config: ClashConfig, state: State, actions: Array) -> Play:
    """Reads both players' actions, int32 [2]."""
    actions = jnp.asarray(actions).astype(jnp.int32)
    known = (actions > WAIT) & (actions < NUM_ACTIONS) & ~state.terminated & ~zones.must_wait(config, state)
    number = jnp.where(known, actions - 1, 0)
    place, tile = number // NUM_TILES, number % NUM_TILES
    hand = zones.hands(config, state)
    chosen = np.arange(HAND) == place[:, None]

    def of_card(values: Array) -> Array:
        return jnp.where(chosen, values, 0).sum(1)

    case = of_card(zones.cases(config, state))
    fits = jnp.asarray(zones.zones().mask)[case, tile]
    row = of_card(hand.row)
    if zones.has_buildings(config):
        fits &= ~zones.beside_buildings(config, state, row[:, None], tile[:, None, None])[:, 0, 0]
    affordable = of_card(hand.affordable) > 0
    plays = known & affordable & (of_card(hand.has_room) > 0) & fits
    return Play(plays, known & ~affordable, place, tile, row)


def deploy(config: ClashConfig, state: State, play: Play) -> State:
    """Pays for cards and puts them onto the arena; the next cards come into the hands."""
    cards = card_columns(config)
    row = play.row
    centre_x, centre_y = zones.centre_of(play.tile)

    def column(values: np.ndarray) -> Array:
        return jnp.asarray(values)[row]

    spell = play.plays & (column(cards.is_spell) > 0)
    free = free_slots(state)
    rank = ranks(free)
    count = jnp.where(play.plays & ~spell, column(cards.count), 0)
    offset = jnp.asarray(cards.offsets)[row[:, None], jnp.clip(rank, 0, cards.offsets.shape[1] - 1)]
    births = Births(
        new=free & (rank < count[:, None]),
        unit=jnp.broadcast_to(column(cards.unit)[:, None], rank.shape),
        x=centre_x[:, None] + offset[..., 0],
        y=centre_y[:, None] + offset[..., 1],
        deploying=jnp.full_like(rank, -1),
    )
    state = _cast(born(config, state, births), spell, row, centre_x, centre_y, cards)
    played = play.plays[:, None] & (np.arange(HAND) == play.place[:, None])
    card = row.astype(jnp.int8)
    queue = jnp.where(play.plays[:, None], jnp.concatenate([state.queue[:, 1:], card[:, None]], axis=1), state.queue)
    entry = jnp.stack([card.astype(jnp.int32), play.tile % COLUMNS, play.tile // COLUMNS], axis=-1)
    entry = jnp.where(play.plays[:, None], entry, np.array([-1, 0, 0])).astype(jnp.int8)
    past = jnp.concatenate([entry[:, None], state.past[:, :-1]], axis=1)
    return dataclasses.replace(
        state,
        elixir=state.elixir - jnp.where(play.plays, column(cards.cost), 0).astype(jnp.int16),
        hand=jnp.where(played, state.queue[:, :1], state.hand),
        queue=queue,
        saving=jnp.where(play.saves, play.place, state.saving).astype(jnp.int8),
        past=jnp.where(state.terminated, state.past, past),
    )


def _cast(state: State, casts: Array, row: Array, x: Array, y: Array, cards: CardColumns) -> State:
    """Lets spells fly from the king's tower, or begin, in the lowest idle slots."""
    idle = state.spell_ticks == 0
    new = casts[:, None] & idle & (ranks(idle) == 0)
    speed, first_wave, waves = (jnp.asarray(column)[row] for column in (cards.speed, cards.first_wave, cards.waves))
    distance = root(square(x - TOWER_X[KING]) + square(y - TOWER_Y[KING]))
    flight = jnp.maximum(1, divide(distance + speed - 1, jnp.maximum(speed, 1)))
    ticks = jnp.where(speed == 0, first_wave, flight)

    def put(value: Array, old: Array) -> Array:
        return jnp.where(new, value[:, None], old).astype(old.dtype)

    return dataclasses.replace(
        state,
        spell=put(row, state.spell),
        spell_ticks=put(ticks, state.spell_ticks),
        spell_x=put(x, state.spell_x),
        spell_y=put(y, state.spell_y),
        spell_waves=put(waves, state.spell_waves),
    )


def legal_tiles(config: ClashConfig, state: State) -> Array:
    """Says where each card of both hands may be played now, bool [2, 4, 576]; nowhere if it cannot be paid or finds no slot."""
    case, _ = _allowed(config, state)
    return _tiles_of(config, state, case)


def legal_actions(config: ClashConfig, state: State) -> Array:
    """Gives bool [2, A]: waiting; cards on their tiles; saving for a card, as its first action."""
    case, saves = _allowed(config, state)
    plays = _tiles_of(config, state, case) | (saves[..., None] & (np.arange(NUM_TILES) == 0))
    return jnp.concatenate([jnp.ones((2, 1), bool), plays.reshape(2, -1)], axis=1)


def offered_action(config: ClashConfig, state: State, player: Array, action: Array) -> Array:
    """Gives a player's (int32 []) action as `legal_actions` offers it, int32 []: a card is saved for on whatever tile."""
    place = (action - 1) // NUM_TILES
    own = (np.arange(2)[:, None] == player) & (np.arange(HAND) == place)
    saves = (action > WAIT) & (own & ~zones.hands(config, state).affordable).any()
    return jnp.where(saves, 1 + place * NUM_TILES, action)


def _allowed(config: ClashConfig, state: State) -> tuple[Array, Array]:
    """Says where each card of both hands may be played, int32 [2, 4], a case of `zones`, and if it may be saved for, bool."""
    hand = zones.hands(config, state)
    free = ~(zones.must_wait(config, state) | state.terminated)[:, None]
    case = jnp.where(hand.affordable & hand.has_room & free, zones.cases(config, state), zones.NOWHERE)
    return worked_out(case), worked_out(~hand.affordable & free)  # once, and not for each tile


def _tiles_of(config: ClashConfig, state: State, case: Array) -> Array:
    """Gives the tiles of cases [2, 4] of `zones` on which no building would touch another one: bool [2, 4, 576]."""
    mask = jnp.asarray(zones.zones().mask)[case]
    if zones.has_buildings(config):
        every = jnp.broadcast_to(jnp.arange(NUM_TILES), (2, HAND, NUM_TILES))
        mask &= ~zones.beside_buildings(config, state, state.hand, every)
    return mask
