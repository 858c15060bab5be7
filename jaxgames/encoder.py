"""How a network meets a game: what it is shown, which action each of its outputs stands for, and the symmetries of both."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array


class CardPlanes(NamedTuple):
    """Which planes show the cards of a game in which cards are played on a board, for networks that embed cards.

    Attributes:
      hand: cards in a hand.
      kinds: cards that can come, K.
      first: planes before this one show the board; then K planes for each place of the hand, and K for the card that comes next.
      affordable: first of the planes, one for each place, that say whether a card can be paid.
      legal: first of the planes, one for each place, that say where a card may be played.
      everywhere: other planes that are the same on all cells.
      played: first of K planes that say which cards were played where.
    """

    hand: int
    kinds: int
    first: int
    affordable: int
    legal: int
    everywhere: range
    played: int


class Encoder(NamedTuple):
    """What lies between a game and a network. All functions are of one view and one seat, and meant for `jax.vmap`.

    Attributes:
      name: as in the game's registration.
      shape: of the planes: H rows, W columns (in Clash H columns, W rows), C planes.
      channels: what each plane shows.
      num_outputs: outputs of a policy network, A.
      view: `view(state, seat) -> pytree`: what a network is shown for a seat (int32 []); small, it is stored in samples.
      planes: `planes(view) -> float32 [H, W, C]`.
      legal: `legal(view) -> bool [A]`, the outputs that are legal as far as the seat can tell.
      outputs: `outputs(actions, seat) -> int32 [...]`, the output of each action (int32 [...]) of a seat; -1 where it has none.
      actions: `actions(outputs, seat) -> int32 [...]`, the inverse; -1 gives the pass.
      num_symmetries: ways to turn the game that leave it the same, the first of them is none.
      transform_planes: `transform_planes(planes, which) -> float32 [H, W, C]`, turned in the way `which` (int32 []).
      transform_outputs: `transform_outputs(per_output, which) -> [A]`, numbers per output turned in the same way.
      output_names: what each output is called by those who watch a network learn; none where they are too many.
      shows_observation: a view is what `game.observe` gives, so that a network needs no state to play.
      cards: which planes show the player's cards; None: there are none.
      output_groups: the group of each output, 0, 1, ..., where many do one thing, such as playing one card; (): none.
      bounds: no number of the planes is below the first or above the second.
      turned_to_seat: rows lie as what the seat knows does; else as one side sees them, whoever looks.
    """

    name: str
    shape: tuple[int, int, int]
    channels: tuple[str, ...]
    num_outputs: int
    view: Callable[[Any, Array], Any]
    planes: Callable[[Any], Array]
    legal: Callable[[Any], Array]
    outputs: Callable[[Array, Array], Array]
    actions: Callable[[Array, Array], Array]
    num_symmetries: int
    transform_planes: Callable[[Array, Array], Array]
    transform_outputs: Callable[[Array, Array], Array]
    output_names: tuple[str, ...] = ()
    shows_observation: bool = False
    cards: CardPlanes | None = None
    output_groups: tuple[int, ...] = ()
    bounds: tuple[float, float] = (-math.inf, math.inf)
    turned_to_seat: bool = True

    def __repr__(self) -> str:
        """Without the functions, which hold a whole game."""
        return f"Encoder({self.name!r}, shape={self.shape}, num_outputs={self.num_outputs})"


def stack_planes(planes: Sequence[Array]) -> Array:
    """Makes planes of boards of numbers or flags [H, W] each: float32 [H, W, C]."""
    # After a barrier, or XLA computes every plane once per output element that might need it.
    planes = jax.lax.optimization_barrier([jnp.asarray(plane, jnp.float32) for plane in planes])
    return jnp.stack(planes, axis=-1)
