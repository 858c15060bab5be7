"""Environments of gymnasium 1.x: one game, and many at once on a device.

    import gymnasium, jaxgames.wrappers.gymnasium
    env = gymnasium.make("jaxgames/pommerman-ffa-v1", opponents="simple")
    envs = gymnasium.make_vec("jaxgames/pommerman-ffa-v1", num_envs=1024, opponents="simple")

Importing this module registers every variant that `jaxgames.games` lists. `info["action_mask"]` tells the legal actions, and
`info["illegal"]` whether the last one was none: then the game has done with it what it says it does. An action out of range or
of another shape is a ValueError.
"""

from __future__ import annotations

import functools
from typing import Any, SupportsFloat

import jax
import jax.numpy as jnp
import numpy as np

import jaxgames
from jaxgames import checks
from jaxgames.env import Environment, EnvState, TimeStep
from jaxgames.env_base import DISABLED, NEXT_STEP, SAME_STEP
from jaxgames.fusion import settled
from jaxgames.needed import needed
from jaxgames.wrappers.shared import RENDER_FPS, RENDER_MODES, Renderer, shared
from jaxgames.wrappers.spaces import as_numpy, checked_actions, lane, space_of

needed("gymnasium")
import gymnasium  # noqa: E402
from gymnasium.vector import AutoresetMode, VectorEnv  # noqa: E402
from gymnasium.vector.utils import batch_space  # noqa: E402

NAMESPACE = "jaxgames"
_MODES = {NEXT_STEP: AutoresetMode.NEXT_STEP, SAME_STEP: AutoresetMode.SAME_STEP}
_LARGEST_SEED = 2**31 - 1


class _Runner:
    """Compiled `reset` and `step` of an environment, whose random numbers follow from a seed and the number of the call.

    Time steps come as numpy arrays; what is one number per environment crosses from the device in one array. With `on_device`
    they stay there.
    """

    def __init__(self, env: Environment, *, on_device: bool = False) -> None:
        self._given = (lambda step: step) if on_device else _read
        self._reset, self._step = _programs(env, on_device)
        self.state: Any = None

    def reset(self, seed: int, first_seat: int = 0) -> TimeStep:
        """Begins again; see `Environment.reset`."""
        self.state, step = self._reset(jax.random.key(seed), np.int32(first_seat))
        return self._given(step)

    def step(self, actions: Any) -> TimeStep:
        """Goes on."""
        self.state, step = self._step(self.state, actions)
        return self._given(step)

    def check_begun(self) -> None:
        """Raises where there was no reset."""
        if self.state is None:
            raise gymnasium.error.ResetNeeded("no game has begun: call reset first")

    @property
    def games(self) -> Any:
        """State [B] of the games."""
        return self.state[0].games


@functools.lru_cache(maxsize=32)
def _programs(env: Environment, on_device: bool) -> tuple[Any, Any]:
    """Compiles `reset` and `step` of an environment once, whoever runs it."""
    pack = (lambda step: step) if on_device else _packed

    def first(key: Any, first_seat: Any) -> tuple[Any, Any]:
        first, rest = jax.random.split(key)
        state, step = env.reset(first, first_seat)
        return (state, rest, jnp.uint32(0)), pack(step._replace(final_observation=()))

    def following(carry: tuple[EnvState, Any, Any], actions: Any) -> tuple[Any, Any]:
        state, key, count = carry
        state, step = env.step(state, actions, jax.random.fold_in(key, count))
        if env.autoreset != SAME_STEP:  # it is the same as the observation
            step = step._replace(final_observation=())
        return (state, key, count + 1), pack(step)

    return jax.jit(first), jax.jit(following, donate_argnums=0)


def _packed(step: TimeStep) -> tuple[Any, Any]:
    """Puts what is one number per environment into one array, int32 [5, B]."""
    flags = step.terminated + 2 * step.truncated + 4 * step.illegal
    bits = (jax.lax.bitcast_convert_type(each, jnp.int32) for each in (step.reward, step.episode_return))
    numbers = jnp.stack(settled([*bits, step.episode_length, step.seat, flags.astype(jnp.int32)]))
    return (step.observation, step.legal, step.final_observation), numbers


def _read(packed: tuple[Any, Any]) -> TimeStep:
    """Takes that apart, on the host."""
    (observation, legal, final), numbers = packed
    reward, total, length, seat, flags = np.asarray(numbers)
    observation, final = as_numpy(observation), as_numpy(final)
    ends = [(flags & bit) != 0 for bit in (1, 2, 4)]
    mask: Any = np.asarray(legal).view(np.int8)
    given: Any = (reward.view(np.float32), *ends[:2], final, seat, ends[2], length, total.view(np.float32))
    return TimeStep(observation, mask, *given)


class GymnasiumEnv(gymnasium.Env):
    """One game against agents.

    Args:
      game: an id as "pommerman-ffa-v1", what `jaxgames.make` takes, or a game.
      render_mode: what `render` gives: "rgb_array" (uint8 [H, W, 3]), "svg" (the picture as text), "ansi" (the board in letters,
        where the game has them), all of the whole state, for whoever watches; None: nothing.
      **settings: of `jaxgames.Environment`: opponents, seat, observation, encoder, max_episode_steps.
    """

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": RENDER_FPS}  # noqa: RUF012

    def __init__(self, game: Any = "pommerman", *, render_mode: str | None = None, **settings: Any) -> None:
        self.environment = shared(Environment, game, settings, ("render_mode",), batch_size=1, autoreset=DISABLED)
        self.render_mode = render_mode
        self._renderer = Renderer(self.environment.game, render_mode)
        self.metadata = {**self.metadata, "render_modes": self._renderer.modes}
        self.observation_space = space_of(self.environment.observation_spec)
        self.action_space = gymnasium.spaces.Discrete(self.environment.game.num_actions)
        self._runner = _Runner(self.environment)
        self._first_seat: int | None = None
        self._mask: Any = None
        self._over = True
        self._closed = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins a game; see `gymnasium.Env.reset`. There are no options.

        With `seat="rotating"` a seed draws the learner's seat, as it draws all else, and each `reset` without one takes the next.
        """
        self._check_open()
        super().reset(seed=seed)
        number = int(self.np_random.integers(_LARGEST_SEED))
        self._first_seat = number if seed is not None or self._first_seat is None else self._first_seat + 1
        self._first_seat %= self.environment.game.num_players
        step = self._runner.reset(number, self._first_seat)
        self._over = False
        return lane(step.observation, 0), self._info(step)

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Plays an action, and all that follows until the next is needed; see `gymnasium.Env.step`.

        Raises:
          ValueError: the action is not one integer in range.
          gymnasium.error.ResetNeeded: the game is over, or none has begun.
          gymnasium.error.ClosedEnvironmentError: the environment was closed.
        """
        self._check_open()
        if self._over:
            raise gymnasium.error.ResetNeeded("the game is over, or none has begun: call reset first")
        actions = checked_actions(action, (), self.environment.game.num_actions)
        step = self._runner.step(actions.reshape(1))
        terminated, truncated = bool(step.terminated[0]), bool(step.truncated[0])
        self._over = terminated or truncated
        observation = lane(step.observation, 0)
        return observation, float(step.reward[0]), terminated, truncated, self._info(step)

    def action_masks(self) -> np.ndarray:
        """Gives bool [num_actions], the legal actions; the name that MaskablePPO of sb3-contrib asks for.

        Raises:
          gymnasium.error.ResetNeeded: no game has begun.
          gymnasium.error.ClosedEnvironmentError: the environment was closed.
        """
        self._check_open()
        self._runner.check_begun()
        return self._mask.astype(bool)

    def render(self) -> Any:
        """Gives the picture of the position, or None without a render mode and before the first game."""
        self._check_open()
        if self.render_mode is None or self._runner.state is None:
            return None
        return self._renderer.frame(lane(self._runner.games, 0))

    def close(self) -> None:
        """Forgets the game."""
        self._closed = True
        self._runner.state = None

    def _info(self, step: TimeStep) -> dict[str, Any]:
        self._mask, illegal = np.array(step.legal[0]), bool(step.illegal[0])
        return {"action_mask": self._mask.copy(), "illegal": illegal, "seat": int(step.seat[0])}

    def _check_open(self) -> None:
        if self._closed:
            raise gymnasium.error.ClosedEnvironmentError("the environment is closed: make another")


class GymnasiumVectorEnv(VectorEnv):
    """Many games at once, in one compiled program.

    With `seat="rotating"` lane i begins at seat i % P at every `reset`, and takes the next seat with each game.

    Observations are given as they lie on the device: as numpy arrays that cannot be written to, on a CPU without a copy. Infos
    have an entry per environment and a mask of those that have it, `_name`, as usual: "action_mask", "illegal", "seat", and where
    episodes have ended "episode_return" and "episode_length" ("episode" is left to gymnasium's RecordEpisodeStatistics), and with
    "same_step" "final_obs": what was seen last, an array of objects with one observation for each episode that has ended.

    Args:
      game: as of `GymnasiumEnv`.
      num_envs: how many games.
      autoreset: "next_step" (of gymnasium the usual one: the call after the end begins the next game and ignores the action) or
        "same_step".
      array: "numpy", or "jax": arrays stay on the device, flags are bool, and "final_obs" is one batch of all environments.
      render_mode: as of `GymnasiumEnv`.
      **settings: as of `GymnasiumEnv`, and pool_size.
    """

    def __init__(
        self,
        game: Any = "pommerman",
        num_envs: int = 1,
        *,
        autoreset: str = NEXT_STEP,
        array: str = "numpy",
        render_mode: str | None = None,
        **settings: Any,
    ) -> None:
        if autoreset not in _MODES:
            raise ValueError(f"autoreset={autoreset!r}: {checks.one_of(autoreset, _MODES)}")
        if array not in ("numpy", "jax"):
            raise ValueError(f"array={array!r}: must be numpy or jax")
        num_envs = checks.count("num_envs", num_envs, 1)
        also = ("num_envs", "autoreset", "array", "render_mode")
        self.environment = shared(Environment, game, settings, also, batch_size=num_envs, autoreset=autoreset)
        self.num_envs = num_envs
        self.render_mode = render_mode
        self._legal: Any = None
        self._renderer = Renderer(self.environment.game, render_mode)
        modes = {"render_modes": self._renderer.modes, "render_fps": RENDER_FPS}
        self.metadata = {**modes, "autoreset_mode": _MODES[autoreset]}
        self.single_observation_space = space_of(self.environment.observation_spec)
        self.single_action_space = gymnasium.spaces.Discrete(self.environment.game.num_actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._everywhere = np.ones(num_envs, bool)
        self._on_device = array == "jax"
        self._runner = _Runner(self.environment, on_device=self._on_device)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins all games again.

        Args:
          seed: one number for all environments, or None: drawn.
          options: none.

        Raises:
          ValueError: a list of seeds, or a mask of environments to reset: all begin from one seed.
          gymnasium.error.ClosedEnvironmentError: the environment was closed.
        """
        self._check_open()
        if isinstance(seed, list | tuple | np.ndarray):
            raise ValueError("seed is a list: must be one number, from which those of all environments follow, or None")
        if options and "reset_mask" in options:
            raise ValueError("options have a reset_mask: games begin again by themselves, or all together")
        super().reset(seed=seed)
        step = self._runner.reset(int(self.np_random.integers(_LARGEST_SEED)))
        return step.observation, self._infos(step)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Plays an action in each environment; see `gymnasium.vector.VectorEnv.step`.

        Raises:
          ValueError: actions are not `num_envs` integers in range (those that stay on the device are only checked by shape).
          gymnasium.error.ResetNeeded: there was no reset.
          gymnasium.error.ClosedEnvironmentError: the environment was closed.
        """
        self._check_open()
        self._runner.check_begun()
        if not isinstance(actions, jax.Array):
            actions = checked_actions(actions, (self.num_envs,), self.environment.game.num_actions)
        step = self._runner.step(actions)
        return step.observation, step.reward, step.terminated, step.truncated, self._infos(step)

    def action_masks(self) -> Any:
        """Gives bool [num_envs, num_actions], the legal actions; as all else it cannot be written to.

        Raises:
          gymnasium.error.ResetNeeded: there was no reset.
          gymnasium.error.ClosedEnvironmentError: the environment was closed.
        """
        self._check_open()
        self._runner.check_begun()
        return self._legal.view(bool)

    def render(self) -> tuple[Any, ...] | None:
        """Gives a picture for each environment, or None without a render mode and before the first games."""
        self._check_open()
        if self.render_mode is None or self._runner.state is None:
            return None
        games = jax.device_get(self._runner.games)
        return tuple(self._renderer.frame(lane(games, index)) for index in range(self.num_envs))

    def close_extras(self, **kwargs: Any) -> None:
        """Forgets the games."""
        del kwargs
        self._runner.state = None

    def _infos(self, step: TimeStep) -> dict[str, Any]:
        every, self._legal = self._everywhere, step.legal
        infos: dict[str, Any] = {"action_mask": step.legal, "_action_mask": every, "illegal": step.illegal, "_illegal": every}
        infos |= {"seat": step.seat, "_seat": every}
        done = np.asarray(step.done)
        if done.any():
            returns, lengths = np.asarray(step.episode_return), np.asarray(step.episode_length)
            infos |= {"episode_return": np.where(done, returns, 0), "_episode_return": done}
            infos |= {"episode_length": np.where(done, lengths, 0), "_episode_length": done}
            if self.environment.autoreset == SAME_STEP:
                last = step.final_observation
                infos |= {"final_obs": last if self._on_device else _of_ended(last, done), "_final_obs": done}
        return infos

    def _check_open(self) -> None:
        if self.closed:
            raise gymnasium.error.ClosedEnvironmentError("the environment is closed: make another")


def _of_ended(observation: Any, done: np.ndarray) -> np.ndarray:
    """Takes the observations of episodes that have ended apart: an array of objects, None elsewhere."""
    apart = np.full(len(done), None, object)
    for index in np.flatnonzero(done).tolist():
        apart[index] = lane(observation, index)
    return apart


def register_all() -> None:
    """Tells gymnasium of all variants that `jaxgames.games` lists, and that are not yet known."""
    for entry in jaxgames.games():
        name = f"{NAMESPACE}/{entry.id}"
        if name not in gymnasium.registry:
            gymnasium.register(
                name,
                entry_point="jaxgames.wrappers.gymnasium:GymnasiumEnv",
                vector_entry_point="jaxgames.wrappers.gymnasium:GymnasiumVectorEnv",
                kwargs={"game": entry.id},
                disable_env_checker=True,
            )


register_all()
