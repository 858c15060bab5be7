"""Pictures as pixels: our SVG, drawn by resvg with the fonts that matplotlib brings. Both come with the extra `viz`."""

from __future__ import annotations

import functools
import importlib.util
import io
from pathlib import Path
from typing import Any

import numpy as np

from jaxgames.needed import needed

WIDTH = 640  # pixels, where nothing else is said
_FAMILY, _FONTS = "DejaVu Sans", ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf")  # others cost time
_GROUND = "#ffffff"
_LIBRARIES = ("resvg_py", "PIL", "matplotlib")


def is_installed() -> bool:
    """Says whether the libraries are there; they are not imported."""
    return all(importlib.util.find_spec(name) is not None for name in _LIBRARIES)


def check_installed() -> None:
    """Raises an ImportError that says how to install the first library that is not there."""
    for name in _LIBRARIES:
        needed(name, "viz")


def to_image(svg: str, width: int = WIDTH, size: tuple[int, int] | None = None) -> Any:
    """Draws SVG text on white.

    Args:
      svg: the picture; it does not move.
      width: in pixels; the height follows, an even number, as films need it.
      size: height and width in place of that: the picture is as large as fits, in the middle of white.

    Returns:
      An RGB image of pillow.

    Raises:
      ImportError: a library is not installed, and the message says how to install it.
      ValueError: the text is no SVG, or it has no size.
    """
    check_installed()
    from PIL import Image

    image = _drawn(svg, width=size[1] if size else width)
    size = size or (image.height + image.height % 2, image.width)
    if image.size == size[::-1]:
        return image
    if image.height > size[0]:
        image = _drawn(svg, height=size[0])
    whole = Image.new("RGB", size[::-1], _GROUND)
    whole.paste(image, ((size[1] - image.width) // 2, (size[0] - image.height) // 2))
    return whole


def to_array(svg: str, width: int = WIDTH, size: tuple[int, int] | None = None) -> np.ndarray:
    """Draws SVG text on white: uint8 [H, W, 3]; see `to_image`."""
    return np.array(to_image(svg, width, size))


def _drawn(svg: str, width: int | None = None, height: int | None = None) -> Any:
    import resvg_py
    from PIL import Image

    try:
        png = resvg_py.svg_to_bytes(
            svg_string=svg,
            width=width,
            height=height,
            background=_GROUND,
            skip_system_fonts=True,
            font_files=_fonts(),
            font_family=_FAMILY,
            sans_serif_family=_FAMILY,
        )
    except ValueError as error:
        raise ValueError(f"svg={svg[:40]!r}: cannot be drawn: {error}") from None
    return Image.open(io.BytesIO(png)).convert("RGB")


@functools.cache
def _fonts() -> list[str]:
    import matplotlib

    return [str(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / name) for name in _FONTS]
