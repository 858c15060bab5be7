"""What a player of Hex or DarkHex sees."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames.bits import Bits
from jaxgames.hex import rules
from jaxgames.hex.config import HexConfig
from jaxgames.hex.geometry import BLACK, WHITE
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


def observe(config: HexConfig, state: State, player: Array) -> Observation:
    """Gives what one player (int [], may be traced; out of range counts as 0) sees now, and nothing more."""
    player = (jnp.asarray(player) == WHITE).astype(jnp.int8)
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
