"""Makes the pages in docs/results: `python scripts/results.py pommerman` (takes hours on two cores)."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import tyro

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # experiments are part of a checkout alone

from experiments.papers import alphaze, alphaze_page, follower, hero_academy, hero_page, pommerman
from training.jobs.command_line import ROOT, run_main

PAGES = ("pommerman", "follower", "alphaze", "hero_academy")


@dataclasses.dataclass(frozen=True)
class Config:
    """Reproduces tables and figures of the papers; what has been played before is read, not played again."""

    page: tyro.conf.Positional[str] = "pommerman"
    """Which page: pommerman (planners), follower (imitation), alphaze (DarkHex) or hero_academy (planners of turns)."""
    folder: Path = Path("docs/results")
    """Where the page, its figures and the data go."""
    scale: float = 1.0
    """Plays so many times the number of games, for a quick look or a closer one; planners only."""
    batch: int = 256
    """Games at a time; planners only."""
    part: tuple[str, ...] = ()
    """Of the page alphaze: 2x2, 3x3, 5x5, 8x8, time, 11x11; of hero_academy: table2, budgets, extras, outcomes, hidden, actions;
    all if none is named."""


def main(config: Config) -> None:
    """Plays what is missing and writes the page."""
    if config.page not in PAGES:
        raise ValueError(f"page={config.page!r}: must be one of {', '.join(PAGES)}")
    if config.page == "follower":
        follower.make(follower.Plan(config.folder))
        return
    if config.page == "alphaze":
        alphaze.make(alphaze.Plan(config.folder), alphaze_page.write_page, config.part)
        return
    if config.page == "hero_academy":
        hero_academy.make(hero_academy.Plan(config.folder), hero_page.write_page, config.part)
        return
    if config.scale <= 0:
        raise ValueError(f"scale={config.scale}: must be > 0")
    if config.scale != 1 and config.folder.resolve() in {folder.resolve() for folder in (Config.folder, ROOT / Config.folder)}:
        raise ValueError(f"scale={config.scale}: would overwrite the page of the full numbers of games; give --folder")
    sizes = {
        field.name: max(1, round(field.default * config.scale))
        for field in dataclasses.fields(pommerman.Plan)
        if field.name.endswith("games") and isinstance(field.default, int)
    }
    pommerman.make(pommerman.Plan(config.folder, batch=config.batch, **sizes))


if __name__ == "__main__":
    run_main(main, Config)
