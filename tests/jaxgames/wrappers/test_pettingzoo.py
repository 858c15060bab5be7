"""Our environments of PettingZoo: its own tests, and what ours add to it."""

import jax.numpy as jnp
import numpy as np
import pytest
from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test, render_test, seed_test

import jaxgames
from jaxgames.raster import WIDTH
from jaxgames.wrappers.pettingzoo import AECGame, ParallelGame
from tests.fading import LEAVE, STAY, Fading, Pushing
from tests.paid import Paid
from tests.tic_tac_toe import TicTacToe
from tests.tug import Tug

ALL = [entry.id for entry in jaxgames.games()]
IN_TURN = [name for name in ALL if name.partition("-")[0] in ("hex", "hero_academy", "stratego")]


@pytest.mark.parametrize("game", [pytest.param(TicTacToe(), marks=pytest.mark.slow), Fading()], ids=["turns", "at once"])
def test_the_library_s_tests_of_parallel_environments(game):
    parallel_api_test(ParallelGame(game), num_cycles=20)
    parallel_seed_test(lambda: ParallelGame(game), num_cycles=8)


def test_the_library_s_tests_of_environments_of_turns():
    api_test(AECGame(TicTacToe()), num_cycles=30)
    seed_test(lambda: AECGame(TicTacToe()), num_cycles=8)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_the_library_s_tests_of_every_variant(name):
    parallel_api_test(ParallelGame(name), num_cycles=40)
    parallel_seed_test(lambda: ParallelGame(name), num_cycles=4)


@pytest.mark.slow
@pytest.mark.parametrize("name", IN_TURN)
def test_the_library_s_tests_of_every_variant_of_turns(name):
    api_test(AECGame(name), num_cycles=40)
    seed_test(lambda: AECGame(name), num_cycles=4)


def test_a_game_of_turns_from_beginning_to_end():
    env = AECGame(Paid())
    env.reset(seed=0)
    seats, rewards = [], {}
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, info = env.last()
        rewards[agent] = rewards.get(agent, 0) + reward
        if terminated or truncated:
            env.step(None)
            continue
        assert observation["action_mask"].sum() == (observation["observation"]["0"] == 0).sum() and not info["illegal"]
        seats.append(agent)
        env.step(int(np.flatnonzero(observation["action_mask"])[0]))
    assert seats == [f"player_{turn % 2}" for turn in range(7)], "0, 2, 4, 6 make a line for the first player"
    assert rewards == {"player_0": 1, "player_1": 7 / 4 - 1} and env.agents == [], "each is told of every reward once"
    with pytest.raises(ValueError, match="the game is over"):
        env.step(0)


def test_who_is_eliminated_leaves_a_parallel_game():
    env = ParallelGame(Fading())
    env.reset(seed=0)
    _, rewards, terminated, _, _ = env.step({"player_0": STAY, "player_1": LEAVE, "player_2": STAY})
    assert rewards == {"player_0": 0, "player_1": -1, "player_2": 0} and terminated["player_1"]
    assert env.agents == ["player_0", "player_2"]
    with pytest.raises(ValueError, match="none for player_2"):
        env.step({"player_0": STAY})
    with pytest.raises(ValueError, match="agent='bob': must be one of player_0"):
        env.step({"player_0": STAY, "player_2": STAY, "bob": STAY})
    with pytest.raises(ValueError, match="actions=None: must be a dictionary"):
        env.step(None)
    _, rewards, terminated, _, _ = env.step({"player_0": STAY, "player_2": LEAVE})
    assert rewards == {"player_0": 1, "player_2": -1} and all(terminated.values()) and env.agents == []
    with pytest.raises(ValueError, match="call reset first"):
        env.step({})


def test_who_is_left_in_a_game_that_is_given_up_leaves_it_too():
    env = ParallelGame(Fading(), max_episode_steps=1)
    env.reset(seed=0)
    _, _, terminated, truncated, _ = env.step({"player_0": STAY, "player_1": LEAVE, "player_2": STAY})
    assert terminated == {"player_0": False, "player_1": True, "player_2": False}
    assert truncated == {"player_0": True, "player_1": False, "player_2": True} and env.agents == []


class Quitting(Pushing):
    """Whoever says LEAVE is out, and the next one is to move."""

    def step(self, state, actions, key=None):
        mover = self.to_play(state)
        leaves = (np.arange(3) == mover) & (jnp.asarray(actions)[mover] == LEAVE)
        return Fading.step(self, state, jnp.where(leaves, LEAVE, STAY), key)


@pytest.mark.parametrize(("game", "out", "left"), [(Quitting(), "player_0", "player_1"), (Pushing(), "player_1", "player_2")])
def test_who_is_eliminated_leaves_a_game_of_turns(game, out, left):
    env = AECGame(game)
    env.reset(seed=0)
    env.step(LEAVE)
    assert env.agent_selection == out and env.terminations[out] and env.rewards[out] == -1
    env.step(None)
    assert env.agents == [name for name in env.possible_agents if name != out] and env.agent_selection == left
    env.step(STAY)
    assert env.agent_selection == "player_2"
    for _ in env.agent_iter(20):
        env.step(None if env.last()[2] else LEAVE)
    assert env.agents == []


class Partly(Pushing):
    """A game of turns in its first steps; then all move at once."""

    in_turn = 1

    def to_play(self, state):
        return jnp.where(state.step_count < self.in_turn, super().to_play(state), -1)


class Later(Partly):
    in_turn = 0


def test_states_in_which_players_move_at_once_are_refused():
    env = AECGame(Partly())
    env.reset(seed=0)
    with pytest.raises(ValueError, match="players move at once in this state; take ParallelGame"):
        env.step(STAY)
    with pytest.raises(ValueError, match="players move at once in this state; take ParallelGame"):
        AECGame(Later()).reset(seed=0)


@pytest.mark.parametrize("kind", [ParallelGame, AECGame])
def test_environments_are_called_by_variant_and_version(kind):
    for game, name in (("hex", "hex-hex-v1"), ("hex-adh-4-v1", "hex-adh-4-v1"), (jaxgames.make("hex", "adh-5"), "hex-adh-5-v1")):
        assert kind(game).metadata["name"] == name
    assert kind(jaxgames.make("hex", board_size=6)).metadata["name"] == "hex-v1"
    assert kind(TicTacToe()).metadata["name"] == TicTacToe().name


def test_the_library_s_test_of_pictures():
    def made(render_mode):  # there are no windows
        return AECGame(TicTacToe(), render_mode="svg" if render_mode == "human" else render_mode)

    render_test(made, {"svg": lambda given: given.startswith("<svg")})
    assert "rgb_array" in made("svg").metadata["render_modes"]
    parallel = ParallelGame("hex-hex-5-v1", render_mode="rgb_array")
    assert parallel.render() is None
    parallel.reset(seed=0)
    assert parallel.render().shape[1:] == (WIDTH, 3)


def test_bad_input_is_told():
    with pytest.raises(ValueError, match="players move at once; take ParallelGame"):
        AECGame(Tug())
    with pytest.raises(ValueError, match="game='chess'"):
        ParallelGame("chess")
    env = AECGame(TicTacToe())
    with pytest.raises(ValueError, match="none has begun"):
        env.step(0)
    with pytest.raises(ValueError, match="call reset first"):
        env.observe("player_0")
    with pytest.raises(ValueError, match=r"^no game has begun: call reset first$"):
        env.last()
    for seed, told in (("a", r"^seed='a': must be a whole number$"), (-1, r"^seed=-1: must be >= 0$")):
        with pytest.raises(ValueError, match=told):
            env.reset(seed=seed)
    with pytest.raises(ValueError, match=r"^encoder='alphaze': needs observation='planes'$"):
        ParallelGame("hex-hex-5-v1", encoder="alphaze")
    with pytest.raises(TypeError, match=r"^seat=1: no such setting; must be one of game, render_mode, encoder, "):
        AECGame(TicTacToe(), seat=1)
    env.reset(seed=0)
    for action, told in (
        (10, r"action=10: must be in 0\.\.9"),
        ([1], r"must be integers \[\]"),
        (None, "player_0 is in the game"),
    ):
        with pytest.raises(ValueError, match=told):
            env.step(action)
    env.step(4)
    assert not env.infos["player_0"]["illegal"]
    env.step(4)
    assert env.infos["player_1"]["illegal"] and env.agent_selection == "player_0", "what a taken cell does is the game's answer"
    with pytest.raises(ValueError, match="agent='player_7'"):
        env.observe("player_7")
    env.close()
    for call in (env.last, env.render, lambda: env.step(0)):
        with pytest.raises(ValueError, match="the environment is closed"):
            call()
