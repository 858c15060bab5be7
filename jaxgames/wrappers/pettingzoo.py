"""Environments of PettingZoo: parallel for every game, AEC for games of turns.

    from jaxgames.wrappers.pettingzoo import AECGame, ParallelGame
    env = ParallelGame("pommerman-ffa-v1")
    env = AECGame("hex-adh-5-v1")

Agents are player_0, player_1, ... by seat. An observation is {"observation": ..., "action_mask": int8 [A]}. Where players move in
turn, in `ParallelGame` the others can only pass. With an action that is not legal the game does what it says it does, and
`info["illegal"]` tells so; an action out of range or of another shape is a ValueError. Who is eliminated leaves the game, unless
it has teammates.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np
from numpy.random import default_rng

from jaxgames import checks
from jaxgames.env_base import DISABLED
from jaxgames.multi_env import MultiEnvironment
from jaxgames.needed import needed
from jaxgames.wrappers.shared import RENDER_FPS, Renderer, name_of, shared
from jaxgames.wrappers.spaces import as_numpy, checked_actions, space_of

needed("pettingzoo")
from gymnasium import spaces  # noqa: E402
from pettingzoo import AECEnv, ParallelEnv  # noqa: E402

_LARGEST_SEED = 2**31 - 1


@functools.lru_cache(maxsize=32)
def _programs(env: MultiEnvironment) -> tuple[Any, Any]:
    return jax.jit(env.reset), jax.jit(env.step, donate_argnums=0)


class _Table:
    """A game and what all its seats are told, shared by both kinds of environment."""

    def __init__(self, game: Any, render_mode: str | None, settings: dict[str, Any]) -> None:
        self.environment = shared(MultiEnvironment, game, settings, ("render_mode",), batch_size=1, autoreset=DISABLED)
        self.game = self.environment.game
        self.renderer, self._called = Renderer(self.game, render_mode), name_of(self.game, game)
        self.names = [f"player_{seat}" for seat in range(self.game.num_players)]
        seen, actions = space_of(self.environment.observation_spec), self.game.num_actions
        mask = spaces.Box(0, 1, (actions,), np.int8)
        self.observation_spaces = {name: spaces.Dict({"observation": seen, "action_mask": mask}) for name in self.names}
        self.action_spaces = {name: spaces.Discrete(actions) for name in self.names}
        self._reset, self._step = _programs(self.environment)
        self._random = default_rng()
        self.state: Any = None
        self.closed = False

    def metadata(self, **more: Any) -> dict[str, Any]:
        """Gives what PettingZoo wants to know of an environment."""
        return {"name": self._called, "render_modes": self.renderer.modes, "render_fps": RENDER_FPS, **more}

    def reset(self, seed: int | None) -> None:
        """Begins a game.

        Raises:
          ValueError: the seed is none, or the environment was closed.
        """
        self.check_open()
        if seed is not None:
            self._random = default_rng(checks.count("seed", seed, 0))
        first, self.key = jax.random.split(jax.random.key(int(self._random.integers(_LARGEST_SEED))))
        self.count = 0
        self.state, step = self._reset(first)
        self._take(step)

    def step(self, actions: dict[str, Any]) -> None:
        """Plays the actions of some players by name; the others pass."""
        joint = np.full((1, len(self.names)), self.game.pass_action, np.int32)
        for name, action in actions.items():
            joint[0, self.seat_of(name)] = checked_actions(action, (), self.game.num_actions)
        self.state, step = self._step(self.state, joint, jax.random.fold_in(self.key, self.count))
        self.count += 1
        self._take(step)

    def _take(self, step: Any) -> None:
        observation, told = as_numpy(step.observation), jax.device_get(step._replace(observation=(), final_observation=()))
        masks = told.legal[0].astype(np.int8)
        self.observations = {
            name: {"observation": jax.tree.map(lambda leaf: np.array(leaf[0, seat]), observation), "action_mask": masks[seat]}  # noqa: B023
            for seat, name in enumerate(self.names)
        }
        self.rewards = {name: float(told.reward[0, seat]) for seat, name in enumerate(self.names)}
        self.terminated = {name: bool(told.terminated[0, seat]) for seat, name in enumerate(self.names)}
        self.truncated = {name: bool(told.truncated[0, seat]) for seat, name in enumerate(self.names)}
        self.infos = {name: {"illegal": bool(told.illegal[0, seat])} for seat, name in enumerate(self.names)}
        self.mover = int(told.seat[0])

    def seat_of(self, name: str) -> int:
        """Gives the seat of a player.

        Raises:
          ValueError: there is no such player.
        """
        if name not in self.action_spaces:
            raise ValueError(f"agent={name!r}: {checks.one_of(name, self.names)}")
        return self.names.index(name)

    def draw(self) -> Any:
        """Gives the picture of the position, None without a render mode and before the first game."""
        self.check_open()
        if self.state is None:
            return None
        return self.renderer.frame(jax.tree.map(lambda leaf: np.array(leaf[0]), self.state.games))

    def close(self) -> None:
        """Forgets the game."""
        self.closed, self.state = True, None

    def check_open(self) -> None:
        """Raises a ValueError once the environment is closed."""
        if self.closed:
            raise ValueError("the environment is closed: make another")


class _AtTable:
    """What both forms of a game have in common."""

    _table: _Table

    def observation_space(self, agent: str) -> spaces.Space:
        """Gives the space of a player's observations, always the same object."""
        return self._table.observation_spaces[self._table.names[self._table.seat_of(agent)]]

    def action_space(self, agent: str) -> spaces.Space:
        """Gives the space of a player's actions, always the same object."""
        return self._table.action_spaces[self._table.names[self._table.seat_of(agent)]]

    def render(self) -> Any:
        """Gives the picture of the position, as the render mode says."""
        return self._table.draw()

    def close(self) -> None:
        """Forgets the game."""
        self._table.close()


class ParallelGame(_AtTable, ParallelEnv):
    """Any game, with the actions of all players at once.

    Args:
      game: an id as "pommerman-ffa-v1", what `jaxgames.make` takes, or a game.
      render_mode: what `render` gives: "rgb_array" (uint8 [H, W, 3]), "svg" (the picture as text), "ansi" (the board in letters,
        where the game has them), all of the whole state, for whoever watches; None: nothing.
      **settings: of `jaxgames.MultiEnvironment`: observation, encoder, max_episode_steps.
    """

    def __init__(self, game: Any = "pommerman", *, render_mode: str | None = None, **settings: Any) -> None:
        self._table = _Table(game, render_mode, settings)
        self.metadata = self._table.metadata(is_parallelizable=True)
        self.render_mode = render_mode
        self.possible_agents = list(self._table.names)
        self.agents: list[str] = []

    def reset(self, seed: int | None = None, options: dict | None = None) -> tuple[dict, dict]:
        """Begins a game; there are no options."""
        del options
        self._table.reset(seed)
        self.agents = list(self.possible_agents)
        return self._table.observations, self._table.infos

    def step(self, actions: dict[str, Any]) -> tuple[dict, dict, dict, dict, dict]:
        """Plays the actions of the players who are in the game; see `pettingzoo.ParallelEnv.step`.

        Raises:
          ValueError: a player's action is missing, of another shape or out of range; nobody is in the game; or it was closed.
        """
        table = self._table
        table.check_open()
        if not self.agents:
            raise ValueError("the game is over, or none has begun: call reset first")
        if not isinstance(actions, Mapping):
            raise ValueError(f"actions={actions!r}: must be a dictionary with an action for each agent")
        for name in actions:
            table.seat_of(name)
        missing = [name for name in self.agents if name not in actions]
        if missing:
            raise ValueError(f"actions: none for {', '.join(missing)}")
        table.step({name: actions[name] for name in self.agents})
        alive = self.agents
        self.agents = [name for name in alive if not (table.terminated[name] or table.truncated[name])]
        told = (table.observations, table.rewards, table.terminated, table.truncated, table.infos)
        first, *rest = ({name: entries[name] for name in alive} for entries in told)
        return first, rest[0], rest[1], rest[2], rest[3]


class AECGame(_AtTable, AECEnv):
    """A game of turns, with one action at a time.

    Args:
      game: as of `ParallelGame`.
      render_mode: as of `ParallelGame`.
      **settings: as of `ParallelGame`.

    Raises:
      ValueError: in this game players move at once; `reset` and `step` raise it where that is so in some states alone.
    """

    def __init__(self, game: Any = "hex", *, render_mode: str | None = None, **settings: Any) -> None:
        super().__init__()
        self._table = _Table(game, render_mode, settings)
        if not self._table.environment.takes_turns:
            raise ValueError(f"game={self._table.game.name!r}: players move at once; take ParallelGame")
        self.metadata = self._table.metadata(is_parallelizable=False)
        self.render_mode = render_mode
        self.possible_agents = list(self._table.names)
        self.agents: list[str] = []

    def observe(self, agent: str) -> dict[str, Any]:
        """Gives what a player sees now.

        Raises:
          ValueError: no game has begun, there is no such player, or the environment was closed.
        """
        self._table.check_open()
        self._check_begun()
        return self._table.observations[self._table.names[self._table.seat_of(agent)]]

    def last(self, observe: bool = True) -> tuple[dict[str, Any] | None, float, bool, bool, dict[str, Any]]:
        """Gives what `agent_selection` sees, and what it got since its last action; see `pettingzoo.AECEnv.last`.

        Raises:
          ValueError: no game has begun, or the environment was closed.
        """
        self._table.check_open()
        self._check_begun()
        return super().last(observe)

    def reset(self, seed: int | None = None, options: dict | None = None) -> None:
        """Begins a game; there are no options."""
        del options
        self._table.reset(seed)
        self._check_turns()
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {name: dict(self._table.infos[name]) for name in self.agents}
        self.agent_selection = self._table.names[self._table.mover]

    def step(self, action: Any) -> None:
        """Plays the action of `agent_selection`; see `pettingzoo.AECEnv.step`.

        Raises:
          ValueError: the action is none in range, the game is over or none has begun, or the environment was closed.
        """
        table = self._table
        table.check_open()
        if not self.agents:
            raise ValueError("the game is over, or none has begun: call reset first")
        mover = self.agent_selection
        if self.terminations[mover] or self.truncations[mover]:
            self._was_dead_step(action)
            return
        if action is None:
            raise ValueError(f"action=None: {mover} is in the game, and must choose one of 0..{table.game.num_actions - 1}")
        table.step({mover: action})
        self._check_turns()
        self._cumulative_rewards[mover] = 0.0
        for name in self.agents:
            self.rewards[name] = table.rewards[name]
            self.terminations[name], self.truncations[name] = table.terminated[name], table.truncated[name]
            self.infos[name] = dict(table.infos[name])
        after = table.names[table.mover] if table.mover >= 0 else mover
        if not (table.terminated[after] or table.truncated[after]):
            self.agent_selection = after  # also where the old mover is out, as it leaves first and this one comes next
        self._accumulate_rewards()
        self._deads_step_first()

    def _check_begun(self) -> None:
        """Raises a ValueError before the first `reset`."""
        if self._table.state is None:
            raise ValueError("no game has begun: call reset first")

    def _check_turns(self) -> None:
        """Raises a ValueError where nobody alone is to move in a game that goes on."""
        table = self._table
        if table.mover < 0 and not all(table.terminated[name] or table.truncated[name] for name in table.names):
            self.agents = []
            raise ValueError("players move at once in this state; take ParallelGame")
