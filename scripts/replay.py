"""Replays recorded games of a reference implementation and tells every difference.

Example: python scripts/replay.py pommerman tests/data/pommerman/*.npz
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import tyro

from jaxgames import replay
from scripts import _common


@dataclasses.dataclass(frozen=True)
class Config:
    """Replays recorded games of a reference implementation; exit code 0 only if there are some and nothing differs."""

    game: tyro.conf.Positional[str]
    """Which game: pommerman, hex or hero_academy."""
    files: tyro.conf.Positional[tuple[Path, ...]]
    """Recordings (npz)."""
    shown: int = replay.SHOWN_DIFFERENCES
    """How many differences to print per file."""


def main(config: Config) -> int:
    """Replays the files; returns the exit code."""
    return replay.replay_files(config.game, config.files, shown=config.shown)


if __name__ == "__main__":
    _common.run_main(main, Config)
