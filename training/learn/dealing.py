"""Deals what a learner keeps to another number of devices, when a run goes on with more or fewer of them.

Parameters are the same on all devices. Samples are dealt again, the oldest left out where not all have room. Games at work are
given up, and others that nobody has begun take their place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from training.learn.replay_buffer import Ring


def deal_rows(ring: Ring, devices: int, capacity: int, owners: Callable[[np.ndarray], np.ndarray] | None = None) -> Ring:
    """Deals the rows of the rings of D devices to other devices.

    Args:
      ring: of numpy, leaves [D * N, W], [D], [D].
      devices: how many there are now.
      capacity: of each.
      owners: `owners(rows) -> int [M]`, where rows [M, W] must go; None: in turn.

    Returns:
      Rings of numpy, leaves [devices * capacity, W], [devices], [devices].
    """
    before = len(ring.added)
    by_device = ring.rows.reshape(before, -1, ring.rows.shape[1])
    kept = [
        np.roll(rows, -int(added), 0) if size == len(rows) else rows[:size]
        for rows, added, size in zip(by_device, ring.added, ring.size, strict=True)
    ]
    age = np.concatenate([np.arange(len(rows))[::-1] for rows in kept])
    rows = np.concatenate(kept)[np.argsort(-age, kind="stable")]  # the oldest first
    place = np.arange(len(rows)) % devices if owners is None else owners(rows)
    dealt = np.zeros((devices, capacity, rows.shape[1]), rows.dtype)
    size = np.zeros(devices, np.int32)
    for device in range(devices):
        own = rows[place == device][-capacity:]
        dealt[device, : len(own)], size[device] = own, len(own)
    parts: Any = dealt.reshape(-1, rows.shape[1]), (size % capacity).astype(np.int32), size
    return Ring(*parts)


def first_not_begun(next_numbers: np.ndarray, devices: int) -> int:
    """Gives the number of the first game that nobody has begun, a multiple of `devices`.

    Args:
      next_numbers: int32 [D], the games that come next on the devices before.
      devices: how many there are now.
    """
    return -(-int(next_numbers.max()) // devices) * devices


def deal_results(results: np.ndarray, next_numbers: np.ndarray, devices: int, unfinished: int) -> tuple[np.ndarray, int]:
    """Deals what is remembered of games, where game n is the business of device n % D.

    Args:
      results: int16 [D * R, P]; game n at n // D % R of its device.
      next_numbers: int32 [D], the games that come next.
      devices: how many there are now; they divide D * R.
      unfinished: what stands for a game that is not over.

    Returns:
      int16 [D * R, P], and the number of the first game that nobody has begun, a multiple of `devices`.
    """
    before, total = len(next_numbers), len(results)
    first = first_not_begun(next_numbers, devices)
    numbers = np.arange(max(0, first - total), first)
    old = results.reshape(before, -1, results.shape[1])
    found = old[numbers % before, numbers // before % old.shape[1]]
    found[numbers >= next_numbers[numbers % before]] = unfinished
    dealt = np.full((devices, total // devices, results.shape[1]), unfinished, results.dtype)
    dealt[numbers % devices, numbers // devices % dealt.shape[1]] = found
    return dealt.reshape(total, -1), first


def is_dealt(path: str) -> bool:
    """Says whether a leaf of a state, by its path, depends on the number of devices."""
    return path.startswith(("state/learner/ring/", "state/learner/games/"))


def must_deal(learner: Any) -> bool:
    """Says whether a restored learner is one of another number of devices: its samples are not on devices then."""
    return not isinstance(learner.ring.added, jax.Array)
