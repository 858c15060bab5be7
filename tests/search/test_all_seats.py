"""A planner for one seat, asked for all of them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from search import fdts
from search.all_seats import for_all_seats
from search.opponents import single_player
from search.planner import Plan, Planner
from tests.tug import REST, Tug, states_of, steady_player

GAME = Tug(length=4, max_steps=9, marks=64)
PARAMS = {"own": None, "opponents": None}
LANES = 3


def searching():
    return fdts(single_player(GAME, steady_player(REST)), num_simulations=20, horizon=5, table_rows=64)


def by_hand():
    """Draws values by the key, the state and the seat, and by how often it was asked since its memory was cleared."""

    def plan(params, keys, memory, views, seats, active):
        arms, legal = (rows[jnp.arange(len(seats)), seats][:, None] for rows in jax.vmap(GAME.search_arms)(views))
        drawn = jax.vmap(lambda key, count: jax.random.uniform(jax.random.fold_in(key, count), (1, 3)))(keys, memory)
        values = jnp.where(legal, drawn + views.token[:, None, None], -9.0)
        best = (values >= values.max(-1, keepdims=True)).astype(jnp.float32)
        actions = jnp.take_along_axis(arms, best.argmax(-1)[..., None], -1)[..., 0]
        return Plan(actions, arms, legal, values, (1 + seats)[:, None, None] * legal, best, values.max(-1), {}), memory + active

    return Planner(
        "by hand",
        lambda size: jnp.zeros(size, jnp.int32),
        lambda memory, lanes: jnp.where(lanes, 0, memory),
        plan,
        memory_bytes=4,
        metrics={},
        own_first=True,
    )


@pytest.mark.parametrize("alone", [by_hand, pytest.param(searching, marks=pytest.mark.slow)])
def test_every_seat_is_planned_for_as_if_it_were_asked_alone(alone):
    planner, both = alone(), for_all_seats(GAME, alone())
    states, active = states_of(GAME, [0, 1, -3]), np.array([True, True, False])
    keys, fold = jax.random.split(jax.random.key(0), LANES), jax.jit(jax.vmap(jax.random.fold_in, (0, None)))
    fresh, fresh_alone = jax.device_get(
        (jax.jit(both.init, static_argnums=0)(LANES), jax.jit(planner.init, static_argnums=0)(LANES))
    )
    plan, memory = jax.device_get(jax.jit(both.plan)(PARAMS, keys, fresh, states, np.zeros(LANES, np.int32), active))
    assert plan.actions.shape == (LANES, 2) and plan.arms.shape == plan.legal.shape == (LANES, 2, 3)
    run = jax.jit(planner.plan)
    for seat in range(2):
        own = np.full(LANES, seat, np.int32)
        expected, _ = jax.device_get(run(PARAMS, fold(keys, np.int32(seat)), fresh_alone, states, own, active))
        for name in ("actions", "qvalues", "visit_counts", "root_value"):
            np.testing.assert_array_equal(getattr(plan, name)[:2, seat], getattr(expected, name)[:2, 0], name)
    lanes = np.array([True, False, True])
    again, expected = jax.jit(both.reset)(memory, lanes), jax.jit(planner.reset)(memory, lanes.repeat(2))
    jax.tree.map(np.testing.assert_array_equal, again, expected)
    assert any(jax.tree.leaves(jax.tree.map(lambda one, other: (np.asarray(one) != other).any(), again, memory)))
    assert both.memory_bytes == 2 * planner.memory_bytes


def test_what_plans_for_all_stays_as_it_is_and_what_sees_one_seat_alone_is_refused():
    plain = fdts(GAME, num_simulations=4, horizon=2, table_rows=16)
    assert for_all_seats(GAME, plain) is plain
    with pytest.raises(ValueError, match=r"^planner='by hand': must see the state, as with root=true; it plans from what one"):
        for_all_seats(GAME, by_hand()._replace(sees_state=False))
    with pytest.raises(ValueError, match="must see the state"):
        for_all_seats(GAME, plain._replace(sees_state=False))
