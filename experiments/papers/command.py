"""The command line of the results pages."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import tyro

from experiments.papers import (
    alphaze_page,
    clash,
    follower,
    hero_academy,
    opponent_models,
    pommerlearn,
    pommerman,
    stratego,
    teams,
)
from jaxgames import checks
from training.storage.provenance import CHECKOUT
from training.storage.shards import shard_of

_MODULES = (pommerman, follower, pommerlearn, opponent_models, teams, alphaze_page, stratego, hero_academy, clash)
PAGES = {module.PAGE.name: module.PAGE for module in _MODULES}
FOLDER = Path("docs/results")


@dataclasses.dataclass(frozen=True)
class ResultsConfig:
    """Reproduces tables and figures of the papers; what has been measured before is read, not measured again.

    Attributes:
      page: pommerman (planners), follower (imitation), pommerlearn (searches against models),
        opponent_models (the same without networks), teams (the same in teams), alphaze (DarkHex), stratego (Barrage),
        hero_academy (planners of turns) or clash (planners in real time).
      folder: where the page, its figures and the data go.
      scale: plays so many times the number of games, for a quick look or a closer one.
      batch: games at a time; 0: as many as suit the page.
      paper: with the paper's own sizes, for an accelerator, where the page has smaller ones. Their page goes to another folder.
      part: parts of the page, in this order; all if none is named. A name that is wrong is answered with the list.
      shard: measures only share I of N, as 2/4; several may write into one folder, and the page is made from what is there.
    """

    page: tyro.conf.Positional[str] = "pommerman"
    folder: Path = FOLDER
    scale: float = 1.0
    batch: int = 0
    paper: bool = False
    part: tuple[str, ...] = ()
    shard: str = ""

    def __post_init__(self) -> None:
        shard_of(self.shard)
        if self.page not in PAGES:
            raise ValueError(f"page={self.page!r}: {checks.one_of(self.page, PAGES)}")
        checks.numbers(self, "scale", positive=True)
        if self.batch < 0:
            raise ValueError(f"batch={self.batch}: must be >= 0")
        published = self.folder.resolve() in {FOLDER.resolve(), CHECKOUT / FOLDER}
        if self.scale != 1 and published:
            raise ValueError(f"scale={self.scale}: would overwrite the page of the full numbers of games; give --folder")
        if self.paper and published:
            raise ValueError("paper=True: would overwrite the page of the smaller sizes; give --folder")


def run(config: ResultsConfig) -> None:
    """Measures what is missing and writes the page.

    Args:
      config: the command line.

    Raises:
      ValueError: the page has no such part, no numbers of games or no batch.
    """
    page = PAGES[config.page]
    usual = {field.name: field.default for field in dataclasses.fields(page.plan)}
    sizes: dict[str, int] = {
        name: max(2, 2 * round(size * config.scale / 2)) if config.scale != 1 else size  # even: matches change sides
        for name, size in usual.items()
        if name.endswith("games") and isinstance(size, int)
    }
    if config.scale != 1 and not sizes:
        raise ValueError(f"scale={config.scale}: the page {page.name} has no numbers of games")
    if config.batch:
        if "batch" not in usual:
            raise ValueError(f"batch={config.batch}: the page {page.name} takes none")
        sizes["batch"] = config.batch
    if config.paper:
        if "paper" not in usual:
            raise ValueError(f"paper=True: the page {page.name} has these sizes anyway, or none")
        sizes["paper"] = True
    page.make(page.plan(config.folder, **sizes), config.part, shard=shard_of(config.shard))
