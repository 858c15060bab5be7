"""Writes small samples of recorded Pommerman games into tests/data, from a folder with the whole recordings."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import tyro

from jaxgames.pommerman import samples
from training.jobs.command_line import ROOT, run_main


@dataclasses.dataclass(frozen=True)
class Config:
    """Writes small samples of recorded Pommerman games, for tests that run anywhere."""

    source: tyro.conf.Positional[Path]
    """Folder with the whole recordings."""
    target: Path = ROOT / "tests" / "data" / "pommerman"
    """Folder for the samples."""


def main(config: Config) -> None:
    """Writes the samples and prints their sizes."""
    for path, size in samples.write_samples(config.source, config.target).items():
        print(f"{path.name}: {size} bytes")


if __name__ == "__main__":
    run_main(main, Config)
