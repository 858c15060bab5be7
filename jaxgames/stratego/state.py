"""The state of one game of Stratego."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.bits import Bits, Tree, select
from jaxgames.hashing import hash_words
from jaxgames.stratego.constants import NUM_KINDS

COUNT_BITS = 8
_PER_WORD = 4
NUM_COUNT_WORDS = -(-NUM_KINDS // _PER_WORD)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class LastMove:
    """What the two-square rule remembers of a player's last move; nothing after an attack.

    Attributes:
      start, end: int8 [], cells; -1: nothing is remembered.
      level: int8 [], 1 for a move to a new place, 2 for one back, 3 for the third time: the next way back is forbidden.
    """

    start: Array
    end: Array
    level: Array


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class State:
    """One game. Pairs are (Red, Blue).

    Attributes:
      pieces: the cells of each side's pieces.
      kinds: four sets, the digits of the kind in each cell (lowest first); 0 where there is no piece.
      lakes: cells that nobody enters.
      hidden: pieces that the other side has not seen.
      moved: pieces that have moved.
      far: hidden pieces that have moved more than one cell.
      unknown: hidden pieces of each side by kind: words of four counts, that of kind k in byte k - 1.
      recent: of each player, for the two-square rule; nothing without it.
      last: int8 [] each, the cells between which a piece moved last; -1 before.
      past: uint32 [], words of the positions before, as both players see them; the latest first.
      player: int8 [], whose turn it is.
      ply: int16 [], moves so far.
      winner: int8 [], 0 or 1; -1: nobody, as yet or in a draw.
      terminated: bool [].
      reward: int8 [], Red's of the last step; Blue's is its negative. 0 where there was no step: in a position that was set up or
        read, and in a finished game that is played on.
    """

    pieces: tuple[Bits, Bits]
    kinds: tuple[Bits, ...]
    lakes: Bits
    hidden: Bits
    moved: Bits
    far: Bits
    unknown: tuple[tuple[Array, ...], tuple[Array, ...]]
    recent: tuple[LastMove, LastMove]
    last: tuple[Array, Array]
    past: tuple[Array, ...]
    player: Array
    ply: Array
    winner: Array
    terminated: Array
    reward: Array

    @property
    def rewards(self) -> Array:
        """float32 [2] (after the batch axes)."""
        return self.reward[..., None].astype(jnp.float32) * np.array([1, -1], np.float32)


def state_key(state: State) -> Array:
    """Identifies a state for search tables: the board, what is known of it, whose turn it is, and whether it is over. uint32 [2].

    Not the ply.
    """
    sets = (*state.pieces, *state.kinds, state.lakes, state.hidden, state.moved, state.far)
    words = [word for cells in sets for word in cells.words]
    first, second = state.recent
    ways = _joined(first.start, first.end, second.start, second.end)
    rest = _joined(state.terminated, first.level, second.level, state.player)
    return hash_words([*words, ways, rest])


def seated(first: Array, pair: tuple[Tree, Tree]) -> tuple[Tree, Tree]:
    """Turns (Red's, Blue's) into (a seat's own, the other's), or back; `first`: the seat is Red's."""
    one, two = pair
    return select(first, one, two), select(first, two, one)


def position_word(pieces: tuple[Bits, Bits], kinds: tuple[Bits, ...], hidden: Bits, moved: Bits) -> Array:
    """Identifies a position as both players see it, whoever is to move: uint32 []."""
    sets = (*pieces, *(digit - hidden for digit in kinds), hidden, moved)
    return hash_words([word for cells in sets for word in cells.words])[..., 0]


def _joined(*numbers: Array) -> Array:
    """One word of up to four numbers, int8 or bool."""
    word = jnp.uint32(0)
    for number in numbers:
        word = (word << 8) | (number.astype(jnp.uint32) & np.uint32(0xFF))
    return word


def count_of(words: tuple[Array, ...], kind: int) -> Array:
    """Gives the count of one kind (1 to 12) in `State.unknown` of a side: int32 []."""
    word, byte = divmod(kind - 1, _PER_WORD)
    return ((words[word] >> (COUNT_BITS * byte)) & np.uint32((1 << COUNT_BITS) - 1)).astype(jnp.int32)


def less_one(words: tuple[Array, ...], kind: Array, condition: Array) -> tuple[Array, ...]:
    """Takes one piece of a kind (int32 [], 1 to 12) off the counts, where the condition (bool []) holds."""
    place = kind - 1
    unit = condition.astype(jnp.uint32) << ((place & (_PER_WORD - 1)) * COUNT_BITS).astype(jnp.uint32)
    return tuple(jnp.where(place >> 2 == number, word - unit, word) for number, word in enumerate(words))


def packed_counts(counts: Any) -> tuple[Any, ...]:
    """Packs counts int [..., 12] into words, on the host or traced."""
    wide = counts.astype(np.uint32).reshape(*counts.shape[:-1], NUM_COUNT_WORDS, _PER_WORD)
    shifted = wide << (COUNT_BITS * np.arange(_PER_WORD, dtype=np.uint32))
    words = shifted.sum(-1, dtype=np.uint32)
    return tuple(words[..., number] for number in range(NUM_COUNT_WORDS))
