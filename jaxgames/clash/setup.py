"""The start of a battle: towers, shuffled decks, elixir."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.clash.config import ClashConfig
from jaxgames.clash.constants import DECK, HAND, KING, KING_UNIT, PAST, PRINCESS_UNIT, RUNNING, TOWER_X, TOWER_Y, TOWERS
from jaxgames.clash.state import State
from jaxgames.clash.tables import unit_columns


def init(config: ClashConfig, key: Array) -> State:
    """Shuffles both decks, or draws them.

    Args:
      config: the battle.
      key: one key.
    """
    keys = jax.random.split(key)
    return start(config, jnp.stack([_shuffled(config, player, keys[player]) for player in range(2)]))


def _shuffled(config: ClashConfig, player: int, key: Array) -> Array:
    """Gives eight cards in the order in which they come, int8 [8]."""
    cards = np.array([config.table.card_ids[card.key] for card in config.cards_of[player]], np.int8)
    return jax.random.permutation(key, cards)[:DECK]


def start(config: ClashConfig, cards: Array) -> State:
    """Gives the first state with these cards in this order, int8 [2, 8]."""
    slots, spells = config.slots, config.spell_slots
    columns = unit_columns(config)
    tower = np.arange(slots) < TOWERS
    unit = np.where(np.arange(slots) == KING, KING_UNIT, PRINCESS_UNIT).astype(np.int8)

    def of_towers(values: np.ndarray, dtype: type) -> Array:
        return jnp.asarray(np.broadcast_to(np.where(tower, values, 0), (2, slots)).astype(dtype))

    def padded(values: np.ndarray) -> np.ndarray:
        return np.concatenate([values, np.zeros(slots - TOWERS, values.dtype)])

    def zeros(*shape: int, dtype: type = np.int8) -> Array:
        return jnp.zeros((2, *shape), dtype)

    return State(
        alive=of_towers(np.ones(slots), np.bool_),
        unit=of_towers(unit, np.int8),
        x=of_towers(padded(TOWER_X), np.int16),
        y=of_towers(padded(TOWER_Y), np.int16),
        hp=of_towers(columns.hp[:, unit], np.int16),
        shield=zeros(slots, dtype=np.int16),
        cooldown=of_towers(columns.hit_ticks[:, unit], np.int8),
        deploying=zeros(slots),
        target=zeros(slots) - jnp.int8(1),
        age=zeros(slots, dtype=np.int16),
        turn=zeros(slots),
        stun=zeros(slots),
        slow=zeros(slots),
        slow_pct=zeros(slots),
        shot_ticks=zeros(2, slots),
        shot_target=zeros(2, slots) - jnp.int8(1),
        shot_x=zeros(2, slots, dtype=np.int16),
        shot_y=zeros(2, slots, dtype=np.int16),
        spell=zeros(spells, dtype=np.int16),
        spell_ticks=zeros(spells),
        spell_x=zeros(spells, dtype=np.int16),
        spell_y=zeros(spells, dtype=np.int16),
        spell_waves=zeros(spells),
        king_awake=zeros(dtype=np.bool_),
        elixir=zeros(dtype=np.int16) + jnp.int16(config.start_units),
        hand=cards[:, :HAND].astype(jnp.int8),
        queue=cards[:, HAND:].astype(jnp.int8),
        saving=zeros() - jnp.int8(1),
        past=zeros(PAST, 3).at[:, :, 0].set(-1),
        tick=jnp.int16(0),
        winner=jnp.int8(RUNNING),
        terminated=jnp.bool_(False),
        seat_rewards=zeros(),
    )
