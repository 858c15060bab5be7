"""What a player of Stratego sees. It is also all that it knows: nothing has to be remembered beside it."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames.bits import Bits
from jaxgames.stratego.config import StrategoConfig
from jaxgames.stratego.constants import BLUE, RED
from jaxgames.stratego.legal import Sets, Side
from jaxgames.stratego.state import LastMove, State, seated


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Observation:
    """One player's view of the present.

    Attributes:
      viewer: int8 [], whose view it is.
      own, other: the cells of its pieces and of the other's.
      kinds: four sets, the digits of the kinds of all pieces that it knows; 0 elsewhere.
      lakes: cells that nobody enters.
      hidden: pieces of either side that the other side has not seen.
      moved: pieces that have moved.
      far: hidden pieces that have moved more than one cell.
      unknown: hidden pieces by kind, its own and the other's, in words as in `State`: what was captured is known to both.
      recent: last moves for the two-square rule, its own and the other's.
      last: the cells between which a piece moved last.
      past: words of the positions before, as in `State`.
      to_move: bool [], it is its turn, or would be if the game were not over.
      ply: int16 [], moves so far.
      winner: int8 [], 0 or 1; -1: nobody, as yet or in a draw.
      terminated: bool [].
      reward: int8 [], of the last step; 0 where there was none, as after the end of a game or in a view that was read.
    """

    viewer: Array
    own: Bits
    other: Bits
    kinds: Sets
    lakes: Bits
    hidden: Bits
    moved: Bits
    far: Bits
    unknown: tuple[tuple[Array, ...], tuple[Array, ...]]
    recent: tuple[LastMove, LastMove]
    last: tuple[Array, Array]
    past: tuple[Array, ...]
    to_move: Array
    ply: Array
    winner: Array
    terminated: Array
    reward: Array

    @property
    def side(self) -> Side:
        """What the viewer's legal moves depend on."""
        return Side(self.own, self.other, self.kinds, self.lakes, self.recent[0])


def observe(config: StrategoConfig, state: State, player: Array) -> Observation:
    """Gives what one player (int [], may be traced; out of range counts as 0) sees now, and nothing more."""
    player = (jnp.asarray(player) == BLUE).astype(jnp.int8)
    first = player == RED
    own, other = seated(first, state.pieces)
    kinds = state.kinds if config.true_sight else tuple(digit - (other & state.hidden) for digit in state.kinds)
    return Observation(
        viewer=player,
        own=own,
        other=other,
        kinds=kinds,
        lakes=state.lakes,
        hidden=state.hidden,
        moved=state.moved,
        far=state.far,
        unknown=seated(first, state.unknown),
        recent=seated(first, state.recent),
        last=state.last,
        past=state.past,
        to_move=state.player == player,
        ply=state.ply,
        winner=state.winner,
        terminated=state.terminated,
        reward=jnp.where(first, state.reward, -state.reward).astype(jnp.int8),
    )
