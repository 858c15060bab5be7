"""The planes of PommerLearn's data sets, channel first: from those of the encoder `pommerlearn`, and back to what an agent saw.

They are the encoder's in all but one thing: they count how far a blast reaches, one cell less than its strength.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.pommerman import belief
from jaxgames.pommerman.arrays import pack_number
from jaxgames.pommerman.config import PommermanConfig
from jaxgames.pommerman.constants import BOMB_LIFE, ITEM_DIGITS, LIFE_DIGITS, STRENGTH_DIGITS
from jaxgames.pommerman.encoder import MANY_BOMBS, MAX_REACH, POMMERLEARN, SearchView, pommerlearn_planes
from jaxgames.pommerman.modelling import possible_moves
from jaxgames.pommerman.observation import Observation
from jaxgames.pommerman.state import Bomber

NUM_PLANES = len(POMMERLEARN)
_FLAME_STEPS = 3  # by which PommerLearn divides
_REACHES = [POMMERLEARN.index(name) for name in ("bomb reach", "own reach")]
_AGENTS = [POMMERLEARN.index(name) for name in ("own position", "agent after", "second after", "third after")]
_ALIVE = [POMMERLEARN.index(name) for name in ("own alive", "alive after", "second alive", "third alive")]


def as_published(planes: np.ndarray) -> np.ndarray:
    """Gives the encoder's planes float32 [N, H, W, 23] as data sets have them: float32 [N, 23, H, W]."""
    published = np.moveaxis(np.asarray(planes, np.float32), -1, 1).copy()
    strengths = published[:, _REACHES]
    published[:, _REACHES] = np.where(strengths > 0, (np.rint(MAX_REACH * strengths) - 1) / MAX_REACH, 0)
    return published


def observation_of(config: PommermanConfig, planes: np.ndarray, seats: np.ndarray) -> tuple[Observation, np.ndarray]:
    """Reads what agents saw out of the planes of a data set; what no agent can see comes out as something near it.

    Args:
      config: a variant of four players in full view.
      planes: float32 [N, 23, H, W], finite.
      seats: int [N], whose they are.

    Returns:
      Observations [N], and int8 [N], how many of their bombs lie about; all numpy.
    """
    grid, players = config.grid, config.num_players
    by_name = {name: planes[:, index] for index, name in enumerate(POMMERLEARN)}

    def whole(values: np.ndarray, highest: int) -> np.ndarray:
        return np.clip(np.rint(values), 0, highest).astype(np.int64)

    def number(name: str, factor: int, highest: int = 127) -> np.ndarray:
        return whole(factor * by_name[name][:, 0, 0], highest)

    bombs = by_name["bomb reach"] > 0
    strength = np.minimum(whole(MAX_REACH * by_name["bomb reach"], MAX_REACH) + 1, config.max_blast_strength)
    life = whole((BOMB_LIFE - 1) * (1 - by_name["bomb time"]), BOMB_LIFE)
    flames = whole(_FLAME_STEPS * by_name["flames"], _FLAME_STEPS)
    kinds = sum((by_name[name] > 0) * kind for kind, name in enumerate(("extra bomb", "range", "kick"), 1))
    up, right = by_name["bomb up"], by_name["bomb right"]
    moving = tuple(grid.from_numpy(bombs & rolls) for rolls in (up > 0, up < 0, right < 0, right > 0))
    at = planes[:, _AGENTS].reshape(len(planes), players, -1)
    cells = np.where((at > 0).any(-1), at.argmax(-1), -1)
    alive = planes[:, _ALIVE, 0, 0] > 0
    order = (np.arange(players) - np.asarray(seats)[:, None]) % players  # from the order after the seat to that of the seats
    cells_by_seat, alive_by_seat = (np.take_along_axis(rows, order, 1) for rows in (cells, alive))
    own_bombs = number("own active bombs", MANY_BOMBS)
    build_bomber: Any = Bomber  # of numpy arrays
    build_observation: Any = Observation
    own = build_bomber(
        cell=np.maximum(cells[:, 0], 0).astype(np.int8),
        alive=alive[:, 0],
        ammo=np.maximum(number("own bombs", MANY_BOMBS) - own_bombs, 0).astype(np.int8),
        blast_strength=np.minimum(number("own reach", MAX_REACH) + 1, config.max_blast_strength).astype(np.int8),
        can_kick=by_name["own kick"][:, 0, 0] > 0,
    )
    observation = build_observation(
        view=grid.from_numpy(np.ones(bombs.shape, bool)),
        rigid=grid.from_numpy(by_name["rigid"] > 0),
        wood=grid.from_numpy(by_name["wood"] > 0),
        items=pack_number(grid, np.asarray(kinds), ITEM_DIGITS),
        flame_life=pack_number(grid, flames, 2),
        bomb_life=pack_number(grid, np.where(bombs, life, 0), LIFE_DIGITS),
        bomb_strength=pack_number(grid, np.where(bombs, strength, 0), STRENGTH_DIGITS),
        bomb_moving=moving,
        bomber_cells=tuple(cells_by_seat[:, seat].astype(np.int8) for seat in range(players)),
        alive=tuple(alive_by_seat[:, seat] for seat in range(players)),
        seat=np.asarray(seats, np.int32),
        own=own,
        message=(),
        step_count=number("time", max(config.max_steps - 1, 1), config.max_steps).astype(np.int16),
    )
    return observation, own_bombs.astype(np.int8)


def restored_view(config: PommermanConfig, observation: Observation, own_bombs: Array) -> tuple[SearchView, Array]:
    """Gives the view that an observation belongs to, and its planes as the encoder makes them: of one agent, not of a batch."""
    possible = possible_moves(config, belief.init_belief(config, observation))
    mine = jnp.where(jnp.arange(config.num_players)[:, None] == observation.seat, possible, False).any(0)
    view = SearchView(observation, own_bombs, mine)
    return view, pommerlearn_planes(config, view)


def wrong_planes(config: PommermanConfig, given: np.ndarray, again: np.ndarray) -> np.ndarray:
    """Compares planes of a data set with those made again of what was read from them: bool [N, 23, H, W], True where they differ.

    Args:
      config: the variant, whose strongest blast counts for all that are stronger.
      given: float32 [N, 23, H, W], of the data set.
      again: float32 [N, H, W, 23], of `restored_view`.
    """
    given = given.copy()
    given[:, _REACHES] = np.minimum(given[:, _REACHES], (config.max_blast_strength - 1) / MAX_REACH)
    return np.abs(given - as_published(again)) > 1e-3
