"""The command line of the reference pages."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from experiments.pages import fill
from experiments.reference import games, pictures, planners, words
from training.storage.files import write_together
from training.storage.provenance import CHECKOUT


@dataclasses.dataclass(frozen=True)
class ReferenceConfig:
    """Fills the tables of docs/games and docs/planners from the code; seconds.

    Attributes:
      folder: where the folder docs is; the checkout if not given.
      pictures: draw the pictures of the games again, too; plays a game of each.
    """

    folder: Path = CHECKOUT
    pictures: bool = False


def run(config: ReferenceConfig) -> None:
    """Writes the pages again.

    Args:
      config: the command line.

    Raises:
      ValueError: the marks of a page are not those of its tables.
      OSError: a file cannot be read or written.
    """
    for name in words.games():
        fill(config.folder / words.GAMES / f"{name}.md", games.texts(name))
    for page in planners.PAGES:
        fill(config.folder / planners.FOLDER / f"{page}.md", planners.texts(page))
    if config.pictures:
        write_together({config.folder / path: svg for path, svg in pictures.draw_all().items()})
