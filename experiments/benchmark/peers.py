"""Times other libraries on the same work, each in a process of its own with XLA's own settings: mctx, pgx and OpenSpiel."""

from __future__ import annotations

import functools
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from experiments.benchmark.case import Request
from jaxgames import runtime
from training.storage.provenance import CHECKOUT

REPEATS = 3
PATIENCE = 20.0  # CPU seconds after which no further repeat begins: mctx takes minutes for 800 simulations
PLAIN_SECONDS = 2.0  # of CPU time per repeat, where nothing is compiled
PGX_STEPS = 64  # per repeat


def comparable(mesh: Any, request: Request) -> bool:
    """Says whether a peer would have the same, one CPU device, and whether there is time for it."""
    return request.seconds is None and mesh.devices.size == 1 and mesh.devices.flat[0].platform == "cpu"


def ask(name: str, **arguments: Any) -> dict[str, Any] | None:
    """Measures a peer in a process of its own; None if it cannot be run, as when it is not installed (stderr tells why)."""
    command = [sys.executable, "-c", "from experiments.benchmark import peers; peers.main()", name]
    done = subprocess.run(command, input=json.dumps(arguments), stdout=subprocess.PIPE, text=True, cwd=CHECKOUT, check=False)
    return None if done.returncode else json.loads(done.stdout.splitlines()[-1])


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


def mctx_search(*, size: int, batch: int, num_simulations: int, seed: int, values: str) -> dict[str, Any]:
    """Times the searches of `hex/puct_*`, whose priors and values are `hex.OPINIONS[values]`."""
    import jax
    import jax.numpy as jnp

    from experiments.benchmark.hex import OPINIONS, positions
    from experiments.benchmark.lanes import lane_keys, visits_digest
    from jaxgames.hex import Hex, HexConfig

    game = Hex(HexConfig(size))
    search = visits_of_mctx(game, lambda states: OPINIONS[values](game, states), num_simulations)
    key = jax.random.key(seed)
    states = positions(game, lane_keys(key, jnp.arange(batch)))  # those of the case
    begun = time.perf_counter()
    compiled = jax.jit(search).lower(key, states).compile()
    compile_seconds = time.perf_counter() - begun
    visits = compiled(key, states)
    seconds = _cpu_seconds(lambda number: jax.block_until_ready(compiled(jax.random.fold_in(key, number), states)))
    digests = visits_digest(visits.astype(jnp.int32)).tolist()
    return {"cpu_seconds": seconds, "compile_seconds": compile_seconds, "visits": digests}


def pgx_hex(*, size: int, batch: int, seed: int) -> dict[str, Any]:
    """Times random games of open Hex, 11 x 11: a random legal action, a step with its observation, a new game after the end."""
    import jax
    import jax.numpy as jnp
    import pgx

    del size
    env = pgx.make("hex")
    key = jax.random.key(seed)

    def step(states: Any, key: Any) -> tuple[Any, Any]:
        mask = states.legal_action_mask
        rank = jax.random.randint(key, (batch,), 0, mask.sum(1))
        actions = jnp.argmax(jnp.cumsum(mask, axis=1) > rank[:, None], axis=1)
        states = jax.vmap(env.step)(states, actions.astype(jnp.int32))
        over = states.terminated
        fresh = jax.vmap(env.init)(jax.random.split(key, batch))
        keep = functools.partial(jax.tree.map, lambda new, old: jnp.where(over.reshape(-1, *[1] * (old.ndim - 1)), new, old))
        return keep(fresh, states), states.observation.sum()

    @jax.jit
    def play(states: Any, key: Any) -> tuple[Any, Any]:
        states, seen = jax.lax.scan(step, states, jax.random.split(key, PGX_STEPS))
        return states, seen.sum()

    states = jax.jit(jax.vmap(env.init))(jax.random.split(key, batch))
    states, _ = jax.block_until_ready(play(states, key))
    seconds = _cpu_seconds(lambda number: jax.block_until_ready(play(states, jax.random.fold_in(key, number))))
    return {"per_cpu_second": PGX_STEPS * batch / seconds}


def open_spiel_dark_hex(*, size: int, batch: int, seed: int) -> dict[str, Any]:
    """Times random games of abrupt DarkHex: a random legal action, a step, and the view of who is next."""
    import pyspiel

    del batch
    game = pyspiel.load_game("dark_hex", {"board_size": size, "gameversion": "adh", "obstype": "reveal-nothing"})
    draw = random.Random(seed)

    def play(number: int) -> int:
        steps, begun = 0, time.process_time()
        while time.process_time() - begun < PLAIN_SECONDS:
            state = game.new_initial_state()
            while not state.is_terminal():
                state.observation_tensor(state.current_player())
                state.apply_action(draw.choice(state.legal_actions()))
                steps += 1
        return steps

    counts: list[int] = []
    seconds = _cpu_seconds(lambda number: counts.append(play(number)))
    return {"per_cpu_second": statistics.median(counts) / seconds}


def _cpu_seconds(work: Callable[[int], Any]) -> float:
    """The median of some repeats of `work(number)`, fewer where they take long."""
    laps: list[float] = []
    for number in range(REPEATS):
        if sum(laps) > PATIENCE:
            break
        begun = time.process_time()
        work(number)
        laps.append(time.process_time() - begun)
    return statistics.median(laps)


PEERS: dict[str, Callable[..., dict[str, Any]]] = {
    "mctx": mctx_search,
    "pgx": pgx_hex,
    "open_spiel": open_spiel_dark_hex,
}


def main() -> None:
    """Measures the peer that the command line names, with arguments as JSON on stdin, and prints what was found as JSON."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    os.environ.pop("XLA_FLAGS", None)  # those of the caller
    runtime.prepare(cores=cores, multi_output_fusion=False)  # with it mctx cannot be compiled
    import jax

    jax.config.update("jax_enable_compilation_cache", False)
    print(json.dumps(PEERS[sys.argv[1]](**json.load(sys.stdin))), flush=True)
