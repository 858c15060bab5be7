"""The state of one game of Hero Academy."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import sliced
from jaxgames.bits import Bits
from jaxgames.hashing import hash_words
from jaxgames.hero_academy import units


class Unit(NamedTuple):
    """What stands on one cell; all [].

    Attributes:
      kind: int32, see `units`; EMPTY where nothing stands.
      items: int32, bits by equipment.
      hit_points: int32.
      second: bool, of the second player.
      alive: bool, hit points above 0.
      hurt: bool, hit points below the most it can have; of no meaning for crystals.
    """

    kind: Array
    items: Array
    hit_points: Array
    second: Array
    alive: Array
    hurt: Array

    def has(self, item: int) -> Array:
        """bool []: it carries this equipment."""
        return ((self.items >> item) & 1) != 0


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Board:
    """All units and crystals, as sets of cells; numbers per cell are bit-sliced, lowest digit first.

    Attributes:
      kinds: numbers of `units`.
      second: things of the second player.
      alive: things with hit points.
      hurt: units, knocked-down ones too, that may be healed.
      items: per equipment, those who carry it.
      hit_points: numbers.
    """

    kinds: tuple[Bits, ...]
    second: Bits
    alive: Bits
    hurt: Bits
    items: tuple[Bits, ...]
    hit_points: tuple[Bits, ...]

    @property
    def occupied(self) -> Bits:
        """Cells on which something stands."""
        return self.kinds[0] | self.kinds[1] | self.kinds[2]

    @property
    def crystals(self) -> Bits:
        return (self.kinds[1] & self.kinds[2]) - self.kinds[0]

    def of_kind(self, kind: int) -> Bits:
        """Cells with things of one kind (not EMPTY)."""
        return sliced.equal(self.kinds, kind, self.occupied)

    def read(self, cell: Array) -> Unit:
        """Gives what stands on a cell, int32 [] on the board."""
        words = [plane.words for plane in jax.tree.leaves(self, is_leaf=lambda node: isinstance(node, Bits))]
        number, shift = cell >> 5, (cell & 31).astype(jnp.uint32)

        def digit(plane: tuple[Array, ...]) -> Array:
            word = plane[0]
            for i in range(1, len(plane)):
                word = jnp.where(number == i, plane[i], word)
            return (word >> shift) & 1

        digits = iter([digit(plane) for plane in words])

        def join(count: int) -> Array:
            total = next(digits)
            for i in range(1, count):
                total = total | (next(digits) << i)
            return total.astype(jnp.int32)

        kind = join(units.KIND_BITS)
        second, alive, hurt = (next(digits) != 0 for _ in range(3))
        return Unit(kind, join(len(units.ITEM_NAMES)), join(units.HIT_POINT_BITS), second, alive, hurt)

    def write(self, spot: Bits, unit: Unit) -> Board:
        """Puts a unit, or EMPTY, on every cell of a set."""

        def digits(number: Array, planes: tuple[Bits, ...]) -> tuple[Bits, ...]:
            return tuple(_put(plane, spot, ((number >> i) & 1) != 0) for i, plane in enumerate(planes))

        return Board(
            digits(unit.kind, self.kinds),
            _put(self.second, spot, unit.second),
            _put(self.alive, spot, unit.alive),
            _put(self.hurt, spot, unit.hurt),
            digits(unit.items, self.items),
            digits(unit.hit_points, self.hit_points),
        )

    def write_hit_points(self, spot: Bits, hit_points: Array) -> Board:
        """Sets the hit points of what has been hit on every cell of a set."""
        planes = tuple(_put(plane, spot, ((hit_points >> i) & 1) != 0) for i, plane in enumerate(self.hit_points))
        return dataclasses.replace(self, alive=_put(self.alive, spot, hit_points > 0), hurt=self.hurt | spot, hit_points=planes)

    def clear(self, cells: Bits) -> Board:
        """Removes everything from a set of cells."""
        return jax.tree.map(lambda plane: plane - cells, self, is_leaf=lambda node: isinstance(node, Bits))


def _put(plane: Bits, spot: Bits, flag: Array) -> Bits:
    """Sets a plane to one flag (bool []) on the cells of a set."""
    full = jnp.uint32(0) - flag.astype(jnp.uint32)
    return Bits(tuple(word ^ ((word ^ full) & here) for word, here in zip(plane.words, spot.words, strict=True)))


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class State:
    """One game. Pairs are (first player, second player).

    Attributes:
      board: units and crystals.
      hands, decks: uint32 [] each, counts of cards (see `cards`).
      seeds: int32 [] each, of the decks' draws; 0 where draws are random.
      player: int8 [], whose turn it is.
      action_points: int8 [], left in this turn.
      turn: int16 [], turns of both players, from 1.
      winner: int8 [], 0 or 1; -1 while the game runs and if it is drawn.
      terminated: bool [].
      seat_rewards: int8 [] each, of the last step.
    """

    board: Board
    hands: tuple[Array, Array]
    decks: tuple[Array, Array]
    seeds: tuple[Array, Array]
    player: Array
    action_points: Array
    turn: Array
    winner: Array
    terminated: Array
    seat_rewards: tuple[Array, Array]

    @property
    def rewards(self) -> Array:
        """float32 [2] (after the batch axes)."""
        return jnp.stack(self.seat_rewards, axis=-1).astype(jnp.float32)


def state_key(state: State, num_cells: int) -> Array:
    """Identifies a state for search tables: all but what follows from the rest, and rewards. Returns uint32 [2]."""
    board = state.board
    planes = [*board.kinds, board.second, *board.items, *board.hit_points]
    words = [plane.words[0] for plane in planes]
    if num_cells > 32:
        words += _joined([plane.words[1] for plane in planes], num_cells - 32)
    points = (state.action_points.astype(jnp.uint32) << 2) | (state.player.astype(jnp.uint32) << 1)
    clock = (state.turn.astype(jnp.uint32) << 8) | points | state.terminated.astype(jnp.uint32)
    return hash_words([*words, *state.hands, *state.decks, *(seed.astype(jnp.uint32) for seed in state.seeds), clock])


def _joined(words: list[Array], bits: int) -> list[Array]:
    """Puts as many words of so many bits as fit into one."""
    per_word = 32 // bits
    joined = []
    for start in range(0, len(words), per_word):
        total = words[start]
        for place, word in enumerate(words[start + 1 : start + per_word], 1):
            total = total | (word << (place * bits))
        joined.append(total)
    return joined
