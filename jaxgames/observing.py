"""What an environment shows of a game: all that a seat observes as a few plain arrays, or the planes of an encoder."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames import shapes
from jaxgames.bitboard import Grid
from jaxgames.bits import WORD_BITS, Bits
from jaxgames.encoder import Encoder
from jaxgames.fusion import settled
from jaxgames.game import Game, hides_something

PLANES = "planes"
CELLS, NUMBERS, WORDS, REALS = "cells", "numbers", "words", "reals"
_OWN_NAMES = (CELLS, NUMBERS, WORDS, REALS)


@dataclasses.dataclass(frozen=True)
class ArraySpec:
    """Form and bounds of one array of a lane.

    Attributes:
      shape: without the batch.
      dtype: a numpy type.
      low, high: no number is below or above.
      names: what each entry is, where that is known: of the last axis, of the first in the sets of "arrays".
    """

    shape: tuple[int, ...]
    dtype: np.dtype
    low: float
    high: float
    names: tuple[str, ...] = ()


class Observer(NamedTuple):
    """How a seat's observation is made.

    Attributes:
      see: `see(state, seat) -> pytree of arrays`, for one game and one seat (int32 []).
      spec: the same tree with an `ArraySpec` for each array.
    """

    see: Callable[[Any, Array], Any]
    spec: Any


def observer_of(game: Game, kind: str | Callable[[Any, Array], Any], encoder: Encoder | None) -> Observer:
    """Makes the observer that an environment was asked for.

    Args:
      game: the game.
      kind: "arrays", "planes", or a function as `Observer.see`.
      encoder: whose planes.

    Raises:
      ValueError: there is no such kind, no encoder, or one that shows more than the seat sees.
    """
    if callable(kind):
        return Observer(kind, jax.tree.map(spec_of, jax.eval_shape(kind, *_state_and_seat(game))))
    if kind == "arrays":
        return _arrays(game)
    if kind != PLANES:
        raise ValueError(f"observation={kind!r}: must be arrays, planes, or a function of a state and a seat")
    if encoder is None:
        raise ValueError(f"observation='planes': {game.name} has no encoder; take arrays, or a function of a state and a seat")
    if not encoder.shows_observation and (hides_something(game) or getattr(game, "always_hidden", False)):
        raise ValueError(f"encoder={encoder.name!r}: shows what a seat of {game.name} does not see; take arrays")

    def see(state: Any, seat: Array) -> Array:
        return encoder.planes(encoder.view(state, seat))

    return Observer(see, ArraySpec(encoder.shape, np.dtype(np.float32), *encoder.bounds, encoder.channels))


def spec_of(leaf: Any) -> ArraySpec:
    """Gives the spec of an array by its type: whatever the type can hold."""
    dtype = np.dtype(leaf.dtype)
    if dtype == np.bool_:
        return ArraySpec(leaf.shape, dtype, 0, 1)
    if np.issubdtype(dtype, np.integer):
        return ArraySpec(leaf.shape, dtype, int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
    return ArraySpec(leaf.shape, dtype, -np.inf, np.inf)


class _Parts(NamedTuple):
    """An observation taken apart; entries are (name, array or set)."""

    sets: list[tuple[str, Bits]]
    numbers: list[tuple[str, Array]]
    words: list[tuple[str, Array]]
    reals: list[tuple[str, Array]]
    others: list[tuple[str, Array]]


def _arrays(game: Game) -> Observer:
    """All sets of cells as one board of flags, all single numbers in a row, other arrays by their names."""
    grid = getattr(getattr(game, "config", None), "grid", None)

    def see(state: Any, seat: Array) -> dict[str, Array]:
        return _gathered(_taken_apart(game.observe(state, seat), grid), grid)

    found = jax.eval_shape(see, *_state_and_seat(game))
    specs = {name: spec_of(leaf) for name, leaf in found.items()}
    parts: list[_Parts] = []
    jax.eval_shape(lambda state, seat: parts.append(_taken_apart(game.observe(state, seat), grid)), *_state_and_seat(game))
    for key, listed in ((CELLS, parts[0].sets), (NUMBERS, parts[0].numbers), (WORDS, parts[0].words), (REALS, parts[0].reals)):
        if key in specs:
            names = tuple(name for name, _ in listed)
            high = 1 if key == CELLS else specs[key].high
            specs[key] = dataclasses.replace(specs[key], names=names, high=high)
    return Observer(see, specs)


def _gathered(parts: _Parts, grid: Any) -> dict[str, Array]:
    shown = dict(parts.others)
    if parts.sets:
        shown[CELLS] = unpacked(grid, [cells for _, cells in parts.sets])
    for key, listed, dtype in (
        (NUMBERS, parts.numbers, jnp.int32),
        (WORDS, parts.words, jnp.uint32),
        (REALS, parts.reals, jnp.float32),
    ):
        if listed:
            shown[key] = jnp.stack([leaf.astype(dtype) for _, leaf in listed])
    return shown


def unpacked(grid: Grid, sets: list[Bits]) -> Array:
    """Unpacks K sets into uint8 [K, H, W] of 0 and 1; a CPU writes this order five times as fast as one with K as last axis."""
    words = [jnp.asarray(word) for cells in sets for word in cells.words]
    packed = jnp.stack(settled(words)).reshape(len(sets), -1, 1)
    flags = ((packed >> np.arange(WORD_BITS, dtype=np.uint32)) & 1).astype(jnp.uint8)
    # Rows of cells are made of what is settled, or the kernel above works by row and column, nine times as slowly.
    (flat,) = settled([flags.reshape(len(sets), -1)[:, : grid.num_cells]])
    return flat.reshape(len(sets), grid.rows, grid.columns)


def _taken_apart(observation: Any, grid: Any) -> _Parts:
    parts = _Parts([], [], [], [], [])
    for name, leaf in _named(observation, ""):
        name = name or "observation"
        if isinstance(leaf, Bits):
            if grid is not None and len(leaf.words) == grid.num_words:
                parts.sets.append((name, leaf))
            else:
                parts.words.extend((f"{name}.{index}", jnp.asarray(word)) for index, word in enumerate(leaf.words))
            continue
        leaf = jnp.asarray(leaf)
        if math.prod(leaf.shape) == 0:
            continue
        if leaf.ndim:
            parts.others.append((f"{name}_" if name in _OWN_NAMES else name, leaf))
        elif leaf.dtype == jnp.uint32:
            parts.words.append((name, leaf))
        elif jnp.issubdtype(leaf.dtype, jnp.floating):
            parts.reals.append((name, leaf))
        else:
            parts.numbers.append((name, leaf))
    return parts


def _named(tree: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    """Walks through an observation: sets and arrays, named by fields and places as in "own.ammo" or "bomb_life.0"."""
    if isinstance(tree, Bits) or hasattr(tree, "dtype"):
        yield prefix, tree
        return
    if dataclasses.is_dataclass(tree):
        entries: Any = ((field.name, getattr(tree, field.name)) for field in dataclasses.fields(tree))
    elif hasattr(tree, "_asdict"):
        entries = tree._asdict().items()
    elif isinstance(tree, dict):
        entries = tree.items()
    else:
        entries = enumerate(tree)
    for name, entry in entries:
        yield from _named(entry, f"{prefix}.{name}" if prefix else str(name))


def _state_and_seat(game: Game) -> tuple[Any, Any]:
    return shapes.state_of(game), shapes.SEAT
