"""Checks that many share: of settings, and of what games are given. Each is a ValueError of one line."""

from __future__ import annotations

import difflib
import math
import operator
from collections.abc import Iterable
from numbers import Real
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

COUNTS = 2**31  # compiled programs count in 32 bits
_LARGEST = float(np.finfo(np.float32).max)
_ALIKE = 0.7  # of names, 1: equal


def as_integer(value: Any) -> int | None:
    """Gives a whole number of any integer type as an int; None for everything else, 3.0 and True too."""
    if isinstance(value, (bool, np.bool_)):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def count(name: str, value: Any, low: int) -> int:
    """Gives an argument as an int; raises unless it is a whole number, `low` or more."""
    found = as_integer(value)
    if found is None:
        raise ValueError(f"{name}={value!r}: must be a whole number")
    if found < low:
        raise ValueError(f"{name}={value}: must be >= {low}")
    return found


def at_least(low: int, config: Any, *names: str) -> None:
    """Raises unless all these fields are whole numbers, `low` or more."""
    for name in names:
        if _whole(config, name) < low:
            raise ValueError(f"{name}={getattr(config, name)}: must be >= {low}")


def below(high: int, config: Any, *names: str) -> None:
    """Raises unless all these fields are whole numbers, less than `high`, such as `COUNTS`."""
    for name in names:
        if _whole(config, name) >= high:
            raise ValueError(f"{name}={getattr(config, name)}: must be < {high}")


def _whole(config: Any, name: str) -> int:
    value = getattr(config, name)
    found = None if isinstance(value, Array) else as_integer(value)  # settings decide what is compiled
    if found is None:
        raise ValueError(f"{name}={value!r}: must be a whole number")
    return found


def real(name: str, value: Any) -> Any:
    """Gives a value of this name back; raises unless it is a number."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        raise ValueError(f"{name}={value!r}: must be a number")
    return value


def number(name: str, value: Any, *, positive: bool = False) -> None:
    """Raises unless the value of this name is a finite number, 0 or more, or more than 0."""
    value = real(name, value)
    if not 0 <= value < math.inf or (positive and not value):
        finite = "" if abs(value) < math.inf else "finite and "
        raise ValueError(f"{name}={value}: must be {finite}{'>' if positive else '>='} 0")


def numbers(config: Any, *names: str, positive: bool = False) -> None:
    """Raises unless all these fields are finite and 0 or more, or more than 0."""
    for name in names:
        number(name, getattr(config, name), positive=positive)


def finite(name: str, value: Any) -> None:
    """Raises unless the value of this name is a number, of either sign, that is finite in 32 bits."""
    if not abs(real(name, value)) <= _LARGEST:
        raise ValueError(f"{name}={value}: must be a finite number of 32 bits, at most {_LARGEST:.1e} either way")


def flags(config: Any, *names: str) -> None:
    """Raises unless all these fields are True or False, or 1 or 0; a text such as "no" would count as True."""
    for name in names:
        value = getattr(config, name)
        if not isinstance(value, (bool, np.bool_)) and as_integer(value) not in (0, 1):
            raise ValueError(f"{name}={value!r}: must be True or False")


def film(states: Any) -> int:
    """Gives the steps of a game from its states, leaves [T + 1]: the start and the state after every step.

    Raises:
      ValueError: there is no step, or leaves have no axis of time in common, as those of a single state.
    """
    lengths = {np.shape(leaf)[:1] for leaf in jax.tree.leaves(states)}
    if len(lengths) != 1 or () in lengths:
        raise ValueError("states: no common axis of time; give the start and the state after every step, stacked")
    ((length,),) = lengths
    if length < 2:
        raise ValueError(f"states: {length} of them: must be at least 2, the start and the state after a step")
    return length - 1


def perhaps(given: str, known: Iterable[str]) -> str:
    """Gives "perhaps this or that?" where a name that is not known is written like one of those, else ""."""
    words = list(known)
    near = [word for word in words if word.lower() == given.lower()]
    if not near:
        near = difflib.get_close_matches(given.lower(), words, n=2, cutoff=_ALIKE)
    return f"perhaps {' or '.join(near)}?" if near else ""


def one_of(given: Any, known: Iterable[str]) -> str:
    """Gives "must be one of a, b, c" for a name that is none of these, and which of them is perhaps meant."""
    words = list(known)
    found = perhaps(str(given), words)
    return f"must be one of {', '.join(words)}{found and f' ({found})'}"


def port(config: Any) -> None:
    """Raises unless the field `port` is a number of a port; 0: any that is free."""
    if not 0 <= config.port <= 65535:
        raise ValueError(f"port={config.port}: must be in 0..65535")


def shares(config: Any, *names: str) -> None:
    """Raises unless all these fields are in 0..1."""
    within(0, 1, config, *names)


def within(low: float, high: float, config: Any, *names: str) -> None:
    """Raises unless all these fields are numbers in low..high."""
    for name in names:
        if not low <= real(name, getattr(config, name)) <= high:
            raise ValueError(f"{name}={getattr(config, name)}: must be in {low}..{high}")


def seed(config: Any) -> None:
    """Raises unless the field `seed` fits into 32 bits."""
    seed_number(_whole(config, "seed"))


def seed_number(value: Any) -> int:
    """Gives a seed as an int; raises unless it is a whole number that fits into 32 bits."""
    found = as_integer(value)
    if found is None or not 0 <= found < 2**32:
        raise ValueError(f"seed={value!r}: must be in 0..{2**32 - 1}")
    return found


def folder(config: Any) -> None:
    """Raises unless the field `output` names a folder; "" would be the present one."""
    if not config.output:
        raise ValueError("output='': must be a folder")


def split(devices: int, config: Any, *names: str) -> None:
    """Raises unless all these fields can be split over so many devices."""
    for name in names:
        if getattr(config, name) % devices:
            raise ValueError(f"{name}={getattr(config, name)}: must be a multiple of the {devices} devices")


def actions(given: Any, num_players: int, num_actions: int | None = None) -> Array:
    """Checks that these are integers, one per player; what a game's `step` and `apply` ask first.

    Of JAX arrays it looks at shape and dtype alone: inside jit it costs nothing. Other numbers are known, and must be in range.

    Args:
      given: a JAX array, or numbers of Python or numpy.
      num_players: how many.
      num_actions: of the game; None: numbers may be any.

    Returns:
      The same, int32 [P].

    Raises:
      ValueError: they are not; names the first number out of range.
    """
    array = given if isinstance(given, Array) else np.asarray(given)
    shape, kind = array.shape, array.dtype
    if not np.issubdtype(kind, np.integer) or shape != (num_players,):
        raise ValueError(f"actions of shape {shape} and type {kind}: must be integers of shape ({num_players},), one per player")
    if not isinstance(array, Array) and num_actions is not None:
        for player in np.flatnonzero((array < 0) | (array >= num_actions))[:1]:
            raise ValueError(f"action {array[player]} of player {player}: must be in 0..{num_actions - 1}")
    return jnp.asarray(array).astype(jnp.int32)


def seat(given: Any, num_players: int) -> None:
    """Raises unless this is one integer; what a game's `observe` asks first.

    A number that is known, no JAX array, must be a seat too.
    """
    number = given if isinstance(given, Array) else np.asarray(given)
    if number.shape or not np.issubdtype(number.dtype, np.integer):
        raise ValueError(f"player of shape {number.shape} and type {number.dtype}: must be one integer")
    if not isinstance(number, Array) and not 0 <= number < num_players:
        raise ValueError(f"player={given}: must be in 0..{num_players - 1}")
