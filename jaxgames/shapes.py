"""Shapes of what games make and show, traced once per variant however often planners and environments ask for them."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.game import Game, HiddenGame

SEAT = jax.ShapeDtypeStruct((), jnp.int32)


def shapes_of(game: Any, method: str, *arguments: Any, **settings: Any) -> Any:
    """Gives what `jax.eval_shape` gives for a method of a game, and remembers it for all equal games.

    Args:
      game: any.
      method: by name.
      *arguments: arrays or their shapes.
      **settings: of the method, hashable; they are not traced.

    Returns:
      The result with `jax.ShapeDtypeStruct` in place of arrays.
    """
    return _compiled(game, method, tuple(settings.items())).eval_shape(*arguments)


def state_of(game: Game) -> Any:
    """The shapes of a state."""
    return shapes_of(game, "init", jax.eval_shape(lambda: jax.random.key(0)))


def observation_of(game: Game) -> Any:
    """The shapes of what a player observes."""
    return shapes_of(game, "observe", state_of(game), SEAT)


def information_of(game: HiddenGame) -> Any:
    """The shapes of what a player knows."""
    return shapes_of(game, "init_information", SEAT, observation_of(game))


def batched(example: Any, batch: int) -> Any:
    """The shapes of a batch of what has those of an example."""
    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct((batch, *leaf.shape), leaf.dtype), example)


@functools.lru_cache(maxsize=256)
def _compiled(game: Any, method: str, settings: tuple[tuple[str, Any], ...]) -> Any:
    """One function for equal games: JAX remembers its traces by the function, and methods of two objects are never the same."""
    return jax.jit(functools.partial(getattr(game, method), **dict(settings)))


def leading_axes(game: Game, state: Any) -> int:
    """Gives how many axes states have before those of one state of a game.

    Raises:
      ValueError: these are no states of the game.
    """
    form = state_of(game)
    if str(jax.tree.structure(state)) != str(jax.tree.structure(form)):
        raise ValueError(f"state is a {type(state).__name__}: must be a state of {game.name}")
    return np.ndim(jax.tree.leaves(state)[0]) - len(jax.tree.leaves(form)[0].shape)
