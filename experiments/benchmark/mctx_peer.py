"""Times mctx on the same work as `hex/puct_*`; in a process of its own, because mctx cannot be compiled with multi-output fusion.

Started as `python -m experiments.benchmark.mctx_peer SIZE BATCH SIMULATIONS SEED VALUES`; prints one JSON line.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from jaxgames import runtime


def visits_of_mctx(game: Any, evaluate: Callable[[Any], tuple[Any, Any]], simulations: int) -> Callable[[Any, Any], Any]:
    """Makes a search of Hex by `mctx.muzero_policy`.

    Args:
      game: Hex.
      evaluate: `evaluate(states [B]) -> (logits [B, K], value [B])` for the player to move.
      simulations: per search.

    Returns:
      `search(key, states [B])`, the visit counts of the roots, [B, K].
    """
    import jax
    import jax.numpy as jnp
    import mctx

    from jaxgames.hex import rules

    def illegal(states: Any) -> Any:
        legal = jax.vmap(lambda state: game.config.grid.to_bool(rules.legal_cells(game.config, state)).reshape(-1))(states)
        return ~legal

    def recurrent(params: Any, key: Any, action: Any, before: Any) -> tuple[Any, Any]:
        del params, key
        after = jax.vmap(lambda state, cell: rules.step(game.config, state, cell))(before, action)
        reward = jax.vmap(rules.winner)(after) * jnp.where(before.player == 0, 1.0, -1.0)
        logits, value = evaluate(after)
        output = mctx.RecurrentFnOutput(
            reward=jnp.where(before.terminated, 0.0, reward),
            discount=jnp.where(after.terminated, 0.0, -1.0),
            prior_logits=jnp.where(illegal(after), jnp.finfo(jnp.float32).min, logits),
            value=jnp.where(after.terminated, 0.0, value),
        )
        return output, after

    def search(key: Any, states: Any) -> Any:
        logits, value = evaluate(states)
        found = mctx.muzero_policy(
            None,
            key,
            mctx.RootFnOutput(prior_logits=logits, value=value, embedding=states),
            recurrent,
            simulations,
            invalid_actions=illegal(states),
            dirichlet_fraction=0.0,
            temperature=0.0,
        )
        return found.search_tree.summary().visit_counts

    return search


def main(size: int, batch: int, simulations: int, seed: int, repeats: int = 3, *, values: str) -> None:
    """Measures and prints; `values` is a name of `OPINIONS`."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    os.environ.pop("XLA_FLAGS", None)  # those of the caller
    runtime.prepare(cores=cores, multi_output_fusion=False)
    import jax
    import jax.numpy as jnp

    from experiments.benchmark.hex import OPINIONS, positions, visits_digest
    from experiments.benchmark.pommerman import lane_keys
    from jaxgames.hex import Hex, HexConfig

    jax.config.update("jax_enable_compilation_cache", False)
    game = Hex(HexConfig(size))

    search = visits_of_mctx(game, lambda states: OPINIONS[values](game, states), simulations)
    key = jax.random.key(seed)
    # The same positions as in the case.
    states = positions(game, lane_keys(key, jnp.arange(batch)))
    begun = time.perf_counter()
    compiled = jax.jit(search).lower(key, states).compile()
    compile_seconds = time.perf_counter() - begun
    visits = compiled(key, states)
    laps = []
    for repeat in range(repeats):
        begun = time.process_time()
        jax.block_until_ready(compiled(jax.random.fold_in(key, repeat), states))
        laps.append(time.process_time() - begun)
    digests = visits_digest(visits.astype(jnp.int32)).tolist()
    found = {"cpu_seconds": statistics.median(laps), "compile_seconds": compile_seconds, "visits": digests}
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    *numbers, chosen = sys.argv[1:]
    main(*map(int, numbers), values=chosen)
