"""Root visit counts of mctx and of our preset, on Hex with random networks and on a random tree.

Run in a process without multi-output fusion, under which XLA cannot compile mctx: `python -m tests.search.mctx_peer SIZE BATCH
SIMULATIONS`, with size 0 for the random tree.
"""

import dataclasses
import functools
import json
import sys

from jaxgames import runtime

runtime.prepare(cores=1, multi_output_fusion=False)

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import mctx  # noqa: E402
import numpy as np  # noqa: E402

import jaxgames  # noqa: E402
from experiments.benchmark.peers import visits_of_mctx  # noqa: E402
from jaxgames.hex import rules  # noqa: E402
from jaxgames.hex.encoder import CHANNELS, planes_of  # noqa: E402
from search import puct  # noqa: E402
from tests.random_tree import RandomTree  # noqa: E402


def on_a_random_tree(batch, simulations):
    game = RandomTree()
    keys = jax.random.split(jax.random.key(1), batch)
    states = jax.vmap(game.init)(keys)
    settings = dataclasses.replace(puct.MCTX, num_simulations=simulations)
    planner = puct.puct(game, lambda params, states, seats: game.opinion(states), settings)
    ones = jnp.ones(batch, bool)
    plan, _ = jax.jit(planner.plan)(None, keys, planner.init(batch), states, jnp.zeros(batch, jnp.int32), ones)

    def recurrent(params, key, action, before):
        after = jax.vmap(lambda state, arm: game.step(state, jnp.full(2, arm)))(before, action)
        mine = jnp.take_along_axis(jax.vmap(game.outcome)(after), before.player[:, None], 1)[:, 0]
        logits, value = game.opinion(after)
        output = mctx.RecurrentFnOutput(
            reward=jnp.where(before.terminated, 0.0, mine),
            discount=jnp.where(after.terminated, 0.0, -1.0),
            prior_logits=jnp.where(jax.vmap(game.legal)(after), logits, jnp.finfo(jnp.float32).min),
            value=jnp.where(after.terminated, 0.0, value),
        )
        return output, after

    logits, value = game.opinion(states)
    search = functools.partial(mctx.muzero_policy, dirichlet_fraction=0.0, temperature=0.0)
    found = jax.jit(
        lambda key, states: (
            search(
                None,
                key,
                mctx.RootFnOutput(prior_logits=logits, value=value, embedding=states),
                recurrent,
                simulations,
                invalid_actions=~jax.vmap(game.legal)(states),
            )
            .search_tree.summary()
            .visit_counts
        )
    )(jax.random.key(0), states)
    return plan.visit_counts[:, 0], found


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
    ours, theirs = on_hex(size, batch, simulations) if size else on_a_random_tree(batch, simulations)
    print(json.dumps({"ours": np.asarray(ours).astype(int).tolist(), "theirs": np.asarray(theirs).astype(int).tolist()}))


main(*(int(argument) for argument in sys.argv[1:]))
