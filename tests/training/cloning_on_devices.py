"""A few episodes of cloning, on as many devices and lanes as are asked for, whose samples are printed; for `test_cloning.py`."""

import dataclasses
import hashlib
import json

import jax
import numpy as np

from jaxgames import runtime
from tests.training import tiny
from training.learn.dagger import Dagger, DaggerConfig

BATTLES = 5
CONFIG = DaggerConfig(
    method="cloning",
    episodes=BATTLES,
    batch_size=4,
    updates_per_step=0.5,
    buffer_size=2048,
    target="values",
    temperature=0.1,
    symmetries=True,
    stop_when_quiet=12,
)


def root_key() -> jax.Array:
    """Of all episodes; made only when JAX is prepared."""
    return jax.random.key(5)


def clone(lanes: int, steps: int):
    """Plays all episodes. Returns what learns, its last state, and the last metrics."""
    key = root_key()
    config = dataclasses.replace(CONFIG, lanes=lanes, steps=steps)
    dagger = Dagger(config, tiny.network(), tiny.drawing_oracle(), runtime.data_mesh())
    learner = dagger.init(key, jax.jit(dagger.who.init)(key))
    while True:
        learner, metrics = dagger.iterate(key, None, learner)
        if metrics["episodes"] >= BATTLES:
            return dagger, learner, jax.device_get(metrics)


def summary(learner, metrics) -> dict:
    """What must not depend on lanes and devices."""
    rows = tiny.as_set(tiny.rows_of(learner.ring))
    return {
        "samples": len(rows),
        "digest": hashlib.sha256(b"".join(rows)).hexdigest(),
        "steps": int(metrics["steps"]),
        "updates": int(metrics["updates"]),
        "episodes": int(metrics["episodes"]),
        "busy": int((np.asarray(learner.games.lanes.number) < BATTLES).sum()),
        "finite": bool(metrics["finite"]),
    }


def main(devices: int) -> None:
    """Plays on so many devices; also tells whether all of them hold the same parameters."""
    runtime.prepare(cores=devices)
    _, learner, metrics = clone(lanes=4, steps=8)
    copies = [[np.asarray(shard.data) for shard in leaf.addressable_shards] for leaf in jax.tree.leaves(learner.params)]
    same = all(len(parts) == devices and all(np.array_equal(part, parts[0]) for part in parts) for parts in copies)
    print(json.dumps([jax.device_count(), same, summary(learner, metrics)]))
