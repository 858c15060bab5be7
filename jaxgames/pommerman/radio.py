"""A language for teammates in radio games: in every step, where one of the enemies is.

The words of step t tell of the lower of the two enemies if t is even, of the other one if it is odd, and of the only one that is
left in every step; and only if it is in view. They number the board's cells along a path that turns at the end of each row, a few
neighbours under one number so that two words of eight are enough: pairs on the standard board. Number 0, two words 0, is silence,
as SimpleAgents and the dead keep it.
"""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
from jax import Array

from jaxgames.bitboard import Grid
from jaxgames.bits import Bits, union
from jaxgames.pommerman.belief import nearest
from jaxgames.pommerman.config import PommermanConfig
from jaxgames.pommerman.constants import NUM_MESSAGES, NUM_WORDS
from jaxgames.pommerman.observation import Observation, choose_seat
from jaxgames.pommerman.state import State

_WORDS = 8  # 0..7, the range that the official environment declares
_NUMBERS = _WORDS * _WORDS - 1


def tell(config: PommermanConfig, observation: Observation, actions: Array) -> Array:
    """Adds to actions the words for what their player sees.

    Args:
      config: a variant with messages.
      observation: what the player sees.
      actions: int32 [...], whatever they say.

    Returns:
      int32 [...], the same moves; the dead stay silent.
    """
    topic = _topic(observation.alive, observation.seat, observation.step_count)
    cell = choose_seat(observation.bomber_cells, topic).astype(jnp.int32)
    told = (cell >= 0) & observation.own.alive
    number = jnp.where(told, 1 + _along_path(config.grid, cell) // _cells_per_number(config), 0)
    return silent(actions) + number // _WORDS * NUM_WORDS + number % _WORDS


def silent(actions: Array) -> Array:
    """Takes the words from actions, int32 [...]: the same moves."""
    return actions // NUM_MESSAGES * NUM_MESSAGES


def heed(config: PommermanConfig, before: State, believed: State, observation: Observation) -> State:
    """Believes the teammate: puts the enemy that it tells of, if that is out of view, where it saw it before the last step.

    Of the cells under one number that is the nearest to where the enemy was believed to be, out of view and without a rigid wall
    or a flame; wood there has been blasted, or nobody could be seen there. Where there is none the enemy has gone on: it is in
    the nearest cell out of view. A number beyond the board is no word of this language, and is passed over.

    Args:
      config: a variant with messages.
      before: what the player believed in before the step: the teammate spoke of those who lived then.
      believed: with the observation in it, see `belief.update_belief`.
      observation: after the step.
    """
    grid = config.grid
    said = _cells_told(config, observation)
    refuge = grid.full - observation.view - believed.rigid - union(believed.flames)
    possible, free = said & refuge, refuge - believed.wood
    topic = _topic(tuple(bomber.alive for bomber in before.bombers), observation.seat, observation.step_count - 1)
    enemy = choose_seat(believed.bombers, topic)
    heard = said.any() & enemy.alive & (choose_seat(observation.bomber_cells, topic) < 0)
    here = possible.any()
    gone = said.any() & ~here
    cell = nearest(grid, jnp.where(gone, said.first(), enemy.cell), possible.when(here) | free.when(~here))
    bombers = tuple(
        dataclasses.replace(bomber, cell=jnp.where(heard & (topic == seat), cell, bomber.cell).astype(jnp.int8))
        for seat, bomber in enumerate(believed.bombers)
    )
    return dataclasses.replace(believed, bombers=bombers, wood=believed.wood - grid.one_hot(cell).when(heard))


def _cells_told(config: PommermanConfig, observation: Observation) -> Bits:
    """The cells under the number that the teammate has said; none where it said nothing."""
    grid, size = config.grid, _cells_per_number(config)
    first, second = (word.astype(jnp.int32) for word in observation.message)
    within = (first >= 0) & (first < _WORDS) & (second >= 0) & (second < _WORDS)
    number = jnp.where(within, first * _WORDS + second, 0)
    said: Bits = grid.empty
    for place in range(size):
        index = (number - 1) * size + place
        said = said | grid.one_hot(_along_path(grid, index)).when((number > 0) & (index < grid.num_cells))
    return said


def _topic(alive: tuple[Array, ...], seat: Array, step: Array) -> Array:
    """Of which enemy a team speaks after so many steps: int32 []."""
    low = (seat.astype(jnp.int32) + 1) % 2  # the lower one: 1 of seats 0 and 2, 0 of the others
    lower, upper = (choose_seat(alive, enemy) for enemy in (low, low + 2))
    is_upper = jnp.where(lower & upper, step.astype(jnp.int32) % 2 == 1, upper)
    return low + 2 * is_upper.astype(jnp.int32)


def _along_path(grid: Grid, cell: Array) -> Array:
    """Turns the number of a cell into its place on a path through all rows, or back: every second row is walked the other way."""
    row, column = grid.row_of(cell), grid.column_of(cell)
    return row * grid.columns + jnp.where(row % 2 == 1, grid.columns - 1 - column, column)


def _cells_per_number(config: PommermanConfig) -> int:
    return -(-config.grid.num_cells // _NUMBERS)
