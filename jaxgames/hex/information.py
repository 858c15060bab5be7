"""What a player of Hex or DarkHex sees, and what it can infer from everything it has seen and done."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames.bitboard import Bits
from jaxgames.hex import rules
from jaxgames.hex.config import HexConfig
from jaxgames.hex.geometry import BLACK
from jaxgames.hex.state import State


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Observation:
    """One player's view of the present.

    Attributes:
      player: int8 [], whose view it is.
      own: its stones.
      known: the other's stones that it knows: in Hex all of them.
      to_move: bool [], it is this player's turn.
      own_turns, other_turns: int16 [], turns ended by each; both players can count them.
      terminated: bool [].
      reward: int8 [], of the last step.
    """

    player: Array
    own: Bits
    known: Bits
    to_move: Array
    own_turns: Array
    other_turns: Array
    terminated: Array
    reward: Array


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Information:
    """What a player knows: the latest view and its own history.

    Attributes:
      view: the latest `Observation`.
      collisions: float32 [n * n + 1], abrupt DarkHex: the probability of each number of turns that the other has lost on this
        player's hidden stones, if it tries the cells that are empty in its view at random. Otherwise all on 0.
      attempts: int16 [n * n], cells tried by this player, in order; -1 behind the last.
      num_attempts: int16 [].
    """

    view: Observation
    collisions: Array
    attempts: Array
    num_attempts: Array


def observe(config: HexConfig, state: State, player: Array) -> Observation:
    """Gives what one player sees now, and nothing more (player: int [], 0 or 1)."""
    player = jnp.asarray(player).astype(jnp.int8)
    own, known = rules.own_view(config, state, player)
    first = player == BLACK
    black, white = state.turns
    return Observation(
        player=player,
        own=own,
        known=known,
        to_move=(state.player == player) & ~state.terminated,
        own_turns=jnp.where(first, black, white),
        other_turns=jnp.where(first, white, black),
        terminated=state.terminated,
        reward=jnp.where(first, *state.seat_rewards),
    )


def init(config: HexConfig, player: Array) -> Information:
    """Gives what a player (int []) knows before the first move."""
    numbers = jnp.arange(config.num_cells + 1)
    return Information(
        view=observe(config, rules.init(config), player),
        collisions=(numbers == 0).astype(jnp.float32),
        attempts=jnp.full(config.num_cells, -1, jnp.int16),
        num_attempts=jnp.int16(0),
    )


def update(config: HexConfig, info: Information, observation: Observation, own_action: Array) -> Information:
    """Adds one step of the game, whoever moved.

    Args:
      config: the variant.
      info: what the player knew.
      observation: its view after the step.
      own_action: int [], its own action in that step; any number when the other moved.

    Returns:
      What it knows now. In abrupt DarkHex, a turn of the other was lost with a probability of (my stones it has not met) / (cells
      empty in its view), which advances `collisions` by one step of a recursion.
    """
    before = info.view
    moved = before.to_move & (jnp.asarray(own_action) < config.num_cells)
    index = jnp.where(moved, info.num_attempts, config.num_cells)
    collisions = info.collisions
    if config.rules == "abrupt":
        other_moved = observation.other_turns > before.other_turns
        collisions = jnp.where(other_moved, _one_turn(config, collisions, before), collisions)
    return Information(
        view=observation,
        collisions=collisions,
        attempts=info.attempts.at[index].set(jnp.asarray(own_action).astype(jnp.int16), mode="drop"),
        num_attempts=info.num_attempts + moved.astype(jnp.int16),
    )


def _one_turn(config: HexConfig, collisions: Array, view: Observation) -> Array:
    """The distribution of the other's lost turns after one more turn of its."""
    lost = jnp.arange(config.num_cells + 1)
    empty = config.num_cells - view.other_turns.astype(jnp.int32)
    chance = jnp.clip((view.own.count() - lost) / jnp.maximum(empty, 1), 0.0, 1.0)
    moved_on = collisions * chance
    return collisions - moved_on + jnp.concatenate([jnp.zeros(1), moved_on[:-1]])
