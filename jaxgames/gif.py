"""Recorded games as animated GIFs, for places that show no SVG. The extra `viz` brings what is needed."""

from __future__ import annotations

import io
import math
import os
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxgames import checks, raster
from jaxgames.abilities import can_be_drawn
from jaxgames.game import Game

MOST_FRAMES = 300
SECONDS, SECONDS_AT_END = 0.25, 3.0
_LONGEST = 600.0
_COLOURS, _APART = 255, 8  # pillow wants one to spare


def check_possible(game: Game) -> None:
    """Raises where there can be no GIF.

    Raises:
      ValueError: the game has no pictures.
      ImportError: a library is not installed, and the message says how to install it.
    """
    if not can_be_drawn(game):
        raise ValueError(f"game={game.name!r}: has no pictures")
    raster.check_installed()


def write_gif(
    path: str | os.PathLike[str],
    game: Game,
    states: Any,
    *,
    names: Sequence[str] = (),
    width: int = raster.WIDTH,
    seconds: float = SECONDS,
) -> None:
    """Writes a game as a GIF that plays for ever; the file appears when it is whole.

    Args:
      path: of the file.
      game: the game.
      states: leaves [T + 1], the start and the state after every step. Of more than 300 every second, third, ... is shown.
      names: of the players, or none for the usual ones.
      width: in pixels.
      seconds: for each picture; the last one stays for 3.

    Raises:
      ValueError: the game has no pictures, the states are no such leaves, or a width or time is not possible.
      ImportError: a library is not installed, and the message says how to install it.
      OSError: the file cannot be written.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"path={str(path)!r}: there is no folder {str(target.parent)!r}")
    whole = to_gif(game, states, names=names, width=width, seconds=seconds)
    temporary = target.with_name(f".{target.name[:80]}.{uuid.uuid4().hex}")
    try:
        temporary.write_bytes(whole)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def to_gif(game: Game, states: Any, *, names: Sequence[str] = (), width: int = raster.WIDTH, seconds: float = SECONDS) -> bytes:
    """Gives the bytes of the file; see `write_gif`."""
    check_possible(game)
    width = checks.count("width", width, 1)
    checks.number("seconds", seconds)
    if not 0.02 <= seconds <= _LONGEST:
        raise ValueError(f"seconds={seconds}: must be in 0.02..{_LONGEST:.0f}, which is what programs can show")
    checks.film(states)
    images = _images(game, jax.device_get(states), names, width)
    palette = _palette(images)
    # Without dithering what has not changed stays equal, and is not stored again.
    first, *rest = (image.quantize(palette=palette, dither=0) for image in images)
    durations = [round(1000 * seconds)] * len(rest) + [round(1000 * SECONDS_AT_END)]
    file = io.BytesIO()
    first.save(file, "GIF", save_all=True, append_images=rest, duration=durations, loop=0)
    return file.getvalue()


def _images(game: Any, states: Any, names: Sequence[str], width: int) -> list[Any]:
    """Draws the states that are shown, the last one always; all of the size of the first."""
    last = len(jax.tree.leaves(states)[0]) - 1
    stride = max(math.ceil(last / (MOST_FRAMES - 1)), 1)
    images: list[Any] = []
    for index in (*range(0, last, stride), last):
        svg = game.draw(jax.tree.map(lambda leaf: leaf[index], states), names=names)  # noqa: B023
        size = (images[0].height, images[0].width) if images else None
        images.append(raster.to_image(svg, width, size))
    return images


def _palette(images: Sequence[Any]) -> Any:
    """Chooses the most frequent colours of the first picture, the last one and two between, but none that are nearly the same.

    Of neighbours pillow would take the wrong one, as it looks colours up by their upper six bits.
    """
    from PIL import Image

    pixels = np.concatenate([np.asarray(images[index * (len(images) - 1) // 3]).reshape(-1, 3) for index in range(4)])
    found, counts = np.unique(pixels.astype(np.int32) @ np.array([1 << 16, 1 << 8, 1], np.int32), return_counts=True)
    colours = np.stack([found >> 16, found >> 8 & 255, found & 255], 1)[np.argsort(-counts, stable=True)]
    chosen: list[np.ndarray] = []
    while len(colours) and len(chosen) < _COLOURS:
        chosen.append(colours[0])
        colours = colours[np.abs(colours - colours[0]).max(1) >= _APART]
    palette = Image.new("P", (1, 1))
    palette.putpalette(np.array(chosen, np.uint8).tobytes())
    return palette
