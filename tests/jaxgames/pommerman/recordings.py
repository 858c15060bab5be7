"""The recorded games that tests run on: small samples in the checkout, and the whole set where it lies beside it."""

from __future__ import annotations

import functools

import numpy as np

from jaxgames.pommerman import interop
from jaxgames.pommerman.config import PommermanConfig, preset
from jaxgames.pommerman.state import State
from jaxgames.replay import read_npz
from tests import recordings

SAMPLES = recordings.SAMPLES / "pommerman"
WHOLE, beside = recordings.whole("pommerman")
GAMES = ("ffa_random", "ffa_simple", "ffa_kick", "ffa_conflict", "ffa_collapse", "team", "radio")
CASES = "simple_cases"


@functools.cache
def sample(name: str) -> dict[str, np.ndarray]:
    """The arrays of one sample; not to be changed."""
    return read_npz(SAMPLES / f"{name}.npz")


def config_of(name: str) -> PommermanConfig:
    return preset("ffa" if name.startswith("ffa") and name != "ffa_collapse" else name)


def states(name: str, count: int | None = None) -> tuple[PommermanConfig, dict[str, np.ndarray], State]:
    """The variant, the state arrays and the states of a sample; `count` of them, spread evenly."""
    arrays = {field: array for field, array in sample(name).items() if field.startswith(("s_", "o_"))}
    if count is not None:
        rows = np.linspace(0, len(arrays["s_board"]) - 1, count).astype(int)
        arrays = {field: array[rows] for field, array in arrays.items()}
    config = config_of(name)
    return config, arrays, interop.from_arrays(config, arrays)
