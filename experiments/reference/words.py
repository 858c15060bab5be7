"""What the tables of both kinds of pages share: which games have a page, their variants, and how values and words are written."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import jaxgames
from jaxgames.specs import EMPTY
from training.storage.provenance import CHECKOUT

GAMES = Path("docs/games")
_FORMS = {"ap": "ap-N"}  # variants with a number: how they are written, and one of them
_EXAMPLES = {"ap": "ap-15"}


def games() -> tuple[str, ...]:
    """The games that have a page."""
    return tuple(sorted(path.stem for path in (CHECKOUT / GAMES).glob("*.md") if path.stem != "index"))


@functools.cache
def variants(name: str) -> dict[str, Any]:
    """Makes every variant of a game, by the form of its name."""
    found = {variant: _EXAMPLES.get(variant, variant) for variant in jaxgames.registration(name).variants}
    return {_FORMS.get(variant, variant): jaxgames.make(name, mode) for variant, mode in found.items()}


def written(value: Any) -> str:
    """Writes a setting as command lines take it; a long one is cut."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, tuple):
        joint = "/" if any(isinstance(one, tuple) for one in value) else "+"
        text = joint.join(map(written, value))
        return (text if len(text) <= 40 else f"{text[:36]}...") or EMPTY
    return f"{value:.6g}" if isinstance(value, float) else str(value) if value != "" else EMPTY


def cell(text: str) -> str:
    """Writes words so that they stay in their cell of a table."""
    return text.replace("|", "\\|").replace("**", "\\*\\*")
