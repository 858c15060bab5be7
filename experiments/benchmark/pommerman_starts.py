"""Where the start states of endless Pommerman play come from: a pool drawn once, or fresh boards for every game.

A start state is its board, which is kept as a row of words; all else is the same in every start state.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import random_bits
from jaxgames.bits import Bits
from jaxgames.pommerman import setup
from jaxgames.pommerman.config import PommermanConfig
from jaxgames.pommerman.constants import ITEM_DIGITS, MAX_UNREACHABLE_PASSAGES
from jaxgames.pommerman.state import State
from jaxgames.random_bits import LaneKey

POOL_COUNTER = 64  # of a lane's key of one step: after what players draw
POOL_SIZE = 4096
BLOCK = 256


class Source(Protocol):
    """Gives start states to lanes: a `Pool` or `Fresh` ones; `settings` are what a reader of the figures must know."""

    @property
    def settings(self) -> dict[str, Any]: ...

    def init(self, key: Array, numbers: Array) -> Any: ...

    def take(self, memory: Any, lanes: LaneKey, wanted: Array) -> tuple[State, Any]: ...


def pack_board(rigid: Bits, wood: Bits, items: tuple[Bits, ...]) -> Array:
    """Puts a board into uint32 [W] (after the batch shape)."""
    return jnp.stack([word for plane in (rigid, wood, *items) for word in plane.words], axis=-1)


def start_from(config: PommermanConfig, board: Array) -> State:
    """Makes the start state of a board from `pack_board`."""
    size = config.grid.num_words
    planes = [Bits(tuple(board[i * size + j] for j in range(size))) for i in range(2 + ITEM_DIGITS)]
    return setup.start_state(config, planes[0], planes[1], tuple(planes[2:]))


@dataclasses.dataclass(frozen=True)
class Pool:
    """Start states drawn once; every game begins with one of them, each with the same probability.

    Attributes:
      config: the variant.
      size: how many.
    """

    config: PommermanConfig
    size: int = POOL_SIZE

    @property
    def settings(self) -> dict[str, Any]:
        return {"start_states": "pool", "pool_size": self.size}

    def init(self, key: Array, numbers: Array) -> Array:
        """Draws the boards, uint32 [size, W]: the same on every device."""
        del numbers

        def board(key: Array) -> Array:
            state = setup.init(self.config, key)
            return pack_board(state.rigid, state.wood, state.items)

        return jax.vmap(board)(jax.random.split(key, self.size))

    def take(self, boards: Array, lanes: LaneKey, wanted: Array) -> tuple[State, Array]:
        """Draws a board of the pool for every lane."""
        del wanted
        index = random_bits.below(random_bits.bits(lanes, POOL_COUNTER), self.size)
        return jax.vmap(functools.partial(start_from, self.config))(boards[index]), boards


class Stack(NamedTuple):
    """Fresh boards for the next games.

    Attributes:
      boards: uint32 [S, W].
      left: int32 [], how many are there.
      key: of all blocks.
      block: int32 [], number of the next block.
    """

    boards: Array
    left: Array
    key: Array
    block: Array


@dataclasses.dataclass(frozen=True)
class Fresh:
    """A fresh board for every game: they are drawn in blocks, and only when fewer are left than lanes ask for one.

    Which lane gets which board depends on what the other lanes of its device do.

    Attributes:
      config: the variant.
      block: boards that are drawn at once; about a fifth of them are thrown away.
    """

    config: PommermanConfig
    block: int = BLOCK

    @property
    def settings(self) -> dict[str, Any]:
        return {"start_states": "fresh", "block": self.block}

    def init(self, key: Array, numbers: Array) -> Stack:
        """Makes an empty stack, large enough for what all lanes may ask for and one more block; each device draws its own."""
        words = self.config.grid.num_words * (2 + ITEM_DIGITS)
        boards = jnp.zeros((len(numbers) + self.block, words), jnp.uint32)
        return Stack(boards, jnp.int32(0), jax.random.fold_in(key, numbers[0]), jnp.int32(0))

    def take(self, stack: Stack, lanes: LaneKey, wanted: Array) -> tuple[State, Stack]:
        """Takes a board off the stack for every lane that wants one."""
        del lanes
        rank = jnp.cumsum(wanted, dtype=jnp.int32)
        stack = jax.lax.while_loop(lambda stack: stack.left < rank[-1], self._push_block, stack)
        index = jnp.where(wanted, stack.left - rank, 0)
        states = jax.vmap(functools.partial(start_from, self.config))(stack.boards[index])
        return states, stack._replace(left=stack.left - rank[-1])

    def _push_block(self, stack: Stack) -> Stack:
        keys = jax.random.split(jax.random.fold_in(stack.key, stack.block), self.block)
        boards, good = jax.vmap(self._draw)(keys)
        rank = jnp.cumsum(good, dtype=jnp.int32)
        slot = jnp.where(good, stack.left + rank - 1, len(stack.boards))
        return stack._replace(
            boards=stack.boards.at[slot].set(boards, mode="drop"), left=stack.left + rank[-1], block=stack.block + 1
        )

    def _draw(self, key: Array) -> tuple[Array, Array]:
        """Draws a board once. Returns uint32 [W], and bool [], whether the game would accept it."""
        wall_key, item_key = jax.random.split(key)
        rigid, wood, cut_off = setup.try_walls(self.config, wall_key)
        items = setup.draw_items(self.config, item_key, wood)
        return pack_board(rigid, wood, items), cut_off <= MAX_UNREACHABLE_PASSAGES
