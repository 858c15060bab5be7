"""FDTS against the plain reference and on its own: batches, waves, resets, the ends of games, full tables, and what it finds."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from search import as_agent, fdts, presets, thompson, ucb1
from search.decoupled import Settings
from tests.search.reference import assert_like_reference, compiled, lane_of
from tests.tug import ARMS, PULL, REST, SHOUT, Tug

CYCLES = Tug(slips=True)  # three states that come back all the time, and chance
MANY = Tug(marks=10**6, max_steps=40, length=3)  # hardly a state comes back
ALL_METRICS = ("met", "known", "evicted", "stored")


def states_of(game, tokens, step_count=0):
    return jax.vmap(lambda token: game.state(token, step_count))(jnp.array(tokens))


def keys_of(seed, count):
    return jax.random.split(jax.random.key(seed), count)


def yes(count):
    return np.ones(count, bool)


@pytest.fixture(scope="module")
def planner():
    return fdts(CYCLES, num_simulations=16, horizon=6, table_rows=256)


@pytest.mark.parametrize("bandit", ["ts", "ucb", "uniform"])
def test_like_reference(bandit):
    states = states_of(CYCLES, [0, 1, 0, -1])
    assert_like_reference(CYCLES, "fdts", bandit, states, moves=4, num_simulations=16, horizon=6)


def test_like_reference_without_chance_or_repetition():
    assert_like_reference(MANY, "fdts", "ts", states_of(MANY, [0, 2, -1, 0]), moves=3, num_simulations=16, horizon=6)


def test_waves_like_reference():
    """Four walks of a wave open the same rows: what all of them found must be there."""
    assert_like_reference(CYCLES, "fdts", "ts", states_of(CYCLES, [0, 1, 0]), moves=3, num_simulations=16, horizon=6, wave=4)


def test_form_of_a_plan(planner):
    plan, _ = compiled(planner)(keys_of(0, 3), planner.init(3), states_of(CYCLES, [0, 1, -1]), yes(3))
    forms = {
        "actions": ((3, 2), np.int32),
        "arms": ((3, 2, 3), np.int32),
        "values": ((3, 2, 3), np.float32),
        "visits": ((3, 2, 3), np.int32),
        "policy": ((3, 2, 3), np.float32),
        "root_value": ((3, 2), np.float32),
    }
    assert {name: (getattr(plan, name).shape, getattr(plan, name).dtype) for name in forms} == forms
    assert sorted(plan.metrics) == sorted(ALL_METRICS)
    np.testing.assert_array_equal(plan.arms, np.tile(ARMS, (3, 1, 1)))
    np.testing.assert_allclose(plan.policy.sum(-1), 1, rtol=1e-6)
    # With the back to the wall a player may only pull.
    assert plan.actions[1, 1] == PULL and plan.actions[2, 0] == PULL
    assert plan.visits[1, 1].tolist() == [0, 0, plan.visits[1, 1].sum()]
    assert (np.asarray(plan.values)[1, 1, :2] == -1).all()


@pytest.mark.parametrize("game", [CYCLES, MANY], ids=["cycles", "many"])
def test_batch_size_does_not_matter(game):
    planner = fdts(game, num_simulations=16, horizon=6, table_rows=64)  # `many` overflows it
    states = states_of(game, [0, 1, 0, -1, 0, 0, 1, -1])
    memory, alone = planner.init(8), [planner.init(1) for _ in range(8)]
    for move in range(3):
        keys = keys_of(move, 8)
        active = yes(8)
        active[move] = False
        plan, memory = compiled(planner)(keys, memory, states, active)
        for lane in np.flatnonzero(active):
            one, alone[lane] = compiled(planner)(keys[lane : lane + 1], alone[lane], lane_of(states, slice(lane, lane + 1)), yes(1))
            jax.tree.map(lambda a, b, lane=lane: np.testing.assert_array_equal(a[lane], b[0]), plan, one)
        states = jax.vmap(game.step)(states, plan.actions, keys)


@pytest.mark.parametrize("lanes_at_once", [1, 3])
def test_parts_of_a_batch_do_not_matter(lanes_at_once):
    from search.decoupled import decoupled_search

    planners = [
        decoupled_search(CYCLES, thompson(), Settings(8, 4, table_rows=64, lanes_at_once=size), "")
        for size in (lanes_at_once, 8)
    ]
    states, active = states_of(CYCLES, [0, 1, 0, -1, 0]), np.array([True, False, True, True, True])
    memories = [planner.init(5) for planner in planners]
    for move in range(2):
        plans, memories = zip(
            *(compiled(p)(keys_of(move, 5), m, states, active) for p, m in zip(planners, memories, strict=True)), strict=True
        )
        jax.tree.map(lambda a, b: np.testing.assert_array_equal(a[active], b[active]), *plans)
    jax.tree.map(np.testing.assert_array_equal, *memories)


def test_inactive_lanes_keep_their_memory(planner):
    states = states_of(CYCLES, [0, 1, 0])
    _, memory = compiled(planner)(keys_of(0, 3), planner.init(3), states, yes(3))
    _, after = compiled(planner)(keys_of(1, 3), memory, states, np.array([False, True, False]))
    rows = np.arange(3 * 256) // 256
    for name in ("keys", "words"):
        old, new = np.asarray(getattr(memory, name)), np.asarray(getattr(after, name))
        np.testing.assert_array_equal(old[rows != 1], new[rows != 1])
        assert (old[rows == 1] != new[rows == 1]).any()
    for name in ("clock", "started", "evicted", "stored"):
        old, new = np.asarray(getattr(memory, name)), np.asarray(getattr(after, name))
        np.testing.assert_array_equal(old[[0, 2]], new[[0, 2]])


def test_nothing_to_plan(planner):
    """With all lanes at rest, or at a terminal root, the memory stays and nothing is NaN."""
    states = states_of(CYCLES, [0, 1, 0])
    _, memory = compiled(planner)(keys_of(0, 3), planner.init(3), states, yes(3))
    ended = dataclasses.replace(states, token=jnp.array([2, -2, 0]), terminated=jnp.ones(3, bool))
    for views, active in ((states, ~yes(3)), (ended, yes(3))):
        plan, after = compiled(planner)(keys_of(1, 3), memory, views, active)
        jax.tree.map(lambda x: np.testing.assert_array_equal(np.isfinite(x), True), plan)
        assert ((plan.actions >= 0) & (plan.actions < 3)).all()
        for name in ("keys", "words", "stored", "evicted"):
            np.testing.assert_array_equal(getattr(memory, name), getattr(after, name))


def test_reset_forgets_one_lane(planner):
    states, keys = states_of(CYCLES, [0, 0, 1]), keys_of(7, 3)
    fresh, _ = compiled(planner)(keys, planner.init(3), states, yes(3))
    memory = planner.init(3)
    for move in range(3):
        _, memory = compiled(planner)(keys_of(move, 3), memory, states, yes(3))
    memory = jax.jit(planner.reset)(memory, jnp.array([True, False, True]))
    again, _ = compiled(planner)(keys, memory, states, yes(3))
    for lane, same in ((0, True), (1, False), (2, True)):
        equal = jax.tree.map(lambda a, b, lane=lane: bool((a[lane] == b[lane]).all()), again, fresh)
        assert jax.tree.all(equal) == same
    assert again.visits[1].sum() > 3 * fresh.visits[1].sum()


def test_after_a_reset_a_full_table_plays_as_a_new_one():
    planner = fdts(MANY, num_simulations=32, horizon=6, table_rows=16)
    states = states_of(MANY, [0, 1])
    fresh, used = planner.init(2), planner.init(2)
    for move in range(2):
        _, used = compiled(planner)(keys_of(move, 2), used, states, yes(2))
    assert (used.evicted > 0).all()
    used = jax.jit(planner.reset)(used, jnp.ones(2, bool))
    for move in range(2, 4):
        plans = []
        for memory in (fresh, used):
            plans.append(compiled(planner)(keys_of(move, 2), memory, states, yes(2)))
        (plan_fresh, fresh), (plan_used, used) = plans
        jax.tree.map(np.testing.assert_array_equal, plan_fresh, plan_used)
    assert (used.evicted > 0).all()


@pytest.mark.parametrize("table_rows", [4, 64])
@pytest.mark.parametrize("wave", [1, 4])
def test_a_full_table_still_works(table_rows, wave):
    planner = fdts(MANY, num_simulations=64, horizon=6, table_rows=table_rows, wave=wave)
    memory, states = planner.init(3), states_of(MANY, [0, 1, -1])
    for move in range(2):
        plan, memory = compiled(planner)(keys_of(move, 3), memory, states, yes(3))
        jax.tree.map(lambda x: np.testing.assert_array_equal(np.isfinite(x), True), plan)
        assert (plan.visits >= 0).all() and (plan.visits.sum(-1) <= 64 * (move + 1)).all()
        assert (np.asarray(plan.values)[plan.policy > 0] > 0).all() and (plan.values <= 1).all()
        assert (plan.metrics["evicted"] > 0).all()
        assert (plan.metrics["stored"] - plan.metrics["evicted"] <= table_rows).all()
        np.testing.assert_array_equal(plan.metrics["met"][:, 0], 64)
        states = jax.vmap(MANY.step)(states, plan.actions, keys_of(move, 3))


@pytest.mark.parametrize("wave", [1, 4])
def test_statistics_add_up(wave):
    """In a game where no state comes back, and none is forgotten."""
    planner = fdts(MANY, ucb1(), num_simulations=32, horizon=5, table_rows=2**12, wave=wave)
    states = states_of(MANY, [0, 0, 1])
    plan, memory = compiled(planner)(keys_of(0, 3), planner.init(3), states, yes(3))
    np.testing.assert_array_equal(plan.visits.sum(-1), 32)
    met, known = np.asarray(plan.metrics["met"]), np.asarray(plan.metrics["known"])
    np.testing.assert_array_equal(met[:, 0], 32)
    np.testing.assert_array_equal(known[:, 0], 32 - wave)  # the root is new to the first wave
    assert (np.diff(met, axis=1) <= 0).all() and (known <= met).all() and (known >= 0).all()
    np.testing.assert_array_equal(plan.metrics["evicted"], 0)
    if wave == 1:  # whatever was not known was stored
        np.testing.assert_array_equal(plan.metrics["stored"], (met - known).sum(1))
    np.testing.assert_array_equal(memory.stored, plan.metrics["stored"])


def test_what_was_learnt_is_used_again():
    planner = fdts(MANY, num_simulations=32, horizon=5, table_rows=2**12)
    memory, states = planner.init(4), states_of(MANY, [0, 0, 1, -1])
    shares = []
    for move in range(4):
        plan, memory = compiled(planner)(keys_of(move, 4), memory, states, yes(4))
        shares.append(float(plan.metrics["known"].sum() / plan.metrics["met"].sum()))
    assert np.all(np.diff(shares) > 0)
    # After a real move the new root has the visits that it got below the old one.
    states = jax.vmap(MANY.step)(states, plan.actions, keys_of(4, 4))
    after, _ = compiled(planner)(keys_of(5, 4), memory, states, yes(4))
    assert (after.visits.sum(-1) > 32).all()


@pytest.mark.parametrize("bandit", ["ts", "ucb"])
@pytest.mark.parametrize("wave", [1, 8])
def test_finds_the_dominant_action(bandit, wave):
    game = Tug(length=2)
    planner = presets.by_name(game, "fdts", bandit, num_simulations=400, horizon=8, table_rows=64, wave=wave)
    plan, _ = compiled(planner)(keys_of(0, 16), planner.init(16), states_of(game, [0, 1] * 8), yes(16))
    np.testing.assert_array_equal(plan.actions, PULL)
    # The token can be held where it is; and ahead is better than level.
    best = np.asarray(plan.root_value)
    assert (best[1::2, 0] > best[::2, 0]).all()


def test_other_keys_and_arms():
    """`key` and `arms` stand in for the game's own."""

    def with_step(state):
        return jnp.stack([state.step_count.astype(jnp.uint32), (state.token + 9).astype(jnp.uint32)])

    def only_rest(state):
        return jnp.asarray(ARMS), jnp.asarray(ARMS == REST) | (jnp.asarray(ARMS == SHOUT) & (state.token == 0))

    game = Tug()
    own = fdts(game, num_simulations=8, horizon=6, table_rows=64)
    other = fdts(game, num_simulations=8, horizon=6, table_rows=64, key=with_step, arms=only_rest)
    states = states_of(game, [0])
    plan, _ = compiled(own)(keys_of(0, 1), own.init(1), states, yes(1))
    assert plan.visits[0, 0].sum() > 8  # it comes back to the root
    plan, _ = compiled(other)(keys_of(0, 1), other.init(1), states, yes(1))
    np.testing.assert_array_equal(plan.visits[0].sum(-1), 8)
    assert plan.visits[0][ARMS == PULL].sum() == 0 and (plan.actions != PULL).all()


def test_as_agent(planner):
    agent = as_agent(planner)
    assert agent.sees_state and agent.name == "FDTS + TS"
    states, keys, seats = states_of(CYCLES, [0, 1, 0]), keys_of(0, 3), jnp.array([0, 1, 1])
    actions, memory = jax.jit(agent.act)(None, keys, agent.init(3), states, seats, yes(3))
    plan, after = compiled(planner)(keys, planner.init(3), states, yes(3))
    np.testing.assert_array_equal(actions, np.asarray(plan.actions)[np.arange(3), seats])
    jax.tree.map(np.testing.assert_array_equal, memory, after)


def test_size_of_the_memory(planner):
    nbytes = sum(leaf.nbytes for leaf in jax.tree.leaves(planner.init(4)))
    assert planner.memory_bytes == 256 * 4 * (6 + 3)
    assert 4 * planner.memory_bytes <= nbytes <= 4 * (planner.memory_bytes + 32)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_simulations": 0}, "num_simulations=0: must be >= 1"),
        ({"horizon": 0}, "horizon=0: must be"),
        ({"wave": 0}, "wave=0: must be >= 1"),
        ({"wave": 3}, "wave=3: must divide num_simulations=100"),
        ({"table_rows": 100}, "table_rows=100: must be a power of two, at least 4"),
    ],
)
@pytest.mark.parametrize("kind", ["fdts", "mcts", "mcts_no_rollout"])
def test_bad_settings(kind, settings, message):
    with pytest.raises(ValueError, match=message) as error:
        presets.by_name(CYCLES, kind, **settings)
    assert "\n" not in str(error.value)


def test_unknown_names():
    with pytest.raises(ValueError, match="planner='alpha': must be one of fdts, mcts, mcts_no_rollout, mcs"):
        presets.by_name(CYCLES, "alpha")
    with pytest.raises(ValueError, match="bandit='exp3': must be one of ts, ucb, uniform"):
        presets.by_name(CYCLES, "fdts", "exp3")
