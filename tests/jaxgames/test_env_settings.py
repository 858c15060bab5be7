"""Environments: settings, actions and opponents that cannot be are told in one line."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
import search
from jaxgames import Environment
from jaxgames.agent import Agent
from tests.fading import Fading
from tests.tic_tac_toe import TicTacToe
from tests.tug import REST, Tug, steady_player

KEY = jax.random.key(0)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"batch_size": 0}, "batch_size=0: must be an integer >= 1"),
        ({"max_episode_steps": 0}, "max_episode_steps=0"),
        ({"pool_size": -1}, "pool_size=-1"),
        ({"batch_size": 2**31}, "batch_size=2147483648: must be < 2147483648"),
        ({"max_episode_steps": 2**31}, "max_episode_steps=2147483648: must be < 2147483648"),
        ({"pool_size": 2**40}, "pool_size=1099511627776: must be < 2147483648"),
        ({"autoreset": "never"}, "autoreset='never': must be one of same_step"),
        ({"seat": 2}, "seat=2: must be in 0..1, or rotating"),
        ({"seat": True}, "seat=True: must be in 0..1, or rotating"),
        ({"seat": 1.0}, "seat=1.0: must be in 0..1, or rotating"),
        ({"seat": "first"}, "seat='first': must be in 0..1, or rotating"),
        ({"opponents": None}, "opponents=None: must be an Agent or the name of a bot, or 1 of them"),
        ({"opponents": 3}, "opponents=3: must be an Agent"),
        ({"opponents": [["random"]]}, "opponent=['random']: must be one of random, path, or an Agent"),
        ({"opponents": [None]}, "opponent=None: must be one of random, path, or an Agent"),
        ({"opponents": "nobody"}, "opponent='nobody': must be one of random, path"),
        ({"opponents": ["random", "path"]}, "2 given, must be one for all, or 1"),
        ({"observation": "pixels"}, "observation='pixels'"),
        ({"observation": "planes"}, "shows what a seat of hex does not see"),
        (
            {"game": "pommerman-ffa-v1", "observation": "planes", "encoder": "pommerlearn"},
            "encoder='pommerlearn': shows what a seat of pommerman does not see",
        ),
        ({"encoder": "none", "observation": "planes"}, "encoder='none': must be one of alphaze"),
        ({"encoder": "alphaze"}, "encoder='alphaze': needs observation='planes'"),
        (
            {"encoder": "alphaze", "observation": lambda state, seat: state.stones},
            "encoder='alphaze': needs observation='planes'",
        ),
        ({"game": "chess"}, "game='chess'"),
        ({"game": 3}, "game=3: must be a game, or an id"),
        ({"game": TicTacToe}, "game: the class TicTacToe, must be a game, such as TicTacToe()"),
        ({"game": "hex-adh-5-v7"}, "hex is at version 1"),
    ],
)
def test_wrong_settings_are_told(settings, told):
    with pytest.raises(ValueError, match=re.escape(told)):
        Environment(**({"game": "hex-adh-5-v1"} | settings))


def test_wrong_actions_are_told():
    env = Environment(Tug(), 8, opponents=steady_player(REST))
    state, _ = jax.eval_shape(env.reset, KEY)
    for actions in (jnp.zeros(7, jnp.int32), jnp.zeros(8, jnp.float32), jnp.zeros((8, 2), jnp.int32), [0, 1]):
        with pytest.raises(ValueError, match=r"must be integers \[8\]"):
            jax.eval_shape(env.step, state, actions, KEY)
    for actions in (None, "ab", {"player_0": jnp.zeros(8, jnp.int32)}, KEY):
        with pytest.raises(ValueError, match=r"^actions are .*: must be integers \[8\]$"):
            env.step(state, actions, KEY)
    actions = jnp.zeros(8, jnp.int32)
    with pytest.raises(ValueError, match=r"must be that of reset or the last step, as in step\(state, actions, key\)"):
        env.step(actions, state, KEY)
    wrong = {"key<fry> [2]": jax.random.split(KEY, 2), "float32 [2]": jnp.zeros(2), "uint32 [3]": jnp.zeros(3, jnp.uint32)}
    for form, key in (wrong | {"a int": 0, "a NoneType": None}).items():
        told = f"^key is {re.escape(form)}: must be one key, as jax.random.key\\(0\\), for all lanes$"
        with pytest.raises(ValueError, match=told):
            env.reset(key)
    jax.eval_shape(env.reset, jax.random.PRNGKey(0))


def plain(chosen, **about):
    """An agent without a memory that says nothing of what it chooses."""
    return Agent("plain", lambda size: (), lambda memory, lanes: memory, lambda *given: (chosen, given[2]), **about)


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize(("chosen", "came"), [(jnp.full(6, 1.7), r"float32 \[6\]"), (jnp.zeros(3, jnp.int32), r"int32 \[3\]")])
def test_opponents_that_choose_no_actions_are_told(chosen, came, at_once):
    agent = plain(chosen, sees_state=True, act_seats=(lambda *given: (chosen, given[2])) if at_once else None)
    env = Environment(Fading(), 3, opponents=agent)
    state, _ = jax.eval_shape(env.reset, KEY)
    told = rf"^agent='plain': chose {came}, must be integers \[{'3, 2' if at_once else '6'}\], an action for each game(\n|$)"
    with pytest.raises(ValueError, match=told):
        jax.eval_shape(env.step, state, jnp.zeros(3, jnp.int32), KEY)


def test_numbers_of_numpy_are_numbers():
    env = Environment("hex-adh-3-v1", batch_size=np.int64(4), seat=np.int8(1))
    assert env.batch_size == 4 and type(env.batch_size) is int
    assert env.seat == 1 and type(env.seat) is int


def test_a_planner_is_told_how_it_becomes_an_agent():
    game = jaxgames.make("hex", "hex-3")
    planner = search.fdts(game, num_simulations=2, horizon=2, table_rows=2**6)
    for opponents in (planner, [planner]):
        with pytest.raises(ValueError, match=r"opponent=.*: is a planner, must be .* search.as_agent\(planner\) makes"):
            Environment(game, opponents=opponents)
    Environment(game, opponents=search.as_agent(planner))


def test_planes_need_an_encoder():
    with pytest.raises(ValueError, match="tug has no encoder"):
        Environment(Tug(), observation="planes")
