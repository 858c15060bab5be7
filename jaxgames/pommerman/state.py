"""The state of one Pommerman game: bit planes, a few numbers per bomber, and nothing else.

Invariants between steps: at most one bomb per cell; a bomb under a living bomber rests; no bomb and no living bomber is
on flames; items lie under wood or flames (hidden) or in the open (visible), never under a bomb or a living bomber.
"""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames.bits import Bits, union
from jaxgames.hashing import hash_words


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Bomber:
    """The piece of one player, which the official environment calls an agent. A dead one keeps its last cell and its numbers.

    Attributes:
      cell: int8 [], row * size + column.
      alive: bool [].
      ammo: int8 [], bombs it may lay now, 0..10.
      blast_strength: int8 [], of the bombs it lays, 2..10; a blast reaches one cell less.
      can_kick: bool [].
    """

    cell: Array
    alive: Array
    ammo: Array
    blast_strength: Array
    can_kick: Array


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Bombs:
    """All bombs, as numbers per cell (bit-sliced, lowest digit first).

    Attributes:
      life: 4 digits, 1..10 where a bomb is, 0 elsewhere.
      strength: 4 digits, 2..10.
      owner: 2 digits, seat of the layer.
      moving: 4 sets, bombs that roll up, down, left, right; a resting bomb is in none.
    """

    life: tuple[Bits, ...]
    strength: tuple[Bits, ...]
    owner: tuple[Bits, ...]
    moving: tuple[Bits, ...]

    @property
    def cells(self) -> Bits:
        """Cells with a bomb."""
        return union(self.life)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class State:
    """One game.

    Attributes:
      rigid, wood: walls.
      items: 2 digits, 1 extra bomb, 2 range, 3 kick; under wood or flames they are hidden.
      flames: flames[k] are the cells with a flame of life k, k = 0..2; a cell may be in several.
      bombs: see `Bombs`.
      bombers: one per seat.
      messages: radio mode: per seat the two words (int8 []) it sent in the last step; otherwise ().
      step_count: int16 [].
      terminated: bool [], the game is over; further steps change nothing.
      seat_rewards: int8 [] per seat, as the official environment reported them for the last step.
      ring_falls: where the board collapses: bool [], a ring turns into walls before the next step, which nobody sees yet;
        otherwise ().
    """

    rigid: Bits
    wood: Bits
    items: tuple[Bits, ...]
    flames: tuple[Bits, ...]
    bombs: Bombs
    bombers: tuple[Bomber, ...]
    messages: tuple[tuple[Array, ...], ...]
    step_count: Array
    terminated: Array
    seat_rewards: tuple[Array, ...]
    ring_falls: Array | tuple[()]

    @property
    def rewards(self) -> Array:
        """float32 [P] (after the batch axes)."""
        return jnp.stack(self.seat_rewards, axis=-1).astype(jnp.float32)

    @property
    def alive(self) -> Array:
        """bool [P] (after the batch axes)."""
        return jnp.stack([bomber.alive for bomber in self.bombers], axis=-1)

    @property
    def burning(self) -> Bits:
        """Cells with flames."""
        return union(self.flames)

    @property
    def visible_items(self) -> Bits:
        """Cells with a power-up that lies in the open."""
        return union(self.items) - self.wood - self.burning


def state_key(state: State, include_rigid: bool = False) -> Array:
    """Identifies a state for search tables.

    Left out: the step count (so that a quiet position met again is the same state), items that are still hidden, messages,
    rewards, and the rigid walls, which never change within a game unless the board collapses (`include_rigid`).

    Returns:
      uint32 [2]. Two different states collide with a chance of about 2**-64.
    """
    visible = state.visible_items
    bombs = state.bombs
    planes = [state.wood, *(plane & visible for plane in state.items), *state.flames]
    planes += [*bombs.life, *bombs.strength, *bombs.owner, *bombs.moving]
    if include_rigid:
        planes.append(state.rigid)
    words = [word for plane in planes for word in plane.words]
    return hash_words(words + [_pack_bomber(bomber) for bomber in state.bombers])


def _pack_bomber(bomber: Bomber) -> Array:
    """Puts the 17 bits of a bomber into one word."""
    word = bomber.cell.astype(jnp.uint32)
    for value, width in ((bomber.alive, 1), (bomber.can_kick, 1), (bomber.ammo, 4), (bomber.blast_strength, 4)):
        word = (word << width) | value.astype(jnp.uint32)
    return word
