"""Planners as players: what they are asked for, and what is counted of it."""

import jax
import jax.numpy as jnp
import numpy as np

from search import Plan, Planner, as_agent

BATCH = 4


def counting(own_first=False):
    """A planner whose actions are ten times its memory, which counts the plans of a lane, and the number of the player."""

    def plan(params, keys, memory, views, seats, active):
        del params, keys, seats
        actions = 10 * memory[:, None] + jnp.arange(2) + views
        per_arm = jnp.zeros((len(memory), 2, 1))
        met = jnp.where(active, memory + 1, 77)[:, None] * jnp.arange(1, 4)
        found = Plan(actions, per_arm, per_arm, per_arm, per_arm, per_arm, actions, {"met": met, "other": met})
        return found, memory + active

    def reset(memory, lanes):
        return jnp.where(lanes, 0, memory)

    start = lambda batch_size: jnp.zeros(batch_size, jnp.int32)  # noqa: E731
    return Planner("counting", start, reset, plan, memory_bytes=4, metrics={"met": (3,)}, own_first=own_first)


def act(agent, memory, seats, active):
    views = np.zeros((BATCH, 1), np.int32)
    return jax.jit(agent.act)(None, jax.random.split(jax.random.key(0), BATCH), memory, views, seats, active)


def test_an_agent_acts_for_the_seat_it_is_asked_for():
    seats, active = np.array([0, 1, 1, 0]), np.array([True, True, False, True])
    for own_first, expected in ((False, seats), (True, np.zeros(BATCH))):
        agent = as_agent(counting(own_first))
        assert agent.sees_state and agent.name == "counting"
        actions, memory = act(agent, agent.init(BATCH), seats, active)
        np.testing.assert_array_equal(actions, expected)
        np.testing.assert_array_equal(memory, active)
        actions, _ = act(agent, memory, seats, active)
        np.testing.assert_array_equal(actions, 10 * active + expected)


def test_an_agent_that_keeps_metrics():
    """Added up over moves and games, of active lanes only."""
    agent = as_agent(counting(), keep_metrics=True)
    memory, expected = agent.init(BATCH), np.zeros((BATCH, 3), int)
    for move in range(3):
        active = np.arange(BATCH) != move
        before = np.asarray(memory[0])
        _, memory = act(agent, memory, np.zeros(BATCH, np.int32), active)
        expected += np.where(active, before + 1, 0)[:, None] * np.arange(1, 4)
    memory = agent.reset(memory, np.ones(BATCH, bool))
    assert sorted(memory[1]) == ["met"]
    np.testing.assert_array_equal(memory[1]["met"], expected)
    np.testing.assert_array_equal(memory[0], 0)
