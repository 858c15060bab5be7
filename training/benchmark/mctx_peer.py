"""Times mctx on the same work as `hex/puct_*`; in a process of its own, because mctx cannot be compiled with multi-output fusion.

Started as `python -m training.benchmark.mctx_peer SIZE BATCH SIMULATIONS`; prints one JSON line.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from typing import Any

from jaxgames import runtime


def main(size: int, batch: int, simulations: int, repeats: int = 3) -> None:
    """Measures and prints."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    os.environ.pop("XLA_FLAGS", None)  # those of the caller
    runtime.prepare(cores=cores, multi_output_fusion=False)
    import jax
    import jax.numpy as jnp
    import mctx

    from jaxgames import random_bits
    from jaxgames.hex import Hex, HexConfig, rules
    from training.benchmark.hex import START_MOVES, random_cell

    jax.config.update("jax_enable_compilation_cache", False)
    game = Hex(HexConfig(size))
    cells = size * size

    def start(key: Any) -> Any:
        lane = random_bits.lane_key(key)

        def attempt(state: Any, clock: Any) -> tuple[Any, None]:
            return rules.step(game.config, state, random_cell(game.config, state, random_bits.fold(lane, clock))), None

        return jax.lax.scan(attempt, game.init(), jnp.arange(START_MOVES))[0]

    def illegal(states: Any) -> Any:
        legal = jax.vmap(lambda state: game.config.grid.to_bool(rules.legal_cells(game.config, state)).reshape(-1))(states)
        return ~legal

    def recurrent(params: Any, key: Any, action: Any, before: Any) -> tuple[Any, Any]:
        del params, key
        after = jax.vmap(lambda state, cell: rules.step(game.config, state, cell))(before, action)
        reward = jax.vmap(rules.winner)(after) * jnp.where(before.player == 0, 1.0, -1.0)
        output = mctx.RecurrentFnOutput(
            reward=jnp.where(before.terminated, 0.0, reward),
            discount=jnp.where(after.terminated, 0.0, -1.0),
            prior_logits=jnp.where(illegal(after), jnp.finfo(jnp.float32).min, 0.0),
            value=jnp.zeros(batch),
        )
        return output, after

    def search(key: Any, states: Any) -> Any:
        root = mctx.RootFnOutput(prior_logits=jnp.zeros((batch, cells)), value=jnp.zeros(batch), embedding=states)
        return mctx.muzero_policy(
            None, key, root, recurrent, simulations, invalid_actions=illegal(states), dirichlet_fraction=0.0
        ).action_weights

    key = jax.random.key(0)
    states = jax.vmap(start)(jax.random.split(key, batch))
    begun = time.perf_counter()
    compiled = jax.jit(search).lower(key, states).compile()
    compile_seconds = time.perf_counter() - begun
    jax.block_until_ready(compiled(key, states))
    laps = []
    for repeat in range(repeats):
        begun = time.process_time()
        jax.block_until_ready(compiled(jax.random.fold_in(key, repeat), states))
        laps.append(time.process_time() - begun)
    print(json.dumps({"cpu_seconds": statistics.median(laps), "compile_seconds": compile_seconds}), flush=True)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
