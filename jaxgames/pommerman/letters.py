"""Positions of Pommerman in letters."""

from __future__ import annotations

import jax
import numpy as np

from jaxgames import letters
from jaxgames.pommerman.arrays import shown_arrays
from jaxgames.pommerman.config import PommermanConfig
from jaxgames.pommerman.constants import Cell
from jaxgames.pommerman.state import State

_CELLS = {
    Cell.PASSAGE: ".",
    Cell.RIGID: "#",
    Cell.WOOD: "+",
    Cell.BOMB: "o",
    Cell.FLAMES: "*",
    Cell.FOG: "?",
    Cell.EXTRA_BOMB: "b",
    Cell.INCREASE_RANGE: "r",
    Cell.KICK: "k",
    Cell.DUMMY: "?",
}


def to_text(config: PommermanConfig, state: State) -> str:
    """Writes the board: 0 to 3 agents, # rigid, + wood, o bombs, * flames, and items: b bomb, r range, k kick."""
    arrays = shown_arrays(config, jax.tree.map(lambda leaf: np.asarray(leaf)[None], state))
    cells = {int(code): letter for code, letter in _CELLS.items()}
    cells |= {int(Cell.AGENT_0) + seat: str(seat) for seat in range(config.num_players)}
    rows = [[cells[code] for code in row] for row in arrays["s_board"][0].tolist()]
    names = [str(number) for number in range(len(rows))]
    alive = [str(seat) for seat in range(config.num_players) if arrays["s_agents"][0, seat, 2]]
    return letters.board(rows, names, names) + f"alive: {' '.join(alive) or 'nobody'}\n"
