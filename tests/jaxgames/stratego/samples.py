"""Cuts a few games out of each file of recordings: `python -m tests.jaxgames.stratego.samples FOLDER_WITH_THE_RECORDINGS`."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

SAMPLES = Path(__file__).resolve().parents[2] / "data" / "stratego"
# Games of yorktown must be the first ones, because every 97th row of a file stands as text.
GAMES = {
    "yorktown_barrage": (0, 1, 2, 3),
    "yorktown_stratego": (0, 1),
    "stratego_env_barrage": (1, 6, 7, 8),
    "stratego_env_barrage_osc": (1, 3, 5),
    "stratego_env_stratego": (3,),
}
_SAMPLED = 97


def cut(arrays: dict[str, np.ndarray], games: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Gives the arrays of some games of a file."""
    offsets, legal_offsets = (arrays[name].astype(int) for name in ("offsets", "legal_offsets"))
    rows = np.concatenate([np.arange(offsets[game], offsets[game + 1]) for game in games])
    inside = np.concatenate([np.arange(legal_offsets[row], legal_offsets[row + 1]) for row in rows])
    found = {
        "offsets": _added(np.diff(offsets)[list(games)]),
        "legal_offsets": _added(np.diff(legal_offsets)[rows]),
        "legal": arrays["legal"][inside],
    }
    tensors = np.isin(arrays["tensor_row"], rows) if "tensor_row" in arrays else None
    for name, array in arrays.items():
        if name in found:
            continue
        if name.startswith("tensor"):
            found[name] = array[tensors]
        elif name.startswith("sample"):
            found[name] = array[: -(-len(rows) // _SAMPLED)]
        elif array.ndim and len(array) == offsets[-1]:
            found[name] = array[rows]
        else:
            found[name] = array[list(games)] if array.ndim else array
    return found


def _added(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)


if __name__ == "__main__":
    SAMPLES.mkdir(exist_ok=True)
    for stem, chosen in GAMES.items():
        with np.load(Path(sys.argv[1]) / f"{stem}.npz") as file:
            np.savez_compressed(SAMPLES / f"{stem}.npz", **cut(dict(file), chosen))
