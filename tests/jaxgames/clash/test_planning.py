"""Planners play Clash: a tower is about to fall, and whoever attacks it wins."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.clash.config import BEGINNER_DECK
from jaxgames.clash.scene import Scene
from search import presets
from training.play import agents, memory

GAME = jaxgames.make("clash", "toy", regular_ticks=900, value_ticks=400)
ROWS = {key: GAME.config.table.card_ids[key] for key in BEGINNER_DECK}
HAND = ("knight", "archers", "arrows", "giant")
LANES = 6
SIZE = {"horizon": 3}
SEARCH = {**SIZE, "num_simulations": 68, "simulations_per_arm": 4, "microbatch_size": 3}
EVOLUTION = {"horizon": 1, "num_simulations": 60, "population": 20}  # of one step, so that to wait is no beginning of a good plan


def weak_tower():
    """A tower of player 1 falls at one blow; player 0 can pay any card but the giant, player 1 nothing."""
    scene = Scene(GAME.config)
    scene.arrays["hand"][:] = [ROWS[key] for key in HAND]
    scene.arrays["queue"][:] = [ROWS[key] for key in BEGINNER_DECK if key not in HAND]
    scene.arrays["elixir"][:] = [4 * 28, 0]
    scene.arrays["hp"][1, 1] = 60
    return scene.state


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("fdts", {**SEARCH, "table_bytes": 100_000}),
        ("fdts", {**SEARCH, "table_bytes": 100_000, "bandit": "ucb", "c": 0.5}),
        ("fdts", {**SEARCH, "table_bytes": 100_000, "grouped": True}),
        ("mcts", {**SEARCH, "table_bytes": 100_000}),
        ("mcs", SEARCH),
        ("rolling_horizon", EVOLUTION),
        ("oep", EVOLUTION),
    ],
)
def test_a_planner_fells_a_weak_tower(name, settings):
    planner = presets.by_name(GAME, name, **settings)
    states = jax.tree.map(lambda leaf: jnp.stack([jnp.asarray(leaf)] * LANES), weak_tower())

    @jax.jit
    def play(keys, memory, states):
        everybody = jnp.ones(LANES, bool)
        plan, _ = planner.plan(None, keys, memory, states, jnp.zeros(LANES, jnp.int32), everybody)
        return plan, jax.vmap(lambda one, actions: GAME.heuristic(GAME.step(one, actions)))(states, plan.actions)

    plan, values = jax.device_get(play(jax.random.split(jax.random.key(0), LANES), planner.init(LANES), states))
    assert (plan.actions[:, 0] > 0).all(), "who waits gains nothing"
    np.testing.assert_array_equal(values, [[1, -1]] * LANES)


def test_trees_that_do_not_fit_are_refused_before_anything_is_compiled():
    game = jaxgames.make("clash")
    players = [agents.make(spec, game) for spec in ("fdts:table_bytes=100000000", "guard")]
    with pytest.raises(ValueError, match=r"batch=100000: the match needs .* GB and .* GB are free; take at most batch="):
        memory.check(game, players, 100_000)
    assert presets.by_name(game, "fdts", table_bytes=10_000_000).memory_bytes <= 10_000_000
