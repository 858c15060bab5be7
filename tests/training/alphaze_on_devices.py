"""A few games and gradient steps on two devices and on one, printed as JSON; for `test_alphaze.py`."""

import dataclasses
import json

import jax
import numpy as np

from jaxgames import runtime
from tests.training import tiny_alphaze
from tests.training.tiny_alphaze import CONFIG, rows_of

WHOLE = dataclasses.replace(CONFIG, method="pimc_value", updates=2)


STEP = 3  # games differ by then, and none is over


def policies(programs, learner, device: int = 0) -> np.ndarray:
    """What one step of all lanes of a device stored: float16 [lanes, K]."""
    rows = rows_of(learner.ring, device).reshape(-1, programs.games.pool.lanes, learner.ring.rows.shape[1])[STEP]
    return np.asarray(jax.vmap(programs.updates.packing.unpack)(rows).policy)


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
    both, alone = tiny_alphaze.programs(WHOLE), tiny_alphaze.programs(WHOLE, one_device)
    learner, played = both.play["fair"](key, params, both.init(key, params))
    by_one, played_alone = alone.play["fair"](key, params, alone.init(key, params))
    parts = [policies(both, learner, device) for device in (0, 1)]
    games = np.stack(parts, axis=1).reshape(-1, parts[0].shape[1])  # game i on device i % 2
    learner, learnt = both.learn(key, learner)
    leaves = [[np.asarray(shard.data) for shard in leaf.addressable_shards] for leaf in jax.tree.leaves(learner.params)]
    found = {
        "devices": jax.device_count(),
        "same_games": bool(np.allclose(games, policies(alone, by_one), atol=1e-2)),
        "games_differ": len(np.unique(games, axis=0)),
        "samples": int(played["samples"]),
        "samples_alone": int(played_alone["samples"]),
        "finite": bool(learnt["finite"]),
        "same_params": all(len(leaf) == 2 and np.array_equal(*leaf) for leaf in leaves),
        "changed": not np.array_equal(leaves[0][0], jax.tree.leaves(params)[0]),
        "refused": refusal(runtime.data_mesh()),
    }
    print(json.dumps(found))
