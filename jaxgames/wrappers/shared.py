"""What the wrappers share: environments, one object for equal settings, and pictures.

Libraries make many environments of a kind, which are so compiled once.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import jaxgames
from jaxgames import checks, raster, runtime
from jaxgames.abilities import can_be_drawn, can_be_written
from jaxgames.registration import registered, variants_of

ANSI, PIXELS, SVG = RENDER_MODES = ("ansi", "rgb_array", "svg")
RENDER_FPS = 4
_KEPT = 32  # environments


def shared(kind: Any, game: Any, settings: Mapping[str, Any], also: Sequence[str] = (), **fixed: Any) -> Any:
    """Makes an environment, or gives the one that was made with these settings; JAX is prepared, if nothing has started it.

    Args:
      kind: `Environment` or `MultiEnvironment`, which hold no state.
      game: an id or name as `jaxgames.make` takes it, or a game.
      settings: of the environment, as given by a user. With one that cannot be hashed, such as a list of opponents, it is made
        anew.
      also: names of settings that the caller has besides, for messages.
      **fixed: settings that a user cannot give.

    Raises:
      TypeError: there is no such setting.
    """
    names = [field.name for field in dataclasses.fields(kind) if field.init and field.name not in ("game", *fixed)]
    for name, value in settings.items():
        if name not in names:
            raise TypeError(f"{name}={value!r}: no such setting; {checks.one_of(name, ['game', *also, *sorted(names)])}")
    if not runtime.backend_is_running():
        runtime.prepare()
    if isinstance(game, str):
        game = jaxgames.make(game)
    try:
        hash((game, *settings.values()))
    except TypeError:
        return kind(game, **settings, **fixed)
    return _made(kind, game, **settings, **fixed)


def name_of(game: Any, given: Any) -> str:
    """Names a game, and where they are known its variant and version, as an id does: "hex-adh-5-v1".

    Args:
      game: the game.
      given: what it was made of: an id, another name, or the game.
    """
    if isinstance(given, str) and "-" in given:
        return given
    if (known := registered(game.name)) is None:
        return str(game.name)
    listed = (one.id for one in variants_of(game.name) if jaxgames.make(one.id) == game)
    return next(listed, f"{game.name}-v{known.version}")


class Renderer:
    """The pictures of one environment.

    Attributes:
      modes: the ways in which the game can be rendered.

    Raises:
      ValueError: another way is wanted.
      ImportError: what it needs is not installed.
    """

    def __init__(self, game: Any, mode: str | None) -> None:
        self.modes = render_modes(game, mode)
        self._game, self._mode = game, mode
        self._size: tuple[int, int] | None = None  # of the first frame, and so of all

    def frame(self, state: Any) -> Any:
        """Renders a state, numpy leaves without batch axis; None without a mode."""
        if self._mode is None:
            return None
        if self._mode == ANSI:
            return self._game.to_text(state)
        svg = self._game.draw(state)
        if self._mode == SVG:
            return svg
        pixels = raster.to_array(svg, size=self._size)
        self._size = pixels.shape[:2]
        return pixels


def render_modes(game: Any, wanted: str | None) -> list[str]:
    """Gives the ways in which a game can be rendered: none, where it has no pictures; pixels, where their libraries are there.

    Raises:
      ValueError: another one is wanted.
      ImportError: pixels are wanted, and a library of theirs is not installed.
    """
    modes = [ANSI] * can_be_written(game)
    if can_be_drawn(game):
        if wanted == PIXELS:
            raster.check_installed()
        modes += [PIXELS] * raster.is_installed() + [SVG]
    if wanted is not None and wanted not in modes:
        named = f"{', '.join(modes)} or None" if modes else "None: no pictures"
        raise ValueError(f"render_mode={wanted!r}: must be {named}")
    return modes


# Typed: True is refused where 1 is not.
@functools.lru_cache(maxsize=_KEPT, typed=True)
def _made(kind: Any, game: Any, **settings: Any) -> Any:
    return kind(game, **settings)
