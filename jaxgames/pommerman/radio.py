"""A language for teammates in radio games: in every step, where one of the enemies is.

The words of step t tell of the lower of the two enemies if t is even, of the other one if it is odd, and only of one that is in
view. They number the board's cells, a few neighbours under one number so that two words of eight are enough: pairs on the
standard board. Number 0, two words 0, is silence, as SimpleAgents and the dead keep it.
"""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames.bitboard import Bits
from jaxgames.pommerman.belief import nearest
from jaxgames.pommerman.config import PommermanConfig
from jaxgames.pommerman.constants import NUM_MESSAGES, NUM_WORDS
from jaxgames.pommerman.observation import Observation
from jaxgames.pommerman.state import State

_WORDS = 8  # 0..7, the range that the official environment declares
_NUMBERS = _WORDS * _WORDS - 1


def tell(config: PommermanConfig, observation: Observation, action: Array) -> Array:
    """Adds to an action the words for what its player sees.

    Args:
      config: a variant with messages.
      observation: what the player sees.
      action: int32 [], whatever it says.

    Returns:
      int32 [], the same move; the dead stay silent.
    """
    topic = _topic(observation.seat, observation.step_count)
    cell = jnp.stack(observation.bomber_cells)[topic].astype(jnp.int32)
    number = jnp.where((cell >= 0) & observation.own.alive, 1 + cell // _cells_per_number(config), 0)
    return action // NUM_MESSAGES * NUM_MESSAGES + number // _WORDS * NUM_WORDS + number % _WORDS


def heed(config: PommermanConfig, believed: State, observation: Observation) -> State:
    """Believes the teammate: puts the enemy that it tells of, if that is out of view, where it saw it before the last step.

    Of the cells under one number that is the nearest to where the enemy was believed to be, out of view and without a wall. What
    no teammate would say, such as a number beyond the board or that of cells in full view, is passed over.

    Args:
      config: a variant with messages.
      believed: with the observation in it, see `belief.update_belief`.
      observation: the same.
    """
    grid, size = config.grid, _cells_per_number(config)
    first, second = (word.astype(jnp.int32) for word in observation.message)
    number = jnp.where((first < _WORDS) & (second < _WORDS), first * _WORDS + second, 0)
    said: Bits = grid.empty
    for place in range(size):
        cell = (number - 1) * size + place
        said = said | grid.one_hot(cell).when((number > 0) & (cell < grid.num_cells))
    possible = said - observation.view - believed.rigid - believed.wood
    topic = _topic(observation.seat, observation.step_count - 1)
    bombers = []
    for seat, bomber in enumerate(believed.bombers):
        heard = (topic == seat) & bomber.alive & (observation.bomber_cells[seat] < 0) & possible.any()
        cell = jnp.where(heard, nearest(grid, bomber.cell, possible), bomber.cell)
        bombers.append(dataclasses.replace(bomber, cell=cell))
    return dataclasses.replace(believed, bombers=tuple(bombers))


def _topic(seat: Array, step: Array) -> Array:
    """Of which enemy a team speaks after so many steps: int32 []."""
    enemies = jax.lax.rem(seat + 1, 2)  # the lower one: 1 of seats 0 and 2, 0 of the others
    return (enemies + 2 * (step.astype(jnp.int32) & 1)).astype(jnp.int32)


def _cells_per_number(config: PommermanConfig) -> int:
    return -(-config.grid.num_cells // _NUMBERS)
