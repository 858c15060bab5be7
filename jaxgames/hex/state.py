"""The state of one game of Hex or DarkHex."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames.bits import Bits
from jaxgames.hashing import hash_words


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class State:
    """One game. Pairs are (first player, second player).

    Attributes:
      stones: each player's stones.
      found: in DarkHex the stones of the other that each player has run into; in Hex empty.
      near, far: of each player's stones those joined to the first (north, west) and to the second edge (south, east).
      player: int8 [], whose turn it is.
      turns: int16 [] each, turns that each player has ended.
      attempts: int16 [], attempts of both so far.
      last: int16 [], the cell of the winning stone; -1 before.
      terminated: bool [].
      seat_rewards: int8 [] each, of the last step.
    """

    stones: tuple[Bits, Bits]
    found: tuple[Bits, Bits]
    near: tuple[Bits, Bits]
    far: tuple[Bits, Bits]
    player: Array
    turns: tuple[Array, Array]
    attempts: Array
    last: Array
    terminated: Array
    seat_rewards: tuple[Array, Array]

    @property
    def rewards(self) -> Array:
        """float32 [2] (after the batch axes)."""
        return jnp.stack(self.seat_rewards, axis=-1).astype(jnp.float32)


def state_key(state: State) -> Array:
    """Identifies a state for search tables: stones, what was found, whose turn it is, and whether it is over. uint32 [2]."""
    sets = (*state.stones, *state.found)
    rest = state.player.astype(jnp.uint32) | (state.terminated.astype(jnp.uint32) << 1)  # an illegal move ends a game, too
    return hash_words([*(word for cells in sets for word in cells.words), rest])
