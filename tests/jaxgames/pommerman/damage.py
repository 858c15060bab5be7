"""Damage to recorded games, and how much of it the replay notices."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from jaxgames.pommerman.replay import replay
from jaxgames.replay import BadRecording, Findings
from tests.jaxgames.pommerman.recordings import sample
from tests.jaxgames.pommerman.samples import take_episodes


@functools.cache
def small(name: str) -> dict[str, np.ndarray]:
    """A few episodes, so that hundreds of replays take little time."""
    arrays = sample(name)
    lengths = arrays["ep_len"]
    if name in ("team", "radio"):
        chosen = [np.flatnonzero(arrays["ep_kind"] == kind)[0] for kind in np.unique(arrays["ep_kind"])]
    else:
        chosen = np.argsort(-lengths, kind="stable")[: 40 if name == "ffa_conflict" else 3]
    return take_episodes(arrays, np.sort(chosen))


def faults(arrays: dict[str, np.ndarray]) -> int:
    """Number of differences; a file that is refused counts as one."""
    findings = Findings()
    try:
        replay(arrays, findings)
    except BadRecording:
        return 1
    return findings.count


def damaged(arrays: dict[str, np.ndarray], field: str, index: Any, change: int) -> dict[str, np.ndarray]:
    """The arrays with a number added to one element of a field."""
    array = arrays[field].copy()
    with np.errstate(over="ignore"):
        array[index] = array[index] + np.array(change).astype(array.dtype)
    return {**arrays, field: array}
