"""Small samples of recorded games, for tests that run anywhere.

python -m tests.jaxgames.pommerman.samples FOLDER_WITH_THE_RECORDINGS
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from jaxgames.pommerman import simple_cases
from jaxgames.replay import Arrays, BadRecording, read_npz

# Per file: how many episodes of each kind, and of how many steps at least (the shortest such are taken).
EPISODES = {
    "ffa_random": (6, 20),
    "ffa_simple": (1, 0),
    "ffa_kick": (10, 12),
    "ffa_conflict": (90, 3),
    "ffa_collapse": (4, 16),
    "team": (2, 40),
    "radio": (2, 10),
}
CASES = {"simple_cases": 300}


def write_samples(source: Path, target: Path) -> dict[Path, int]:
    """Writes a small sample of every recording in a folder.

    Args:
      source: the folder with the recordings.
      target: the folder for the samples, made where it is missing.

    Returns:
      The files written, with their sizes in bytes.

    Raises:
      ValueError: a recording is missing or cannot be read; then nothing is written.
    """
    samples = {}
    for name in (*EPISODES, *CASES):
        try:
            arrays = read_npz(source / f"{name}.npz")
        except BadRecording as error:
            raise ValueError(f"{source / name}.npz: {error}") from None
        if name in CASES:
            chosen = np.linspace(0, len(arrays["board"]) - 1, CASES[name]).astype(np.int64)
            samples[name] = {field: arrays[field][chosen] for field in simple_cases.SHAPES}
        else:
            episodes = shortest_of_each_kind(arrays["ep_kind"], arrays["ep_len"], *EPISODES[name])
            samples[name] = take_episodes(arrays, episodes)
    target.mkdir(parents=True, exist_ok=True)
    sizes = {}
    for name, arrays in samples.items():
        path = target / f"{name}.npz"
        np.savez_compressed(path, allow_pickle=False, **arrays)
        sizes[path] = path.stat().st_size
    return sizes


def shortest_of_each_kind(kinds: np.ndarray, lengths: np.ndarray, count: int, least: int) -> np.ndarray:
    """Gives the numbers of the `count` shortest episodes of each kind that have at least `least` steps."""
    chosen = []
    for kind in np.unique(kinds):
        long_enough = np.flatnonzero((kinds == kind) & (lengths >= least))
        chosen.append(long_enough[np.argsort(lengths[long_enough], kind="stable")][:count])
    return np.sort(np.concatenate(chosen))


def take_episodes(arrays: Mapping[str, np.ndarray], episodes: Sequence[int] | np.ndarray) -> Arrays:
    """Makes a recording of some episodes of a sound one.

    Args:
      arrays: a recording.
      episodes: their numbers, in any order.
    """
    chosen = np.asarray(episodes, np.int64)
    length = arrays["ep_len"][chosen].astype(np.int64)
    rows = {}
    for letter, field, more in (("s", "ep_state0", 1), ("a", "ep_trans0", 0)):
        first = arrays[field][chosen].astype(np.int64)
        rows[letter] = np.concatenate([np.arange(f, f + n + more) for f, n in zip(first, length, strict=True)])
    rows |= {"o": rows["s"], "ep": chosen}
    taken = {name: array[rows[name.split("_")[0]]] for name, array in arrays.items()}
    for field, sizes in (("ep_state0", length + 1), ("ep_trans0", length)):
        taken[field] = (np.cumsum(sizes) - sizes).astype(arrays[field].dtype)
    return taken


if __name__ == "__main__":
    for path, size in write_samples(Path(sys.argv[1]), Path(__file__).resolve().parents[2] / "data" / "pommerman").items():
        print(f"{path.name}: {size} bytes")
