"""Games that several processes play together, and the bits of what they find; light enough for many processes."""

from __future__ import annotations

import hashlib
from typing import Any

import jax
import numpy as np

from jaxgames import processes
from tests.tug import Tug, random_player
from training.play import evaluate


def games() -> str:
    """Games of random players, more than lanes."""
    agents = [random_player(), random_player()]
    played = evaluate.play(Tug(slips=True), agents, jax.random.key(3), 21, batch_size=8, record=21)
    names = ("outcomes", "survived", "seats", "lengths", "moves", "actions")
    return digest([getattr(played, name) for name in names])


def digest(tree: Any) -> str:
    """A short name for the bits of arrays, of whatever process."""
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(processes.fetch(tree))]
    return hashlib.sha256(b"".join(leaf.tobytes() for leaf in leaves)).hexdigest()[:16]
