"""Spaces of gymnasium for what our environments show and take, and arrays as numpy has them."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from jaxgames.needed import needed
from jaxgames.observing import ArraySpec

needed("gymnasium")
from gymnasium import spaces  # noqa: E402


def space_of(spec: Any) -> spaces.Space:
    """Makes the space of a tree of array specs: dictionaries become Dict, tuples Tuple, arrays Box. Flags are uint8, 0 or 1."""
    if isinstance(spec, ArraySpec):
        dtype: Any = np.uint8 if spec.dtype == np.bool_ else spec.dtype
        return spaces.Box(spec.low, spec.high, spec.shape, dtype)
    if isinstance(spec, dict):
        return spaces.Dict({name: space_of(entry) for name, entry in spec.items()})
    if isinstance(spec, tuple | list):
        return spaces.Tuple([space_of(entry) for entry in spec])
    raise ValueError(f"observation is a {type(spec).__name__}: must be arrays, or dictionaries and tuples of arrays")


def as_numpy(tree: Any) -> Any:
    """Shows arrays of a CPU as numpy arrays without a copy, which cannot be written to; flags as uint8."""
    return jax.tree.map(_shown, tree)


def lane(tree: Any, index: int) -> Any:
    """Copies what belongs to one lane."""
    return jax.tree.map(lambda leaf: np.array(leaf[index]), tree)


def _shown(leaf: Any) -> np.ndarray:
    array = np.asarray(leaf)
    return array.view(np.uint8) if array.dtype == np.bool_ else array


def checked_actions(actions: Any, shape: tuple[int, ...], count: int) -> np.ndarray:
    """Checks actions that came from outside. Returns int32 of this shape.

    Raises:
      ValueError: another shape, no integers, or a number out of range.
    """
    given = np.asarray(actions)
    if given.shape != shape or not np.issubdtype(given.dtype, np.integer):
        raise ValueError(f"actions are {given.dtype} {list(given.shape)}: must be integers {list(shape)}")
    if given.size and (given.min() < 0 or given.max() >= count):
        wrong = int(given[(given < 0) | (given >= count)].flat[0])
        raise ValueError(f"action={wrong}: must be in 0..{count - 1}")
    return given.astype(np.int32)
