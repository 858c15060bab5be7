"""Searches in Hex on 3 x 3 cells with hidden stones: what players know in random games, and planners that are compiled once."""

import functools

import jax
import numpy as np

import jaxgames
from jaxgames.hex.encoder import CHANNELS, planes_of
from search import puct
from search.puct import worlds
from tests.jaxgames.hex.playing import at, random_games

OPEN, ABRUPT, CLASSICAL = (jaxgames.make("hex", mode) for mode in ("hex-3", "adh-3", "cdh-3"))
CELLS, LANES, WORLDS, SIMULATIONS = 9, 5, 4, 12
ROOTS = LANES * WORLDS  # lanes of a search without worlds, so that all share what is compiled
SEARCH = puct.Settings(num_simulations=SIMULATIONS, c_init=0.5, c_base=1.0)  # a base so small that visits matter
# Sums of such numbers are exact, in whatever order they are added.
WEIGHTS = np.random.default_rng(1).integers(-3, 4, (CELLS * len(CHANNELS), CELLS + 1)).astype(np.float32) / 8
PLANNERS = {}


def network(params, states, seats):
    shown = jax.vmap(lambda state, seat: planes_of(OPEN.config, state, seat))(states, seats)
    out = jax.lax.dot(shown.reshape(seats.shape[0], -1), WEIGHTS, precision="highest")
    return out[:, :-1], out[:, -1] / 16 + met(states) / 4


def met(states):
    """Whether somebody has run into a hidden stone."""
    return jax.vmap(lambda state: state.found[0].any() | state.found[1].any())(states)


def known(game, steps, count=LANES):
    """Games that are not over after so many attempts: states, what the players to move know, and who they are."""
    states, infos = some_games(game)
    alive = np.flatnonzero(~states.terminated[:, steps])[:count]
    movers = states.player[alive, steps].astype(np.int32)
    assert len(alive) == count
    return at(states, alive, steps), at(infos, alive, steps, movers), movers


@functools.cache
def some_games(game):
    states, infos, _ = jax.device_get(random_games(game, jax.random.split(jax.random.key(0), 60), 8))
    return states, infos


def search(make, game, settings, views, seats, active=None, evaluate=network):
    """Plans with a planner that is compiled once; gives the plan and the keys."""
    name = (make, game, settings, evaluate, len(seats))
    if name not in PLANNERS:
        planner = make(game, evaluate, settings)
        PLANNERS[name] = planner, jax.jit(planner.plan)
    planner, run = PLANNERS[name]
    keys = jax.random.split(jax.random.key(0), len(seats))
    active = np.ones(len(seats), bool) if active is None else active
    return jax.device_get(run(None, keys, planner.init(len(seats)), views, seats, active)[0]), keys


def own(per_player, seats):
    """The rows of the seats, per cell: plans over drawn worlds also have a column for the pass, which nobody takes."""
    rows = per_player[np.arange(len(seats)), seats]
    return rows[..., :CELLS] if rows.ndim > 1 else rows


def worlds_of(game, infos, keys):
    """The worlds that a plan has drawn, State [lanes * WORLDS]; so many lanes at once as most tests have."""
    parts = [
        _drawn_worlds(game, keys[place : place + LANES], at(infos, slice(place, place + LANES)))
        for place in range(0, len(keys), LANES)
    ]
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *jax.device_get(parts))


@functools.partial(jax.jit, static_argnums=0)
def _drawn_worlds(game, keys, infos):
    return worlds.draw_worlds(game, keys, infos, WORLDS)


def opened(game, states):
    """The same positions with nothing hidden."""
    return jax.device_get(_opened(game, states))


@functools.partial(jax.jit, static_argnums=0)
def _opened(game, states):
    return jax.vmap(game.open_state)(states)


def taken(game, infos):
    """Which cells a player knows to be taken, bool [lanes, K]."""
    own, known = (game.config.grid.to_numpy(cells) != 0 for cells in (infos.view.own, infos.view.known))
    return own | known


def same_plans(one, other):
    jax.tree.map(np.testing.assert_array_equal, one, other)
