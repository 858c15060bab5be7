"""What must hold of the samples in PommerLearn's data sets, and what agents saw in them: all of it that knows Pommerman."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxgames.encoder import Encoder
from jaxgames.pommerman.constants import NUM_MOVES
from jaxgames.pommerman.encoder import CENTRED, POMMERLEARN
from jaxgames.pommerman.game import Pommerman
from jaxgames.pommerman.pommerlearn_planes import NUM_PLANES, observation_of, restored_view, wrong_planes

ENCODER = "pommerlearn"
SIZE, MOVES, SEATS = 11, NUM_MOVES, 4
PLANES = (NUM_PLANES, SIZE, SIZE)


class Wrong(NamedTuple):
    """The first number of planes that no agent can see: the row in which it is, and what it is."""

    row: int
    told: str


def check_suits(game: Any, encoder: Encoder) -> None:
    """Raises a ValueError unless samples of this game, shown by this encoder, can be in a data set."""
    if encoder.name not in (ENCODER, CENTRED) or not isinstance(game, Pommerman):
        raise ValueError(f"encoder={encoder.name!r}: data sets hold planes of Pommerman's encoder {ENCODER}, or for {CENTRED}")
    config = game.config
    if config.mode != "ffa" or config.board_size != SIZE or config.view_radius is not None:
        raise ValueError(f"mode={config.mode!r}, board_size={config.board_size}: data sets hold free-for-all on {SIZE} x {SIZE}")


def views_of(game: Pommerman, planes: np.ndarray, seats: np.ndarray, rows: int) -> tuple[Any, Wrong | None]:
    """Reads planes of a data set.

    Args:
      game: which `check_suits` lets pass.
      planes: float32 [N, 23, 11, 11], finite.
      seats: int [N], whose they are.
      rows: that are compiled for, where there are fewer.

    Returns:
      The views that the encoder shows in this way, leaves [N], and what is wrong with the planes, None if nothing is.
    """
    observation, own_bombs = observation_of(game.config, planes, seats)
    view, again = jax.device_get(_restorer(game)(*_padded((observation, own_bombs), rows)))
    view, again = jax.tree.map(lambda leaf: leaf[: len(planes)], (view, again))
    wrong = wrong_planes(game.config, planes, again)
    if not wrong.any():
        return view, None
    row, plane, *cell = (int(part) for part in np.argwhere(wrong)[0])
    return view, Wrong(row, f"the plane {POMMERLEARN[plane]!r} has {planes[row, plane, cell[0], cell[1]]:.4g} at {tuple(cell)}")


@functools.lru_cache(maxsize=2)
def _restorer(game: Pommerman) -> Callable:
    return jax.jit(jax.vmap(functools.partial(restored_view, game.config)))


def _padded(tree: Any, rows: int) -> Any:
    """Repeats the first row until there are `rows` or more, so that few shapes are compiled."""
    return jax.tree.map(lambda leaf: np.concatenate([leaf, np.repeat(leaf[:1], max(rows - len(leaf), 0), 0)]), tree)
