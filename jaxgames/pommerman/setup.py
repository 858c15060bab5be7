"""Start states: boards with the distribution of the official generator."""

from __future__ import annotations

import functools
from collections.abc import Iterable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames import random_bits
from jaxgames.bitboard import Grid
from jaxgames.bits import Bits
from jaxgames.pommerman.config import PommermanConfig
from jaxgames.pommerman.constants import (
    ITEM_DIGITS,
    LIFE_DIGITS,
    MAX_UNREACHABLE_PASSAGES,
    NUM_ITEM_KINDS,
    OWNER_DIGITS,
    START_AMMO,
    START_BLAST_STRENGTH,
    STRENGTH_DIGITS,
)
from jaxgames.pommerman.state import Bomber, Bombs, State


def init(config: PommermanConfig, key: Array) -> State:
    """Draws a start state.

    Args:
      config: the variant.
      key: a typed random key.

    Returns:
      A state with agent `i` in corner `i`; no bombs, no flames, step count 0.
    """
    wall_key, item_key = jax.random.split(key)
    rigid, wood = draw_walls(config, wall_key)
    return start_state(config, rigid, wood, draw_items(config, item_key, wood))


def start_state(config: PommermanConfig, rigid: Bits, wood: Bits, items: tuple[Bits, ...]) -> State:
    """Makes the start state of a given board: all agents alive in their corners with what one begins with."""
    empty = Bits(tuple(jnp.zeros_like(word) for word in rigid.words))
    agents = tuple(
        Bomber(
            cell=jnp.int8(row * config.board_size + column),
            alive=jnp.bool_(True),
            ammo=jnp.int8(START_AMMO),
            blast_strength=jnp.int8(START_BLAST_STRENGTH),
            can_kick=jnp.bool_(False),
        )
        for row, column in config.corners
    )
    silence = ((jnp.int8(0), jnp.int8(0)),) * config.num_players if config.has_messages else ()
    return State(
        rigid=rigid,
        wood=wood,
        items=items,
        flames=(empty,) * 3,
        bombs=Bombs((empty,) * LIFE_DIGITS, (empty,) * STRENGTH_DIGITS, (empty,) * OWNER_DIGITS, (empty,) * 4),
        bombers=agents,
        messages=silence,
        step_count=jnp.int16(0),
        terminated=jnp.bool_(False),
        seat_rewards=(jnp.int8(0),) * config.num_players,
        ring_falls=jnp.bool_(False) if config.collapse_steps else (),
    )


def draw_walls(config: PommermanConfig, key: Array) -> tuple[Bits, Bits]:
    """Draws rigid and wooden walls until nearly every passage can be reached.

    Args:
      config: the variant.
      key: a typed random key.

    Returns:
      rigid, wood: mirrored at the main diagonal, on which there are none; at most 4 passages are cut off.
    """

    def attempt(carry: tuple[Array, Bits, Bits, Array]) -> tuple[Array, Bits, Bits, Array]:
        key, draw_key = jax.random.split(carry[0])
        rigid, wood, cut_off = try_walls(config, draw_key)
        return key, rigid, wood, cut_off > MAX_UNREACHABLE_PASSAGES

    empty = jax.tree.map(jnp.asarray, config.grid.empty)
    _, rigid, wood, _ = jax.lax.while_loop(lambda carry: carry[3], attempt, (key, empty, empty, jnp.bool_(True)))
    return rigid, wood


def try_walls(config: PommermanConfig, key: Array) -> tuple[Bits, Bits, Array]:
    """Draws walls once, whatever they cut off.

    Args:
      config: the variant.
      key: a typed random key.

    Returns:
      rigid, wood: mirrored at the main diagonal, on which there are none.
      cut_off: int32 [], passages that cannot be reached from the last corner, even through wood.
    """
    grid = config.grid
    upper, fixed_wood, corners = (grid.constant(cells) for cells in _plan(config))
    start = grid.constant([config.corners[2 if config.num_players == 4 else 1][0] * (config.board_size + 1)])
    rigid_pairs = config.num_rigid // 2
    bits = jax.random.bits(key, (rigid_pairs + (config.num_wood - config.num_fixed_wood) // 2,))
    rigid = _draw_pairs(grid, upper, bits[:rigid_pairs])
    wood = _draw_pairs(grid, upper - rigid, bits[rigid_pairs:]) | fixed_wood
    passages = grid.full - rigid - wood - corners
    return rigid, wood, (passages - grid.flood(start, grid.full - rigid)).count()


def _draw_pairs(grid: Grid, candidates: Bits, bits: Array) -> Bits:
    """Draws as many cells as there are words, without replacement, and adds their mirror images."""

    def draw(carry: tuple[Bits, Bits], word: Array) -> tuple[tuple[Bits, Bits], None]:
        left, taken = carry
        cell = left.pick(random_bits.below(word, left.count()))
        here = grid.one_hot(cell)
        mirrored = grid.one_hot(grid.column_of(cell) * grid.columns + grid.row_of(cell))
        return (left - here, taken | here | mirrored), None

    empty = jax.tree.map(jnp.zeros_like, candidates)
    (_, taken), _ = jax.lax.scan(draw, jax.tree.map(jnp.asarray, (candidates, empty)), bits)
    return taken


@functools.lru_cache(maxsize=32)
def _plan(config: PommermanConfig) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Gives the cells above the diagonal where walls may go, those of the fixed wood, and the start cells."""
    size, far = config.board_size, config.board_size - 2
    free = {(row, column) for row, column in np.ndindex(size, size) if row < column}
    arms = {(row, column) for row in (1, far) for column in (2, 3, far - 2, far - 1)}
    joined = {(row, column) for row in (1, far) for column in range(4, size - 4)}
    if config.num_players == 2:
        arms = {(1, 2), (1, 3), (far, far - 1), (far, far - 2)}
        joined = set()

    def both(cells: set[tuple[int, int]]) -> set[tuple[int, int]]:
        return cells | {(column, row) for row, column in cells}

    def numbers(cells: Iterable[tuple[int, int]]) -> tuple[int, ...]:
        return tuple(sorted(row * size + column for row, column in cells))

    free -= both(arms) | both(joined) | set(config.corners)
    return numbers(free), numbers(both(joined)), numbers(config.corners)


def draw_items(config: PommermanConfig, key: Array, wood: Bits) -> tuple[Bits, ...]:
    """Hides power-ups: different wooden cells, uniformly; every kind with equal chance.

    Args:
      config: the variant.
      key: a typed random key.
      wood: the wooden cells.

    Returns:
      2 digits: 1 extra bomb, 2 range, 3 kick.
    """
    grid = config.grid
    bits = jax.random.bits(key, (config.num_items, 2))

    def hide(carry: tuple[Bits, tuple[Bits, ...]], words: Array) -> tuple[tuple[Bits, tuple[Bits, ...]], None]:
        left, items = carry
        here = grid.one_hot(left.pick(random_bits.below(words[0], left.count())))
        kind = 1 + random_bits.below(words[1], jnp.int32(NUM_ITEM_KINDS))
        items = tuple(plane | here.when(((kind >> digit) & 1) != 0) for digit, plane in enumerate(items))
        return (left - here, items), None

    empty = jax.tree.map(jnp.zeros_like, wood)
    (_, items), _ = jax.lax.scan(hide, (wood, (empty,) * ITEM_DIGITS), bits)
    return items
