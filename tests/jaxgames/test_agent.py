"""Agents that are made of a function."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames.agent import memoryless


def act(chosen):
    agent = memoryless("mine", lambda params, keys, views, seats: chosen)
    return agent.act(None, jax.random.split(jax.random.key(0), 3), (), None, jnp.zeros(3, jnp.int32), jnp.ones(3, bool))


@pytest.mark.parametrize("chosen", [np.arange(3), jnp.ones(3, jnp.int8), jnp.ones(3, jnp.uint32)])
def test_an_integer_for_each_game_is_an_action(chosen):
    actions, memory = act(chosen)
    assert actions is chosen and memory == ()


def test_an_agent_may_be_asked_lane_by_lane():
    agent = memoryless("mine", lambda params, keys, views, seats: 2 * seats)
    acted = jax.vmap(lambda seat: agent.act(None, None, (), None, seat, True)[0])(jnp.arange(3))
    assert acted.tolist() == [0, 2, 4]


@pytest.mark.parametrize(
    ("chosen", "came"),
    [
        (jnp.ones(3), r"float32 \[3\]"),
        (jnp.ones(3, bool), r"bool \[3\]"),
        (jnp.ones((3, 1), jnp.int32), r"int32 \[3, 1\]"),
        (jnp.int32(1), r"int32 \[\]"),
        (jax.random.split(jax.random.key(0), 3), r"key<fry> \[3\]"),
        (4, "a int"),
        (None, "a NoneType"),
    ],
)
def test_anything_else_is_told(chosen, came):
    with pytest.raises(ValueError, match=rf"^agent='mine': chose {came}, must be integers \[3\], an action for each game$"):
        act(chosen)
