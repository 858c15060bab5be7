"""Who killed whom in a game of Pommerman, by the owners of the bombs whose blasts burn where somebody dies."""

from __future__ import annotations

import numpy as np

from jaxgames.pommerman import Pommerman
from jaxgames.pommerman.arrays import unpack, unpack_number
from jaxgames.pommerman.constants import FLAME_LIFE
from jaxgames.pommerman.state import State

_SIDES = ((-1, 0), (1, 0), (0, -1), (0, 1))  # up, down, left, right


def killers(game: Pommerman, states: State) -> np.ndarray:
    """Looks at the states of one game, leaves [T + 1], all numpy.

    A blast counts for who laid the bomb, also where another bomb has set it off; where blasts of several burn, for all of them.

    Returns:
      bool [P, P]: the first has killed the second, or itself.
    """
    config = game.config
    grid, players = config.grid, config.num_players
    life, strength, owner = (
        unpack_number(grid, planes) for planes in (states.bombs.life, states.bombs.strength, states.bombs.owner)
    )
    moving = np.stack([unpack(grid, cells) for cells in states.bombs.moving], 1)
    rigid, wood, newest = (unpack(grid, cells) for cells in (states.rigid, states.wood, states.flames[FLAME_LIFE]))
    alive, cells = (np.stack([np.asarray(getattr(one, name)) for one in states.bombers], 1) for name in ("alive", "cell"))
    found = np.zeros((players, players), bool)
    burnt = np.full((players, config.board_size, config.board_size), -FLAME_LIFE - 1)  # the last step of a blast of each
    for step in range(1, len(life)):
        left = {(owner[step][place], life[step][place]) for place in zip(*np.nonzero(life[step]), strict=True)}
        for place in zip(*np.nonzero(life[step - 1]), strict=True):
            whose = owner[step - 1][place]
            # Nobody lays two bombs in a step: whose it is and how long it lives tells a bomb from all others.
            if (whose, life[step - 1][place] - 1) not in left:
                centre = _where_it_burst(place, moving[step - 1, :, *place], newest[step])
                for cell in _blast(centre, int(strength[step - 1][place]) - 1, rigid[step - 1], wood[step - 1]):
                    burnt[whose][cell] = step
        for victim in np.flatnonzero(alive[step - 1] & ~alive[step]):
            cell = divmod(int(cells[step, victim]), config.board_size)
            found[:, victim] |= burnt[:, *cell] >= step - FLAME_LIFE
    return found


def _where_it_burst(place: tuple, moving: np.ndarray, newest: np.ndarray) -> tuple[int, int]:
    """The cell to which a bomb has rolled before it burst: it burns."""
    row, column = (int(part) for part in place)
    sides = [(row + down, column + right) for down, right in _SIDES]
    ahead = [side for side, rolls in zip(sides, moving, strict=True) if rolls]
    inside = [cell for cell in (*ahead, (row, column), *sides) if min(cell) >= 0 and max(cell) < len(newest)]
    return next((cell for cell in inside if newest[cell]), (row, column))


def _blast(centre: tuple[int, int], reach: int, rigid: np.ndarray, wood: np.ndarray) -> list[tuple[int, int]]:
    """The cells of a blast: up to rigid walls, and the first wood of each arm."""
    cells = [centre]
    for down, right in _SIDES:
        row, column = centre
        for _ in range(reach):
            row, column = row + down, column + right
            if not (0 <= row < len(rigid) and 0 <= column < len(rigid)) or rigid[row, column]:
                break
            cells.append((row, column))
            if wood[row, column]:
                break
    return cells
