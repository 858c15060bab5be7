"""The eight symmetries of a square board: of its cells, and of the four directions."""

from __future__ import annotations

import numpy as np

NUM_SYMMETRIES = 8
_STEP = ((-1, 0), (1, 0), (0, -1), (0, 1))  # of up, down, left, right


def cell_order(size: int) -> np.ndarray:
    """Gives int32 [8, size * size]: the cell from which each cell of the turned board is taken."""
    cells = np.arange(size * size).reshape(size, size)
    boards = [np.rot90(flipped, turns) for flipped in (cells, cells.T) for turns in range(4)]
    return np.stack([board.reshape(-1) for board in boards]).astype(np.int32)


def direction_order() -> np.ndarray:
    """Gives int32 [8, 4]: the direction that becomes each direction of the turned board."""
    size = 3
    result = []
    for order in cell_order(size):
        place = np.argsort(order)  # where each cell goes
        became = []
        for row, column in _STEP:
            target = place[(1 + row) * size + 1 + column]
            became.append(_STEP.index((target // size - 1, target % size - 1)))
        result.append(np.argsort(became))
    return np.stack(result).astype(np.int32)
