"""Environments of equal settings are one object, so that many of a kind, as libraries make them, are compiled once."""

from __future__ import annotations

import functools
from typing import Any

import jaxgames
from jaxgames import runtime
from jaxgames.abilities import can_be_drawn

_KEPT = 32  # environments


def shared(kind: Any, game: Any, **settings: Any) -> Any:
    """Makes an environment, or gives the one that was made with these settings; JAX is prepared, if nothing has started it.

    Args:
      kind: `Environment` or `MultiEnvironment`, which hold no state.
      game: an id or name as `jaxgames.make` takes it, or a game.
      **settings: of the environment. With one that cannot be hashed, such as a list of opponents, it is made anew.
    """
    if not runtime.backend_is_running():
        runtime.prepare()
    if isinstance(game, str):
        game = jaxgames.make(game)
    try:
        hash((game, *settings.values()))
    except TypeError:
        return kind(game, **settings)
    return _made(kind, game, **settings)


def render_modes(game: Any, wanted: str | None) -> list[str]:
    """Gives the ways in which a game can be rendered: none, where it has no pictures.

    Raises:
      ValueError: another one is wanted.
    """
    modes = ["svg"] if can_be_drawn(game) else []
    if wanted is not None and wanted not in modes:
        raise ValueError(f"render_mode={wanted!r}: must be {'svg or ' if modes else ''}None" + ("" if modes else ": no pictures"))
    return modes


# Typed: True is refused where 1 is not.
@functools.lru_cache(maxsize=_KEPT, typed=True)
def _made(kind: Any, game: Any, **settings: Any) -> Any:
    return kind(game, **settings)
