"""A few games and gradient steps on two devices and on one, printed as JSON; for `test_alphaze.py`."""

import dataclasses
import hashlib
import json

import jax
import numpy as np

from jaxgames import runtime
from tests.training import tiny_alphaze
from tests.training.tiny_alphaze import CONFIG, rows_of

WHOLE = dataclasses.replace(CONFIG, method="pimc_value", updates=2)
SHARE = dataclasses.replace(WHOLE, lanes=WHOLE.lanes // 2, buffer_size=WHOLE.buffer_size // 2)


def digest(rows: np.ndarray) -> str:
    """A short text for many numbers."""
    return hashlib.sha256(rows.tobytes()).hexdigest()


def refusal(mesh) -> str:
    """What is said of lanes that cannot be split."""
    try:
        tiny_alphaze.programs(dataclasses.replace(WHOLE, lanes=3), mesh)
    except ValueError as error:
        return str(error)
    return ""


def main() -> None:
    """Plays and learns."""
    runtime.prepare(cores=2)
    key = jax.random.key(2)
    params = jax.jit(tiny_alphaze.player().init)(key)
    one_device = jax.make_mesh((1,), ("data",), devices=jax.devices()[:1], axis_types=(jax.sharding.AxisType.Auto,))
    both, alone = tiny_alphaze.programs(WHOLE), tiny_alphaze.programs(SHARE, one_device)
    learner, played = both.play["fair"](key, params, both.init(key, params))
    by_one, played_alone = alone.play["fair"](key, params, alone.init(key, params))
    rows = [digest(rows_of(learner.ring, device)) for device in (0, 1)]
    learner, learnt = both.learn(key, learner)
    leaves = [[np.asarray(shard.data) for shard in leaf.addressable_shards] for leaf in jax.tree.leaves(learner.params)]
    found = {
        "devices": jax.device_count(),
        "alone": digest(rows_of(by_one.ring)),
        "first": rows[0],
        "second": rows[1],
        "samples": int(played["samples"]),
        "samples_alone": int(played_alone["samples"]),
        "finite": bool(learnt["finite"]),
        "same_params": all(len(leaf) == 2 and np.array_equal(*leaf) for leaf in leaves),
        "changed": not np.array_equal(leaves[0][0], jax.tree.leaves(params)[0]),
        "refused": refusal(runtime.data_mesh()),
    }
    print(json.dumps(found))
