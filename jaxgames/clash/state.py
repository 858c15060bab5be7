"""The state of one battle."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.clash.constants import TOWERS
from jaxgames.hashing import hash_words


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class State:
    """One battle. The first axis is the player, whose things are told in the player's OWN frame: x to the own right, y forward.

    The frame of the other is the same arena turned by half a turn, so that nothing in the rules asks who is who. H slots of
    units per player (slots 0, 1: princess towers, left and right; 2: the king's), S of spells; a shot belongs to the slot of
    its unit, two per slot in turn.

    Attributes:
      alive: bool [2, H].
      unit: int8 [2, H], rows of the table; stays when the unit has died.
      x, y: int16 [2, H].
      hp, shield: int16 [2, H].
      cooldown: int8 [2, H], ticks until the next blow.
      deploying: int8 [2, H], ticks until it acts.
      target: int8 [2, H], slot of the other player's, -1: none.
      age: int16 [2, H], ticks.
      turn: int8 [2, H], which of its two shots is next, 0 or 1.
      stun, slow: int8 [2, H], ticks left; slow_pct: int8 [2, H].
      shot_ticks: int8 [2, 2, H], until it lands, 0: none; shot_target: int8, -1 where the target has died.
      shot_x, shot_y: int16 [2, 2, H], where the target is, or was last.
      spell: int16 [2, S], rows of `tables.SpellColumns`; spell_ticks: int8 [2, S], until the next wave, 0: none.
      spell_x, spell_y: int16 [2, S]; spell_waves: int8 [2, S], left.
      king_awake: bool [2].
      elixir: int16 [2], in 28ths.
      hand, queue: int8 [2, 4], rows of cards; queue[0] comes next.
      saving: int8 [2], place in the hand of the card that is saved for, or -1.
      past: int8 [2, 10, 3], of the last steps of agents, newest first: card or -1, column, row.
      tick: int16 [].
      winner: int8 []: -1 while the battle runs, 0, 1, 2: drawn.
      terminated: bool [].
      seat_rewards: int8 [2], of the last step.
    """

    alive: Array
    unit: Array
    x: Array
    y: Array
    hp: Array
    shield: Array
    cooldown: Array
    deploying: Array
    target: Array
    age: Array
    turn: Array
    stun: Array
    slow: Array
    slow_pct: Array
    shot_ticks: Array
    shot_target: Array
    shot_x: Array
    shot_y: Array
    spell: Array
    spell_ticks: Array
    spell_x: Array
    spell_y: Array
    spell_waves: Array
    king_awake: Array
    elixir: Array
    hand: Array
    queue: Array
    saving: Array
    past: Array
    tick: Array
    winner: Array
    terminated: Array
    seat_rewards: Array

    @property
    def rewards(self) -> Array:
        """float32 [2] (after the batch axes)."""
        return self.seat_rewards.astype(jnp.float32)


def free_slots(state: State) -> Array:
    """Says which slots can take a new unit: none of a tower, neither alive nor with a shot in the air. Returns bool [2, H]."""
    return ~state.alive & (state.shot_ticks == 0).all(1) & (np.arange(state.alive.shape[-1]) >= TOWERS)


def stayed(alive: np.ndarray, age: np.ndarray, tick: np.ndarray) -> np.ndarray:
    """Says which units are those of the state before: as long as they live and their age goes on as the clock.

    Args:
      alive: bool [T + 1, ...], of the states of a battle one after another.
      age: int [T + 1, ...].
      tick: int [T + 1].

    Returns:
      bool [T, ...], from the second state on.
    """
    clock = np.diff(tick.astype(int)).reshape(-1, *[1] * (alive.ndim - 1))
    same: np.ndarray = alive[:-1] & alive[1:] & (np.diff(age.astype(int), axis=0) == clock)
    return same


def state_key(state: State) -> Array:
    """Identifies a state for search tables: all but rewards, and what is left of the dead. Returns uint32 [2]."""
    alive, flies = state.alive, state.shot_ticks > 0
    unit = jnp.where(~free_slots(state), state.unit, 0)

    def word(*parts: Array) -> Array:
        """Joins two numbers of 16 bits, or four of 8."""
        bits = 32 // len(parts)
        total = jnp.uint32(0)
        for part in parts:
            total = (total << bits) | (part.astype(jnp.int32).astype(jnp.uint32) & np.uint32((1 << bits) - 1))
        return total

    of_units = [
        word(state.x, state.y),
        word(state.hp, state.age),
        word(unit, state.cooldown, state.deploying, state.target),
        word(state.shield, state.turn),
        word(state.stun, state.slow, state.slow_pct, alive),
    ]
    of_shots = [word(state.shot_x, state.shot_y), word(state.shot_ticks, state.shot_target)]
    spells = [
        word(state.spell_x, state.spell_y),
        word(state.spell, state.spell_ticks),
        word(state.spell_waves, state.spell_waves),
    ]
    rows = [
        *(_mixed(jnp.where(alive, each, unit.astype(jnp.uint32))) for each in of_units),
        *(_mixed(jnp.where(flies, each, 0)) for each in of_shots),
        *(_mixed(jnp.where(state.spell_ticks > 0, each, 0)) for each in spells),
        _mixed(word(state.hand, state.queue)),
        _mixed(state.past.astype(jnp.uint32)),
    ]
    clock = word(state.tick, state.winner)
    players = _mixed(word(state.elixir, state.saving * 2 + state.king_awake))
    return hash_words([*rows, players, clock])


def _mixed(words: Array) -> Array:
    """Hashes numbers with their places to one word: each times an odd number of its own, spread first."""
    flat = words.reshape(-1)
    places = np.arange(flat.shape[0], dtype=np.uint32)
    spread = (flat ^ (flat >> 15)) * np.uint32(0x85EBCA6B) + places * np.uint32(0x9E3779B1)
    spread = (spread ^ (spread >> 13)) * np.uint32(0xC2B2AE35)
    spread = (spread ^ (spread >> 16)) * (2 * places + 1)
    return spread.sum(dtype=jnp.uint32)
