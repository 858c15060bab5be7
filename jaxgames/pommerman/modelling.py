"""What a search against modelled opponents asks of Pommerman: possible moves without foresight, and who the rival is.

(Source: PommerLearn, Weil et al.)
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from jaxgames.bitboard import DIRECTIONS, OPPOSITE, Grid
from jaxgames.pommerman.config import PommermanConfig
from jaxgames.pommerman.observation import choose_seat
from jaxgames.pommerman.rules import as_array
from jaxgames.pommerman.state import Bomber, State


def possible_moves(config: PommermanConfig, state: State) -> Array:
    """Says which moves lead somewhere, whatever burns there later: the action filter of PommerLearn.

    Stop is always possible; a bomb, while ammo is left and none lies in the own cell; a step, into a passage, a power-up, a
    flame that dies in this step, or, for who can kick, a bomb; not into a cell with another bomber. The dead may only stop.

    Args:
      config: the variant.
      state: one game.

    Returns:
      bool [P, 6], in the order of `Move`.
    """
    grid, bombs = config.grid, state.bombs.cells
    lasting = state.flames[1] | state.flames[2]
    walls = state.rigid | state.wood | lasting
    bombers = grid.empty
    for bomber in state.bombers:
        bombers = bombers | grid.one_hot(bomber.cell).when(bomber.alive)
    free = grid.full - walls - bombers
    flags: list[Array] = []
    for bomber in state.bombers:
        own = grid.one_hot(bomber.cell).when(bomber.alive)
        enter = free - bombs.when(~bomber.can_kick)
        steps = [own.overlaps(grid.shift(enter, OPPOSITE[direction])) for direction in DIRECTIONS]
        flags += [jnp.bool_(True), *steps, bomber.alive & (bomber.ammo > 0) & ~own.overlaps(bombs)]
    return as_array(flags).reshape(config.num_players, -1)


def closest_enemy(config: PommermanConfig, state: State, seat: Array) -> Array:
    """Gives the living enemy at the smallest Manhattan distance; of equals, the lowest seat.

    Args:
      config: the variant.
      state: one game.
      seat: int32 [], whose enemies.

    Returns:
      int32 [], a seat; -1 if no enemy lives.
    """
    grid, own = config.grid, choose_seat(state.bombers, seat)
    best, found = jnp.int32(grid.num_cells), jnp.int32(-1)
    for other, bomber in enumerate(state.bombers):
        far = jnp.where(bomber.alive & config.are_enemies(seat, other), distance(grid, own, bomber), grid.num_cells)
        found, best = jnp.where(far < best, other, found), jnp.minimum(far, best)
    return found


def distance(grid: Grid, one: Bomber, other: Bomber) -> Array:
    """Gives the Manhattan distance of two bombers, int32 []."""
    rows = jnp.abs(grid.row_of(one.cell) - grid.row_of(other.cell))
    return rows + jnp.abs(grid.column_of(one.cell) - grid.column_of(other.cell))
