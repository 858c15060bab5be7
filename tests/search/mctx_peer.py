"""Root visit counts of mctx and of our preset, on Hex with random networks.

Run in a process without multi-output fusion, under which XLA cannot compile mctx: `python -m tests.search.mctx_peer SIZE BATCH
SIMULATIONS`.
"""

import dataclasses
import json
import sys

from jaxgames import runtime

runtime.prepare(cores=1, multi_output_fusion=False)

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

import jaxgames  # noqa: E402
from experiments.benchmark.peers import visits_of_mctx  # noqa: E402
from jaxgames.hex import rules  # noqa: E402
from jaxgames.hex.encoder import CHANNELS, planes_of  # noqa: E402
from search import puct  # noqa: E402


def on_hex(size, batch, simulations):
    game = jaxgames.make("hex", "hex", board_size=size)
    cells = size * size
    weights = np.random.default_rng(0).normal(size=(cells * len(CHANNELS), cells + 1)).astype(np.float32) * 0.2

    def network(states, seats):
        shown = jax.vmap(lambda state, seat: planes_of(game.config, state, seat))(states, seats)
        out = jax.lax.dot(shown.reshape(len(seats), -1), weights, precision="highest")
        return out[:, :-1], jnp.tanh(out[:, -1])

    def start(key):
        def attempt(state, key):
            legal = rules.legal_cells(game.config, state)
            return rules.step(game.config, state, legal.pick(jax.random.randint(key, (), 0, legal.count()))), None

        return jax.lax.scan(attempt, game.init(), jax.random.split(key, size - 1))[0]

    keys = jax.random.split(jax.random.key(1), batch)
    states = jax.vmap(start)(keys)
    settings = dataclasses.replace(puct.MCTX, num_simulations=simulations)
    planner = puct.puct(game, lambda params, states, seats: network(states, seats), settings)
    seats, active = jnp.zeros(batch, jnp.int32), jnp.ones(batch, bool)
    plan, _ = jax.jit(planner.plan)(None, keys, planner.init(batch), states, seats, active)
    ours = np.take_along_axis(np.asarray(plan.visit_counts), np.asarray(states.player)[:, None, None].astype(int), 1)[:, 0]

    search = visits_of_mctx(game, lambda states: network(states, states.player.astype(int)), simulations)
    return ours, jax.jit(search)(jax.random.key(0), states)


def main(size, batch, simulations):
    ours, theirs = on_hex(size, batch, simulations)
    print(json.dumps({"ours": np.asarray(ours).astype(int).tolist(), "theirs": np.asarray(theirs).astype(int).tolist()}))


main(*(int(argument) for argument in sys.argv[1:]))
