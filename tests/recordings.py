"""Recorded games: samples in the checkout, the whole sets where they lie beside it, and their replay."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from jaxgames.replay import Findings

SAMPLES = Path(__file__).resolve().parent / "data"
DATA_SET = SAMPLES / "data_sets" / "data_0.zr"  # of games that random players have played
_WHOLE = Path(__file__).resolve().parents[2] / "shared" / "data"


def whole(name: str) -> tuple[Path, pytest.MarkDecorator]:
    """Gives the folder of a whole set, and the mark of tests that need it."""
    folder = _WHOLE / name
    return folder, pytest.mark.skipif(not folder.is_dir(), reason="the whole recordings do not lie beside the checkout")


def replayed(replay: Callable, arrays: Mapping[str, np.ndarray]) -> tuple[int, Findings]:
    """Replays recorded games. Gives the number of transitions, and what differed."""
    findings = Findings()
    return replay(arrays, findings), findings
