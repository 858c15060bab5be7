"""The job that replays recorded games."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import tyro

from jaxgames import replay


@dataclasses.dataclass(frozen=True)
class ReplayConfig:
    """Replays recorded games of a reference implementation; exit code 0 only if there are some and nothing differs."""

    game: tyro.conf.Positional[str]
    """Which game: pommerman, hex, hero_academy, clash or stratego."""
    files: tyro.conf.Positional[tuple[Path, ...]]
    """Recordings (npz); of clash, interactions (JSON)."""
    shown: int = replay.SHOWN_DIFFERENCES
    """How many differences to print per file."""


def run(config: ReplayConfig) -> int:
    """Replays the files; returns the exit code."""
    return replay.replay_files(config.game, config.files, shown=config.shown)
