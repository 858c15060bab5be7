"""How a side sets up its pieces: evenly at random, or as people do.

People's set-ups are drawn piece by piece, by how often a kind stood in a cell in set-ups of the Gravon archive. Bombs are drawn
towards the flag and the spy towards the general, as much as they were there.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames import random_bits
from jaxgames.stratego.config import StrategoConfig
from jaxgames.stratego.constants import (
    BARRAGE_PIECES,
    BLUE,
    BOMB,
    CAPTAIN,
    COLONEL,
    FLAG,
    FULL_PIECES,
    GENERAL,
    IMMOBILE,
    LIEUTENANT,
    MAJOR,
    MARSHAL,
    MINER,
    NUM_KINDS,
    SCOUT,
    SERGEANT,
    SPY,
)

_TABLES = Path(__file__).parent / "data" / "setups.json"
_ORDER = (FLAG, BOMB, MARSHAL, GENERAL, SPY, COLONEL, MAJOR, MINER, CAPTAIN, LIEUTENANT, SERGEANT, SCOUT)
# Whole numbers alone: sums of floats are rounded in another order on another device, and games there would be others.
_ONE = 2  # of what weights are multiplied by
_BESIDE_FLAG = {"stratego": 3, "barrage": 20}  # how much likelier a bomb stands there, in halves
_NEAR_GENERAL = 7  # how much likelier a spy stands within two cells of its general, in halves
_WALLED = {"stratego": 0.40, "barrage": 0.0}  # how often bombs first fill all cells beside the flag
_FREE_FRONT = 2  # of the full game: at least so many mobile pieces face no lake
_MOST_DEALS = 64


def deal(config: StrategoConfig, key: Array, seat: int) -> Array:
    """Draws a set-up of a side: the kinds on its home cells, in the order of `config.home_cells`; uint8 [cells]."""
    if config.setups == "uniform":
        return _uniform(config, key, seat)
    dealt = _human(config, key, _own_lakes(config, seat)).reshape(-1)
    rows, columns = np.divmod(np.array(config.home_cells[seat]), config.columns)
    own_rows = config.rows - 1 - rows if seat == BLUE else rows
    return dealt[own_rows * config.columns + columns]


def _own_lakes(config: StrategoConfig, seat: int) -> np.ndarray:
    """Gives the lakes as a side counts cells: its own back row first, columns as they are."""
    rows, columns = np.divmod(np.array(config.lakes, int), config.columns)
    return (config.rows - 1 - rows if seat == BLUE else rows) * config.columns + columns


def _kinds(config: StrategoConfig, order: tuple[int, ...]) -> np.ndarray:
    """All pieces of a side, kind by kind."""
    return np.repeat(np.array(order, np.uint8), [config.pieces[kind - 1] for kind in order])


def _uniform(config: StrategoConfig, key: Array, seat: int) -> Array:
    kinds = np.zeros(len(config.home_cells[seat]), np.uint8)
    pieces = _kinds(config, tuple(range(1, NUM_KINDS + 1)))
    kinds[: len(pieces)] = pieces
    return jax.random.permutation(key, kinds)


@functools.cache
def frequencies(table: str) -> np.ndarray:
    """Gives how often kinds stood in cells, int [home rows, columns, kinds + 1]: the back row first, empty cells as kind 0."""
    return np.array(json.loads(_TABLES.read_text())[table]["counts"])


def table_of(config: StrategoConfig) -> str:
    """Gives the name of the table that suits the pieces of a variant."""
    full, small = sum(FULL_PIECES), sum(BARRAGE_PIECES)
    return "stratego" if 2 * config.num_pieces > full + small else "barrage"


def _human(config: StrategoConfig, key: Array, lakes: np.ndarray) -> Array:
    """Draws as people do: uint8 [home rows, columns]. A set-up whose front does not move is drawn again."""
    table = table_of(config)
    if table == "barrage":
        return _draw_all(config, table, key, lakes)

    def again(carry: tuple[Array, Array]) -> Array:
        kinds, tries = carry
        return (tries == 0) | (~_has_front(config, kinds, lakes) & (tries < _MOST_DEALS))

    def draw(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        return _draw_all(config, table, jax.random.fold_in(key, carry[1]), lakes), carry[1] + 1

    nothing = jnp.zeros((config.home_rows, config.columns), jnp.uint8)
    return jax.lax.while_loop(again, draw, (nothing, jnp.int32(0)))[0]


def _has_front(config: StrategoConfig, kinds: Array, lakes: np.ndarray) -> Array:
    ahead = config.home_rows * config.columns + np.arange(config.columns)
    free = ~np.isin(ahead, lakes)
    front = kinds[-1]
    return ((front != 0) & ~jnp.isin(front, np.array(IMMOBILE, np.uint8)) & free).sum() >= _FREE_FRONT


def _draw_all(config: StrategoConfig, table: str, key: Array, lakes: np.ndarray) -> Array:
    counts = frequencies(table)
    shape = counts.shape[:2]
    home = np.arange(shape[0] * shape[1])
    open_cells = ~np.isin(home, lakes)
    by_kind = np.moveaxis(counts, -1, 0).reshape(NUM_KINDS + 1, -1).astype(np.int32) + 1
    # Tables, not distances worked out here: compiled for a GPU (JAX 0.11, H100), the absolute value of one of them was left out.
    rows, columns = (np.abs(part[:, None] - part) for part in np.divmod(home, shape[1]))
    is_beside, is_near = rows + columns == 1, np.maximum(rows, columns) <= 2
    pieces = _kinds(config, _ORDER)
    noise = jax.random.bits(key, (len(pieces) + 1,), jnp.uint32)
    walled = noise[-1] < np.uint32(_WALLED[table] * 2**32)
    has_general = config.pieces[GENERAL - 1] > 0

    def place(carry: tuple[Array, Array, Array], piece: tuple[Array, Array]) -> tuple[tuple[Array, Array, Array], None]:
        kinds, flag, general = carry
        kind, chance = piece
        free = (kinds == 0) & open_cells
        weights = jnp.asarray(by_kind)[kind.astype(jnp.int32)]
        beside, near = jnp.asarray(is_beside)[flag], jnp.asarray(is_near)[general]
        factor = jnp.where((kind == BOMB) & beside, _BESIDE_FLAG[table], _ONE)
        factor = jnp.where((kind == SPY) & near & has_general, _NEAR_GENERAL, factor)
        only_beside = (kind == BOMB) & walled & (free & beside).any()
        total = jnp.cumsum(jnp.where(free & (beside | ~only_beside), weights * factor, 0), dtype=jnp.int32)
        spot = jnp.argmax(total > random_bits.below_many(chance, total[-1])).astype(jnp.int32)
        kinds = jnp.where(home == spot, kind, kinds)
        return (kinds, jnp.where(kind == FLAG, spot, flag), jnp.where(kind == GENERAL, spot, general)), None

    start = (jnp.zeros(home.shape, jnp.uint8), jnp.int32(0), jnp.int32(0))
    (kinds, _, _), _ = jax.lax.scan(place, start, (jnp.asarray(pieces), noise[:-1]))
    return kinds.reshape(shape)
