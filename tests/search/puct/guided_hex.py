"""Searches by PUCT in Hex on 3 x 3 cells that a network of made-up weights guides, and the nodes of a slow search there."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

import jaxgames
from jaxgames.hex import interop, rules
from jaxgames.hex.encoder import CHANNELS, planes_of
from search import puct
from search.puct.settings import Settings
from tests.emitters import NEWER_EMITTERS
from tests.search import puct_reference

GAME = jaxgames.make("hex", "hex", board_size=3)
CELLS, BATCH = 9, 6
ONE, ZERO = np.float32(1), np.float32(0)  # what the network gives is multiplied by its parameter
WEIGHTS = np.random.default_rng(1).normal(size=(CELLS * len(CHANNELS), CELLS + 1)).astype(np.float32) * 0.3
PLANNERS = {}


def evaluate(params, states, seats):
    shown = jax.vmap(lambda state, seat: planes_of(GAME.config, state, seat))(states, seats)
    out = params * jax.lax.dot(shown.reshape(seats.shape[0], -1), WEIGHTS, precision="highest")
    return out[:, :-1], jnp.tanh(out[:, -1])


STEP = jax.jit(lambda state, cell: rules.step(GAME.config, state, cell))
STEPS = jax.jit(jax.vmap(lambda state, cell: rules.step(GAME.config, state, cell)))
NETWORK, OUTCOME = jax.jit(evaluate), jax.jit(GAME.outcome)


@functools.cache
def positions(moves, count=BATCH):
    """States after so many random moves, none finished."""
    states, seed = [], 0
    while len(states) < count:
        random, state, seed = np.random.default_rng(seed), GAME.init(), seed + 1
        for _ in range(moves):
            state = STEP(state, np.int32(random.choice(np.flatnonzero(interop.board(GAME.config, state) == 0))))
            if bool(state.terminated):
                break
        else:
            states.append(state)
    return jax.tree.map(lambda *leaves: np.stack(leaves), *states)


def search(states, memory=None, active=None, seed=0, params=ONE, **settings):
    config = Settings(**{"num_simulations": 40, **settings})
    planner, run = PLANNERS.setdefault(config, (None, None))
    if planner is None:
        planner = puct.puct(GAME, evaluate, config)
        run = jax.jit(planner.plan, compiler_options=NEWER_EMITTERS if config.mcts_solver else None)
        PLANNERS[config] = planner, run
    batch = states.terminated.shape[0]
    memory = planner.init(batch) if memory is None else memory
    active = np.ones(batch, bool) if active is None else active
    keys = jax.random.split(jax.random.key(seed), batch)
    return jax.device_get(run(params, keys, memory, states, np.zeros(batch, np.int32), active))


def own(per_player, states):
    """The row of the player to move."""
    return np.take_along_axis(np.asarray(per_player), np.asarray(states.player).astype(int)[:, None, None], 1)[:, 0]


def words_of(memory):
    """The numbers of all nodes by lane, int32 [B, N, word, 1 + children]."""
    return memory.numbers.reshape(-1, memory.num_nodes, *memory.numbers.shape[1:]).astype(np.int32)


def open_node(state, prior_temperature=1.0, params=ONE):
    """A node of the slow search."""
    batch = jax.tree.map(lambda leaf: np.asarray(leaf)[None], state)
    player, over = int(state.player), bool(state.terminated)
    logits, value = (np.asarray(part)[0] for part in NETWORK(params, batch, np.array([player])))
    legal = (interop.board(GAME.config, state).reshape(-1) == 0) & (not over)
    prior = np.where(legal, np.exp((logits - logits.max()) / prior_temperature), 0).astype(np.float64)
    prior = prior / max(prior.sum(), 1e-30)
    outcome = float(np.asarray(OUTCOME(state))[player])
    return puct_reference.Node(state, prior, outcome if over else float(value), over, player)
