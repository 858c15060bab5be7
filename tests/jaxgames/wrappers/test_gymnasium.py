"""Our environments of gymnasium: its own checker, and what ours add to it."""

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics

import jaxgames
from jaxgames import raster, runtime
from jaxgames.needed import needed
from jaxgames.raster import WIDTH
from jaxgames.wrappers.gymnasium import GymnasiumEnv, GymnasiumVectorEnv
from tests.fading import Fading
from tests.tic_tac_toe import TicTacToe
from tests.tug import PULL, REST, SHOUT, Tug, steady_player

ALL = [entry.id for entry in jaxgames.games()]
STEADY = steady_player(REST)


def vector(autoreset="next_step"):
    """Four games against somebody who only rests; three pulls at most win."""
    return GymnasiumVectorEnv(Tug(max_steps=6), 4, autoreset=autoreset, opponents=STEADY)


def given_up():
    """A game that lasts a step."""
    return GymnasiumEnv(Tug(), opponents=STEADY, max_episode_steps=1)


def test_every_variant_has_an_id():
    assert {f"jaxgames/{name}" for name in ALL} <= set(gymnasium.registry)
    assert len(set(ALL)) == len(ALL) == len(jaxgames.games())


def test_jax_is_prepared_where_nothing_has_started_it(monkeypatch):
    prepared = []
    monkeypatch.setattr(runtime, "backend_is_running", lambda: False)
    monkeypatch.setattr(runtime, "prepare", lambda: prepared.append(True))
    game = Tug(max_steps=5)  # no other test has an environment of it
    assert GymnasiumEnv(game, opponents=STEADY).metadata["render_modes"] == [] and prepared == [True], "nor any pictures"
    assert GymnasiumEnv("hex-hex-5-v1", render_mode="svg").metadata["render_modes"][-1] == "svg"
    with pytest.raises(ValueError, match=r"^render_mode='svg': must be None: no pictures$"):
        GymnasiumEnv(game, opponents=STEADY, render_mode="svg")
    with pytest.raises(ValueError, match=r"^render_mode='gif': must be (ansi, )?(rgb_array, )?svg or None$"):
        GymnasiumEnv("hex-hex-5-v1", render_mode="gif")


@pytest.mark.parametrize("game", [TicTacToe(), pytest.param(Tug(), marks=pytest.mark.slow)], ids=["turns", "at once"])
def test_the_library_s_checker_finds_nothing(game):
    check_env(GymnasiumEnv(game, seat=1), skip_render_check=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_the_library_s_checker_finds_nothing_in_any_variant(name):
    check_env(gymnasium.make(f"jaxgames/{name}").unwrapped)


def test_a_game_from_beginning_to_end():
    env = GymnasiumEnv(TicTacToe(), render_mode="svg", seat=1)
    observation, info = env.reset(seed=3)
    assert env.observation_space.contains(observation) and info["seat"] == 1 and not info["illegal"]
    assert (observation["0"] == -1).sum() == 1 and info["action_mask"].sum() == 8, "the other has begun"
    assert env.render().startswith("<svg")
    over, rewards = False, []
    while not over:
        observation, reward, terminated, truncated, info = env.step(np.flatnonzero(info["action_mask"])[0])
        rewards.append(reward)
        over = terminated or truncated
    assert rewards[:-1] == [0] * (len(rewards) - 1) and rewards[-1] in (-1, 0, 1) and terminated and not truncated
    with pytest.raises(gymnasium.error.ResetNeeded, match="the game is over"):
        env.step(0)
    again, _ = env.reset(seed=3)
    assert (again["0"] != 0).sum() == 1


def test_a_game_that_is_given_up_is_over():
    env = given_up()
    env.reset(seed=0)
    _, _, terminated, truncated, _ = env.step(REST)
    assert truncated and not terminated
    with pytest.raises(gymnasium.error.ResetNeeded, match="the game is over"):
        env.step(REST)


def test_what_is_wrong_with_an_action_is_told():
    env = given_up()
    with pytest.raises(gymnasium.error.ResetNeeded, match="none has begun"):
        env.step(0)
    env.reset(seed=0)
    for action, told in (
        (3, r"action=3: must be in 0\.\.2"),
        (-1, "action=-1"),
        ([0, 1], r"must be integers \[\]"),
        (0.5, "float64"),
    ):
        with pytest.raises(ValueError, match=told):
            env.step(action)
    for seed in range(5):
        observation, info = env.reset(seed=seed)
        after, *_, told = env.step(SHOUT)
        assert told["illegal"] == (not info["action_mask"][SHOUT])
        assert (after["numbers"] == observation["numbers"]).all()
    env.close()
    env.close()
    for call in (env.reset, lambda: env.step(0), env.render):
        with pytest.raises(gymnasium.error.ClosedEnvironmentError, match="make another"):
            call()


def test_unknown_names_are_told():
    with pytest.raises(gymnasium.error.NameNotFound):
        gymnasium.make("jaxgames/chess-v1")
    with pytest.raises(ValueError, match="opponent='nobody'"):
        gymnasium.make("jaxgames/hex-adh-5-v1", opponents="nobody")
    with pytest.raises(ValueError, match="render_mode='human'"):
        GymnasiumEnv(Tug(), render_mode="human")
    with pytest.raises(ValueError, match="autoreset='disabled'"):
        GymnasiumVectorEnv(Tug(), 2, autoreset="disabled")
    with pytest.raises(ValueError, match="array='torch': must be numpy or jax"):
        GymnasiumVectorEnv(Tug(), 2, array="torch")


@pytest.mark.parametrize("autoreset", ["next_step", "same_step"])
def test_many_games_at_once(autoreset):
    envs = vector(autoreset)
    assert (
        envs.metadata["autoreset_mode"] == {"next_step": AutoresetMode.NEXT_STEP, "same_step": AutoresetMode.SAME_STEP}[autoreset]
    )
    with pytest.raises(gymnasium.error.ResetNeeded):
        envs.step(np.zeros(4, int))
    before, info = envs.reset(seed=1)
    ended = np.zeros(4, bool)
    for _ in range(8):
        assert envs.observation_space.contains(before)
        assert info["action_mask"].shape == (4, 3) and info["_action_mask"].all()
        observation, reward, terminated, truncated, info = envs.step(np.full(4, PULL))
        assert not truncated.any() and (reward[terminated] == 1).all()
        for env in np.flatnonzero(terminated):
            last = info["final_obs"][env] if autoreset == "same_step" else {"numbers": observation["numbers"][env]}
            assert last["numbers"] == 2
        if autoreset == "next_step":
            assert (reward[ended] == 0).all() and (np.abs(observation["numbers"][ended]) <= 1).all()
        assert ("episode_return" in info) == terminated.any() and "episode" not in info
        if terminated.any():
            assert (info["_episode_return"] == terminated).all() and (info["episode_return"] == terminated).all()
            assert (info["_episode_length"] == terminated).all() and ((info["episode_length"] > 0) == terminated).all()
        before, ended = observation, terminated
    for actions in (np.zeros(3, int), np.full(4, 3), np.zeros(4)):
        with pytest.raises(ValueError, match=r"must be i"):
            envs.step(actions)
    with pytest.raises(ValueError, match="seed is a list"):
        envs.reset(seed=[1, 2, 3, 4])
    with pytest.raises(ValueError, match="options have a reset_mask"):
        envs.reset(options={"reset_mask": np.ones(4, bool)})
    envs.close()
    with pytest.raises(gymnasium.error.ClosedEnvironmentError):
        envs.step(np.zeros(4, int))


@pytest.mark.parametrize("autoreset", ["next_step", "same_step"])
def test_the_library_s_statistics_are_ours(autoreset):
    envs = RecordEpisodeStatistics(vector(autoreset))
    envs.reset(seed=0)
    for _ in range(12):
        *_, info = envs.step(np.full(4, PULL))
        if "episode" in info:
            assert (info["episode"]["r"] == info["episode_return"]).all() and (info["_episode"] == info["_episode_return"]).all()
            assert (info["episode"]["l"] == info["episode_length"]).all()
    assert envs.episode_count >= 4


def test_what_was_seen_last_has_the_form_of_the_library_s_own():
    theirs = SyncVectorEnv([given_up] * 4, autoreset_mode=AutoresetMode.SAME_STEP)
    finals = []
    for envs, steps in ((vector("same_step"), 6), (theirs, 1)):
        envs.reset(seed=0)
        for _ in range(steps):
            *_, info = envs.step(np.full(4, REST))
        assert info["_final_obs"].all() and all(envs.single_observation_space.contains(each) for each in info["final_obs"])
        finals.append(info["final_obs"])
    assert finals[0].shape == finals[1].shape and finals[0].dtype == finals[1].dtype == object


@pytest.mark.slow
def test_what_was_seen_last_stays_on_the_device():
    on_device = GymnasiumVectorEnv(Tug(max_steps=1), 2, autoreset="same_step", array="jax")
    on_device.reset(seed=0)
    *_, info = on_device.step(jnp.zeros(2, jnp.int32))
    assert isinstance(info["final_obs"]["numbers"], jax.Array) and info["final_obs"]["numbers"].shape == (2, 1)


def test_the_same_seed_gives_the_same_games():
    envs = vector()
    rows = []
    for seed in (5, 5, 6):
        envs.reset(seed=seed)
        rows.append(np.concatenate([np.array(envs.step(np.full(4, PULL))[0]["numbers"])[:, 0] for _ in range(6)]).tolist())
    assert rows[0] == rows[1] != rows[2]


def test_what_is_not_installed_is_told():
    with pytest.raises(ImportError, match=r"no_such_library is not installed: pip install '\.\[wrappers\]' in a checkout"):
        needed("no_such_library")


def seats_of(env, seeds):
    return [env.reset(seed=seed)[1]["seat"] for seed in seeds]


@pytest.mark.parametrize("game", [TicTacToe(), Fading()], ids=["turns", "at once"])
def test_a_rotating_seat_is_another_with_each_game(game):
    env, other = (GymnasiumEnv(game, seat="rotating") for _ in range(2))
    players = game.num_players
    first, *more = seats_of(env, [7, *[None] * 6])
    assert more == [(first + number) % players for number in range(1, 7)], "each reset takes the next"
    assert seats_of(other, [7, None, None]) == [first, *more[:2]] == seats_of(env, [7, None, None]), "as the seed says"
    assert len(set(seats_of(env, range(20)))) == players, "seeds draw seats"
    assert seats_of(GymnasiumEnv(game, seat=1), [7, None, None]) == [1] * 3


def test_rotating_lanes_begin_at_seats_in_order():
    envs = GymnasiumVectorEnv(TicTacToe(), 5, seat="rotating")
    for seed in (1, None, 2):
        assert envs.reset(seed=seed)[1]["seat"].tolist() == [0, 1, 0, 1, 0]


def test_masks_are_given_as_flags():
    env = GymnasiumEnv(TicTacToe(), seat=1)
    with pytest.raises(gymnasium.error.ResetNeeded, match="no game has begun"):
        env.action_masks()
    _, info = env.reset(seed=0)
    mask = env.action_masks()
    assert mask.dtype == bool and mask.shape == (env.action_space.n,) and (mask == info["action_mask"]).all()
    _, *_, info = env.step(int(np.flatnonzero(mask)[0]))
    assert (env.action_masks() == info["action_mask"]).all() and env.action_masks().sum() == mask.sum() - 2
    wrapped = gymnasium.wrappers.TimeLimit(env, 3)
    assert (wrapped.get_wrapper_attr("action_masks")() == env.action_masks()).all(), "as sb3 asks"


@pytest.mark.parametrize("array", ["numpy", pytest.param("jax", marks=pytest.mark.slow)])
def test_masks_of_many_games(array):
    envs = GymnasiumVectorEnv(Tug(max_steps=6), 4, opponents=STEADY, array=array)
    with pytest.raises(gymnasium.error.ResetNeeded, match="no game has begun"):
        envs.action_masks()
    envs.reset(seed=0)
    *_, info = envs.step(np.full(4, PULL))
    masks = envs.action_masks()
    assert masks.dtype == bool and masks.shape == (4, 3) and (masks == info["action_mask"]).all()


def test_unknown_settings_are_told_with_those_there_are():
    told = (
        "^opponent='simple': no such setting; must be one of game, {}autoreset, array, render_mode, encoder, max_episode_steps, "
    )
    with pytest.raises(
        TypeError, match=told.format("num_envs, ") + r"observation, opponents, pool_size, seat \(perhaps opponents\?\)$"
    ):
        gymnasium.make_vec("jaxgames/hex-adh-5-v1", num_envs=2, opponent="simple")
    with pytest.raises(ValueError, match=r"^encoder='alphaze': needs observation='planes'$"):
        gymnasium.make("jaxgames/hex-hex-5-v1", encoder="alphaze")
    with pytest.raises(TypeError, match=r"^batch_size=3: no such setting; must be one of game, render_mode, encoder"):
        GymnasiumEnv(TicTacToe(), batch_size=3)


def is_frame(given):
    return given.dtype == np.uint8 and given.ndim == 3 and given.shape[1:] == (WIDTH, 3) and given.shape[0] % 2 == 0


def test_pictures_of_many_games():
    envs = gymnasium.make_vec("jaxgames/hex-hex-5-v1", num_envs=2, render_mode="svg")
    assert envs.render() is None and envs.render_mode == "svg"
    envs.reset(seed=0)
    envs.step(np.array([12, 3]))
    one, other = envs.render()
    assert one.startswith("<svg") and other.startswith("<svg") and one != other
    films = gymnasium.make_vec("jaxgames/hex-hex-5-v1", num_envs=2, render_mode="rgb_array")
    films.reset(seed=0)
    frames = films.render()
    assert isinstance(frames, tuple) and len(frames) == 2 and all(is_frame(frame) for frame in frames)
    assert GymnasiumVectorEnv(TicTacToe(), 2).render() is None


def test_a_board_in_letters():
    env = gymnasium.make("jaxgames/hex-hex-5-v1", render_mode="ansi")
    env.reset(seed=0)
    env.step(12)
    assert env.render().endswith("x is to move\n") and env.render().count("o ") == 1, "the other has answered"


def test_frames_for_films():
    env = gymnasium.make("jaxgames/hex-hex-5-v1", render_mode="rgb_array_list")
    env.reset(seed=0)
    env.step(12)
    frames = env.render()
    assert len(frames) == 2 and all(is_frame(frame) for frame in frames) and (frames[0] != frames[1]).any()


def test_pixels_need_their_libraries(monkeypatch):
    monkeypatch.setattr(raster, "_LIBRARIES", ("no_such_library",))
    with pytest.raises(ImportError, match=r"^no_such_library is not installed: pip install '\.\[viz\]' in a checkout$"):
        GymnasiumEnv("hex-hex-5-v1", render_mode="rgb_array")
    assert "rgb_array" not in GymnasiumEnv("hex-hex-5-v1").metadata["render_modes"]


def test_environments_of_equal_settings_are_compiled_once():
    first, second = GymnasiumEnv(TicTacToe(), seat=1), GymnasiumEnv(TicTacToe(), seat=1)
    assert first.environment is second.environment
    first.reset(seed=3)
    second.reset(seed=5)
    assert first._runner._reset is second._runner._reset and first._runner._reset._cache_size() == 1
    assert first._runner.state is not second._runner.state
    assert GymnasiumEnv(TicTacToe(), seat=0).environment is not first.environment
    with pytest.raises(ValueError, match="seat=True"):
        GymnasiumEnv(TicTacToe(), seat=True)
    listed = {"opponents": ["random"]}  # a list cannot be looked up
    assert GymnasiumEnv(TicTacToe(), **listed).environment is not GymnasiumEnv(TicTacToe(), **listed).environment
