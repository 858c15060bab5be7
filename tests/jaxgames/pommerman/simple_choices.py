"""What the SimpleAgent may do on a board: many decisions from it, by a program that is compiled once."""

import collections
import functools
from typing import NamedTuple

import jax
import numpy as np

from jaxgames.pommerman import bots
from jaxgames.pommerman.simple_agent import MEMORY_LENGTH, NOWHERE, SimpleMemory
from tests.jaxgames.pommerman import playing
from tests.jaxgames.pommerman.positions import FFA, position

DRAWS = 64


class Choices(NamedTuple):
    """What came out of 64 decisions."""

    moves: set[int]
    memories: set[tuple[tuple[tuple[int, int], ...], int]]  # recent cells, the oldest first; direction of the last chase
    share: dict[int, float]


@functools.cache
def draws_of_all():
    return jax.random.split(jax.random.key(1234), DRAWS)


def choices(drawing, *, seat=0, recent=(), previous=0, config=FFA, **things) -> Choices:
    """Lets one agent decide 64 times; cells in the drawing as in `positions`, everything not drawn is rigid."""
    rows = [line.ljust(config.board_size, "#") for line in drawing.split()]
    rows += ["#" * config.board_size] * (config.board_size - len(rows))
    agent, act = playing.acting(bots.simple_agent, config.mode)
    states = jax.tree.map(lambda leaf: np.repeat(leaf, DRAWS, 0), position("\n".join(rows), config=config, **things))
    cells = [row * config.board_size + column for row, column in reversed(recent)]
    cells += [NOWHERE] * (MEMORY_LENGTH - len(cells))
    memory = SimpleMemory(tuple(np.full(DRAWS, cell, np.int8) for cell in cells), np.full(DRAWS, previous, np.int8))
    seats, everywhere = np.full(DRAWS, seat, np.int32), np.ones(DRAWS, bool)
    moves, after = jax.device_get(act(agent.params, draws_of_all(), memory, states, seats, everywhere))
    memories = set()
    for i in range(DRAWS):
        listed = [int(cell[i]) for cell in after.recent if cell[i] != NOWHERE]
        memories.add((tuple(divmod(cell, config.board_size) for cell in reversed(listed)), int(after.previous[i])))
    counted = collections.Counter(moves.tolist())
    return Choices(set(counted), memories, {move: n / DRAWS for move, n in counted.items()})
